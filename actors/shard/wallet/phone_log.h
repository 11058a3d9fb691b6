#pragma once
#include "actors/shard/command.h"

/* What phones wrote of passes of an account that they did not like: the last lines, in the memory of the writer alone. Anybody can
 * write some, so lines of few accounts are kept; those that are longest without a new one go. */
enum {
	PHONE_LOG_LINES = PHONE_LOG_LINES_MAX,
	PHONE_LOG_BYTES = 200, /* of a line */
	PHONE_LOG_ACCOUNTS = 64,
};

struct phone_logs;

void phone_logs_free(struct phone_logs **logs);
