/* Decides one call: admission, deadline, handler, then all of its writes or none. The interface fixes the order of refusals:
 * key, suspension, rate, function. Only then come faults of the request itself and a full disk. */
#include "actors/shard/engine/engine.h"

#include "actors/rt/log.h"
#include "actors/shard/engine/idempotency.h"
#include "schemas/api/system.h"
#include "schemas/api/wallet.h"
#include "schemas/json.h"

enum { LIST_ROWS_TRIED = 8 }; /* passes of a phone that the writer lists itself */

/* Is this command executed once, even if it is sent several times? */
static bool happens_once(const struct session *session, const struct call *call)
{
	if (!call->idempotency || message_row(call->message)->effect != EFFECT_WRITE) return false;
	/* The responses of other commands have no recipe. */
	return session->role == ROLE_HTTP || (session->role == ROLE_CLI && call->message == MSG_PASS_CREATE);
}

static enum err check_disk(const struct engine *engine, const struct call *call)
{
	const struct message_row *row = message_row(call->message);
	enum disk_level           needed = row->effect != EFFECT_WRITE ? DISK_FOR_NOTHING
	                                   : row->works_full           ? DISK_TO_FINISH
	                                                               : DISK_FOR_ALL;
	return store_room(engine->store) > needed ? ERR_STORAGE_FULL : OK;
}

/* May this session send this call now? */
static enum err admit(const struct engine *engine, const struct session *session, const struct call *call)
{
	const struct message_row *row = message_row(call->message);
	if (row->receiver != ROLE_SHARD || !(row->senders & 1u << session->role)) return ERR_MALFORMED;
	if (session->role == ROLE_SHARD)
		return ERR_MALFORMED; /* a shard's own commands never arrive in a message */
	if (call->deadline.v <= engine->now.v) return ERR_OVERLOADED;
	if (call->has_account &&
	    slot_shard(account_slot(call->account), engine->facts.shards) != engine->facts.index)
		return ERR_NOT_MINE;
	return OK;
}

/* Is the function of the message on for this account? For AUTH, the message that it stands for counts. */
static enum err check_function(const struct request *request)
{
	const struct call        *call = request->call;
	const struct account_row *has = &request->account->row;
	int64_t                   message = call->message;
	if (message == MSG_AUTH) message = arg_integer(&call->args[ARG_AUTH_stands_for], message);
	if (message < 0 || message >= MSG_COUNT) return OK; /* check_range() refuses it later */
	switch (message_row((unsigned)message)->function) {
	case FUNCTION_WEBHOOKS: return has->webhooks ? OK : ERR_FEATURE_DISABLED;
	case FUNCTION_REWARDS: return has->rewards ? OK : ERR_REWARDS_DISABLED;
	default: return OK;
	}
}

/* Does the account have the call's key? Stores the key's id for sessions that want it. */
static enum err check_key(const struct session *session, const struct account *account, struct call *call)
{
	const struct uuid *key = call->has_key_hash ? account_key(account, call->key_hash) : NULL;
	if (!key) return ERR_UNAUTHENTICATED;
	call->has_key_id = session->wants & WANTS_KEY_IDS;
	call->key_id = *key;
	return OK;
}

static enum err refuse_account(struct outcome *outcome, struct account_id account)
{
	char id[ACCOUNT_ID_TEXT];
	account_id_text(account, id);
	return refuse(outcome, REASON(ACCOUNT_UNKNOWN, "account_id", .given = span_str(id)));
}

/* Suspension applies to clients. The operator can still read everything of the account. */
static bool is_suspended_for(const struct session *session, const struct account *account,
                             const struct message_row *row)
{
	bool reads_as_operator = session->role == ROLE_CLI && row->effect != EFFECT_WRITE;
	return account->row.suspended && !row->works_suspended && !reads_as_operator;
}

