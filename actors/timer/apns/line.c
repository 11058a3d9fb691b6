/* Lines: what waits for a credential's connections. */
#include "actors/timer/apns/apns_inside.h"

#include "actors/rt/log.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAIT_FIRST_S = 1, WAIT_MOST_S = 300 };

/* Opening -------------------------------------------------------------------------------------------------- */

static struct line_bucket *bucket_of(struct apns *apns, const struct apns_name *name)
{
	return &apns->buckets[(name->number ^ name->account.b[0]) % LINE_BUCKETS];
}

struct apns_line *apns_line(struct apns *apns, const struct apns_name *name)
{
	struct apns_line *line;
	LIST_FOREACH(line, bucket_of(apns, name), in_bucket)
	if (line->name.number == name->number && line->name.generation == name->generation &&
	    line->name.put.v == name->put.v && account_same(line->name.account, name->account))
		return line;
	return NULL;
}

/* The texts have all of their room already, so that none moves. */
static struct span keep(struct apns_line *line, struct span text)
{
	size_t at = line->texts.size;
	buffer_append(&line->texts, text.at, text.size);
	return span_of(line->texts.at + at, text.size);
}

static bool read_keys(struct apns_line *line, const struct apns_credential *credential)
{
	const unsigned char *at = credential->certificate.at;
	line->certificate = d2i_X509(NULL, &at, (long)credential->certificate.size);
	at = credential->issuer.at;
	line->issuer = d2i_X509(NULL, &at, (long)credential->issuer.size);
	at = credential->key.at;
	line->key = d2i_AutoPrivateKey(NULL, &at, (long)credential->key.size);
	at = credential->p8.at;
	if (credential->p8.size) line->p8 = d2i_AutoPrivateKey(NULL, &at, (long)credential->p8.size);
	return line->certificate && line->issuer && line->key && (line->p8 || !credential->p8.size) &&
	       X509_check_private_key(line->certificate, line->key) == 1;
}

void line_free(struct apns_line *line)
{
	if (line->apns) {
		LIST_REMOVE(line, in_bucket);
		TAILQ_REMOVE(&line->apns->lines, line, by_use);
		line->apns->line_count--;
	}
	X509_free(line->certificate);
	X509_free(line->issuer);
	EVP_PKEY_free(line->key);
	EVP_PKEY_free(line->p8);
	buffer_free(&line->texts);
	free(line);
}

enum err apns_line_open(struct apns *apns, const struct apns_credential *credential, struct apns_line **out)
{
	struct apns_line *line = *out = calloc(1, sizeof *line);
	size_t            size = credential->pass_type.size + credential->team.size + credential->key_id.size;
	if (!line || !buffer_reserve(&line->texts, size + 1)) goto no_memory;
	line->name = credential->name;
	line->pass_type = keep(line, credential->pass_type);
	line->team = keep(line, credential->team);
	line->key_id = keep(line, credential->key_id);
	TAILQ_INIT(&line->waiting);
	TAILQ_INIT(&line->connections);
	if (!read_keys(line, credential)) {
		ERR_clear_error();
		line_free(line);
		*out = NULL;
		return ERR_DAMAGED;
	}
	line->apns = apns;
	line->used = apns->now;
	LIST_INSERT_HEAD(bucket_of(apns, &line->name), line, in_bucket);
	TAILQ_INSERT_TAIL(&apns->lines, line, by_use);
	apns->line_count++;
	return OK;
no_memory:
	free(line);
	*out = NULL;
	return ERR_NO_MEMORY;
}

/* Waiting -------------------------------------------------------------------------------------------------- */

static void wait_in(struct apns_line *line, struct apns_push *push, bool in_front)
{
	push->connection = NULL;
	if (line->waiting_count++ == 0) TAILQ_INSERT_TAIL(&line->apns->waiting, line, in_waiting);
	if (in_front)
		TAILQ_INSERT_HEAD(&line->waiting, push, in_list);
	else
		TAILQ_INSERT_TAIL(&line->waiting, push, in_list);
}

