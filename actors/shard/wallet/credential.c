/* Credentials are put, shown and removed. The files are judged here, not where they were read; their keys are sealed before anything
 * is staged, and no answer has them.
 *
 * A put with `judge` only judges: the command line asks for that before it marks all shards, so that a refusal changes
 * nothing. Of the operator's default each shard keeps a copy, and a later shard gets the generation of the first: a put that
 * failed on one of them ends with equal generations when it is repeated. */
#include "actors/shard/wallet/google_class.h"
#include "actors/shard/wallet/touch.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/object_msgpack.h"
#include "schemas/wallet/credential.h"
#include "store/image_shape.h"

/* Whose credentials the call is about. */
static struct account_id owner_of(const struct request *request)
{
	return request->account ? request->account->id : wallet_operator;
}

/* Showing -------------------------------------------------------------------------------------------------- */

static const char *state_of(const struct wallet_credential *row, wall_us now)
{
	if (wallet_credential_ended(row, now)) return "expired";
	return wallet_credential_rests(row, now) ? "resting" : "ok";
}

static void pack_warnings(const struct wallet_credential *row, msgpack_packer *pk)
{
	unsigned count = (unsigned)__builtin_popcount(row->warnings & ((1u << WALLET_WARNINGS) - 1));
	msgpack_pack_array(pk, count);
	for (unsigned i = 0; i < WALLET_WARNINGS; i++)
		if (row->warnings >> i & 1)
			pack_text(pk, wallet_warning_text((enum wallet_warning)(1u << i)));
}

void wallet_credential_pack(const struct wallet_credential *row, wall_us now, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	bool   is_apple = row->kind == WALLET_APPLE;
	if (is_apple) {
		MEMBER_ALWAYS(pass_type_id, STRING, row->name);
		MEMBER_ALWAYS(team_id, STRING, row->owner);
		MEMBER_ALWAYS(not_before, TIME, row->not_before);
		MEMBER_ALWAYS(not_after, TIME, row->not_after);
		MEMBER_ALWAYS(wwdr_not_after, TIME, row->issuer_not_after);
	} else {
		MEMBER_ALWAYS(issuer_id, STRING, row->name);
		MEMBER_ALWAYS(client_email, STRING, row->owner);
	}
	MEMBER_ALWAYS(generation, INTEGER, row->generation);
	MEMBER_ALWAYS(state, STRING, state_of(row, now));
	MEMBER_NULLABLE(last_error, STRING, row->last_error.size, row->last_error);
	if (!is_apple) return;
	map_key(pk, map, "warnings");
	pack_warnings(row, pk);
}

static enum err refuse_unknown(const struct request *request, struct outcome *outcome, int64_t kind)
{
	char          owner[ACCOUNT_ID_TEXT];
	struct reason reason = {.cause = kind == WALLET_APPLE ? CAUSE_APPLE_UNKNOWN : CAUSE_GOOGLE_UNKNOWN,
	                        .given = span_str("--default")};
	if (request->account) {
		account_id_text(request->account->id, owner);
		reason.given = span_str(owner);
	}
	return refuse(outcome, &reason);
}

/* wallet apple show, wallet google show */
enum err on_WALLET_CREDENTIAL_SHOW(struct request *request, struct outcome *outcome)
{
	struct wallet_credential row;
	msgpack_packer           pk = buffer_packer(outcome->payload);
	int64_t  kind = arg_integer(&request->args[ARG_WALLET_CREDENTIAL_SHOW_kind], WALLET_APPLE);
	enum err err = wallet_current_get(request->view, owner_of(request), (enum wallet_kind)kind, &row);
	if (err == ERR_NOT_FOUND) return refuse_unknown(request, outcome, kind);
	if (!err) wallet_credential_pack(&row, request->now, &pk);
	return err;
}

/* Putting -------------------------------------------------------------------------------------------------- */

/* Is there room for one more? A range read. */
static enum err check_count(struct request *request, struct outcome *outcome,
                            const struct wallet_credential *row)
{
	struct wallet_credential other = {.kind = row->kind};
	struct buffer            room = {0};
	unsigned                 count = 0;
	enum err                 err;
	while (!(err = wallet_credential_next(request->view, row->account, &room, &other)) &&
	       other.kind == row->kind)
		count++;
	buffer_free(&room);
	if (err && err != ERR_NOT_FOUND) return err;
	if (count < WALLET_CREDENTIALS_MAX) return OK;
	return refuse(outcome, REASON_OF_ALL(CREDENTIALS_FULL, .most = WALLET_CREDENTIALS_MAX));
}

/* Sets the row's generation: the next one of this name, or the first of a new name. */
static enum err begin_generation(struct request *request, struct outcome *outcome, int64_t least,
                                 struct wallet_credential *row)
{
	struct wallet_credential before;
	enum err err = wallet_credential_get(request->view, row->account, row->kind, row->number, &before);
	row->generation = 1;
	if (err == ERR_NOT_FOUND) {
		err = check_count(request, outcome, row);
	} else if (!err) {
		if (!span_equal(before.name, row->name)) return ERR_RESOURCE_CONFLICT; /* a hash of both */
		row->generation = before.generation + 1;
	}
	if (row->generation < least) row->generation = (uint32_t)least;
	return err;
}

static enum err seal_keys(struct request *request, const struct wallet_keys *keys,
                          struct wallet_credential *row, struct buffer *sealed)
{
	uint8_t                  nonce[SECRET_NONCE_BYTES];
	const struct wallet_seal whose = {row->account, row->kind, row->number, row->generation};
	random_take(request->random, nonce, sizeof nonce);
	enum err err = wallet_seal(request->facts->wallet_key, nonce, &whose, keys, sealed);
	row->sealed = buffer_span(sealed);
	return err;
}

