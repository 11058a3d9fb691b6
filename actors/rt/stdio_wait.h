#pragma once

/* Standard descriptors may be non-blocking: a parent shares them with us. The C library takes "not now" for an error. Afterwards
 * stdin, stdout and stderr wait there; the descriptors stay as they are. Call first in a program that uses them. */
void stdio_wait(void);
