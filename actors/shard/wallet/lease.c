/* WALLET_LEASE: the timer asks which passes in wallets have changed. It gets the right to push to their phones, with the push
 * tokens and the credentials to do it with. Nothing durable says that a pass is leased: its row stays until the report. A pass
 * that no phone has loses its row here. */
#include "actors/rt/log.h"
#include "actors/shard/delivery/delivery.h"
#include "actors/shard/wallet/left.h"
#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/push.h"
#include "schemas/wallet/push.h"
#include "store/hot.h"
#include "store/registration.h"

#include <stdio.h>

/* An answer is full at this many credentials. One more pass, with all of its phones, fits. */
enum {
	CREDENTIALS_FULL = PUSHES_PER_CALL_MAX,
	CREDENTIALS_MAX = CREDENTIALS_FULL + REGISTRATIONS_PER_PASS_MAX
};
/* Passes that one answer looks at, most of which perhaps cannot be pushed to. */
enum { LOOKS_MAX = 4 * PUSHES_PER_CALL_MAX };
/* Phones that are left out are looked at soon, since a credential may be put meanwhile. */
enum { LEFT_LOOK_S = 60 };
_Static_assert(2 * (int)PUSHES_PER_CALL_MAX <= (int)BULK_WRITES_MAX,
               "an answer writes two rows for each pass");

/* Can it be pushed with now? */
enum use { USE_IT, USE_LATER, USE_NEVER };

struct named {
	struct account_id account; /* whose wallet it serves */
	uint64_t          number;
	enum use          use;
	wall_us           rests_until; /* of LATER */
	unsigned          index;       /* of USE_IT: in the answer */
};

/* One answer. */
struct batch {
	struct named        named[CREDENTIALS_MAX];
	unsigned            named_count, credential_count, lease_count;
	struct buffer       credentials, leases;
	struct wallet_work *taken[LOOKS_MAX];
	unsigned            taken_count;
	struct wallet_due   done[PUSHES_PER_CALL_MAX]; /* rows without a phone */
	unsigned            done_count;
	struct wallet_due   left[PUSHES_PER_CALL_MAX]; /* of phones that no credential serves */
	unsigned            left_count;
};

static enum use use_of(const struct request *request, const struct account *account,
                       const struct wallet_credential *row)
{
	if (!wallet_is_on(&account->row, WALLET_APPLE) || wallet_credential_ended(row, request->now))
		return USE_NEVER;
	return wallet_credential_rests(row, request->now) ? USE_LATER : USE_IT;
}

static void pack_credential(const struct wallet_credential *row, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	msgpack_pack_array(&pk, PUSH_CREDENTIAL_ITEMS);
	pack_bin(&pk, span_of(row->account.b, sizeof row->account.b));
	msgpack_pack_uint64(&pk, row->number);
	msgpack_pack_uint32(&pk, row->generation);
	pack_int(&pk, row->put.v);
	row->rest_s || row->last_error.size ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	pack_bin(&pk, row->name);
	pack_bin(&pk, row->owner);
	pack_bin(&pk, row->key_id);
	pack_bin(&pk, row->certificate);
	pack_bin(&pk, row->issuer);
	pack_bin(&pk, row->sealed);
}

/* A credential of the account, read once for each answer. */
static enum err credential_of(struct request *request, const struct account *account, uint64_t number,
                              struct batch *batch, const struct named **found)
{
	struct wallet_credential row;
	for (unsigned i = 0; i < batch->named_count; i++) {
		struct named *named = &batch->named[i];
		if (named->number != number || !account_same(named->account, account->id)) continue;
		*found = named;
		return OK;
	}
	must(batch->named_count < CREDENTIALS_MAX);
	struct named *named = &batch->named[batch->named_count];
	*named = (struct named){.account = account->id, .number = number, .use = USE_NEVER};
	enum err err = wallet_credential_of(request->view, account->id, WALLET_APPLE, number, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err) {
		named->use = use_of(request, account, &row);
		named->rests_until = row.rests_until;
	}
	if (named->use == USE_IT) {
		named->index = batch->credential_count++;
		pack_credential(&row, &batch->credentials);
	}
	batch->named_count++;
	*found = named;
	return OK;
}

/* The phones of a pass: what can be pushed to now, and whether the rest can be later. */
struct phones {
	unsigned usable, never;
	uint32_t left_mark; /* of those that never can */
	/* When the first of those whose credential rests can be pushed to; 0: none rests. */
	wall_us       soonest;
	uint64_t      soonest_credential;
	struct buffer tokens;
};

static void note_rest(struct phones *phones, const struct named *credential)
{
	const wall_us until = credential->rests_until;
	if (phones->soonest.v && until.v >= phones->soonest.v) return;
	phones->soonest = until;
	phones->soonest_credential = credential->number;
}

