/* Service accounts: their access tokens, and the calls that wait for one.
 *
 *   google_call() ─▶ line of its account ─▶ a token, and 1/15 s since the last call ─▶ egress ─▶ on_done
 *
 * Source: Google's documentation of OAuth 2.0 for service accounts (a signed assertion is exchanged for a token). */
#include "actors/timer/google/access.h"

#include "actors/rt/counts.h"
#include "actors/rt/time.h"
#include "schemas/json.h"
#include "schemas/sha256.h"
#include "schemas/wallet/google_job.h"
#include "schemas/wallet/jwt.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	TOKEN_BYTES_MAX = 2048,
	TOKEN_EARLY_S = 300, /* it is renewed before its end */
	TOKEN_LIVES_S = 3600,
	TOKEN_AGAIN_S = 5, /* between two exchanges */
	CLASSES = 1 << 16, /* remembered, 64 bytes each; two that share a place are written by turns */
	ACCESSES_MAX = 4096,
	SPACE_US = (int)(US_PER_SEC / GOOGLE_CALLS_A_SECOND)
};
static const char scope[] = "https://www.googleapis.com/auth/wallet_object.issuer";
static const char google_api[] = "https://walletobjects.googleapis.com";

struct access {
	LIST_ENTRY(access) link, busy_link;
	bool                is_busy; /* among google->busy, which has all that have a line */
	struct google      *google;
	uint8_t             hash[SHA256_BYTES];
	struct account_id   account;
	struct google_calls line;
	struct buffer       email, token_uri;
	EVP_PKEY           *key;
	char                token[TOKEN_BYTES_MAX]; /* ends in 0; empty: none */
	mono_us             token_ends, next_call, ask_at;
	struct egress_job   exchange;
	bool                is_asking;
	unsigned            running;
	unsigned            tokens;    /* that it has had */
	unsigned            forbidden; /* calls for objects, in a row */
};

struct class_seen {
	uint8_t id[SHA256_BYTES], json[SHA256_BYTES];
};

struct google {
	LIST_HEAD(, access) accesses;
	LIST_HEAD(, access) busy;
	unsigned              count;
	struct google_options options;
	struct class_seen     classes[CLASSES];
	mono_us               now;
};

/* Opening ------------------------------------------------------------------------------------------------- */

enum err google_open(struct google **out, const struct google_options *options)
{
	struct google *google = *out = calloc(1, sizeof *google);
	if (!google) return ERR_NO_MEMORY;
	google->options = *options;
	LIST_INIT(&google->accesses);
	LIST_INIT(&google->busy);
	return OK;
}

static void join_busy(struct access *access)
{
	if (!access->is_busy) LIST_INSERT_HEAD(&access->google->busy, access, busy_link);
	access->is_busy = true;
}

static void leave_busy(struct access *access)
{
	if (access->is_busy) LIST_REMOVE(access, busy_link);
	access->is_busy = false;
}

static void access_free(struct access *access)
{
	LIST_REMOVE(access, link);
	leave_busy(access);
	access->google->count--;
	EVP_PKEY_free(access->key);
	explicit_bzero(access->token, sizeof access->token);
	buffer_free(&access->email);
	buffer_free(&access->token_uri);
	free(access);
}

void google_close(struct google **closed)
{
	struct google *google = *closed;
	*closed = NULL;
	if (!google) return;
	while (!LIST_EMPTY(&google->accesses))
		access_free(LIST_FIRST(&google->accesses));
	free(google);
}

static bool is_idle(const struct access *access)
{
	return TAILQ_EMPTY(&access->line) && !access->is_asking && !access->running;
}

/* If there are too many, those that are idle go. */
static void make_room(struct google *google)
{
	struct access *access, *next;
	for (access = LIST_FIRST(&google->accesses); access && google->count >= ACCESSES_MAX; access = next) {
		next = LIST_NEXT(access, link);
		if (is_idle(access)) access_free(access);
	}
}

static void on_exchanged(struct egress_job *job, const struct egress_outcome *outcome);

