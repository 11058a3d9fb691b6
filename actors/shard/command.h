#pragma once
#include "actors/rt/random.h"
#include "actors/rt/token.h"
#include "actors/shard/account/cache.h"
#include "actors/shard/members.h"
#include "actors/shard/rule/skips.h"
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/cause.h"
#include "schemas/delivery.h"
#include "schemas/fields.h"
#include "schemas/frame.h"
#include "schemas/histogram.h"
#include "schemas/wallet/push.h"
#include "schemas/wallet/serial.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/store.h"
#include "store/wallet_due.h"

#include <stdatomic.h>

/* How a command is decided: a handler gets a request, reads its view, stages writes there and fills the outcome. It never
 * sends, sleeps, logs or reads a clock. If it returns an error, its writes are dropped. Ranges of integer arguments are
 * checked before; the handler checks finer rules. One file a command. */

/* Results of delivery attempts since the start. */
struct delivery_counters {
	/* NONE: a success; the last: a status other than 2xx. */
	atomic_uint_fast64_t attempts[ATTEMPT_ERRORS + 1];
	atomic_uint_fast64_t ended[DELIVERY_OUTCOMES]; /* deliveries, by outcome */
	struct histogram     first_attempt;            /* from the event to the first attempt (scale_us) */
};

/* Where the reduction of an account's images for wallets was last, by the account's slot. */
enum { SHAPE_PLACES = 256 };
struct shape_place {
	struct account_id account;
	uint8_t           hash[IMAGE_HASH_BYTES];
};

/* Results of creations with images since the start. */
struct issuance_counters {
	atomic_uint_fast64_t issued, failed;
	struct histogram     times; /* from the creation to its end (scale_us) */
};

/* Results of pushes to phones since the start, and what phones wrote. */
enum { PUSH_GONE_COUNT = PUSH_FATES, PUSH_COUNTS };
struct push_counters {
	atomic_uint_fast64_t
	                 fates[PUSH_COUNTS]; /* passes by enum push_fate; the last: phones that were gone */
	struct histogram delay;              /* from the change to the report (scale_us) */
	atomic_uint_fast64_t lines;          /* for `wallet log` */
};

/* Facts about the process, and counters that any thread may read. */
struct shard_facts {
	uint32_t             index, shards;
	uint64_t             lineage; /* says which the data directory's is, without showing it */
	uint64_t             epoch;
	const char          *public_url;
	struct token_keys    tokens;                        /* make download links */
	struct serial_keys   serials;                       /* make the names of passes in wallets */
	uint8_t              webhook_key[SECRET_KEY_BYTES]; /* encrypts the secrets of subscriptions */
	uint8_t              erased_key[SECRET_KEY_BYTES];  /* hashes the ids of erased passes */
	uint8_t              wallet_key[SECRET_KEY_BYTES];  /* encrypts the keys of credentials for wallets */
	uint32_t             idempotency_keys;              /* kept per account */
	struct address_rules url_rules;                     /* the operator's exceptions for URLs */

	struct snapshotter *snapshotter; /* the store's, while it is open */
	struct wallet_ends *wallet_ends; /* the engine's; NULL: none, in tests */

	enum clean_mark tables_found; /* at the start */
	bool            tables_rebuilt;

	atomic_bool issuer_paused, issuer_up;
	struct {
		atomic_uint_fast64_t count;
		atomic_int_fast64_t
		    oldest; /* service time since when the oldest is due; INT64_MAX: none is */
	} wallet_due[WALLET_DUE_KINDS_END]; /* the rows of each kind */
	atomic_uint wallets; /* WALLET_BIT(kind): kinds for which this server ever had a credential */
	atomic_int  room;    /* enum disk_level */
	atomic_uint_fast64_t commands, batches, syncs, commits, journal_seq, sessions;
	atomic_uint_fast64_t memory_bytes, evictions; /* of passes in memory: as in store_counters() */
	uint64_t             memory_bound;

	bool                test_clock;       /* may service time be set? */
	uint32_t            wallet_bulk_rate; /* --wallet-bulk-rate */
	bool                no_deliveries;    /* no endpoint is called: images wait */
	atomic_int_fast64_t clock_offset;     /* microseconds that service time is ahead */
	atomic_int_fast64_t
	    clock_gap; /* microseconds between the wall clock and service time, without that */
	struct delivery_counters deliveries;
	struct issuance_counters issuances;
	struct push_counters     pushes;
	struct rule_skips        rule_skips;
	atomic_uint_fast64_t     issuing; /* passes being issued */

	struct histogram        record_commands; /* commands in each record (scale_items) */
	const struct histogram *sync_times;      /* the store's, while it is open (scale_us) */
	const struct histogram *sign_times; /* of packages for wallets, while the signer is open (scale_us) */
};

/* A rule's action that could not be done. `reason` is static. */
struct rule_skip {
	struct uuid rule;
	unsigned    action; /* index in the rule, from 0 */
	const char *reason;
};

struct delivery_queue;
struct due_queue;
struct cleaning;
struct list_cache;
struct signer;
struct phone_logs;
struct work_queue;

