#pragma once
#include "store/view.h"

/* Adds and changes hot rows of the account, as the bytes say, in the writer's empty `view`, and compares the rows with a
 * model: each pass, and the counts of its row. A difference aborts. */
void hot_model_check(struct view *view, struct account_id account, struct span bytes);