static enum err find_phones(struct request *request, const struct account *account, uint32_t pass_number,
                            struct batch *batch, struct phones *phones)
{
	struct registration row = {.pass_number = pass_number};
	enum err            err = registration_first(request->view, account->id, &row);
	for (; !err; err = registration_next(request->view, account->id, &row)) {
		const struct named *credential;
		struct registration phone =
		    row; /* look-ups of other tables leave its texts, and not the cursor's */
		if ((err = credential_of(request, account, row.credential, batch, &credential))) return err;
		phones->never += credential->use == USE_NEVER;
		if (credential->use == USE_NEVER)
			phones->left_mark = wallet_left_mark(phones->left_mark, &phone);
		if (credential->use == USE_LATER) note_rest(phones, credential);
		if (credential->use != USE_IT) continue;
		msgpack_packer pk = buffer_packer(&phones->tokens);
		phones->usable++;
		msgpack_pack_array(&pk, 3);
		msgpack_pack_unsigned_int(&pk, credential->index);
		pack_bin(&pk, span_of(phone.device, sizeof phone.device));
		pack_str(&pk, phone.push_token);
	}
	if (err != ERR_NOT_FOUND) return err;
	return phones->tokens.failed ? ERR_NO_MEMORY : OK;
}

static wall_us held_until(const struct request *request)
{
	return (wall_us){request->now.v + WORK_HELD_S * US_PER_SEC};
}

static enum err add_lease(struct request *request, struct account *account, struct wallet_work *work,
                          struct batch *batch, const struct phones *phones)
{
	uint8_t           bytes[PUSH_LEASE_BYTES];
	struct wallet_due row = {.account = work->account, .kind = WALLET_DUE_PUSH, .number = work->number};
	struct push_lease lease = {
	    .account = work->account, .pass_number = work->number, .leased = request->mono};
	struct hot_at pass;
	wall_us       changed;
	enum err      err = hot_get(request->view, account->id, work->number, &pass);
	if (!err)
		err = account_template_look(account, request->view, pass.now.template, &lease.look, &changed);
	if (!err) err = wallet_due_get(request->view, &row);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	lease.head = pass.now.ledger_head;
	lease.since = row.since;
	random_take(request->random, &lease.token, sizeof lease.token);
	push_lease_write(&lease, bytes);
	msgpack_packer pk = buffer_packer(&batch->leases);
	msgpack_pack_array(&pk, 2);
	pack_bin(&pk, span_of(bytes, sizeof bytes));
	msgpack_pack_array(&pk, phones->usable);
	buffer_append(&batch->leases, phones->tokens.at, phones->tokens.size);
	if (batch->leases.failed || batch->credentials.failed) return ERR_NO_MEMORY;
	batch->lease_count++;
	work_lease(request->work, work, lease.token, request->now, request->mono);
	return OK;
}

/* Later, in memory alone. */
static enum err put_off(struct request *request, const struct wallet_work *work, wall_us at)
{
	return work_again(request->work, work->account, WALLET_DUE_PUSH, work->number, at);
}

/* What becomes of a pass that is due. */
static enum err judge(struct request *request, struct wallet_work *work, struct batch *batch,
                      const struct phones *phones, struct account *account)
{
	work->left_until = phones->soonest;
	work->left_credential = phones->soonest_credential;
	if (phones->usable) {
		enum err err = add_lease(request, account, work, batch, phones);
		if (!err && phones->never)
			batch->left[batch->left_count++] = (struct wallet_due){
			    .account = work->account,
			    .kind = WALLET_DUE_LEFT,
			    .number = work->number,
			    .due = {request->now.v + LEFT_LOOK_S * US_PER_SEC},
			    .position = phones->left_mark};
		return err;
	}
	if (phones->soonest.v) return put_off(request, work, phones->soonest);
	if (phones->never) return put_off(request, work, held_until(request));
	batch->done[batch->done_count++] = (struct wallet_due){
	    .account = work->account, .kind = WALLET_DUE_PUSH, .number = work->number};
	return OK;
}

static enum err take_one(struct request *request, struct wallet_work *work, struct batch *batch)
{
	struct phones   phones = {.usable = 0};
	struct account *account;
	enum err        err = delivery_account(request, work->account, &account);
	if (!err && !account) err = ERR_DAMAGED;
	if (!err) err = find_phones(request, account, work->number, batch, &phones);
	if (!err) err = judge(request, work, batch, &phones, account);
	buffer_free(&phones.tokens);
	return err;
}