static struct access *find(struct google *google, const uint8_t hash[SHA256_BYTES])
{
	struct access *access;
	LIST_FOREACH(access, &google->accesses, link)
	if (!memcmp(access->hash, hash, SHA256_BYTES)) return access;
	return NULL;
}

enum err access_open(struct google *google, const struct access_credential *credential, struct access **out)
{
	const unsigned char *at = credential->key.at;
	const struct span    parts[] = {credential->email, credential->token_uri, credential->key};
	uint8_t              hash[SHA256_BYTES];
	sha256_of(parts, 3, hash);
	if ((*out = find(google, hash))) return OK;
	make_room(google);
	struct access *access = calloc(1, sizeof *access);
	if (!access) return ERR_NO_MEMORY;
	access->google = google;
	memcpy(access->hash, hash, sizeof hash);
	access->account = credential->account;
	access->exchange.on_done = on_exchanged;
	TAILQ_INIT(&access->line);
	buffer_append(&access->email, credential->email.at, credential->email.size);
	buffer_append(&access->token_uri, credential->token_uri.at, credential->token_uri.size);
	access->key = d2i_AutoPrivateKey(NULL, &at, (long)credential->key.size);
	LIST_INSERT_HEAD(&google->accesses, access, link);
	google->count++;
	if (access->key && !access->email.failed && !access->token_uri.failed) {
		*out = access;
		return OK;
	}
	ERR_clear_error();
	access_free(access);
	return ERR_DAMAGED;
}

/* Ends ---------------------------------------------------------------------------------------------------- */

static void end(struct google_call *call, int status, struct span body, const char *reason)
{
	call->on_done(call, status, body, reason);
}

static void end_line(struct access *access, int status, const char *reason)
{
	struct google_calls ending;
	struct google_call *call;
	TAILQ_INIT(&ending);
	TAILQ_CONCAT(&ending, &access->line, in_line); /* a callback may queue more */
	while ((call = TAILQ_FIRST(&ending))) {
		TAILQ_REMOVE(&ending, call, in_line);
		end(call, status, span_of(NULL, 0), reason);
	}
}

/* Tokens -------------------------------------------------------------------------------------------------- */

static bool write_assertion(const struct access *access, struct buffer *out)
{
	static const char header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	struct buffer     claims = {0};
	char              times[96];
	long long         now = time_wall().v / US_PER_SEC;
	buffer_text(&claims, "{\"iss\":");
	json_quote(buffer_span(&access->email), &claims);
	buffer_text(&claims, ",\"scope\":");
	json_quote(span_str(scope), &claims);
	buffer_text(&claims, ",\"aud\":");
	json_quote(buffer_span(&access->token_uri), &claims);
	snprintf(times, sizeof times, ",\"iat\":%lld,\"exp\":%lld}", now, now + TOKEN_LIVES_S);
	buffer_text(&claims, times);
	bool good = !claims.failed && !jwt_sign(access->key, span_str(header), buffer_span(&claims), out);
	buffer_free(&claims);
	return good;
}

static void ask_token(struct access *access)
{
	static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded"};
	static const char        grant[] =
	    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
	struct google *google = access->google;
	struct buffer  url = {0}, body = {0};
	buffer_text(&body, grant);
	bool good = write_assertion(access, &body);
	if (google->options.api) {
		buffer_text(&url, google->options.api);
		buffer_text(&url, "/token");
	} else {
		buffer_append(&url, access->token_uri.at, access->token_uri.size);
	}
	struct egress_request request = {.owner = access->account,
	                                 .url = buffer_span(&url),
	                                 .headers = headers,
	                                 .header_count = 1,
	                                 .is_fetch = true,
	                                 .method = "POST",
	                                 .body = buffer_span(&body),
	                                 .user = &access->exchange};
	access->is_asking = good && !url.failed && !body.failed &&
	                    !egress_start(google->options.egress, &request, google->now);
	access->ask_at = mono_after(google->now, (dur_us){TOKEN_AGAIN_S * US_PER_SEC});
	buffer_free(&url);
	buffer_free(&body);
}

