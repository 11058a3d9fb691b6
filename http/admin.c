/* The operator's listener: is the process alive, does the whole house answer, what do the counters say.
 * Served by thread 0, in clear, and meant for loopback or a private network. */
#include "http/admin.h"
#include "http/answer.h"
#include "schemas/fields.h"

enum { READY_DEADLINE_MS = 1000 }; /* a call ends CALL_DEADLINE_GRACE_MS after it: within 2 s in all */

/* GET /readyz under way: one call to every shard; the last answer decides. Lives in the request's pool. */
struct probe {
	struct pending    pending; /* first */
	struct readiness *readiness;
};
struct readiness {
	struct request *request;
	unsigned        waiting; /* probes not answered yet */
	bool            good;
	struct probe    probes[SHARDS_MAX];
};

static void answer_json(struct request *request, int status, const char *json)
{
	answer_text(request, status, "application/json", span_str(json));
}

static void answer_readiness(const struct readiness *readiness)
{
	if (readiness->good)
		answer_json(readiness->request, 200, "{\"status\":\"ready\"}");
	else
		answer_json(readiness->request, 503, "{\"status\":\"unavailable\"}");
}

/* Does a shard's SHARD_STATUS say that it hears its issuer? One that the operator has paused is heard. */
static bool hears_issuer(const msgpack_object *status)
{
	if (status->type != MSGPACK_OBJECT_MAP) return false;
	for (uint32_t i = 0; i < status->via.map.size; i++) {
		const msgpack_object_kv *member = &status->via.map.ptr[i];
		if (member->key.type != MSGPACK_OBJECT_STR || member->val.type != MSGPACK_OBJECT_STR)
			continue;
		if (!span_is(span_of(member->key.via.str.ptr, member->key.via.str.size), "issuer")) continue;
		struct span value = span_of(member->val.via.str.ptr, member->val.via.str.size);
		return span_is(value, "up") || span_is(value, "paused");
	}
	return false;
}

static void on_status(struct pending *pending, const struct reply *reply)
{
	struct readiness *readiness = ((struct probe *)pending)->readiness;
	if (reply->flags & REPLY_MORE) return;
	if (reply->err || !hears_issuer(reply->payload)) readiness->good = false;
	if (--readiness->waiting == 0) answer_readiness(readiness);
}

static void forget_probes(void *memory)
{
	struct readiness *readiness = memory;
	for (unsigned i = 0; i < SHARDS_MAX; i++)
		pending_forget(&readiness->probes[i].pending);
}

static void begin_readiness(struct request *request)
{
	struct http_thread *thread = request->thread;
	struct readiness   *readiness = h2o_mem_alloc_shared(&request->req->pool, sizeof *readiness,
	                                                     forget_probes);
	*readiness = (struct readiness){.request = request, .good = true};
	buffer_clear(&thread->arguments);
	msgpack_packer packer = buffer_packer(&thread->arguments);
	msgpack_pack_array(&packer, ARGS_SHARD_STATUS);
	for (uint32_t shard = 0; shard < thread->service->shards; shard++) {
		struct probe *probe = &readiness->probes[shard];
		struct call   head = {.message = MSG_SHARD_STATUS};
		head.deadline = mono_after(thread_now(thread), (dur_us){READY_DEADLINE_MS * US_PER_MS});
		*probe = (struct probe){{.on_reply = on_status}, readiness};
		if (thread_call(thread, &probe->pending, shard, &head, buffer_span(&thread->arguments)))
			readiness->good = false;
		else
			readiness->waiting++;
	}
	if (readiness->waiting == 0) answer_readiness(readiness);
}

static void answer_metrics(struct request *request)
{
	const struct service *service = request->thread->service;
	const struct metrics *threads[HTTP_THREADS_MAX];
	struct buffer        *body = &request->thread->body;
	for (unsigned i = 0; i < service->thread_count; i++)
		threads[i] = &service->threads[i].metrics;
	buffer_clear(body);
	metrics_render(threads, service->thread_count, body);
	answer_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", buffer_span(body));
}

int on_admin_request(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	const struct span      nothing = {0};
	struct request        *request;
	struct request_headers headers;
	struct span            path, query;
	if (request_begin(req, &request, &headers)) return 0;
	request_target(req, &path, &query);
	bool health = span_is(path, "/healthz"), ready = span_is(path, "/readyz"),
	     metrics = span_is(path, "/metrics");
	request->allow = 1u << METHOD_GET;
	if (!health && !ready && !metrics)
		answer_error(request, ERR_ROUTE_NOT_FOUND, nothing, nothing);
	else if (!request->without_body && !h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET")))
		answer_error(request, ERR_METHOD_NOT_ALLOWED, nothing, nothing);
	else if (health)
		answer_json(request, 200, "{\"status\":\"ok\"}");
	else if (ready)
		begin_readiness(request);
	else
		answer_metrics(request);
	return 0;
}