/* Before an Apple credential is put: have phones of the account perhaps asked for passes while nothing served them? So it is if the
 * credential of that name has ended; if there is none of that name, if no other one serves the account. Of the operator's default it
 * is not known whose phones asked. */
static enum err is_unserved(struct request *request, uint64_t number, bool *unserved)
{
	struct wallet_credential now;
	*unserved = false;
	if (!request->account) return OK;
	enum err err = wallet_credential_of(request->view, request->account->id, WALLET_APPLE, number, &now);
	if (err == ERR_NOT_FOUND)
		err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE, &now);
	*unserved = err == ERR_NOT_FOUND || (!err && wallet_credential_ended(&now, request->now));
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Images that were fetched before have no shapes. */
static enum err begin_apple(struct request *request, bool was_unserved)
{
	enum err err = shapes_want_all(request->view, owner_of(request));
	if (err || !was_unserved) return err;
	return wallet_touch_passes(request, WALLET_EVERY_PHONE, request->now);
}

/* How it is put. */
struct how {
	bool    only_judge;
	int64_t generation; /* at least; 0: any */
};

static enum err put(struct request *request, struct outcome *outcome, enum wallet_kind kind,
                    const struct wallet_credential_read *read, struct how how)
{
	msgpack_packer           pk = buffer_packer(outcome->payload);
	struct buffer            sealed = {0};
	struct wallet_credential row = {
	    .account = owner_of(request),
	    .kind = kind,
	    .number = wallet_number(read->name),
	    .warnings = (uint8_t)read->warnings,
	    .put = request->now,
	    .not_before = read->not_before,
	    .not_after = read->not_after,
	    .issuer_not_after = read->issuer_not_after,
	    .name = read->name,
	    .owner = read->owner,
	    .key_id = read->key_id,
	    .certificate = read->certificate,
	    .issuer = read->issuer,
	    .token_uri = read->token_uri,
	};
	bool     was_unserved = false;
	enum err err = begin_generation(request, outcome, how.generation, &row);
	if (!err && kind == WALLET_APPLE) err = is_unserved(request, row.number, &was_unserved);
	if (!err && !how.only_judge) err = seal_keys(request, &read->keys, &row, &sealed);
	if (!err && !how.only_judge) err = wallet_credential_put(request->view, &row);
	if (!err && !how.only_judge)
		err = wallet_current_put(request->view, row.account, row.kind, row.number);
	if (!err && !how.only_judge && kind == WALLET_APPLE) err = begin_apple(request, was_unserved);
	if (!err) wallet_credential_pack(&row, request->now, &pk);
	buffer_free(&sealed);
	return err;
}

/* wallet apple put */
enum err on_WALLET_APPLE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object         *args = request->args;
	struct wallet_credential_read read;
	struct reason                 reason;
	const struct apple_files      files = {
	         .certificate = arg_span(&args[ARG_WALLET_APPLE_PUT_cert]),
	         .key = arg_span(&args[ARG_WALLET_APPLE_PUT_key]),
	         .wwdr = arg_span(&args[ARG_WALLET_APPLE_PUT_wwdr]),
	         .p8 = arg_span(&args[ARG_WALLET_APPLE_PUT_p8]),
	         .p8_id = arg_span(&args[ARG_WALLET_APPLE_PUT_p8_id]),
        };
	const struct how how = {arg_boolean(&args[ARG_WALLET_APPLE_PUT_judge], false),
	                        arg_integer(&args[ARG_WALLET_APPLE_PUT_generation], 0)};
	enum err err = apple_credential_read(&files, request->now, view_arena(request->view), &read, &reason);
	if (err && reason.cause) err = refuse(outcome, &reason);
	if (!err) err = put(request, outcome, WALLET_APPLE, &read, how);
	wallet_read_forget(&read);
	return err;
}

/* wallet google put */
enum err on_WALLET_GOOGLE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object         *args = request->args;
	struct wallet_credential_read read;
	struct reason                 reason;
	const struct google_files     files = {arg_span(&args[ARG_WALLET_GOOGLE_PUT_service_account]),
	                                       arg_span(&args[ARG_WALLET_GOOGLE_PUT_issuer])};
	const struct how              how = {arg_boolean(&args[ARG_WALLET_GOOGLE_PUT_judge], false),
	                                     arg_integer(&args[ARG_WALLET_GOOGLE_PUT_generation], 0)};
	enum err err = google_credential_read(&files, view_arena(request->view), &read, &reason);
	if (err && reason.cause) err = refuse(outcome, &reason);
	struct account_id first;
	if (!err) err = google_classes_first(request, &first);
	if (!err) err = put(request, outcome, WALLET_GOOGLE, &read, how);
	if (!err && !how.only_judge) err = google_classes_due_from(request, first);
	wallet_read_forget(&read);
	return err;
}

/* wallet apple remove, wallet google remove: all of the kind, in every generation. */
enum err on_WALLET_CREDENTIAL_REMOVE(struct request *request, struct outcome *outcome)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	int64_t        kind = arg_integer(&request->args[ARG_WALLET_CREDENTIAL_REMOVE_kind], WALLET_APPLE);
	enum err err = wallet_credential_del_all(request->view, owner_of(request), (enum wallet_kind)kind);
	if (err == ERR_NOT_FOUND) return refuse_unknown(request, outcome, kind);
	/* The operator's may serve the account from now on. */
	if (!err && kind == WALLET_GOOGLE && request->account) err = google_classes_due(request);
	if (!err) msgpack_pack_map(&pk, 0);
	return err;
}
