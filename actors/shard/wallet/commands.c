/* The commands of wallets. */
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/object_msgpack.h"
#include "store/meta.h"
#include "store/tally.h"
#include "store/wallet_due.h"

/* WALLET_MARK, on every shard before the first credential of a kind is put on any: from then on this server has such wallets.
 * Until then it answers below /wallet/ as if it had none of these paths. Repeating it is harmless; nothing takes it back. */
enum err on_WALLET_MARK(struct request *request, struct outcome *outcome)
{
	unsigned before, kinds = (unsigned)arg_integer(&request->args[ARG_WALLET_MARK_kinds], 0);
	enum err err = wallets_get(request->view, &before);
	(void)outcome;
	return err || (before | kinds) == before ? err : wallets_put(request->view, before | kinds);
}

/* wallet show: what serves the account, be it its own or the operator's. */
static enum err pack_kind(struct request *request, enum wallet_kind kind, msgpack_packer *pk,
                          struct span *last_error)
{
	struct wallet_credential row;
	enum err                 err = wallet_credential_now(request->view, request->account->id, kind, &row);
	if (err == ERR_NOT_FOUND) {
		msgpack_pack_nil(pk);
		return OK;
	}
	if (err) return err;
	wallet_credential_pack(&row, request->now, pk);
	if (!last_error->size) *last_error = row.last_error;
	return OK;
}

/* What phones and Google have: active passes, and registrations; and what waits for them. */
struct on_phones {
	uint64_t passes, saved, devices, pushes, updates;
};

static enum err count_phones(struct request *request, struct on_phones *on_phones)
{
	struct tally tally;
	enum err     err = tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	on_phones->passes = tally.installed[WALLET_APPLE];
	on_phones->saved = tally.installed[WALLET_GOOGLE];
	on_phones->devices = tally.registrations;
	return OK;
}

/* Rows of the account of this kind. */
static enum err count_due(struct request *request, enum wallet_due_kind kind, uint64_t *count)
{
	struct wallet_due row = {.account = request->account->id, .kind = kind};
	enum err          err = wallet_due_from(request->view, &row);
	for (*count = 0; !err; err = wallet_due_next(request->view, &row)) {
		if (row.kind != kind || !account_same(row.account, request->account->id)) return OK;
		++*count;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static void pack_counts(const struct on_phones *on_phones, msgpack_packer *pk, size_t map)
{
	map_key(pk, map, "installed");
	msgpack_pack_map(pk, 2);
	pack_count(pk, "apple", on_phones->passes);
	pack_count(pk, "google", on_phones->saved);
	MEMBER_ALWAYS(devices, INTEGER, on_phones->devices);
	map_key(pk, map, "waiting");
	msgpack_pack_map(pk, 2);
	pack_count(pk, "pushes", on_phones->pushes);
	pack_count(pk, "updates", on_phones->updates);
}

enum err on_WALLET_SHOW(struct request *request, struct outcome *outcome)
{
	msgpack_packer   packer = buffer_packer(outcome->payload), *pk = &packer;
	struct span      last_error = {NULL, 0};
	struct on_phones on_phones = {.passes = 0};
	size_t           map = map_begin(pk);
	unsigned         on = WALLET_BITS_ALL & ~request->account->row.wallets_off;
	MEMBER_ALWAYS(wallet, STRING, wallet_setting_text(on));
	map_key(pk, map, "apple");
	enum err err = pack_kind(request, WALLET_APPLE, pk, &last_error);
	map_key(pk, map, "google");
	if (!err) err = pack_kind(request, WALLET_GOOGLE, pk, &last_error);
	if (!err) err = count_phones(request, &on_phones);
	if (!err) err = count_due(request, WALLET_DUE_PUSH, &on_phones.pushes);
	if (!err) err = count_due(request, WALLET_DUE_GOOGLE, &on_phones.updates);
	pack_counts(&on_phones, pk, map);
	MEMBER_NULLABLE(last_error, STRING, last_error.size, last_error);
	return err;
}

/* wallet resume: each of the account's own credentials that rests; then the operator's on every shard, if those serve it. */
struct resting {
	unsigned count;
	struct {
		struct account_id account;
		enum wallet_kind  kind;
		uint64_t          number;
	} of[2 * WALLET_CREDENTIALS_MAX];
};

static void add_resting(struct resting *resting, const struct wallet_credential *row)
{
	if (!row->rest_s || resting->count == sizeof resting->of / sizeof *resting->of) return;
	resting->of[resting->count].account = row->account;
	resting->of[resting->count].kind = row->kind;
	resting->of[resting->count++].number = row->number;
}

static enum err find_resting(struct request *request, struct account_id owner, struct resting *resting)
{
	struct wallet_credential row = {.number = 0};
	struct buffer            room = {0};
	enum err                 err;
	while (!(err = wallet_credential_next(request->view, owner, &room, &row)))
		add_resting(resting, &row);
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* May a credential of the operator's serve passes of the account? One does unless the account has its own of that name, since a phone
 * keeps its pass type, and a saved pass its issuer, when the account gets its own credential. */
static enum err is_of_operator(struct request *request, bool *is)
{
	struct wallet_credential row = {.number = 0}, own;
	struct buffer            room = {0};
	enum err                 err = OK;
	*is = false;
	while (!err && !*is) {
		err = wallet_credential_next(request->view, wallet_operator, &room, &row);
		if (err) break;
		err = wallet_credential_get(request->view, request->account->id, row.kind, row.number, &own);
		*is = err == ERR_NOT_FOUND;
		if (*is) err = OK;
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err resume(struct request *request, struct account_id owner)
{
	struct resting           resting = {.count = 0};
	struct wallet_credential row;
	enum err                 err = find_resting(request, owner, &resting);
	for (unsigned i = 0; !err && i < resting.count; i++) {
		err = wallet_credential_get(request->view, resting.of[i].account, resting.of[i].kind,
		                            resting.of[i].number, &row);
		if (err) break;
		row.rests_until.v = row.rest_s = 0;
		row.last_error = span_of(NULL, 0);
		err = wallet_credential_put(request->view, &row);
	}
	return err;
}

/* The answer: may a credential of the operator's serve it? */
enum err on_WALLET_RESUME(struct request *request, struct outcome *outcome)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	bool           is = false;
	enum err       err = is_of_operator(request, &is);
	if (!err) err = resume(request, request->account->id);
	is ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	return err;
}

enum err on_WALLET_RESUME_DEFAULT(struct request *request, struct outcome *outcome)
{
	(void)outcome;
	return resume(request, wallet_operator);
}

/* WALLET_KINDS */
enum err on_WALLET_KINDS(struct request *request, struct outcome *outcome)
{
	unsigned       kinds;
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = wallets_get(request->view, &kinds);
	if (!err) msgpack_pack_unsigned_int(&pk, kinds);
	return err;
}
