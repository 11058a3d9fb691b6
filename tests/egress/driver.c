/* Egress without a timer, for scenarios: reads requests as lines from standard input and writes results as
 * lines to standard output.
 *
 *   post LABEL URL BODY…              → LABEL WORD STATUS LATENCY_MS SIZE HASH DETAIL…   (WORD is - when the endpoint answered)
 *   sign LABEL URL SECRET ID BODY…      the same with the headers of a webhook
 *   fetch LABEL URL                     SIZE and HASH (SHA-256) are those of the body
 *   owner NAME                          the account of the following lines, at most 10 bytes
 *                                     → LABEL refused CODE                       (not accepted)
 * At the end of the input, when no request is outstanding, it prints the longest turn in microseconds and
 * exits. */
#include "actors/rt/loop.h"
#include "actors/rt/time.h"
#include "actors/timer/egress.h"
#include "schemas/buffer.h"
#include "schemas/sha256.h"
#include "schemas/webhook.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 128, HEADERS = 4 };

static uint32_t          under_way;
static struct account_id owner;

static void on_done(void *context, const struct egress_outcome *outcome)
{
	uint8_t     hash[SHA256_BYTES];
	const char *word = attempt_word(outcome->error);

	(void)context;
	under_way--;
	sha256_of(&outcome->body, 1, hash);
	printf("%s %s %d %" PRId64 " %zu ", (char *)outcome->user, *word ? word : "-", outcome->status,
	       outcome->latency.v / US_PER_MS, outcome->body.size);
	for (size_t i = 0; i < sizeof hash; i++)
		printf("%02x", hash[i]);
	printf(" %s\n", attempt_detail_text(outcome->detail));
	free(outcome->user);
}

static const char *word(char **rest)
{
	const char *first = strsep(rest, " ");
	return first ? first : "";
}

static void start(struct egress *egress, struct egress_request *request, const char *label)
{
	enum err err;

	request->user = strdup(label);
	err = egress_start(egress, request, time_mono());
	if (!err) {
		under_way++;
		return;
	}
	printf("%s refused %s\n", label, err_code(err));
	free(request->user);
}

static void set_owner(const char *name)
{
	owner = (struct account_id){0};
	memcpy(owner.b, name, strnlen(name, sizeof owner.b));
}

static void run(struct egress *egress, char *line)
{
	char                 *rest = line, headers[HEADERS][TEXT], signature[WEBHOOK_SIGNATURE_TEXT];
	const char           *lines[HEADERS] = {headers[0], headers[1], headers[2], headers[3]};
	const char           *verb = word(&rest), *label = word(&rest);
	uint8_t               key[WEBHOOK_KEY_BYTES];
	struct webhook        webhook = {.sent_at = time_wall()};
	struct egress_request request = {.owner = owner, .url = span_str(word(&rest)), .headers = lines};

	if (!strcmp(verb, "owner")) {
		set_owner(label);
		return;
	}
	snprintf(headers[request.header_count++], TEXT, "Content-Type: application/json");
	request.is_fetch = !strcmp(verb, "fetch");
	if (!strcmp(verb, "sign")) {
		must(webhook_secret_read(span_str(word(&rest)), key));
		webhook.id = span_str(word(&rest));
		webhook.body = span_str(rest ? rest : "");
		webhook_sign(&webhook, key, signature);
		snprintf(headers[request.header_count++], TEXT, "webhook-id: %s",
		         (const char *)webhook.id.at);
		snprintf(headers[request.header_count++], TEXT, "webhook-timestamp: %" PRId64,
		         webhook_seconds(webhook.sent_at));
		snprintf(headers[request.header_count++], TEXT, "webhook-signature: %s", signature);
	}
	request.body = span_str(rest ? rest : "");
	start(egress, &request, label);
}

/* Reads available input; false at its end. */
static bool read_lines(struct egress *egress, struct buffer *input)
{
	uint8_t *to = buffer_reserve(input, 1 << 16), *end;
	ssize_t  got = to ? read(STDIN_FILENO, to, 1 << 16) : -1;

	if (got <= 0) return false;
	input->size += (size_t)got;
	while ((end = memchr(input->at, '\n', input->size))) {
		size_t size = (size_t)(end - input->at) + 1;
		*end = 0;
		run(egress, (char *)input->at);
		input->size -= size;
		memmove(input->at, input->at + size, input->size);
	}
	return true;
}

/* Lives as long as the process. */
static struct span read_file(const char *path)
{
	static struct buffer text;
	FILE                *file = fopen(path, "r");
	uint8_t             *to = buffer_reserve(&text, 1 << 16);
	must(file && to);
	text.size += fread(to, 1, 1 << 16, file);
	fclose(file);
	return buffer_span(&text);
}

static void read_arguments(char **argv, struct egress_options *options, struct address_rules *rules)
{
	for (; *argv; argv += 2) {
		const char *name = argv[0], *value = argv[1];
		must(value);
		uint32_t number = (uint32_t)strtoul(value, NULL, 10);
		if (!strcmp(name, "--ca"))
			options->ca = read_file(value);
		else if (!strcmp(name, "--dns"))
			options->resolver.servers = value;
		else if (!strcmp(name, "--resolv-conf"))
			options->resolver.file = value;
		else if (!strcmp(name, "--dns-port"))
			options->resolver.port = (uint16_t)number;
		else if (!strcmp(name, "--attempts"))
			options->attempts_max = number;
		else if (!strcmp(name, "--endpoint"))
			options->endpoint_max = number;
		else if (!strcmp(name, "--host"))
			options->host_max = number;
		else if (!strcmp(name, "--waiting"))
			options->waiting_max = number;
		else if (!strcmp(name, "--attempt-ms"))
			options->attempt_time.v = number * US_PER_MS;
		else if (!strcmp(name, "--start-ms"))
			options->start_time.v = number * US_PER_MS;
		else if (!strcmp(name, "--own"))
			must(address_read_v4(value, &rules->own[rules->own_count++]));
		else
			must(!strcmp(name, "--allow") &&
			     address_range_read(value, &rules->allowed[rules->allowed_count++]));
	}
}

int main(int argc, char **argv)
{
	static struct address_rules rules;
	struct egress_options       options = {.rules = &rules, .done = on_done};
	struct egress              *egress = NULL;
	struct loop                 loop;
	struct buffer               input = {0};
	dur_us                      wait = {0}, longest = {0};
	bool                        is_open = true;
	enum err                    err;

	(void)argc;
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_arguments(argv + 1, &options, &rules);
	if ((err = egress_open(&egress, &options))) {
		printf("open refused %s\n", err_code(err));
		return 1;
	}
	must(loop_open(&loop) == OK && loop_watch(&loop, egress_fd(egress)) == OK);
	must(loop_watch(&loop, STDIN_FILENO) == OK);
	while (is_open || under_way) {
		struct pollfd input_ready = {.fd = STDIN_FILENO, .events = POLLIN};
		loop_wait(&loop, wait);
		if (is_open && poll(&input_ready, 1, 0) == 1 && !(is_open = read_lines(egress, &input)))
			close(STDIN_FILENO); /* it would wake the loop for ever */
		mono_us before = time_mono();
		wait = egress_turn(egress, before);
		dur_us turn = mono_since(time_mono(), before);
		if (turn.v > longest.v) longest = turn;
	}
	printf("longest %" PRId64 "\n", longest.v);
	egress_close(&egress);
	loop_close(&loop);
	buffer_free(&input);
	return 0;
}