struct request {
	const struct call        *call;
	const msgpack_object     *args; /* call->args */
	struct view              *view;
	struct account           *account; /* NULL: the message names none, or (ACCOUNT_CREATE) it is new */
	wall_us                   now;     /* service time */
	struct random_pool       *random;
	const struct shard_facts *facts;
	msgpack_zone             *zone;      /* for temporary objects of the command */
	struct account_ends       ends;      /* the account's; advanced by staged rows */
	bool                      can_issue; /* the issuer is up and not paused */
	bool                      of_import; /* its idempotency key is a slot, and its pass is not shown */
	struct uuid               drawn;     /* the last id that was drawn */
	struct rule_skip         *skips;     /* skipped so far, RULE_ACTIONS_MAX at most */
	unsigned                  skip_count;

	mono_us mono; /* of this turn, or of this job */

	/* For the writer only. */
	struct account_cache     *accounts;
	struct delivery_queue    *deliveries;
	struct due_queue         *notices;
	struct delivery_counters *counters;
	struct shape_place       *shape_places; /* SHAPE_PLACES */
	struct cleaning          *cleaning;
	struct phone_logs       **phone_logs;
	struct work_queue        *work; /* on passes in wallets */
	struct push_counters     *pushes;
	uint32_t list_rows_max; /* of a list that the writer tries; beyond it, ERR_PARKED. 0: any number */

	/* For readers only. */
	struct list_cache *kept; /* the list cache; NULL: none */
	const struct lent *lent;
	struct signer     *signer; /* NULL: not on the signer's thread */
	wall_us            wall;   /* by the host's clock, for signatures */
};

struct outcome {
	struct buffer *payload; /* msgpack, one value; empty is read as nil; ignored for an error */
	unsigned       flags;   /* enum reply_flag */
	struct span    field;   /* of an error in one argument; lives in the request or is static */
	const char    *message; /* of an error, static or in `text`; NULL: the error's own */
	char          *text;    /* room for a sentence, REASON_TEXT; NULL: not wanted */
	unsigned       pushed;  /* of the shard's own commands: passes whose phones are to be pushed to */
	bool           began;   /* the operation continues after the answer: `recipe` names the pass */

	struct recipe recipe; /* for a WRITE over HTTP whose answer has a body: how to build that again */

	/* SCAN only: sends `payload` as one part and empties it. Errors: ERR_OVERLOADED (its peer does not
	 * receive). */
	enum err (*part)(void *user, struct buffer *payload);
	void *part_user;
};

typedef enum err (*handler_fn)(struct request *request, struct outcome *outcome);

/* The handler of a shard's message; never NULL. */
handler_fn handler_of(enum message message);

/* Runs the handler of the request's message. If it returns that something does not exist, without a sentence, the first
 * argument that names such a thing is reported. Errors: the handler's. */
enum err handle_request(struct request *request, struct outcome *outcome);

/* All handlers, by the message table. */
#define SHARD_HANDLER(name) enum err on_##name(struct request *request, struct outcome *outcome);
#define SUPERVISOR_HANDLER(name)
#define TIMER_HANDLER(name)
#define OP(op, receiver) receiver##_HANDLER(op)
#include "schemas/names.def"
#undef OP

/* A new id with the request's time. Ids of one command are in order of creation. So are ids of successive commands, except
 * within a microsecond. */
static inline struct uuid uuid_draw(struct request *request)
{
	uint8_t     random[10];
	struct uuid id = {.b = {0}};
	random_take(request->random, random, sizeof random);
	id = uuid_v7(request->now, random);
	if (memcmp(id.b, request->drawn.b, sizeof id.b) <= 0) {
		id = request->drawn;
		for (size_t i = sizeof id.b; i-- > 0 && ++id.b[i] == 0;)
			;
	}
	return request->drawn = id;
}

/* Fails with `err`, naming the argument at fault. */
static inline enum err blame(struct outcome *outcome, enum err err, struct span field)
{
	outcome->field = field;
	return err;
}

/* Fails with the cause's error and sentence; names the field, if the reason has one. */
enum err refuse(struct outcome *outcome, const struct reason *reason);

/* The same for member `reason->field` of an object argument: "object.member". Errors: also ERR_NO_MEMORY. */
enum err refuse_member(struct request *request, struct outcome *outcome, const char *object,
                       struct reason reason);

/* Fails because no such thing has this id, which the sentence repeats. */
enum err refuse_missing(struct outcome *outcome, enum cause cause, struct span id);

/* Fails with `err`, naming the field, which is static. If `err` is the cause's: because no such thing has this id. */
enum err blame_id(struct outcome *outcome, enum err err, const char *field, enum cause cause, struct span id);

/* The template that `arg` names (a template id, or nil: the account's oldest). An id contains its account, so another
 * account's template differs from a missing one. May be a range read. Errors: ERR_PASS_TEMPLATE_NOT_FOUND (deleted ones too),
 * ERR_UNAUTHORIZED (another account's), as view.h. */
must_check enum err choose_template(const struct request *request, const msgpack_object *arg,
                                    uint32_t *number);
