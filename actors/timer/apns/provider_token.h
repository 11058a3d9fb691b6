#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"

#include <openssl/types.h>

/* Provider tokens, with which a team's p8 key shows APNs who it is, instead of a client certificate. One for each team and key,
 * shared by its credentials: Apple refuses teams that make new ones often. Source: Apple, "Establishing a token-based
 * connection to APNs". */
enum { PROVIDER_TOKEN_LIVES_S = 50 * 60, PROVIDER_TOKEN_REST_S = 20 * 60 };

struct provider_tokens;
must_check enum err provider_tokens_open(struct provider_tokens **tokens);
void                provider_tokens_close(struct provider_tokens **tokens); /* NULL is fine */

struct provider {
	struct span team, key_id;
	EVP_PKEY   *key; /* on P-256 */
};
/* The value of the header "authorization", valid until the next call; a new token every PROVIDER_TOKEN_LIVES_S. `real`: the real
 * time. Errors: NULL: no memory, or the key cannot sign. */
const char *provider_token(struct provider_tokens *tokens, const struct provider *provider, mono_us now,
                           wall_us real);
/* Apple says that the token of a push sent then has expired: the next one is new, unless the token was replaced since. False: it is
 * younger than PROVIDER_TOKEN_REST_S, and stays. */
bool provider_token_expire(struct provider_tokens *tokens, const struct provider *provider, mono_us sent,
                           mono_us now);
