#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/plan.h"
#include "bench/request.h"

/* The requests of a run, one after the other: which operation, in which account, about which pass. Accounts take turns; or the
 * first one gets its share by chance, and the others take turns; or the account of each request is drawn, uniformly or by
 * Zipf's law. Numbers in sequence come once in each account; others are drawn for each request. Errors: script_new: a text;
 * NULL: none. Nothing is allocated after it. */
enum { ACCOUNTS_MAX = 10000, SHARES_PERCENT = 100 };

struct script {
	struct plan          plan;
	uint64_t             first, number;
	struct request_form *forms; /* one for each part, with the first account's key; ours */
	char                *keys;  /* of each account, all of the same length, adjacent; ours */
	uint32_t             key_bytes;
	uint32_t             account_count, account;
	struct plan          account_plan; /* a sequence: accounts take turns */
	uint32_t             hot_percent;
	uint32_t             part_count;
	enum op              parts[OP_COUNT];
	uint8_t              part_of[SHARES_PERCENT]; /* which part a draw stands for */
};

struct script_sources {
	enum op                op;
	struct plan_choice     choice;
	const char            *host;
	const char *const     *keys; /* of the accounts; borrowed for the call */
	uint32_t               key_count;
	enum plan_ids          accounts;      /* which account is next; PLAN_SEQUENCE: they take turns */
	double                 account_theta; /* of PLAN_ZIPF */
	struct request_subject subject;       /* borrowed as long as the script lives */
	uint32_t               hot_percent;   /* of the requests, for the first account; 0: all alike */
};

const char *script_new(struct script *script, const struct script_sources *sources);
void        script_free(struct script *script);

/* Writes the next request to `bytes` (REQUEST_BYTES_MAX) and returns its size and its operation. */
uint32_t script_next(struct script *script, char *bytes, enum op *op);
