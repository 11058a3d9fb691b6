#pragma once
#include "actors/rt/random.h"
#include "actors/rt/token.h"
#include "actors/shard/account/cache.h"
#include "actors/shard/members.h"
#include "actors/shard/rule/skips.h"
#include "schemas/address.h"
#include "schemas/attempt.h"
#include "schemas/cause.h"
#include "schemas/fields.h"
#include "schemas/frame.h"
#include "schemas/histogram.h"
#include "store/idempotency.h"
#include "store/store.h"

#include <stdatomic.h>

/* How a command is decided: a handler gets a request, reads its view, stages writes there and fills the outcome.
 * It never sends, sleeps, logs or reads a clock. When it returns an error its writes are dropped. Range limits
 * of integer arguments have been checked before; finer rules are the handler's. One file a command. */

/* What has become of attempts at deliveries since the start. */
struct delivery_counters {
	atomic_uint_fast64_t
	    attempts[ATTEMPT_ERRORS + 1]; /* NONE: a success; the last: another status than 2xx */
	struct histogram first_attempt;   /* from the fact to the first attempt (scale_us) */
};

/* What has become of passes with images since the start. */
struct issuance_counters {
	atomic_uint_fast64_t issued, failed;
	struct histogram     times; /* from the creation to either (scale_us) */
};

/* What the process is, and counters that any thread may read. */
struct shard_facts {
	uint32_t             index, shards;
	uint64_t             epoch;
	const char          *public_url;
	struct token_keys    tokens;                        /* make download links */
	uint8_t              webhook_key[SECRET_KEY_BYTES]; /* seals the secrets of subscriptions */
	uint8_t              erased_key[SECRET_KEY_BYTES];  /* hashes the ids of erased passes */
	uint32_t             idempotency_keys;              /* kept per account */
	struct address_rules url_rules; /* the operator's exceptions to what a URL may name */

	struct snapshotter *snapshotter; /* the store's, as long as it is open */

	enum clean_mark tables_found; /* as they were at the start */
	bool            tables_rebuilt;

	atomic_bool          issuer_paused, issuer_up;
	atomic_int           room; /* enum disk_level */
	atomic_uint_fast64_t commands, batches, syncs, commits, journal_seq, sessions;

	bool                     test_clock;    /* may service time be set? */
	bool                     no_deliveries; /* no endpoint is called: images wait */
	atomic_int_fast64_t      clock_offset;  /* microseconds that service time is ahead */
	struct delivery_counters deliveries;
	struct issuance_counters issuances;
	struct rule_skips        rule_skips;
	atomic_uint_fast64_t     issuing; /* passes being issued */

	struct histogram        record_commands; /* decided while a record was open (scale_items) */
	const struct histogram *sync_times;      /* the store's, as long as it is open (scale_us) */
};

/* An action of a rule that could not be done. `reason` is static. */
struct rule_skip {
	struct uuid rule;
	unsigned    action; /* which of the rule's, from 0 */
	const char *reason;
};

struct delivery_queue;
struct due_queue;
struct pass_id_cache;
struct cleaning;
struct list_cache;

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
	bool                      can_issue;   /* the issuer is there, and not paused */
	bool                      of_import;   /* its idempotency is of a slot, its pass is not shown */
	struct uuid               drawn;       /* the last id that was drawn */
	struct rule_skip         *skips;       /* noted on the way, RULE_ACTIONS_MAX at most */
	unsigned                  skip_count;

	/* What is the writer's alone. */
	mono_us                   mono; /* of this turn */
	struct account_cache     *accounts;
	struct pass_id_cache     *pass_ids;
	struct delivery_queue    *deliveries;
	struct due_queue         *notices;
	struct delivery_counters *counters;
	struct cleaning          *cleaning;

	/* What is the readers' alone. */
	struct list_cache *kept; /* what they keep between lists; NULL: nothing */
	const struct lent *lent;
};

struct outcome {
	struct buffer *payload; /* msgpack, one value; empty reads as nil. For an error it is ignored */
	unsigned       flags;   /* enum reply_flag */
	struct span field; /* of an error, when one argument is to blame; lives in the request or is static */
	const char *message; /* of an error, static or in `text`; NULL: the error's own */
	char       *text;    /* room for a sentence, REASON_TEXT; NULL: nobody hears it */
	bool        began;   /* what was asked for goes on: `recipe` names the pass */

	struct recipe recipe; /* of a WRITE over HTTP whose answer has a body: what that is made of */

	/* SCAN only: sends what is in `payload` as one part and empties it. Errors: ERR_OVERLOADED (its peer takes nothing). */
	enum err (*part)(void *user, struct buffer *payload);
	void *part_user;
};

typedef enum err (*handler_fn)(struct request *request, struct outcome *outcome);

/* The handler of a shard's message; never NULL for one. */
handler_fn handler_of(enum message message);

/* Lets the handler of the request's message run. Where it finds that something is not there and gives no sentence, the
 * first argument that names such a thing is told. Errors: the handler's. */
enum err handle_request(struct request *request, struct outcome *outcome);

/* All handlers, by the message table. */
#define SHARD_HANDLER(name) enum err on_##name(struct request *request, struct outcome *outcome);
#define SUPERVISOR_HANDLER(name)
#define TIMER_HANDLER(name)
#define OP(op, receiver) receiver##_HANDLER(op)
#include "schemas/names.def"
#undef OP

/* A new id, of the request's time: those of one command are in the order of making, and so are those of one command after
 * the other, but for those of one microsecond. */
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

/* Fails naming the argument that is to blame. */
static inline enum err blame(struct outcome *outcome, enum err err, struct span field)
{
	outcome->field = field;
	return err;
}

/* Fails with the cause's error and its sentence; blames the field, if the reason has one. */
enum err refuse(struct outcome *outcome, const struct reason *reason);

/* The same, of the member `reason->field` of an argument that is an object: "object.member". Errors: ERR_NO_MEMORY in place
 * of the cause's. */
enum err refuse_member(struct request *request, struct outcome *outcome, const char *object,
                       struct reason reason);

/* Fails because there is nothing with such an id, which its sentence repeats. */
enum err refuse_missing(struct outcome *outcome, enum cause cause, struct span id);

/* Fails with `err`, naming what is to blame. If it is the cause's: because there is nothing with such an id. `field` is
 * static. */
enum err blame_id(struct outcome *outcome, enum err err, const char *field, enum cause cause, struct span id);

/* The template that `arg` (a template id, or nil: the account's oldest) names. An id carries its account, so
 * another account's differs from one that does not exist. May be a range read.
 * Errors: ERR_PASS_TEMPLATE_NOT_FOUND (deleted ones too), ERR_UNAUTHORIZED (another account's), as view.h. */
must_check enum err choose_template(const struct request *request, const msgpack_object *arg,
                                    uint32_t *number);
