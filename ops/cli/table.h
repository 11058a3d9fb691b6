#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/json.h"

/* What `status` prints for people: processes, shards, the endpoints with the most retries, certificate, and warnings for the
 * operator. `status` is the JSON value that programs get; missing members are left out. Pure. */
void status_table(const struct json *status, wall_us now, struct buffer *out);

/* Appends lines of tab-separated cells. Each column is as wide as its widest cell; numbers are right-aligned. */
void columns_print(const char *lines, struct buffer *out);
