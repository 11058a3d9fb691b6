#pragma once
#include "actors/rt/random.h"
#include "actors/shard/account.h"
#include "schemas/fields.h"
#include "schemas/frame.h"
#include "schemas/histogram.h"
#include "store/idempotency.h"
#include "store/store.h"

#include <stdatomic.h>

/* How a command is decided: a handler gets a request, reads its view, stages writes there and fills the outcome.
 * It never sends, sleeps, logs or reads a clock. When it returns an error its writes are dropped. Range limits
 * of integer arguments have been checked before; finer rules are the handler's. One file a command. */

/* What the process is, and counters that any thread may read. */
struct shard_facts {
	uint32_t    index, shards;
	uint64_t    epoch;
	const char *public_url;
	uint8_t     master_key[32];
	uint32_t    idempotency_keys; /* kept per account */

	struct keeper *keeper; /* the store's, as long as it is open */

	enum trust tables_found; /* as they were at the start */
	bool       tables_rebuilt;

	atomic_bool          issuer_paused, issuer_up;
	atomic_int           room; /* enum room */
	atomic_uint_fast64_t commands, batches, syncs, commits, journal_seq, sessions;

	struct histogram        record_commands; /* decided while a record was open (scale_items) */
	const struct histogram *sync_times;      /* the store's, as long as it is open (scale_us) */
};

struct request {
	const struct call    *call;
	const msgpack_object *args; /* call->args */
	struct view          *view;
	struct account       *account; /* NULL when the message names none, or (ACCOUNT_CREATE) it is new */
	wall_us               now;     /* service time */
	struct random_pool   *random;
	const struct shard_facts *facts;
	msgpack_zone             *zone;        /* for objects made on the way; the command's */
	uint64_t                  ledger_last; /* the account's; moved by ledger rows staged */
	bool                      prepared;    /* PASS_CREATE: the issuer has said yes */
};

struct outcome {
	struct buffer *payload; /* msgpack, one value; empty reads as nil. For an error it is ignored */
	unsigned       flags;   /* enum reply_flag */
	struct span field; /* of an error, when one argument is to blame; lives in the request or is static */
	const char *message;     /* of an error, static; NULL: the error's own */
	unsigned    image_count; /* with ERR_PARKED: what the issuer has to fetch */

	struct recipe recipe; /* of a WRITE over HTTP whose answer has a body: what that is made of */

	/* SCAN only: sends what is in `payload` as one part and empties it. */
	void (*part)(void *user, struct buffer *payload);
	void *part_user;
};

typedef enum err (*handler_fn)(struct request *request, struct outcome *outcome);

/* The handler of a shard's message; never NULL for one. */
handler_fn handler_of(enum message message);

/* All handlers, by the message table. */
#define SHARD_HANDLER(name) enum err on_##name(struct request *request, struct outcome *outcome);
#define SUPERVISOR_HANDLER(name)
#define TIMER_HANDLER(name)
#define M(name, receiver, effect, senders, suspended) receiver##_HANDLER(name)
#include "schemas/messages.def"
#undef M

/* Fails naming the argument that is to blame. */
static inline enum err blame(struct outcome *outcome, enum err err, struct span field)
{
	outcome->field = field;
	return err;
}

/* The template that `arg` (a template id, or nil: the account's oldest) names. An id carries its account, so
 * another account's differs from one that does not exist.
 * Errors: ERR_PASS_TEMPLATE_NOT_FOUND, ERR_UNAUTHORIZED (another account's). */
must_check enum err choose_template(const struct request *request, const msgpack_object *arg,
                                    uint32_t *number);

static inline void pack_switch(msgpack_packer *packer, const char *key, bool on)
{
	pack_text(packer, key);
	if (on)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}
