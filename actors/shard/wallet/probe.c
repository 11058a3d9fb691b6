/* WALLET_PROBE, and the states of the probe. */
#include "actors/shard/wallet/probe.h"

#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/wallet.h"
#include "schemas/object_msgpack.h"

#include <stdio.h>

static bool is_of(struct account_id a, struct account_id b)
{
	return !memcmp(a.b, b.b, sizeof a.b);
}

void probe_begin(struct wallet_probe *probe, struct account_id account, mono_us now)
{
	bool is_busy = probe->state == PROBE_WAITS || probe->state == PROBE_LEASED;
	if (is_busy && mono_since(now, probe->asked).v < PROBE_S * US_PER_SEC) return;
	*probe = (struct wallet_probe){.state = PROBE_WAITS, .account = account, .asked = now};
}

void probe_lease(struct wallet_probe *probe, const struct wallet_credential *credential, uint64_t token)
{
	probe->state = PROBE_LEASED;
	probe->owner = credential->account;
	probe->credential = credential->number;
	probe->token = token;
}

bool probe_end(struct wallet_probe *probe, const struct push_report *report)
{
	if (report->lease.pass_number != PROBE_PASS) return false;
	if (probe->state == PROBE_LEASED && probe->token == report->lease.token) {
		probe->state = PROBE_ENDED;
		probe->fate = report->fate;
	}
	return true;
}

void probe_complain(struct wallet_probe *probe, const struct push_complaint *complaint)
{
	bool is_leased = probe->state == PROBE_LEASED || probe->state == PROBE_ENDED;
	bool is_meant = is_leased && probe->credential == complaint->number &&
	                is_of(probe->owner, complaint->account) && complaint->kind != PUSH_WORKS;
	if (is_meant) snprintf(probe->reason, sizeof probe->reason, "%s", complaint->reason);
}

static void pack_end(const struct wallet_probe *probe, msgpack_packer *pk)
{
	char       detail[PUSH_REASON_TEXT + 8];
	const bool ok = probe->fate == PUSH_DONE;
	size_t     map = map_begin(pk);
	snprintf(detail, sizeof detail, "APNs: %s", probe->reason);
	MEMBER_ALWAYS(ok, BOOLEAN, ok);
	MEMBER_ALWAYS(detail, STRING,
	              ok ? "APNs took the credential, and refused a made-up phone as it should."
	              : probe->reason[0] ? detail
	                                 : "APNs was not reached.");
}

static void pack_refusal(const char *why, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(ok, BOOLEAN, false);
	MEMBER_ALWAYS(detail, STRING, why);
}

/* nil: not yet; false: the account has no certificate. */
enum err on_WALLET_PROBE(struct request *request, struct outcome *outcome)
{
	struct wallet_probe     *probe = &request->work->probe;
	const struct account_id  account = request->account->id;
	struct wallet_credential row;
	msgpack_packer           pk = buffer_packer(outcome->payload);
	enum err                 err = wallet_credential_now(request->view, account, WALLET_APPLE, &row);
	bool                     begins = arg_boolean(&request->args[ARG_WALLET_PROBE_begin], false);
	bool                     has_ended = probe->state == PROBE_ENDED && is_of(probe->account, account);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err)
		msgpack_pack_false(&pk);
	else if (request->facts->no_deliveries)
		pack_refusal("Nothing is sent: the service runs with --no-deliveries.", &pk);
	else if (has_ended && !begins)
		pack_end(probe, &pk);
	else
		msgpack_pack_nil(&pk);
	if (!err && begins) probe_begin(probe, account, request->mono);
	return OK;
}