/* Takes the token of an answer. False: it has none, and the one before stays. */
static bool take_token(struct access *access, struct span text)
{
	struct arena       arena = {0};
	struct json       *answer;
	const struct json *token = NULL, *lives = NULL;
	int64_t            seconds = 0;
	if (!json_parse(text, &arena, &answer) && answer->kind == JSON_OBJECT) {
		token = json_member(answer, "access_token");
		lives = json_member(answer, "expires_in");
	}
	bool good = token && token->kind == JSON_STRING && token->text.size && lives &&
	            json_integer(lives, &seconds) && seconds > 1;
	for (size_t i = 0; good && i < token->text.size; i++)
		good = token->text.at[i] > ' ' && token->text.at[i] < 0x7f; /* it goes into a header */
	good = good && token->text.size < TOKEN_BYTES_MAX;
	if (good)
		snprintf(access->token, sizeof access->token, "%.*s", (int)token->text.size,
		         (const char *)token->text.at);
	arena_free(&arena);
	if (!good) return false;
	if (seconds > TOKEN_LIVES_S) seconds = TOKEN_LIVES_S;
	seconds = seconds > 2 * TOKEN_EARLY_S ? seconds - TOKEN_EARLY_S : seconds / 2;
	access->tokens++;
	access->token_ends = mono_after(access->google->now, (dur_us){seconds * US_PER_SEC});
	return true;
}

/* The token that is there holds still: a rehearsal ends without one, and nothing else. */
static void end_rehearsals(struct access *access, int status, const char *reason)
{
	struct google_call *call, *next;
	for (call = TAILQ_FIRST(&access->line); call; call = next) {
		next = TAILQ_NEXT(call, in_line);
		if (!call->renews) continue;
		TAILQ_REMOVE(&access->line, call, in_line);
		end(call, status, span_of(NULL, 0), reason);
	}
}

static bool has_token(const struct access *access)
{
	return access->token[0] && access->token_ends.v > access->google->now.v;
}

static void on_exchanged(struct egress_job *job, const struct egress_outcome *outcome)
{
	struct access *access = (struct access *)((char *)job - offsetof(struct access, exchange));
	bool           is_refused = !outcome->error && outcome->status >= 400 && outcome->status < 500 &&
	                  outcome->status != 429;
	char reason[96];
	access->is_asking = false;
	/* A token that ends at once is not replaced before `ask_at`. */
	if (!outcome->error && outcome->status == 200 && take_token(access, outcome->body)) {
		struct google_call *call;
		TAILQ_FOREACH(call, &access->line, in_line)
		call->renews = false;
		return;
	}
	snprintf(reason, sizeof reason, GOOGLE_NO_TOKEN ": %s",
	         outcome->error ? attempt_word(outcome->error) : "");
	if (!outcome->error) snprintf(reason, sizeof reason, GOOGLE_NO_TOKEN ": status %d", outcome->status);
	if (has_token(access))
		end_rehearsals(access, is_refused ? 401 : 0, reason);
	else
		end_line(access, is_refused ? 401 : 0, reason);
}

/* Calls --------------------------------------------------------------------------------------------------- */

static void on_called(struct egress_job *job, const struct egress_outcome *outcome)
{
	struct google_call *call = (struct google_call *)((char *)job - offsetof(struct google_call, job));
	struct access      *access = call->access;
	access->running--;
	counts_google_call(outcome->error ? 0 : outcome->status);
	/* The next call has a new one, unless it has one already. */
	if (!outcome->error && outcome->status == 401 && call->token == access->tokens) access->token[0] = 0;
	end(call, outcome->error ? 0 : outcome->status, outcome->body,
	    outcome->error ? attempt_word(outcome->error) : "");
}

void google_call(struct access *access, struct google_call *call)
{
	call->access = access;
	call->job.on_done = on_called;
	TAILQ_INSERT_TAIL(&access->line, call, in_line);
	join_busy(access);
}

void google_call_next(struct access *access, struct google_call *call)
{
	TAILQ_INSERT_HEAD(&access->line, call, in_line);
	join_busy(access);
}