/* `wallet check` wants to know whether APNs takes the credential, also of one that rests. */
static enum err add_probe(struct request *request, struct batch *batch)
{
	struct wallet_probe     *probe = &request->work->probes[WORK_APPLE];
	uint8_t                  bytes[PUSH_LEASE_BYTES], made_up[32];
	char                     text[2 * sizeof made_up + 1];
	struct wallet_credential row;
	struct push_lease        lease = {
	           .account = probe->account, .pass_number = PROBE_PASS, .leased = request->mono};
	enum err err = wallet_credential_now(request->view, probe->account, WALLET_APPLE, &row);
	if (err) {
		probe->state = PROBE_NONE;
		return err == ERR_NOT_FOUND ? OK : err;
	}
	random_take(request->random, &lease.token, sizeof lease.token);
	random_take(request->random, made_up, sizeof made_up);
	for (unsigned i = 0; i < sizeof made_up; i++)
		snprintf(text + 2 * i, 3, "%02x", made_up[i]);
	memcpy(text, "400", 3); /* by which an imitation of APNs may know it */
	push_lease_write(&lease, bytes);
	probe_lease(probe, &row, lease.token);
	msgpack_packer pk = buffer_packer(&batch->leases);
	msgpack_pack_array(&pk, 2);
	pack_bin(&pk, span_of(bytes, sizeof bytes));
	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, 3);
	msgpack_pack_unsigned_int(&pk, batch->credential_count++);
	pack_bin(&pk, span_of((const uint8_t[PUSH_DEVICE_BYTES]){0}, PUSH_DEVICE_BYTES));
	pack_str(&pk, span_str(text));
	pack_credential(&row, &batch->credentials);
	batch->lease_count++;
	return batch->leases.failed || batch->credentials.failed ? ERR_NO_MEMORY : OK;
}

static bool is_full(const struct batch *batch, unsigned count)
{
	return batch->taken_count >= LOOKS_MAX || batch->lease_count >= count || batch->done_count >= count ||
	       batch->leases.size + batch->credentials.size >= HANDED_BODY_BYTES ||
	       batch->named_count >= CREDENTIALS_FULL;
}

/* Unless that is known already. */
static enum err note_left(struct request *request, const struct wallet_due *left)
{
	struct wallet_due row = *left;
	enum err          err = wallet_due_get(request->view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	return !err && row.position == left->position ? OK : wallet_due_put(request->view, left);
}

static enum err fill(struct request *request, unsigned count, struct batch *batch)
{
	struct wallet_work *work = NULL;
	enum err            err = OK;
	if (request->work->probes[WORK_APPLE].state == PROBE_WAITS && !(err = add_probe(request, batch)))
		count--;
	while (!err && !is_full(batch, count) && (work = work_turn(request->work, WORK_APPLE))) {
		batch->taken[batch->taken_count++] = work;
		err = take_one(request, work, batch);
		/* One pass that cannot be read does not hold up the others. */
		if (err == ERR_DAMAGED && work->state == WORK_TAKEN) {
			log_warn("wallet-pass-damaged", "number=%u", work->number);
			err = put_off(request, work, held_until(request));
		}
	}
	for (unsigned i = 0; !err && i < batch->done_count; i++)
		err = wallet_due_del(request->view, &batch->done[i]);
	for (unsigned i = 0; !err && i < batch->left_count; i++)
		err = note_left(request, &batch->left[i]);
	return err;
}

/* A command that fails leaves nothing taken. */
static void put_back(struct request *request, struct batch *batch)
{
	for (unsigned i = 0; i < batch->taken_count; i++)
		(void)!work_again(request->work, batch->taken[i]->account, WALLET_DUE_PUSH,
		                  batch->taken[i]->number, request->now);
}

static void pack(struct batch *batch, struct buffer *payload)
{
	msgpack_packer pk = buffer_packer(payload);
	msgpack_pack_array(&pk, 2);
	msgpack_pack_array(&pk, batch->credential_count);
	buffer_append(payload, batch->credentials.at, batch->credentials.size);
	msgpack_pack_array(&pk, batch->lease_count);
	buffer_append(payload, batch->leases.at, batch->leases.size);
	buffer_free(&batch->credentials);
	buffer_free(&batch->leases);
}

enum err on_WALLET_LEASE(struct request *request, struct outcome *outcome)
{
	struct batch batch = {.named_count = 0};
	unsigned     count = (unsigned)arg_integer(&request->args[ARG_WALLET_LEASE_count], 0);
	mono_us      last = {request->call->deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	enum err     err = OK;
	if (count) /* 0: the timer is stopping and withdraws its poll */
		err = work_meet(request->work, WORK_APPLE,
		                (uint64_t)arg_integer(&request->args[ARG_WALLET_LEASE_instance], 0),
		                request->now, request->mono);
	if (!err && count) err = fill(request, count, &batch);
	bool is_empty = count && !batch.lease_count && !batch.done_count;
	if (err) put_back(request, &batch);
	pack(&batch, outcome->payload);
	if (!err && outcome->payload->failed) err = ERR_NO_MEMORY;
	return !err && is_empty && request->mono.v < last.v ? ERR_PARKED : err;
}
