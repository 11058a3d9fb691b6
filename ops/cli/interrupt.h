#pragma once
#include <stdbool.h>

/* For commands that end in order at a signal. The first Ctrl-C, SIGTERM or SIGHUP is only noted, a second one ends the process.
 * A signal that was ignored stays ignored. Errors: none. */
void interrupt_catch(void);
bool interrupt_came(void); /* also before interrupt_catch(): false */
