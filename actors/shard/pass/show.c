/* A pass as the interface prints it (document 2.1): members that are "present only if" are left out, the
 * counter is laid into `visible` under the template's locked key. */
#include "actors/shard/pass/pass.h"

#include "schemas/date.h"

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
enum { TOKEN_TEXT = 22 }; /* 128 bits, six a character */

static void token_text(const uint8_t token[16], char text[TOKEN_TEXT + 1])
{
	uint32_t bits = 0, held = 0, at = 0;
	for (unsigned i = 0; i < 16; i++) {
		bits = bits << 8 | token[i];
		for (held += 8; held >= 6; held -= 6)
			text[at++] = base64url[bits >> (held - 6) & 63];
	}
	text[at++] = base64url[bits << (6 - held) & 63];
	text[at] = 0;
}

static void pack_member(msgpack_packer *pk, const char *key, const char *value)
{
	pack_text(pk, key);
	pack_text(pk, value);
}

static void pack_date(msgpack_packer *pk, const char *key, wall_us at)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	pack_member(pk, key, text);
}

static void pack_visible(msgpack_packer *pk, const struct template *template, const struct hot *hot,
			 const msgpack_object *visible)
{
	uint32_t count = visible->via.map.size;
	pack_text(pk, "visible");
	msgpack_pack_map(pk, count + (template->counter ? 1 : 0));
	for (uint32_t i = 0; i < count; i++) {
		msgpack_pack_object(pk, visible->via.map.ptr[i].key);
		msgpack_pack_object(pk, visible->via.map.ptr[i].val);
	}
	if (!template->counter) return;
	pack_str(pk, template->counter->key);
	pack_int(pk, hot->balance);
}

static void pack_download_url(struct request *request, msgpack_packer *pk, const struct body *body)
{
	const char *base = request->facts->public_url;
	char        token[TOKEN_TEXT + 1];
	size_t      size = strlen(base);
	token_text(body->token, token);
	pack_text(pk, "download_url");
	msgpack_pack_str(pk, size + 3 + TOKEN_TEXT);
	msgpack_pack_str_body(pk, base, size);
	msgpack_pack_str_body(pk, "/p/", 3);
	msgpack_pack_str_body(pk, token, TOKEN_TEXT);
}

static void pack_qr(msgpack_packer *pk, const struct template *template, const struct body *body)
{
	pack_text(pk, "qr_value");
	if (template->qr) pack_str(pk, body->pass_id);
	else msgpack_pack_nil(pk);
}

enum err pass_show(struct request *request, const struct hot_at *pass, msgpack_packer *pk)
{
	const struct hot      *hot = &pass->now;
	const struct template *template;
	struct body            body;
	enum err               err = pass_template(request->account, hot, &template);
	if (err || (err = pass_body(request, pass, &body))) return err;
	bool failed = hot->status == PASS_CREATION_FAILED, deleted = hot->flags & HOT_DELETED;
	bool loyal = template->loyalty != LOYALTY_NONE;
	msgpack_pack_map(pk, 11u + failed + deleted + loyal);
	pack_text(pk, "id");
	pack_str(pk, body.pass_id);
	pack_visible(pk, template, hot, body.visible);
	pack_text(pk, "hidden");
	msgpack_pack_object(pk, *body.hidden);
	pack_text(pk, "appearance");
	msgpack_pack_object(pk, *body.appearance);
	pack_qr(pk, template, &body);
	pack_member(pk, "status", pass_status_text(hot->status));
	if (failed) {
		pack_text(pk, "creation_error");
		msgpack_pack_object(pk, *body.creation_error);
	}
	pack_download_url(request, pk, &body);
	pack_text(pk, "reinstall_blocked");
	if (hot->flags & HOT_REINSTALL_BLOCKED) msgpack_pack_true(pk);
	else msgpack_pack_false(pk);
	pack_member(pk, "loyalty_type", loyalty_text(template->loyalty));
	if (loyal) {
		pack_text(pk, "balance");
		pack_int(pk, hot->balance);
	}
	pack_date(pk, "created_at", hot->created);
	pack_date(pk, "updated_at", hot->updated);
	if (deleted) pack_date(pk, "deleted_at", hot->updated); /* nothing moves a pass after its deletion */
	return OK;
}
