/* The operator's listener: is the process alive, does every shard answer, the metrics. Thread 0 serves it, in clear text, on
 * loopback or a private network. */
#include "http/admin.h"
#include "http/access_log.h"
#include "http/answer.h"
#include "http/kits.h"
#include "http/shard_metrics.h"
#include "schemas/api/system.h"
#include "schemas/msgpack_look.h"

#include <stdio.h>

enum { READY_DEADLINE_MS = 1000 }; /* a call ends CALL_DEADLINE_GRACE_MS later: 2 s in all */

/* A call to every shard; after the last answer, `finish` runs. Lives in the request's pool. */
struct probe {
	struct pending pending; /* first */
	struct survey *survey;
	uint32_t       shard;
};
struct survey {
	struct exchange *exchange;
	unsigned         waiting; /* probes without an answer */
	/* GET /readyz: shards that do not answer, or whose issuer is down. */
	bool silent[SHARDS_MAX], deaf[SHARDS_MAX];
	/* `status` NULL: no answer. */
	void (*take)(struct survey *survey, uint32_t shard, const msgpack_object *status);
	void (*finish)(struct survey *survey);
	struct shard_numbers *numbers; /* GET /metrics */
	struct probe          probes[SHARDS_MAX];
};

static void answer_json(struct exchange *exchange, int status, const char *json)
{
	answer_text(exchange, status, "application/json", span_str(json));
}

static void on_status(struct pending *pending, const struct reply *reply)
{
	const struct probe *probe = (struct probe *)pending;
	struct survey      *survey = probe->survey;
	if (reply->flags & REPLY_MORE) return;
	survey->take(survey, probe->shard, reply->err ? NULL : reply->payload);
	if (--survey->waiting == 0) survey->finish(survey);
}

static void forget_probes(void *memory)
{
	struct survey *survey = memory;
	for (unsigned i = 0; i < SHARDS_MAX; i++)
		pending_forget(&survey->probes[i].pending);
}

static struct survey *new_survey(struct exchange *exchange)
{
	struct survey *survey = h2o_mem_alloc_shared(&exchange->req->pool, sizeof *survey, forget_probes);
	*survey = (struct survey){.exchange = exchange};
	return survey;
}

/* The messages of the two questions have no arguments. */
static void ask_shards(struct survey *survey, enum message message)
{
	struct http_thread *thread = survey->exchange->thread;
	survey->waiting = 1; /* counts this function itself */
	for (uint32_t shard = 0; shard < thread->service->shards; shard++) {
		struct probe  *probe = &survey->probes[shard];
		struct call    head = {.message = message};
		struct buffer *arguments;
		head.deadline = mono_after(thread_now(thread), (dur_us){READY_DEADLINE_MS * US_PER_MS});
		*probe = (struct probe){{.on_reply = on_status}, survey, shard};
		if (thread_call(thread, &probe->pending, shard, &head, &arguments)) {
			survey->take(survey, shard, NULL);
			continue;
		}
		msgpack_packer packer = buffer_packer(arguments);
		msgpack_pack_array(&packer, 0);
		pending_send(&probe->pending);
		survey->waiting++;
	}
	if (--survey->waiting == 0) survey->finish(survey);
}

/* GET /readyz --------------------------------------------------------------------------------------------- */

/* Is the shard's issuer up? A paused issuer counts as up. */
static void take_issuer(struct survey *survey, uint32_t shard, const msgpack_object *status)
{
	const msgpack_object *issuer = status ? msgpack_member(status, "issuer") : NULL;
	bool                  known = issuer && issuer->type == MSGPACK_OBJECT_STR;
	struct span value = known ? span_of(issuer->via.str.ptr, issuer->via.str.size) : span_of(NULL, 0);
	survey->silent[shard] = !status;
	survey->deaf[shard] = status && !span_is(value, "up") && !span_is(value, "paused");
}