/* Loads the account of the call and checks key, suspension, rate and function. */
static enum err enter(struct engine *engine, const struct session *session, struct call *call,
                      struct request *request, struct outcome *outcome)
{
	const struct message_row *row = message_row(call->message);
	bool                      by_key = session->role == ROLE_HTTP && !(row->senders & SENDERS_KEYLESS);
	if (!call->has_account && by_key) return ERR_UNAUTHENTICATED;
	if (!call->has_account) return row->about == ABOUT_NOBODY ? OK : ERR_MALFORMED;
	enum err err = account_cached(&engine->accounts, request->view, call->account, &request->account);
	if (err == ERR_NOT_FOUND) {
		if (call->message == MSG_ACCOUNT_CREATE) return OK;
		return by_key ? ERR_UNAUTHENTICATED : refuse_account(outcome, call->account);
	}
	if (err) return err;
	if (by_key && (err = check_key(session, request->account, call))) return err;
	if (is_suspended_for(session, request->account, row)) return ERR_ACCOUNT_SUSPENDED;
	/* Every request counts once, even a faulty one: AUTH stands for a request that the HTTP process refuses. */
	if (by_key && (err = rates_admit(&engine->rates, call->account, request->account->row.rate_limit,
	                                 engine->service_now)))
		return err;
	return check_function(request);
}

/* Checks a number, or the size of a text, against the range of its field. Our senders check too, but a peer is not trusted. */
static enum err check_range(const struct field *field, const msgpack_object *arg, struct outcome *outcome)
{
	bool    is_number = field->type == TYPE_INTEGER;
	bool    is_bounded = is_number || (field->type != TYPE_BOOLEAN && field->max > 0);
	int64_t value = is_number ? arg_integer(arg, 0) : (int64_t)arg_span(arg).size;
	if (!is_bounded || (value >= field->min && value <= field->max)) return OK;
	struct reason reason = {.cause = is_number            ? CAUSE_OUT_OF_RANGE
	                                 : value < field->min ? CAUSE_EMPTY
	                                                      : CAUSE_TOO_LONG,
	                        .field = span_str(field->name),
	                        .least = field->min,
	                        .most = field->max,
	                        .wanted = "bytes"};
	return refuse(outcome, &reason);
}

/* An operator may type any bytes. Invalid UTF-8 can neither be shown nor case-folded. */
static enum err check_text(const struct field *field, const msgpack_object *arg, struct outcome *outcome)
{
	bool good = field->type != TYPE_STRING || utf8_is_valid(arg_span(arg));
	for (uint32_t k = 0; field->type == TYPE_STRINGS && k < arg->via.array.size; k++)
		good = good && utf8_is_valid(arg_span(&arg->via.array.ptr[k]));
	return good ? OK : refuse(outcome, REASON(WANTED, field->name, .wanted = "UTF-8 text"));
}

/* call_open() has checked the types. Texts from HTTP were checked when they were parsed. Calls about the whole shard contain
 * file names, which may be any bytes. */
static enum err check_arguments(const struct session *session, const struct call *call,
                                struct outcome *outcome)
{
	unsigned            count;
	const struct field *fields = message_fields(call->message, &count);
	bool is_typed = session->role == ROLE_CLI && message_row(call->message)->about != ABOUT_NOBODY;
	for (unsigned i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		if (!arg_present(&call->args[i])) continue;
		enum err err = check_range(field, &call->args[i], outcome);
		if (!err && is_typed && field->source == FROM_SELF)
			err = check_text(field, &call->args[i], outcome);
		if (err) return err;
	}
	return OK;
}

/* Faults of this process, not answers: the store is no longer reliable. */
static bool is_fatal(enum err err)
{
	return err == ERR_IO || err == ERR_NO_MEMORY;
}

void engine_set_clock(struct engine *engine, int64_t offset)
{
	engine->clock.offset_us = offset;
	atomic_store(&engine->facts.clock_offset, offset);
}

/* Copies settings that are also kept in memory. */
static void note_settings(struct engine *engine, const struct request *request)
{
	const msgpack_object *args = request->args;
	if (request->call->message == MSG_ISSUER_SET)
		atomic_store(&engine->facts.issuer_paused, arg_boolean(&args[ARG_ISSUER_SET_paused], false));
	if (request->call->message == MSG_WALLET_MARK)
		atomic_fetch_or(&engine->facts.wallets,
		                (unsigned)arg_integer(&args[ARG_WALLET_MARK_kinds], 0));
	if (request->call->message == MSG_CLOCK_SET) {
		int64_t before = engine->clock.offset_us;
		engine_set_clock(engine, arg_integer(&args[ARG_CLOCK_SET_offset], 0));
		engine->service_now.v += engine->clock.offset_us - before;
		cleaning_soon(&engine->cleaning);
	}
}

