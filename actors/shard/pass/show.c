/* A pass as the interface prints it (document 2.1): members that are "present only if" are left out, the
 * counter is laid into `visible` under the template's locked key. The caller's own objects are stored as JSON
 * text and copied; the whole leaves as text, so that nobody on the way has to take it apart again. */
#include "actors/shard/pass/pass.h"

#include "actors/rt/token.h"
#include "schemas/date.h"

#define LITERAL(out, text) buffer_append(out, text, sizeof(text) - 1)

static void put_date(struct buffer *out, wall_us at)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	buffer_byte(out, '"');
	buffer_append(out, text, RFC3339_TEXT - 1);
	buffer_byte(out, '"');
}

static void put_visible(struct buffer *out, const struct template *template, const struct hot *hot,
                        struct span visible)
{
	LITERAL(out, ",\"visible\":");
	if (!template->counter) {
		buffer_append(out, visible.at, visible.size);
		return;
	}
	buffer_append(out, visible.at, visible.size - 1); /* without its brace */
	if (visible.size > 2) buffer_byte(out, ',');
	json_quote(template->counter->key, out);
	buffer_byte(out, ':');
	json_number(hot->balance, out);
	buffer_byte(out, '}');
}

static void put_optional(struct buffer *out, struct span text)
{
	if (text.size)
		buffer_append(out, text.at, text.size);
	else
		LITERAL(out, "null");
}

static void put_content(struct buffer *out, const struct template *template, const struct hot *hot,
                        const struct body *body)
{
	LITERAL(out, "{\"id\":");
	json_quote(body->pass_id, out);
	put_visible(out, template, hot, body->visible);
	LITERAL(out, ",\"hidden\":");
	buffer_append(out, body->hidden.at, body->hidden.size);
	LITERAL(out, ",\"appearance\":");
	put_optional(out, body->appearance);
	LITERAL(out, ",\"qr_value\":");
	if (template->qr)
		json_quote(body->pass_id, out);
	else
		LITERAL(out, "null");
	LITERAL(out, ",\"status\":\"");
	buffer_text(out, pass_status_text(hot->status));
	buffer_byte(out, '"');
	if (hot->status != PASS_CREATION_FAILED) return;
	LITERAL(out, ",\"creation_error\":");
	json_quote(body->creation_error, out);
}

static void put_facts(struct buffer *out, const char *public_url, const struct template *template,
                      const struct hot *hot, const struct body *body)
{
	char token[TOKEN_TEXT];
	token_text(body->token, token);
	LITERAL(out, ",\"download_url\":\"");
	buffer_text(out, public_url);
	LITERAL(out, "/p/");
	buffer_append(out, token, TOKEN_TEXT - 1);
	LITERAL(out, "\",\"reinstall_blocked\":");
	buffer_text(out, hot->flags & HOT_REINSTALL_BLOCKED ? "true" : "false");
	LITERAL(out, ",\"loyalty_type\":\"");
	buffer_text(out, loyalty_text(template->loyalty));
	buffer_byte(out, '"');
	if (template->loyalty != LOYALTY_NONE) {
		LITERAL(out, ",\"balance\":");
		json_number(hot->balance, out);
	}
	LITERAL(out, ",\"created_at\":");
	put_date(out, hot->created);
	LITERAL(out, ",\"updated_at\":");
	put_date(out, hot->updated);
	if (hot->flags & HOT_DELETED) { /* nothing moves a pass after its deletion */
		LITERAL(out, ",\"deleted_at\":");
		put_date(out, hot->updated);
	}
	buffer_byte(out, '}');
}

enum err pass_json(struct request *request, const struct hot_at *pass, struct buffer *out)
{
	const struct template *template;
	struct body body;
	enum err    err = pass_template(request, &pass->now, &template);
	if (err || (err = pass_body(request, pass, &body))) return err;
	put_content(out, template, &pass->now, &body);
	put_facts(out, request->facts->public_url, template, &pass->now, &body);
	return OK;
}

enum err pass_show(struct request *request, const struct hot_at *pass, struct buffer *out)
{
	size_t   begin = bin_begin(out);
	enum err err = pass_json(request, pass, out);
	bin_end(out, begin);
	return err;
}
