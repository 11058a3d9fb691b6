#pragma once
#include "actors/rt/datadir.h"
#include "schemas/ids.h"
#include "schemas/secret.h"

/* The 128 bits in a pass's download_url: a block of account and number, under AES-256. Nobody without the key can tell it
 * from random or make one, every incarnation of a pass has its own, and finding the pass behind one needs no index.
 * A restored data directory counts its passes on from where its backup was, so a number says which pass only together
 * with the lineage that gave it: each has its own key. */
enum { TOKEN_BYTES = 16, TOKEN_TEXT = 22 + 1 };

/* Derived from the master key, and of no use for anything else that it protects. The last one makes tokens; those before
 * it made the tokens of passes that came with a backup. */
struct token_keys {
	uint32_t count;
	uint8_t  of[LINEAGES_MAX + 1][SECRET_KEY_BYTES];
};

/* Errors: ERR_NO_MEMORY. */
must_check enum err token_keys_derive(const uint8_t master_key[32], const struct identity *identity,
                                      struct token_keys *keys);
/* The same for who has no other use for the master key: it does not stay in memory. Errors: also those of
 * datadir_master_key(). */
must_check enum err token_keys_load(const struct datadir *datadir, struct token_keys *keys);

void token_make(const struct token_keys *keys, struct account_id account, uint32_t number,
                uint8_t token[TOKEN_BYTES]);
/* false, when it is none of ours. Of those that somebody makes up, 4 in 65,536 a key name a pass nevertheless: hold a
 * token against the pass's own. */
bool token_read(const struct token_keys *keys, const uint8_t token[TOKEN_BYTES], struct account_id *account,
                uint32_t *number);

/* As it stands in a URL: 22 characters. Each token has one text; any other reads as false. */
void token_text(const uint8_t token[TOKEN_BYTES], char text[TOKEN_TEXT]);
bool token_text_read(struct span text, uint8_t token[TOKEN_BYTES]);
