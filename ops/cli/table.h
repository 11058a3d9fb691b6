#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/json.h"

/* What `status` prints, for people: processes, shards, the endpoints with the most retries, certificate, and warnings about
 * what an operator should look at. `status` is the JSON value that programs get; what it lacks is left out. Pure. */
void status_table(const struct json *status, wall_us now, struct buffer *out);

/* Appends lines of cells, which tabs separate, with each column as wide as its widest cell; numbers stand to the right. */
void columns_print(const char *lines, struct buffer *out);
