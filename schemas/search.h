#pragma once
#include "schemas/span.h"

/* Does `text` hold `what`, byte for byte? The empty span is in everything. For short texts and for megabytes alike. */
bool span_holds(struct span text, struct span what);

/* Where it begins for the first time; the text's size: nowhere (the empty span: at 0). */
size_t span_find(struct span text, struct span what);