/* Logs rule actions that were skipped, once their event is saved. Per rule, the 1st, 10th, 100th, ... skip is logged. */
static void log_skips(struct engine *engine, const struct request *request)
{
	char account[ACCOUNT_ID_TEXT], rule[UUID_TEXT];
	for (unsigned i = 0; i < request->skip_count; i++) {
		const struct rule_skip *skip = &request->skips[i];
		uint64_t                count = rule_skips_add(&engine->facts.rule_skips, skip->rule);
		uint64_t                power = 1;
		/* Other rules have all counters. */
		if (!count) count = atomic_load_explicit(&engine->facts.rule_skips.all, memory_order_relaxed);
		while (power * 10 <= count)
			power *= 10;
		if (count != power) continue;
		account_id_text(request->account->id, account);
		uuid_text(skip->rule, rule);
		log_info("rule_action_skipped",
		         "account=%s rule=%s action=%u reason=%s count=%llu request_id=%.*s", account, rule,
		         skip->action, skip->reason, (unsigned long long)count,
		         (int)request->call->request_id.size, (const char *)request->call->request_id.at);
	}
}

static enum err save(struct engine *engine, struct request *request)
{
	enum err err;
	if (engine->writes.count == 0) return OK;
	if ((err = store_apply(engine->store, &engine->writes))) {
		log_fatal("save_failed", "message=%s code=%s error=\"%s\" request_id=%.*s",
		          message_row(request->call->message)->name, err_code(err), err_cause(err),
		          (int)request->call->request_id.size, (const char *)request->call->request_id.at);
		engine->save_error = err;
		return ERR_IO; /* the transaction may hold half of the writes: only recovery can undo that */
	}
	if (request->account) *account_ends(&engine->accounts, request->call->account) = request->ends;
	log_skips(engine, request);
	note_settings(engine, request);
	if (!(err = engine_observe(engine))) return OK;
	/* Other rows are damaged. This command was carried out, so it is not refused. */
	return engine_judge_error(engine, request->call, err);
}

static enum err handle(struct engine *engine, struct request *request, struct outcome *outcome)
{
	enum err err = handle_request(request, outcome);
	return !err && engine->payload.failed ? ERR_NO_MEMORY : err;
}

static enum err handle_once(struct engine *engine, struct request *request, struct outcome *outcome)
{
	struct idempotent idem;
	enum err          err = idempotent_begin(request, outcome, &idem);
	if (err || idem.replayed) return !err && engine->payload.failed ? ERR_NO_MEMORY : err;
	if ((err = check_disk(engine, request->call))) return err;
	if ((err = handle(engine, request, outcome))) return err;
	return idempotent_end(request, outcome, &idem);
}

/* Hands the call to a reader thread, unless its window has been full for too long. The call waits for a commit only if its
 * account has uncommitted writes. */
static enum err give_to_reader(struct engine *engine, const struct session *session, const struct call *call,
                               struct view *view)
{
	if (window_is_stalled(session->window, REPLY_PART_BYTES_MAX, engine->now)) return ERR_OVERLOADED;
	const struct lender lender = {&engine->accounts, view};
	bool     at_once = call->has_account && !uncommitted_has(&engine->uncommitted, call->account);
	bool     signs = message_row(call->message)->effect == EFFECT_SIGN;
	enum err err = readers_add(signs ? engine->signers : engine->readers, session, call,
	                           engine->service_now, at_once ? &lender : NULL);
	if (err == ERR_NO_MEMORY) return ERR_OVERLOADED; /* nothing was begun */
	return err ? err : ERR_PARKED;
}

/* Most phones have few passes of an account. To list these takes less than to hand the call over and the answer back. */
static enum err try_list(struct engine *engine, struct request *request, struct outcome *outcome)
{
	if (request->call->message != MSG_WALLET_LIST) return ERR_PARKED;
	request->list_rows_max = LIST_ROWS_TRIED;
	enum err err = handle(engine, request, outcome);
	if (err == ERR_PARKED) buffer_clear(&engine->payload);
	return err;
}

