#pragma once
#include "schemas/frame.h"

/* A running service, as the CLI's commands use it: with the messages and sessions of the processes. Every wait is bounded. One
 * thread. */
struct service;

/* Finds the service of data directory `dir` and asks for its number of shards. Errors: ERR_NOT_RUNNING (no answer within 2 s),
 * ERR_NO_MEMORY, ERR_IO, ERR_DAMAGED. */
must_check enum err service_open(const char *dir, struct service **service);
void                service_close(struct service **service);

uint32_t    service_shards(const struct service *service);
struct span service_status(const struct service *service); /* the supervisor's answer to STATUS, as JSON */

/* What to call, and where: on the account's shard, on `shard`, or on every shard. */
struct call_spec {
	enum message             message;
	const struct account_id *account; /* NULL: on `shard` */
	const uint32_t          *shard;   /* NULL as well: on every shard */
	struct span              args;    /* the packed array of arguments; size 0: none */
	/* The callee's time to decide, and at most that of the session to come up; 0: CALL_DEADLINE_MS. */
	int64_t                   wait_ms;
	const struct idempotency *idempotency; /* NULL: none; borrowed for the call */
};

/* Gets each part of each shard's answer, failures too; what it points to lives until it returns. */
typedef void (*service_part_fn)(void *user, uint32_t shard, const struct reply *reply);

/* The same on the supervisor: `shard` is 0. */
must_check enum err service_call_supervisor(struct service *service, const struct call_spec *request,
                                            service_part_fn on_part, void *user);

/* Asks the supervisor again: updates service_status(). Errors: those of service_open(); the earlier status is kept then. */
must_check enum err service_ask_again(struct service *service);

/* Calls, and returns when every shard has answered or its time is up. Results only go to `on_part`. Errors: ERR_NO_MEMORY,
 * ERR_IO (nothing was called). */
must_check enum err service_call(struct service *service, const struct call_spec *request,
                                 service_part_fn on_part, void *user);

/* Many calls at once, to the shard of one account. State of one call in flight. */
struct waiting {
	service_part_fn on_part;
	void           *user;
	uint32_t        shard;
};

/* Opens the session with the account's shard, *shard, and waits a little for it; it may still be down on return. Errors:
 * ERR_NO_MEMORY, ERR_IO. */
must_check enum err service_connect(struct service *service, const struct account_id *account,
                                    uint32_t *shard);
uint64_t service_epoch(const struct service *service, uint32_t shard); /* of the session; 0: it is not up */

/* Begins one call. waiting->on_part gets its result; a refusal for lack of a session or credit comes before this returns. The
 * call leaves with the next service_turn() at the latest, which also receives answers and waits for more, at most `wait`. */
void service_begin(struct service *service, const struct call_spec *request, struct waiting *waiting);
void service_turn(struct service *service, uint32_t shard, dur_us wait);
