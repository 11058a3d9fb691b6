#pragma once
#include "schemas/cause.h"
#include "schemas/ids.h"

/* Who asks: the API key that a request carries, and where one is needed. Pure. */

/* Is a key needed for this path (without its query)? So it is for all that lies below /v1. */
bool bearer_guards(struct span path);

/* What a header says: the account, and the hash of the key's secret part. Begins zeroed. It remembers the header itself,
 * so that a connection that shows the same key with every request, as most do, has it hashed once. */
struct bearer {
	struct account_id account;
	uint8_t           key_hash[32];
	uint8_t           text_size; /* 0: nothing is remembered */
	uint8_t           text[API_KEY_TEXT + 16];
};

/* The value of an Authorization header, without the blanks around it: the word Bearer, however its letters are written,
 * blanks, and a key. Whether such a key exists only the account's shard knows. false: another form; *bearer says nothing
 * then. */
must_check bool bearer_read(struct span authorization, struct bearer *bearer);

/* Why the headers Authorization of a request, `count` of them, hold no key, where bearer_read() does not take the last. */
enum cause bearer_judge(struct span authorization, unsigned count);
