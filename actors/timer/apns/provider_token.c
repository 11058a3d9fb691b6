/* Provider tokens in memory, the one used last in front. */
#include "actors/timer/apns/provider_token.h"

#include "actors/rt/time.h"
#include "schemas/json.h"
#include "schemas/wallet/jwt.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/queue.h>

enum { TOKENS_MAX = 1024 };
#define SCHEME "bearer "

struct token {
	TAILQ_ENTRY(token) link;
	struct buffer name; /* team, 0, key id */
	EVP_PKEY     *key;  /* an account that names another's team and key id has not its key */
	struct buffer text; /* with its scheme; ends in 0 */
	mono_us       made;
	dur_us        made_boot; /* the same, by the clock that goes on while the machine is suspended */
	bool          is_expired;
};

struct provider_tokens {
	TAILQ_HEAD(token_list, token) all;
	unsigned count;
};

enum err provider_tokens_open(struct provider_tokens **tokens)
{
	*tokens = calloc(1, sizeof **tokens);
	if (!*tokens) return ERR_NO_MEMORY;
	TAILQ_INIT(&(*tokens)->all);
	return OK;
}

static void forget(struct provider_tokens *tokens, struct token *token)
{
	TAILQ_REMOVE(&tokens->all, token, link);
	tokens->count--;
	EVP_PKEY_free(token->key);
	buffer_free(&token->name);
	buffer_free(&token->text);
	free(token);
}

void provider_tokens_close(struct provider_tokens **tokens_p)
{
	struct provider_tokens *tokens = *tokens_p;
	*tokens_p = NULL;
	if (!tokens) return;
	while (!TAILQ_EMPTY(&tokens->all))
		forget(tokens, TAILQ_FIRST(&tokens->all));
	free(tokens);
}

static bool is_of(const struct token *token, const struct provider *provider)
{
	size_t team = provider->team.size, size = team + 1 + provider->key_id.size;
	return token->name.size == size && !memcmp(token->name.at, provider->team.at, team) &&
	       !token->name.at[team] &&
	       !memcmp(token->name.at + team + 1, provider->key_id.at, provider->key_id.size) &&
	       EVP_PKEY_eq(token->key, provider->key) == 1;
}

static struct token *find(struct provider_tokens *tokens, const struct provider *provider)
{
	struct token *token;
	TAILQ_FOREACH(token, &tokens->all, link)
	if (is_of(token, provider)) return token;
	return NULL;
}

static struct token *add(struct provider_tokens *tokens, const struct provider *provider)
{
	struct token *token = calloc(1, sizeof *token);
	if (!token) return NULL;
	if (tokens->count == TOKENS_MAX) forget(tokens, TAILQ_LAST(&tokens->all, token_list));
	if (EVP_PKEY_up_ref(provider->key)) token->key = provider->key;
	buffer_append(&token->name, provider->team.at, provider->team.size);
	buffer_byte(&token->name, 0);
	buffer_append(&token->name, provider->key_id.at, provider->key_id.size);
	TAILQ_INSERT_HEAD(&tokens->all, token, link);
	tokens->count++;
	if (!token->name.failed && token->key) return token;
	forget(tokens, token);
	return NULL;
}

static bool make(struct token *token, const struct provider *provider, mono_us now, wall_us real)
{
	struct buffer header = {.at = NULL}, claims = {.at = NULL};
	buffer_clear(&token->text);
	buffer_text(&token->text, SCHEME);
	buffer_text(&header, "{\"alg\":\"ES256\",\"kid\":");
	json_quote(provider->key_id, &header);
	buffer_text(&header, "}");
	buffer_text(&claims, "{\"iss\":");
	json_quote(provider->team, &claims);
	buffer_text(&claims, ",\"iat\":");
	json_number(real.v / US_PER_SEC, &claims);
	buffer_text(&claims, "}");
	bool good = !header.failed && !claims.failed &&
	            jwt_sign(provider->key, buffer_span(&header), buffer_span(&claims), &token->text) == OK;
	buffer_byte(&token->text, 0);
	buffer_free(&header);
	buffer_free(&claims);
	token->made = now;
	token->made_boot = time_boot();
	token->is_expired = false;
	return good && !token->text.failed;
}

/* A machine that was suspended has aged by the clock that goes on meanwhile. */
static bool is_older(const struct token *token, mono_us now, int64_t seconds)
{
	int64_t bound = seconds * US_PER_SEC;
	return mono_since(now, token->made).v >= bound || time_boot().v - token->made_boot.v >= bound;
}

const char *provider_token(struct provider_tokens *tokens, const struct provider *provider, mono_us now,
                           wall_us real)
{
	struct token *token = find(tokens, provider);
	bool          is_old = token && (token->is_expired || is_older(token, now, PROVIDER_TOKEN_LIVES_S));
	if (!token && !(token = add(tokens, provider))) return NULL;
	if ((is_old || !token->text.size) && !make(token, provider, now, real)) {
		forget(tokens, token);
		return NULL;
	}
	return (const char *)token->text.at;
}

bool provider_token_expire(struct provider_tokens *tokens, const struct provider *provider, mono_us sent,
                           mono_us now)
{
	struct token *token = find(tokens, provider);
	if (!token || token->is_expired || token->made.v > sent.v) return true;
	token->is_expired = is_older(token, now, PROVIDER_TOKEN_REST_S);
	return token->is_expired;
}
