#pragma once
#include "store/view.h"

/* Stages the command that writes row `number`: 1, 2, 3 … one after the other. Errors: as write_put(). */
must_check enum err rows_stage(struct writes *writes, unsigned number);

/* The number of the newest row; 0: none. `arena` is the view's, and reset. Errors: as view.h; ERR_DAMAGED also when the rows
 * are not as its command left them. */
must_check enum err rows_look(struct view *view, struct arena *arena, unsigned *newest);
/* Likewise of idempotency keys, which readers' views do not have: those of the newest rows are there and no others. */
must_check enum err rows_look_at_keys(struct view *writer, unsigned newest);
