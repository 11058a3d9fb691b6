#pragma once
#include "schemas/wallet/push.h"

#include <msgpack.h>

/* The answer to WALLET_LEASE, as the timer reads it; schemas/wallet/push.h says what it holds. Pure. */

/* Places in the arrays: of the answer; of a credential; of a lease; of a token. */
enum { PUSH_AT_CREDENTIALS, PUSH_AT_LEASES, PUSH_ANSWER_ITEMS };
enum {
	PUSH_AT_ACCOUNT,
	PUSH_AT_NUMBER,
	PUSH_AT_GENERATION,
	PUSH_AT_PUT,
	PUSH_AT_DOUBTFUL,
	PUSH_AT_PASS_TYPE,
	PUSH_AT_TEAM,
	PUSH_AT_KEY_ID,
	PUSH_AT_CERTIFICATE,
	PUSH_AT_ISSUER,
	PUSH_AT_SEALED
};
enum { PUSH_AT_LEASE, PUSH_AT_TOKENS, PUSH_LEASE_ITEMS };
enum { PUSH_AT_INDEX, PUSH_AT_DEVICE, PUSH_AT_TOKEN, PUSH_TOKEN_ITEMS };
enum { PUSH_TOKENS_MAX = 1 << 14 }; /* of one answer; a shard sends less */

/* Is it one, with at most that many leases? Counts the tokens of all of them. */
bool push_answer_check(const msgpack_object *answer, uint32_t leases_max, size_t *tokens);