static enum err run(struct engine *engine, const struct session *session, struct call *call,
                    struct outcome *outcome)
{
	struct request request = {.call = call,
	                          .args = call->args,
	                          .view = store_view(engine->store, &engine->writes, &engine->arena),
	                          .now = engine->service_now,
	                          .random = &engine->random,
	                          .facts = &engine->facts,
	                          .zone = engine->zone,
	                          .can_issue = engine_can_issue(engine),
	                          .of_import = session->role == ROLE_CLI && call->idempotency,
	                          .mono = engine->now,
	                          .accounts = &engine->accounts,
	                          .deliveries = &engine->deliveries,
	                          .notices = &engine->notices,
	                          .counters = &engine->facts.deliveries,
	                          .shape_places = engine->shape_places,
	                          .cleaning = &engine->cleaning,
	                          .phone_logs = &engine->phone_logs,
	                          .work = engine->work,
	                          .pushes = &engine->facts.pushes};
	arena_reset(&engine->arena);
	engine->writes = writes_none(&engine->arena);
	buffer_clear(&engine->payload);
	enum err err = enter(engine, session, call, &request, outcome);
	if (err || (err = check_arguments(session, call, outcome))) return err;
	enum effect effect = message_row(call->message)->effect;
	if (effect == EFFECT_SIGN ||
	    (effect == EFFECT_SCAN && (err = try_list(engine, &request, outcome)) == ERR_PARKED))
		return give_to_reader(engine, session, call, request.view);
	if (effect == EFFECT_SCAN) return err;
	if (effect == EFFECT_WRITE && !session_fits(session, WINDOW_WRITE, ANSWER_RESERVED_BYTES))
		return ERR_OVERLOADED;
	if (request.account) request.ends = *account_ends(&engine->accounts, call->account);
	if (happens_once(session, call))
		err = handle_once(engine, &request, outcome); /* a replayed answer needs no disk space */
	else if (session->role == ROLE_SHARD || !(err = check_disk(engine, call)))
		err = handle(engine, &request, outcome);
	return err ? err : save(engine, &request);
}

enum err engine_judge_error(const struct engine *engine, const struct call *call, enum err err)
{
	if (is_fatal(err)) return err;
	if (err != ERR_DAMAGED) return OK;
	log_fatal("damaged_row", "message=%s request_id=%.*s", message_row(call->message)->name,
	          (int)call->request_id.size, (const char *)call->request_id.at);
	return engine->now.v >= engine->mend_again_at.v ? err : OK;
}

/* Counts the command and decides whether its error ends the process. */
static enum err end_command(struct engine *engine, const struct call *call, enum err err)
{
	if (call->message != MSG_CLEAN) { /* sent by the shard itself, and mostly without effect */
		engine->open_commands++;
		engine->open_writes += message_row(call->message)->effect == EFFECT_WRITE;
		atomic_fetch_add_explicit(&engine->facts.commands, 1, memory_order_relaxed);
	}
	return engine_judge_error(engine, call, err);
}

/* The caller has given up, or is about to: logs what became of the call. */
static void log_late(const struct call *call, mono_us now)
{
	log_info("call_late", "message=%s late_us=%lld request_id=%.*s", message_row(call->message)->name,
	         (long long)mono_since(now, call->deadline).v, (int)call->request_id.size,
	         (const char *)call->request_id.at);
}

enum err engine_decide_call(struct engine *engine, const struct session *session, struct call *call,
                            struct outcome *outcome, enum err *answer)
{
	enum err err = admit(engine, session, call);
	if (err == ERR_OVERLOADED && call->request_id.size) log_late(call, engine->now);
	if (!err) err = run(engine, session, call, outcome);
	/* A write has reserved room for its answer. */
	if (!err && message_row(call->message)->effect != EFFECT_WRITE &&
	    !session_fits(session, WINDOW_READ, outcome->payload->size))
		err = ERR_OVERLOADED;
	*answer = err;
	return end_command(engine, call, err);
}

enum err engine_decide_own(struct engine *engine, const struct call *call, struct outcome *outcome,
                           enum err *answer)
{
	static const struct session self = {.role = ROLE_SHARD};
	struct call                 own = *call;
	*answer = run(engine, &self, &own, outcome);
	return end_command(engine, call, *answer);
}
