/* How pages are sent. Headers isolate a page: it loads and runs nothing from elsewhere, cannot be framed, sends no referrer, and
 * is not cached on the way. */
#include "http/page_answer.h"

#include "http/answer.h"

#include <stdio.h>

static const struct page_header of_all[] = {
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Robots-Tag", "noindex"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void add_headers(struct exchange *exchange, const struct page_header *headers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		answer_header(exchange, headers[i].name, span_str(headers[i].value));
}

void page_headers(struct exchange *exchange, const struct page_header *headers, size_t count)
{
	add_headers(exchange, headers, count);
	add_headers(exchange, of_all, sizeof of_all / sizeof *of_all);
}

void page_send(struct exchange *exchange, int status, struct span html, const struct card_hashes *hashes)
{
	static const struct page_header headers[] = {
	    {"Cache-Control", "private, no-store"},
	    {"X-DNS-Prefetch-Control",
	     "off"}, /* a link's host is not contacted before the link is followed */
	    {"Cross-Origin-Opener-Policy", "same-origin"},
	};
	char policy[288];
	int  size = snprintf(policy, sizeof policy,
	                     "default-src 'none'; style-src 'sha256-%s' 'sha256-%s'; %sbase-uri 'none'; "
	                      "form-action 'none'; frame-ancestors 'none'",
	                     hashes->text[0], hashes->text[1], hashes->has_images ? "img-src 'self'; " : "");
	must(size > 0 && (size_t)size < sizeof policy);
	answer_header(exchange, "Content-Security-Policy", span_of(policy, (size_t)size));
	page_headers(exchange, headers, sizeof headers / sizeof *headers);
	answer_text(exchange, status, "text/html; charset=utf-8", html);
}

void page_refuse_as(struct exchange *exchange, int status)
{
	struct buffer     *body = &exchange->thread->body;
	struct card_hashes hashes;
	buffer_clear(body);
	card_refusal(status, body, &hashes);
	if (body->failed) { /* no memory for a page */
		answer_error(exchange, ERR_INTERNAL, span_of(NULL, 0), span_of(NULL, 0));
		return;
	}
	answer_error_headers(exchange, status);
	page_send(exchange, status, buffer_span(body), &hashes);
}

void page_refuse(struct exchange *exchange, enum err err)
{
	page_refuse_as(exchange, err_http(answer_shown(exchange, err)));
}
