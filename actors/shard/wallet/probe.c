/* WALLET_PROBE, and the states of the probe. */
#include "actors/shard/wallet/probe.h"

#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/wallet.h"
#include "schemas/object_msgpack.h"
#include "schemas/wallet/google_job.h"

#include <stdio.h>

static bool is_with(const struct wallet_probe *probe, const struct wallet_credential *credential)
{
	return account_same(probe->owner, credential->account) && probe->credential == credential->number &&
	       probe->generation == credential->generation && probe->put.v == credential->put.v;
}

void probe_begin(struct wallet_probe *probe, struct account_id account,
                 const struct wallet_credential *credential, mono_us now)
{
	bool is_old = probe->state == PROBE_LEASED && account_same(probe->account, account) &&
	              !is_with(probe, credential);
	bool is_under_way = probe->state == PROBE_WAITS || (probe->state == PROBE_LEASED && !is_old);
	bool is_kept = probe->state == PROBE_ENDED && !probe->is_taken &&
	               !account_same(probe->account, account);
	if ((is_under_way || is_kept) && mono_since(now, probe->asked).v < PROBE_S * US_PER_SEC) return;
	*probe = (struct wallet_probe){.state = PROBE_WAITS, .account = account, .asked = now};
}

void probe_lease(struct wallet_probe *probe, const struct wallet_credential *credential, uint64_t token)
{
	probe->state = PROBE_LEASED;
	probe->owner = credential->account;
	probe->credential = credential->number;
	probe->generation = credential->generation;
	probe->put = credential->put;
	probe->token = token;
}

void probe_take_back(struct wallet_probe *probe)
{
	if (probe->state == PROBE_LEASED) probe->state = PROBE_WAITS;
}

void probe_refuse(struct wallet_probe *probe, const struct push_gone *gone)
{
	if (gone->pass_number == PROBE_PASS && account_same(probe->account, gone->account))
		probe->is_refused = true;
}

bool probe_end(struct wallet_probe *probe, const struct push_lease *lease, bool ok)
{
	if (lease->pass_number != PROBE_PASS) return false;
	if (probe->state == PROBE_LEASED && probe->token == lease->token) {
		probe->state = PROBE_ENDED;
		probe->ok = ok;
	}
	return true;
}

void probe_complain(struct wallet_probe *probe, const struct push_complaint *complaint)
{
	bool is_leased = probe->state == PROBE_LEASED || probe->state == PROBE_ENDED;
	bool is_meant = is_leased && complaint->is_rehearsed && probe->credential == complaint->number &&
	                account_same(probe->owner, complaint->account) && complaint->kind != PUSH_WORKS &&
	                probe->generation == complaint->generation && probe->put.v == complaint->put.v;
	if (is_meant) snprintf(probe->reason, sizeof probe->reason, "%s", complaint->reason);
}

/* What the steps of `wallet check` say, by lane. */
static const struct probe_texts {
	const char *who, *ok, *unreached, *off;
} texts[WORK_LANES] = {
    [WORK_APPLE] = {"APNs", "APNs took the credential, and refused a made-up phone as it should.",
                    "APNs was not reached.", "Nothing is sent: the account's Apple wallet is off."},
    [WORK_GOOGLE] = {"Google", "Google took a class of the account's templates.", "Google was not reached.",
                     "Nothing is sent: the account's Google wallet is off."},
};

static void pack_end(const struct wallet_probe *probe, const struct probe_texts *say, msgpack_packer *pk)
{
	char   detail[PUSH_REASON_TEXT + 16];
	size_t map = map_begin(pk);
	snprintf(detail, sizeof detail, "%s: %s", say->who, probe->reason);
	MEMBER_ALWAYS(ok, BOOLEAN, probe->ok);
	MEMBER_ALWAYS(has_token, BOOLEAN,
	              probe->ok || (probe->reason[0] && !strstr(probe->reason, GOOGLE_NO_TOKEN)));
	MEMBER_ALWAYS(detail, STRING, probe->ok ? say->ok : probe->reason[0] ? detail : say->unreached);
}

static void pack_refusal(const char *why, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(ok, BOOLEAN, false);
	MEMBER_ALWAYS(has_token, BOOLEAN, false);
	MEMBER_ALWAYS(detail, STRING, why);
}

/* nil: not yet; false: the account has no such credential; true: another account's rehearsal is under way, ask again to begin. */
enum err on_WALLET_PROBE(struct request *request, struct outcome *outcome)
{
	bool                     is_google = arg_boolean(&request->args[ARG_WALLET_PROBE_google], false);
	unsigned                 lane = is_google ? WORK_GOOGLE : WORK_APPLE;
	struct wallet_probe     *probe = &request->work->probes[lane];
	const struct account_id  account = request->account->id;
	struct wallet_credential row;
	msgpack_packer           pk = buffer_packer(outcome->payload);
	enum err err = wallet_credential_now(request->view, account, is_google ? WALLET_GOOGLE : WALLET_APPLE,
	                                     &row);
	bool     begins = arg_boolean(&request->args[ARG_WALLET_PROBE_begin], false);
	bool     has_ended = probe->state == PROBE_ENDED && account_same(probe->account, account);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err)
		msgpack_pack_false(&pk);
	else if (!wallet_is_on(&request->account->row, is_google ? WALLET_GOOGLE : WALLET_APPLE))
		pack_refusal(texts[lane].off, &pk);
	else if (request->facts->no_deliveries)
		pack_refusal("Nothing is sent: the service runs with --no-deliveries.", &pk);
	else if (has_ended && !begins)
		pack_end(probe, &texts[lane], &pk);
	else {
		if (begins) probe_begin(probe, account, &row, request->mono);
		account_same(probe->account, account) ? msgpack_pack_nil(&pk) : (void)msgpack_pack_true(&pk);
	}
	probe->is_taken |= has_ended && !begins;
	return OK;
}
