#pragma once
#include "schemas/messages.h"

#include <stdatomic.h>

/* Numbers that processes of the service count and http shows, in a page of memory that all of them share. The supervisor owns it,
 * so they outlive its children. Errors: none. */
enum { COUNTS_STATUS_END = 600 };

struct counts {
	atomic_uint_fast64_t dropped[ROLE_COUNT]; /* lines of the log */
	/* Of wallets, by the timer. */
	atomic_uint_fast64_t apns_connections;                /* now */
	atomic_uint_fast64_t google_calls[COUNTS_STATUS_END]; /* by HTTP status; 0: no answer */
};

/* The page; one of this process alone until counts_take() has taken another. */
struct counts *counts_shared(void);

/* A descriptor of a new page, for the supervisor; -1: there is none. Takes a page; -1: nothing changes. */
int  counts_make(void);
void counts_take(int fd);

/* Google answered a call with this status; 0: it did not. */
void counts_google_call(int status);
