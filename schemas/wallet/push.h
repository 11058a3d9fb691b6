#pragma once
#include "schemas/clock.h"
#include "schemas/frame.h"
#include "schemas/ids.h"

/* What shard and timer say to each other about pushes to Apple's wallet. A push says that some pass of the phone has changed; it names
 * none. The shard leases passes that have changed, with the push tokens of their phones and the credentials to push with;
 * the timer reports what became of each. Pure. Source of fates: Apple's documentation of responses of APNs.
 *
 * Reply to WALLET_LEASE: msgpack [credentials, leases].
 *   credential: [account bin 10, number, generation, put, is_doubtful, pass type bin, team bin, key id bin, certificate bin,
 *   issuer bin, sealed keys bin], as struct wallet_credential has them; each once, whatever how many leases use it.
 *   lease: [PUSH_LEASE_BYTES bin, [[index of a credential, device bin 16, push token str], ...]], at least one token.
 * Each credential has PUSH_CREDENTIAL_ITEMS items.
 * WALLET_REPORT has three texts of whole records, each of which may be empty: `reports`, `gone`, `complaints`. */
enum {
	PUSH_CREDENTIAL_ITEMS = 11,
	PUSH_DEVICE_BYTES = 16,
	PUSH_LEASE_BYTES = 50,
	PUSH_REPORT_BYTES = PUSH_LEASE_BYTES + 1,
	PUSH_GONE_BYTES = 62,
	PUSH_COMPLAINT_BYTES = 150,
	PUSH_REASON_TEXT = 119,
};
/* A lease of what `wallet check` tries: no pass has this number. */
enum { PROBE_PASS = UINT32_MAX };

/* The right to notify a pass's phones. The timer gives it back as it is. */
struct push_lease {
	struct account_id account;
	uint32_t          pass_number;
	uint64_t head; /* ledger_head of the pass then; a newer one is pushed again. Of a class: its issuer */
	uint32_t look; /* of its template, likewise */
	uint64_t token; /* random: of this lease */
	wall_us  since; /* service time of the oldest change that it is for */
	mono_us  leased;
};

/* What became of a lease: the least of its tokens' fates. */
enum push_fate {
	PUSH_DONE = 1, /* every phone was notified, or is gone */
	PUSH_AGAIN, /* at least one could not be notified now: the whole lease is repeated later, and this try counts */
	PUSH_HELD,    /* likewise, because a credential rests: the try does not count */
	PUSH_REFUSED, /* Apple will never take it */
	PUSH_FATES
};

struct push_report {
	struct push_lease lease;
	enum push_fate    fate;
};

/* A phone that has not the pass any more, says Apple. The registration goes only if it still has this push token and is not newer
 * than `at`. */
struct push_gone {
	struct account_id account;
	uint32_t          pass_number;
	uint8_t           device[PUSH_DEVICE_BYTES];
	uint64_t          credential;
	uint8_t           token_hash[16]; /* push_token_hash() */
	int64_t           at_ms;          /* real time; 0: not said */
};

/* What a credential's connection met. */
enum push_complaint_kind {
	PUSH_WORKS = 1, /* a doubtful one works: what was said of it is over */
	PUSH_COMPLAINS, /* `reason`, for the operator */
	PUSH_RESTS,     /* likewise, and nothing is sent with it for a while */
	PUSH_COMPLAINT_KINDS
};

struct push_complaint {
	enum push_complaint_kind kind;
	bool                     is_rehearsed; /* met by a probe of `wallet check` (PROBE_PASS) */
	struct account_id        account;      /* in whose rows the credential is */
	uint64_t                 number;
	uint32_t                 generation;
	wall_us                  put;
	char                     reason[PUSH_REASON_TEXT]; /* ends in 0; printable ASCII */
};

/* The first 16 bytes of the SHA-256 of a push token. */
void push_token_hash(struct span push_token, uint8_t hash[16]);

void push_lease_write(const struct push_lease *lease, uint8_t bytes[PUSH_LEASE_BYTES]);
void push_lease_read(const uint8_t bytes[PUSH_LEASE_BYTES], struct push_lease *lease);

void push_report_write(const struct push_report *report, uint8_t bytes[PUSH_REPORT_BYTES]);
void push_gone_write(const struct push_gone *gone, uint8_t bytes[PUSH_GONE_BYTES]);
void push_complaint_write(const struct push_complaint *complaint, uint8_t bytes[PUSH_COMPLAINT_BYTES]);

/* Errors: false: out of range. */
bool push_report_read(const uint8_t bytes[PUSH_REPORT_BYTES], struct push_report *report);
bool push_complaint_read(const uint8_t bytes[PUSH_COMPLAINT_BYTES], struct push_complaint *complaint);
void push_gone_read(const uint8_t bytes[PUSH_GONE_BYTES], struct push_gone *gone);