void apns_push(struct apns_line *line, struct apns_push *push, struct span token, mono_us now)
{
	snprintf(push->path, sizeof push->path, "/3/device/%.*s", (int)token.size, (const char *)token.at);
	push->line = line;
	push->repeats = 0;
	push->due = mono_after(now, (dur_us){APNS_PUSH_MS * US_PER_MS});
	line->used = now;
	TAILQ_REMOVE(&line->apns->lines, line, by_use);
	TAILQ_INSERT_TAIL(&line->apns->lines, line, by_use);
	TAILQ_INSERT_TAIL(&line->apns->ages, push, by_age);
	wait_in(line, push, false);
}

void push_leave(struct apns_push *push)
{
	struct apns_line *line = push->line;
	if (push->connection) {
		TAILQ_REMOVE(&push->connection->open, push, in_list);
		push->connection->open_count--;
		return;
	}
	TAILQ_REMOVE(&line->waiting, push, in_list);
	if (--line->waiting_count == 0) TAILQ_REMOVE(&line->apns->waiting, line, in_waiting);
}

void push_again(struct apns_push *push)
{
	push->repeats++;
	push_leave(push);
	wait_in(push->line, push, true);
}

void push_judged(struct apns_push *push, const struct apns_answer *answer)
{
	struct apns *apns = push->line->apns;
	push_leave(push);
	TAILQ_REMOVE(&apns->ages, push, by_age);
	apns->has_news = true;
	push->on_done(push, answer);
}

void push_end(struct apns_push *push, enum apns_fate fate, const char *reason)
{
	struct apns_answer answer = {.fate = fate};
	snprintf(answer.reason, sizeof answer.reason, "%s", reason);
	push_judged(push, &answer);
}

/* At most those that wait now: a callback may add more. */
void line_give_up(struct apns_line *line, enum apns_fate fate, const char *reason)
{
	char why[PUSH_REASON_TEXT];
	snprintf(why, sizeof why, "%s", reason);
	for (unsigned count = line->waiting_count; count; count--)
		push_end(TAILQ_FIRST(&line->waiting), fate, why);
}

bool line_is_idle(const struct apns_line *line)
{
	return !line->waiting_count && TAILQ_EMPTY(&line->connections) && !line->dialling;
}

/* Trouble -------------------------------------------------------------------------------------------------- */

static void note(struct apns_line *line, const char *reason)
{
	char why[PUSH_REASON_TEXT];
	snprintf(why, sizeof why, "%s", reason); /* it may be the line's own */
	memcpy(line->reason, why, sizeof why);
}

unsigned line_connections(const struct apns_line *line)
{
	const struct connection *connection;
	unsigned                 count = 0;
	TAILQ_FOREACH(connection, &line->connections, of_line)
	count += !connection->is_draining && !connection->reason[0];
	return count;
}

void apns_line_hurry(struct apns_line *line)
{
	if (!line->wait.v || !line->dial_at.v) return;
	line->dial_at.v = 0;
	line->wait.v /= 2;
}

bool apns_line_is_refused(const struct apns_line *line)
{
	return line->is_refused && line->wait.v;
}

void line_rest(struct apns_line *line, const char *reason)
{
	note(line, reason);
	line->is_refused = false;
	line->dial_at = mono_after(line->apns->now, (dur_us){PROVIDER_TOKEN_REST_S * US_PER_SEC});
}

void line_failed(struct apns_line *line, bool is_refused, const char *reason)
{
	struct apns *apns = line->apns;
	note(line, reason);
	line->is_refused = is_refused;
	line->wait.v = line->wait.v ? 2 * line->wait.v : WAIT_FIRST_S * US_PER_SEC;
	if (line->wait.v > WAIT_MOST_S * US_PER_SEC) line->wait.v = WAIT_MOST_S * US_PER_SEC;
	line->dial_at = mono_after(apns->now, line->wait);
	if (!is_refused && !apns->is_failing) {
		log_warn("pushes_fail", "host=%s port=%u reason=\"%s\"", apns->host, apns->options.port,
		         line->reason);
		apns->is_failing = true;
	}
	if (!line_connections(line)) line_give_up(line, is_refused ? APNS_HELD : APNS_AGAIN, line->reason);
}
