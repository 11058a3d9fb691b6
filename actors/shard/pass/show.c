/* A pass as the interface prints it (document 2.1), as JSON text: no process on the way has to parse it again. The client's
 * own objects are stored as JSON text and copied. */
#include "schemas/object_json.h"
#include "actors/shard/pass/pass.h"

#include "actors/rt/token.h"

/* `visible` as it is stored, and what adds the counter under the template's locked key. */
struct visible {
	const struct template *template;
	int64_t     balance;
	struct span stored;
};

static void json_VALUES(struct buffer *out, struct visible visible)
{
	const struct template_field *counter = visible.template->counter;
	buffer_append(out, visible.stored.at,
	              visible.stored.size - (counter != NULL)); /* without its brace */
	if (!counter) return;
	if (visible.stored.size > 2) buffer_byte(out, ',');
	json_quote(counter->key, out);
	buffer_byte(out, ':');
	json_number(visible.balance, out);
	buffer_byte(out, '}');
}

static void json_Appearance(struct buffer *out, struct span stored)
{
	json_MAP(out, stored);
}

struct link {
	const char    *public_url;
	const uint8_t *token;
};

static void json_LINK(struct buffer *out, struct link link)
{
	char token[TOKEN_TEXT];
	token_text(link.token, token);
	buffer_byte(out, '"');
	buffer_text(out, link.public_url);
	buffer_text(out, "/p/");
	buffer_append(out, token, TOKEN_TEXT - 1);
	buffer_byte(out, '"');
}

enum err pass_json(struct request *request, const struct hot_at *pass, struct buffer *out)
{
	const struct template *template;
	const struct hot *hot = &pass->now;
	struct body       body;
	enum err          err = pass_template(request, hot, &template);
	if (err || (err = pass_body(request, pass, &body))) return err;
	const struct visible visible = {template, hot->balance, body.visible};
	const struct link    link = {request->facts->public_url, body.token};
	size_t               begin = out->size;
#include "schemas/objects/pass.def"
	json_object_end(out, begin);
	return OK;
}

enum err pass_show(struct request *request, const struct hot_at *pass, struct buffer *out)
{
	size_t   begin = bin_begin(out);
	enum err err = pass_json(request, pass, out);
	bin_end(out, begin);
	return err;
}
