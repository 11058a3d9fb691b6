#pragma once
#include "actors/rt/datadir.h"
#include "schemas/ids.h"
#include "schemas/secret.h"

/* The 128 bits in a pass's download_url: a block of account and number, under AES-256. Without the key a token looks random
 * and cannot be made. Every incarnation of a pass has its own, and no index is needed to find its pass. A restored data
 * directory continues the numbers from its backup, so a number identifies a pass only together with the lineage that assigned
 * it: each lineage has its own key. */
enum { TOKEN_BYTES = 16, TOKEN_TEXT = 22 + 1 };

/* Derived from the master key, and useless for anything else that it protects. The last one makes tokens; the earlier ones
 * made those of passes from a backup. */
struct token_keys {
	uint32_t count;
	uint8_t  of[LINEAGES_MAX + 1][SECRET_KEY_BYTES];
};

/* Errors: ERR_NO_MEMORY. */
must_check enum err token_keys_derive(const uint8_t master_key[32], const struct identity *identity,
                                      struct token_keys *keys);
/* The same for a caller without other use of the master key, which does not stay in memory. Errors: also those of
 * datadir_master_key(). */
must_check enum err token_keys_load(const struct datadir *datadir, struct token_keys *keys);

void token_make(const struct token_keys *keys, struct account_id account, uint32_t number,
                uint8_t token[TOKEN_BYTES]);
/* False: not one of ours. Of forged ones, 4 in 65,536 for each key name a pass nevertheless: compare a token with the pass's
 * own. */
bool token_read(const struct token_keys *keys, const uint8_t token[TOKEN_BYTES], struct account_id *account,
                uint32_t *number);

/* As in a URL: 22 characters. Each token has one text; any other is read as false. */
void token_text(const uint8_t token[TOKEN_BYTES], char text[TOKEN_TEXT]);
bool token_text_read(struct span text, uint8_t token[TOKEN_BYTES]);
