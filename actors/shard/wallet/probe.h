#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/wallet/push.h"
#include "store/wallet_credential.h"

/* What `wallet check` has the timer try. With Apple it is a push to a made-up phone: APNs refuses the phone, and thereby says that
 * it takes the credential. With Google it is the class of a template. One of a lane (work.h) at a time, in the writer's memory. It
 * travels as a lease of a pass that there is not. Errors: none. */
enum { PROBE_S = 15 };

struct wallet_probe {
	enum { PROBE_NONE, PROBE_WAITS, PROBE_LEASED, PROBE_ENDED } state;
	struct account_id account; /* whose wallet is tried */
	struct account_id owner;   /* in whose rows the credential is */
	uint64_t          credential;
	uint32_t          generation; /* of the credential */
	wall_us           put;        /* likewise */
	uint64_t          token;      /* of the lease */
	mono_us           asked;
	bool              is_refused; /* Apple: the made-up phone was */
	bool              ok;
	bool              is_taken;                 /* its end was asked for */
	char              reason[PUSH_REASON_TEXT]; /* ends in 0; empty: nothing was complained of */
};

/* Begins one, unless another account's is under way, or has an end that was not asked for yet. One of the same account goes on if it
 * is of this credential, which serves it now. */
void probe_begin(struct wallet_probe *probe, struct account_id account,
                 const struct wallet_credential *credential, mono_us now);
/* The timer that it was leased to has died: another one is to have it. */
void probe_take_back(struct wallet_probe *probe);

/* It was leased, with this credential. */
void probe_lease(struct wallet_probe *probe, const struct wallet_credential *credential, uint64_t token);

/* The parts of a report, in this order. probe_refuse(): APNs refused a phone. probe_end(): a lease ended; true: it was
 * the probe's. probe_complain(): an error of a credential. */
void probe_refuse(struct wallet_probe *probe, const struct push_gone *gone);
bool probe_end(struct wallet_probe *probe, const struct push_lease *lease, bool ok);
void probe_complain(struct wallet_probe *probe, const struct push_complaint *complaint);
