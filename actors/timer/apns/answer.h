#pragma once
#include "schemas/span.h"
#include "schemas/wallet/push.h"

/* What an answer of APNs means for a push. Pure. Source: Apple, "Handling notification responses from APNs". */
enum apns_fate {
	APNS_DONE = 1,
	APNS_GONE,          /* the phone has not the pass any more */
	APNS_AGAIN,         /* could not be done now */
	APNS_HELD,          /* the credential is not accepted: nothing can be pushed with it */
	APNS_REFUSED,       /* will never be accepted */
	APNS_TOKEN_EXPIRED, /* the provider token is too old */
	APNS_TOKEN_TOO_NEW, /* provider tokens were changed too often */
};

struct apns_answer {
	enum apns_fate fate;
	int64_t        at_ms;                    /* of GONE: since when, real time; 0: not said */
	char           reason[PUSH_REASON_TEXT]; /* for the operator: Apple's word; "" for DONE */
};

/* `status`: of HTTP. `body` is the peer's and may be anything. */
void apns_judge(int status, struct span body, struct apns_answer *answer);
