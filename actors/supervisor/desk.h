#pragma once
#include "actors/rt/mailbox.h"
#include "actors/supervisor/children.h"
#include "actors/supervisor/reload.h"

/* Where processes report and the CLI asks: the supervisor's mailbox and the sessions over it. One thread. */
struct desk;

/* `children` and `reload` are borrowed for the desk's life; `epoch` is this supervisor's. Errors: ERR_IO, ERR_NO_MEMORY. */
must_check enum err desk_open(struct desk **desk, const char *endpoint, uint64_t epoch,
                              struct children *children, struct reload *reload);
void                desk_close(struct desk **desk);
int                 desk_fd(const struct desk *desk); /* for the loop, with the mailbox's rule */

/* Once a turn: answers what has arrived, and a reload that all processes go by. true when with it every process became ready for the first time. */
bool desk_pump(struct desk *desk, mono_us now);
/* Does somebody wait for the processes to go by new settings? */
bool desk_waits(const struct desk *desk);
