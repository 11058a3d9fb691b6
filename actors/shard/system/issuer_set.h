#pragma once
#include "store/view.h"

/* The issuer's switch is a row of META, so that it outlives every process. Errors: as view.h. */
must_check enum err issuer_paused_get(struct view *view, bool *paused);