static void add_missing(struct buffer *body, const char *text)
{
	buffer_text(body, body->size ? ",\"" : "{\"status\":\"unavailable\",\"missing\":[\"");
	buffer_text(body, text);
	buffer_byte(body, '"');
}

/* The probes used this thread's sessions; a request may arrive at any thread. */
static void answer_readiness(struct survey *survey)
{
	const struct service *service = survey->exchange->thread->service;
	struct buffer        *body = &survey->exchange->thread->body;
	char                  text[64];
	buffer_clear(body);
	for (uint32_t shard = 0; shard < service->shards; shard++) {
		const char *what = survey->silent[shard] ? "answer" : "hear the timer";
		snprintf(text, sizeof text, "shard %u does not %s", shard, what);
		if (survey->silent[shard] || survey->deaf[shard]) add_missing(body, text);
	}
	if (!body->size && !service_reaches_shards(service))
		add_missing(body, "an HTTP thread does not reach every shard");
	if (!body->size) {
		answer_json(survey->exchange, 200, "{\"status\":\"ready\"}");
		return;
	}
	buffer_text(body, "]}");
	answer_text(survey->exchange, 503, "application/json", buffer_span(body));
}

static void begin_readiness(struct exchange *exchange)
{
	struct survey *survey = new_survey(exchange);
	survey->take = take_issuer;
	survey->finish = answer_readiness;
	ask_shards(survey, MSG_SHARD_READY);
}

/* GET /metrics -------------------------------------------------------------------------------------------- */

static void take_numbers(struct survey *survey, uint32_t shard, const msgpack_object *status)
{
	shard_numbers_take(&survey->numbers[shard], status);
}

static void answer_metrics(struct survey *survey)
{
	const struct service *service = survey->exchange->thread->service;
	struct metrics_view   view = {.count = service->thread_count,
	                              .shards = service->shards,
	                              .connections_max = service->connections_max * service->thread_count};
	struct buffer        *body = &survey->exchange->thread->body;
	view.certificate_ends_s = survey->exchange->thread->live->certificate_ends_s;
	for (unsigned i = 0; i < service->thread_count; i++)
		view.threads[i] = &service->threads[i].metrics;
	view.kits_bytes = kits_bytes(service->kits);
	view.has_wallets = shard_numbers_have_wallets(survey->numbers, service->shards);
	view.access_dropped = access_log_dropped(survey->exchange->thread->live->access);
	buffer_clear(body);
	metrics_render(&view, body);
	shard_numbers_render(survey->numbers, service->shards, body);
	answer_text(survey->exchange, 200, "text/plain; version=0.0.4; charset=utf-8", buffer_span(body));
}

static void begin_metrics(struct exchange *exchange)
{
	struct survey *survey = new_survey(exchange);
	survey->take = take_numbers;
	survey->finish = answer_metrics;
	survey->numbers = h2o_mem_alloc_pool(&exchange->req->pool,
	                                     sizeof *survey->numbers * exchange->thread->service->shards);
	ask_shards(survey, MSG_SHARD_STATUS);
}

int on_admin_request(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	const struct span      nothing = {0};
	struct exchange       *exchange;
	struct request_headers headers;
	if (exchange_begin(req, &exchange, &headers)) return 0;
	struct span path = exchange->path;
	bool        health = span_is(path, "/healthz"), ready = span_is(path, "/readyz"),
	     metrics = span_is(path, "/metrics");
	exchange->allow = 1u << METHOD_GET;
	if (!health && !ready && !metrics)
		answer_error(exchange, ERR_ROUTE_NOT_FOUND, nothing, nothing);
	else if (!exchange->without_body && !h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET")))
		answer_error(exchange, ERR_METHOD_NOT_ALLOWED, nothing, nothing);
	else if (health)
		answer_json(exchange, 200, "{\"status\":\"ok\"}");
	else if (ready)
		begin_readiness(exchange);
	else
		begin_metrics(exchange);
	return 0;
}
