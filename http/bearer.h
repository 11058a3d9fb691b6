#pragma once
#include "schemas/cause.h"
#include "schemas/ids.h"

/* The API key of a request, and which paths need one. Pure. */

/* Does this path (without its query) need a key? True for everything below /v1. */
bool bearer_guards(struct span path);

/* The account and the hash of the key's secret part. Zeroed at first. It remembers the header, so that a connection that
 * repeats its key has it hashed once. */
struct bearer {
	struct account_id account;
	uint8_t           key_hash[32];
	uint8_t           text_size; /* 0: nothing is remembered */
	uint8_t           text[API_KEY_TEXT + 16];
};

/* Reads the value of an Authorization header without surrounding blanks: the word Bearer in any case, blanks, a key. Only the
 * account's shard knows whether the key exists. False: another form; *bearer is undefined then. */
must_check bool bearer_read(struct span authorization, struct bearer *bearer);

/* Why a request with `count` Authorization headers has no key. Call if bearer_read() fails for the last one. */
enum cause bearer_judge(struct span authorization, unsigned count);
