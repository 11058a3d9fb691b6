/* Some requests h2o refuses before any handler sees them: a body beyond its hard cap, a length that is no
 * number, an odd Expect. It answers in plain text and closes. This filter puts our error body in place of its
 * text, so that whoever gets so far reads the same form as everywhere. */
#include "http/answer.h"

struct replaced {
	h2o_ostream_t super;
	h2o_iovec_t   body;
};

static void send_ours(h2o_ostream_t *stream, h2o_req_t *req, h2o_iovec_t *parts, size_t count,
                      h2o_send_state_t state)
{
	struct replaced *replaced = (struct replaced *)stream;
	(void)parts;
	h2o_ostream_send_next(stream, req, &replaced->body, count ? 1 : 0, state);
}

/* Answers of ours carry their own request id; what has none is h2o's. */
static bool is_ours(const h2o_req_t *req)
{
	return h2o_find_header_by_str(&req->res.headers, H2O_STRLIT("X-Request-Id"), -1) >= 0;
}

static void on_answer(h2o_filter_t *self, h2o_req_t *req, h2o_ostream_t **slot)
{
	(void)self;
	if (req->res.status >= 400 && !is_ours(req)) {
		const struct span   nothing = {0};
		struct http_thread *thread = thread_of(req);
		enum err    err = req->res.status == 413 ? ERR_PAYLOAD_TOO_LARGE : ERR_INVALID_REQUEST;
		struct span id = request_own_id(thread, req);
		buffer_clear(&thread->body);
		error_body(&thread->body, err, nothing, nothing, id);
		struct replaced *replaced = (struct replaced *)h2o_add_ostream(req, sizeof *replaced, slot);
		replaced->super.do_send = send_ours;
		replaced->body = h2o_strdup(&req->pool, (const char *)thread->body.at, thread->body.size);
		slot = &replaced->super.next;
		req->res.status = err_http(err);
		req->res.reason = reason_phrase(req->res.status);
		req->res.content_length = replaced->body.len;
		req->res.headers.size = 0;
		h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		               H2O_STRLIT("application/json"));
		h2o_add_header_by_str(&req->pool, &req->res.headers, H2O_STRLIT("X-Request-Id"), 0, NULL,
		                      (const char *)id.at, id.size);
		metrics_answered(&thread->metrics, NULL, req->res.status, (dur_us){0});
	}
	h2o_setup_next_ostream(req, slot);
}

void fallback_register(h2o_pathconf_t *path)
{
	h2o_filter_t *filter = h2o_create_filter(path, sizeof *filter);
	filter->on_setup_ostream = on_answer;
}
