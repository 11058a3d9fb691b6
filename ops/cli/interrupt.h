#pragma once
#include <stdbool.h>

/* For commands that end in order at a signal. The first Ctrl-C, SIGTERM or SIGHUP is only noted, and so are those that come with
 * it, as from a terminal that is closed. One that comes two seconds later ends the process. A signal that was ignored stays
 * ignored. Errors: none. */
void interrupt_catch(void);
bool interrupt_came(void); /* false before interrupt_catch() */
