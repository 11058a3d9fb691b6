#pragma once
#include "store/view.h"

/* How far service time has been set ahead of the wall, in microseconds; 0 when it never was. Errors: as view.h. */
must_check enum err clock_offset_get(struct view *view, int64_t *offset);