static bool begin(struct access *access, struct google_call *call)
{
	char              bearer[TOKEN_BYTES_MAX + 32];
	const char *const headers[] = {"Content-Type: application/json", bearer};
	struct google    *google = access->google;
	struct buffer     url = {0};
	call->token = access->tokens;
	snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", access->token);
	buffer_text(&url, google->options.api ? google->options.api : google_api);
	buffer_text(&url, "/walletobjects/v1/");
	buffer_append(&url, call->path.at, call->path.size);
	struct egress_request request = {.owner = access->account,
	                                 .url = buffer_span(&url),
	                                 .headers = headers,
	                                 .header_count = 2,
	                                 .is_fetch = true,
	                                 .method = call->method,
	                                 .body = call->body,
	                                 .user = &call->job};
	bool good = !url.failed && !egress_start(google->options.egress, &request, google->now);
	buffer_free(&url);
	explicit_bzero(bearer, sizeof bearer);
	return good;
}

static void give_up_late(struct access *access)
{
	struct google_call *call, *next;
	for (call = TAILQ_FIRST(&access->line); call; call = next) {
		next = TAILQ_NEXT(call, in_line);
		if (call->due.v > access->google->now.v) continue;
		TAILQ_REMOVE(&access->line, call, in_line);
		end(call, CALL_NOT_BEGUN, span_of(NULL, 0), "it waited too long");
	}
}

/* Returns when it wants to be looked at again: at once after it began something, so that egress goes on with that. */
static mono_us turn_one(struct access *access)
{
	struct google      *google = access->google;
	struct google_call *call;
	mono_us             never = {INT64_MAX};
	give_up_late(access);
	if (!(call = TAILQ_FIRST(&access->line)) || access->is_asking) return never;
	bool renews = call->renews && access->ask_at.v <= google->now.v;
	if (renews || !has_token(access)) {
		if (access->ask_at.v > google->now.v) return access->ask_at;
		ask_token(access);
		return access->is_asking ? google->now : access->ask_at;
	}
	if (access->next_call.v > google->now.v) return access->next_call;
	access->next_call = mono_after(google->now, (dur_us){SPACE_US});
	if (!begin(access, call)) return access->next_call; /* egress is full */
	TAILQ_REMOVE(&access->line, call, in_line);
	access->running++;
	return google->now;
}

dur_us google_turn(struct google *google, mono_us now)
{
	struct access *access, *next;
	dur_us         wait = {INT64_MAX};
	google->now = now;
	for (access = LIST_FIRST(&google->busy); access; access = next) {
		next = LIST_NEXT(access, busy_link);
		mono_us at = turn_one(access);
		if (TAILQ_EMPTY(&access->line)) leave_busy(access);
		if (at.v == INT64_MAX) continue;
		dur_us left = mono_since(at, now);
		if (left.v < wait.v) wait = left;
	}
	return wait;
}

/* Classes ------------------------------------------------------------------------------------------------- */

static size_t place_of(struct span id, uint8_t hash[SHA256_BYTES])
{
	sha256_of(&id, 1, hash);
	return ((size_t)hash[0] << 8 | hash[1]) % CLASSES;
}

/* Another service account may not be allowed to write it. */
static void sum_of(const struct access *access, struct span json, uint8_t hash[SHA256_BYTES])
{
	const struct span parts[] = {span_of(access->hash, sizeof access->hash), json};
	sha256_of(parts, 2, hash);
}

bool google_knows_class(const struct access *access, struct span id, struct span json)
{
	uint8_t                  name[SHA256_BYTES], hash[SHA256_BYTES];
	const struct class_seen *seen = &access->google->classes[place_of(id, name)];
	sum_of(access, json, hash);
	return !memcmp(seen->id, name, sizeof name) && !memcmp(seen->json, hash, sizeof hash);
}

void google_note_class(struct access *access, struct span id, struct span json)
{
	uint8_t            name[SHA256_BYTES];
	struct class_seen *seen = &access->google->classes[place_of(id, name)];
	memcpy(seen->id, name, sizeof name);
	sum_of(access, json, seen->json);
}

unsigned google_note_forbidden(struct access *access)
{
	return ++access->forbidden;
}

void google_note_allowed(struct access *access)
{
	access->forbidden = 0;
}
