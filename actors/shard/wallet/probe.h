#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/wallet/push.h"
#include "store/wallet_credential.h"

/* A push to a made-up phone, for `wallet check`: APNs refuses the phone, and thereby says that it takes the credential. One of a
 * shard at a time, in the writer's memory. It travels as a lease of a pass that there is not. Errors: none. */
enum { PROBE_PASS = UINT32_MAX /* no pass has this number */, PROBE_S = 15 };

struct wallet_probe {
	enum { PROBE_NONE, PROBE_WAITS, PROBE_LEASED, PROBE_ENDED } state;
	struct account_id account; /* whose wallet is tried */
	struct account_id owner;   /* in whose rows the credential is */
	uint64_t          credential;
	uint64_t          token; /* of the lease */
	mono_us           asked;
	enum push_fate    fate;
	char              reason[PUSH_REASON_TEXT]; /* ends in 0; empty: nothing was complained of */
};

/* Begins one, unless another account's is under way. One of the same account goes on. */
void probe_begin(struct wallet_probe *probe, struct account_id account, mono_us now);

/* It was leased, with this credential. */
void probe_lease(struct wallet_probe *probe, const struct wallet_credential *credential, uint64_t token);

/* Of a report: is it the probe's? Then it has ended. And what was said of a credential. */
bool probe_end(struct wallet_probe *probe, const struct push_report *report);
void probe_complain(struct wallet_probe *probe, const struct push_complaint *complaint);
