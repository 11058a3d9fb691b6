#pragma once
#include "schemas/wallet/push.h"

#include <msgpack.h>

/* What shard and timer say to each other about passes in Google's wallet. The shard leases passes that have changed, with what is to
 * be sent; the timer reports what became of each. Pure.
 *
 * Reply to GOOGLE_LEASE: msgpack [credentials, jobs, is there a service account, so that Google's root keys are wanted?].
 *   credential: GOOGLE_CREDENTIAL_ITEMS items: account bin 10, number, generation, put, email bin, token URI bin, sealed keys bin,
 *   is_doubtful: something was said of it that a success ends
 *   job: GOOGLE_JOB_ITEMS items: lease bin PUSH_LEASE_BYTES, index of its credential, kind ("loyalty" or "generic"), id of the class,
 *   the class as JSON, id of the object, the object as JSON, all bin; message bin: members of its JSON object, size 0: none; number
 *   of its notification; may it be shown with a notice? is the object made if Google has it not?
 *   A job without an object is of the class alone. One of `wallet check` (its lease is of PROBE_PASS) writes the class in any case;
 *   without a class it lists those of the issuer that is named in place of its id.
 * GOOGLE_REPORT has two texts of whole records: `reports`, and `complaints` as in WALLET_REPORT. */
enum {
	GOOGLE_CREDENTIAL_ITEMS = 8,
	GOOGLE_JOB_ITEMS = 11,
	GOOGLE_REPORT_BYTES = PUSH_LEASE_BYTES + 7,
};
enum { GOOGLE_AT_CREDENTIALS, GOOGLE_AT_JOBS, GOOGLE_AT_WANTS_KEYS, GOOGLE_ANSWER_ITEMS };
enum {
	GOOGLE_AT_ACCOUNT,
	GOOGLE_AT_NUMBER,
	GOOGLE_AT_GENERATION,
	GOOGLE_AT_PUT,
	GOOGLE_AT_EMAIL,
	GOOGLE_AT_TOKEN_URI,
	GOOGLE_AT_SEALED,
	GOOGLE_AT_DOUBTFUL
};
enum {
	GOOGLE_AT_LEASE,
	GOOGLE_AT_INDEX,
	GOOGLE_AT_KIND,
	GOOGLE_AT_CLASS_ID,
	GOOGLE_AT_CLASS,
	GOOGLE_AT_OBJECT_ID,
	GOOGLE_AT_OBJECT,
	GOOGLE_AT_MESSAGE,
	GOOGLE_AT_NOTIFICATION,
	GOOGLE_AT_MAY_NOTIFY,
	GOOGLE_AT_MAKES
};

/* Is this such an answer, with that many jobs at most? */
bool google_answer_check(const msgpack_object *answer, uint32_t jobs_max);

/* In front of the reason of a complaint: there was no access token to call with. */
#define GOOGLE_NO_TOKEN "no access token"

enum google_fate {
	GOOGLE_DONE = 1,
	GOOGLE_AGAIN,   /* it failed for now */
	GOOGLE_HELD,    /* its credential rests: the try does not count */
	GOOGLE_REFUSED, /* Google will never take it */
	GOOGLE_ABSENT,  /* Google has no such object */
	GOOGLE_FATES
};
enum google_message { GOOGLE_MESSAGE_NONE, GOOGLE_MESSAGE_NOTIFIED, GOOGLE_MESSAGE_SILENT, GOOGLE_MESSAGES };

/* What Google says of an object: has anybody saved it? */
enum google_users { GOOGLE_USERS_UNSAID, GOOGLE_USERS_NONE, GOOGLE_USERS_SOME, GOOGLE_USERS };
/* By "hasUsers" in the body of an answer, which may be anything. */
enum google_users google_users_of(struct span body);

struct google_report {
	struct push_lease   lease;
	enum google_fate    fate;
	enum google_users   users;   /* of an object that was written */
	enum google_message message; /* the message was sent, and how */
	uint32_t            notification;
};
void google_report_write(const struct google_report *report, uint8_t bytes[GOOGLE_REPORT_BYTES]);
bool google_report_read(const uint8_t bytes[GOOGLE_REPORT_BYTES], struct google_report *report);
