/* GET /p/{token}/google: the link by which the holder saves the pass in Google's wallet. The object travels inside it, signed by the
 * service account, so that a pass which nobody saves costs Google no call; so does the class until Google has it. Where they would
 * make it too long, the object is made at Google, and the link names it. */
#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/google.h"
#include "schemas/api/google.h"
#include "schemas/wallet/jwt.h"
#include "schemas/wallet/package_reply.h"
#include "schemas/wallet/sealing.h"
#include "store/wallet_class.h"

#include <openssl/x509.h>
#include <stdio.h>

/* Browsers cut longer addresses. Source: Google's documentation of the save link. */
enum { LINK_BYTES_MAX = 1800 };
static const char base[] = "https://pay.google.com/gp/v/save/";

/* What the link says. */
struct link_texts {
	struct buffer class, object, claims;
};

static void write_claims(const struct request *request, const struct google_pass *google, struct span email,
                         struct link_texts *texts)
{
	struct buffer *out = &texts->claims;
	char           head[160];
	buffer_text(out, "{\"iss\":");
	json_quote(email, out);
	snprintf(head, sizeof head, ",\"aud\":\"google\",\"typ\":\"savetowallet\",\"iat\":%lld,\"payload\":{",
	         (long long)(request->wall.v / US_PER_SEC));
	buffer_text(out, head);
	if (texts->class.size) {
		snprintf(head, sizeof head, "\"%sClasses\":[", google_kind(google));
		buffer_text(out, head);
		buffer_append(out, texts->class.at, texts->class.size);
		buffer_text(out, "],");
	}
	snprintf(head, sizeof head, "\"%sObjects\":[", google_kind(google));
	buffer_text(out, head);
	buffer_append(out, texts->object.at, texts->object.size);
	buffer_text(out, "]}}");
}

/* By the key in the service account's file. */
static enum err sign(struct request *request, const struct wallet_credential *row, struct span claims,
                     struct buffer *out)
{
	static const char        header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	const struct wallet_seal whose = {row->account, row->kind, row->number, row->generation};
	struct wallet_keys       keys;
	struct buffer            plain = {0};
	EVP_PKEY                *key = NULL;
	enum err err = wallet_unseal(request->facts->wallet_key, &whose, row->sealed, &plain, &keys);
	if (!err) {
		const unsigned char *at = keys.key.at;
		key = d2i_AutoPrivateKey(NULL, &at, (long)keys.key.size);
		err = key ? jwt_sign(key, span_str(header), claims, out) : ERR_DAMAGED;
	}
	EVP_PKEY_free(key);
	wallet_keys_forget(&plain);
	return err;
}

/* Does the link stay within its length with these claims? The signature is of an RSA key. */
static bool fits(const struct buffer *claims)
{
	enum { HEADER_TEXT = 36, SIGNATURE_TEXT = 342, DOTS = 2 };
	return sizeof base - 1 + HEADER_TEXT + (claims->size * 4 + 2) / 3 + SIGNATURE_TEXT + DOTS <=
	       LINK_BYTES_MAX;
}

static struct google_pass google_of(const struct request *request, const struct draft *draft)
{
	return (struct google_pass){.pass = &draft->shown,
	                            .issuer = draft->credential.name,
	                            .account = request->account->id,
	                            .template_number = draft->pass.now.template,
	                            .public_url = request->facts->public_url};
}

static void clear_texts(struct link_texts *texts)
{
	buffer_clear(&texts->class);
	buffer_clear(&texts->object);
	buffer_clear(&texts->claims);
}

static void free_texts(struct link_texts *texts)
{
	buffer_free(&texts->class);
	buffer_free(&texts->object);
	buffer_free(&texts->claims);
}

/* Has the issuer the class of the pass's template? */
static enum err find_class(struct request *request, const struct draft *draft, bool *is_there)
{
	struct wallet_class row = {.template_number = draft->pass.now.template};
	enum err            err = wallet_class_get(request->view, draft->pass.account, &row);
	*is_there = !err && row.issuer == draft->credential.number;
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err write_texts(struct request *request, const struct draft *draft, struct link_texts *texts)
{
	const struct google_pass google = google_of(request, draft);
	bool                     has_class;
	enum err                 err = find_class(request, draft, &has_class);
	clear_texts(texts);
	if (!err && !has_class) err = google_class_json(&google, view_arena(request->view), &texts->class);
	if (!err) err = google_object_json(&google, view_arena(request->view), &texts->object);
	if (err) return err;
	write_claims(request, &google, draft->credential.owner, texts);
	return texts->claims.failed ? ERR_NO_MEMORY : OK;
}

/* Of an object that is at Google: its name is enough. */
static enum err write_name(struct request *request, const struct draft *draft, struct link_texts *texts)
{
	const struct google_pass google = google_of(request, draft);
	char                     id[GOOGLE_ID_TEXT];
	google_object_id(&google, id);
	clear_texts(texts);
	buffer_text(&texts->object, "{\"id\":");
	json_quote(span_str(id), &texts->object);
	buffer_byte(&texts->object, '}');
	write_claims(request, &google, draft->credential.owner, texts);
	return texts->claims.failed ? ERR_NO_MEMORY : OK;
}

/* What the link says: all, if that fits. Else only the object's name, if Google has the object. Else all but the texts, which come
 * when the object is made. *later: not even that fits. */
static enum err choose_texts(struct request *request, struct draft *draft, bool is_there,
                             struct link_texts *texts, bool *later)
{
	*later = false;
	enum err err = write_texts(request, draft, texts);
	if (err || fits(&texts->claims)) return err;
	if (is_there) return write_name(request, draft, texts);
	draft->shown.visible = span_of("", 0);
	err = write_texts(request, draft, texts);
	*later = !err && !fits(&texts->claims);
	return err;
}

/* Is the object at Google, made by the issuer whose link it is to be? */
static enum err find_object(struct request *request, const struct draft *draft, bool *is_there)
{
	struct wallet_google row = {.pass_number = draft->pass.number};
	enum err             err = wallet_google_row_get(request->view, draft->pass.account, &row);
	bool                 is_made = row.state == WALLET_GOOGLE_MADE || row.state == WALLET_GOOGLE_SAVED;
	*is_there = !err && is_made && row.issuer == draft->credential.number;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The link; of size 0: later. */
static enum err make_link(struct request *request, struct draft *draft, struct buffer *link)
{
	struct link_texts texts = {.class = {0}};
	bool              is_there, later = false;
	enum err          err = find_object(request, draft, &is_there);
	if (!err) err = choose_texts(request, draft, is_there, &texts, &later);
	if (!err && !later) {
		buffer_text(link, base);
		err = sign(request, &draft->credential, buffer_span(&texts.claims), link);
	}
	free_texts(&texts);
	return err ? err : link->failed ? ERR_NO_MEMORY : OK;
}

static enum package_fate fate_of(const struct draft *draft)
{
	const struct hot *pass = &draft->pass.now;
	if (pass->status == PASS_CREATING) return PACKAGE_LATER;
	return pass_may_be_put(pass) ? PACKAGE_MADE : PACKAGE_FORBIDDEN;
}

/* The pass, and the service account by which its holder would save it. Errors: ERR_RESOURCE_NOT_FOUND: there is none of both. */
static enum err find_draft(struct request *request, const msgpack_object *token, struct draft *draft)
{
	if (!wallet_is_on(&request->account->row, WALLET_GOOGLE)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_GOOGLE,
	                                     &draft->credential);
	if (!err) err = pass_of_token(request, arg_span(token), &draft->pass, &draft->body);
	if (!err)
		err = google_credential(request, draft->pass.account, draft->pass.number, &draft->credential);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* The link; false: the holder may not have the pass; nil: not yet. */
enum err on_WALLET_GOOGLE_LINK(struct request *request, struct outcome *outcome)
{
	struct draft   draft;
	struct buffer  link = {0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = find_draft(request, &request->args[ARG_WALLET_GOOGLE_LINK_token], &draft);
	if (err) return err;
	switch (fate_of(&draft)) {
	case PACKAGE_LATER: msgpack_pack_nil(&pk); return OK;
	case PACKAGE_FORBIDDEN: msgpack_pack_false(&pk); return OK;
	default: break;
	}
	if (!(err = draft_show(request, &draft))) err = make_link(request, &draft, &link);
	if (!err && link.size)
		pack_str(&pk, buffer_span(&link));
	else if (!err)
		msgpack_pack_nil(&pk);
	buffer_free(&link);
	return err;
}

/* WALLET_GOOGLE_OFFER --------------------------------------------------------------------------------------- */

/* What becomes of the row of a pass whose holder gets a link. */
static enum err offer(struct request *request, struct draft *draft, struct wallet_google *row)
{
	struct link_texts texts = {.class = {0}};
	const uint8_t     before = row->state;
	bool              is_same = row->issuer == draft->credential.number;
	enum err          err = draft_show(request, draft);
	if (!err) err = write_texts(request, draft, &texts);
	bool is_long = !fits(&texts.claims);
	free_texts(&texts);
	if (err || (is_same && before == WALLET_GOOGLE_MADE)) return err;
	/* Its object may still wait, or have been refused some time ago. */
	if (is_same && before == WALLET_GOOGLE_WANTED)
		return row->quiet.v <= request->now.v
		           ? wallet_changes_due(request, &draft->pass, WALLET_DUE_GOOGLE)
		           : OK;
	if (is_same && before == WALLET_GOOGLE_OFFERED && !is_long) return OK;
	row->state = is_long ? WALLET_GOOGLE_WANTED : WALLET_GOOGLE_OFFERED;
	/* What was deleted there is at Google still. */
	if (is_same && before == WALLET_GOOGLE_GONE) row->state = WALLET_GOOGLE_MADE;
	row->issuer = draft->credential.number;
	row->quiet.v = 0;
	err = wallet_google_row_put(request->view, draft->pass.account, row);
	return !err && row->state == WALLET_GOOGLE_WANTED
	           ? wallet_changes_due(request, &draft->pass, WALLET_DUE_GOOGLE)
	           : err;
}

/* A pass that gets no link is none to be offered: what is asked next says why. */
enum err on_WALLET_GOOGLE_OFFER(struct request *request, struct outcome *outcome)
{
	struct draft         draft;
	struct wallet_google row = {.state = 0};
	(void)outcome;
	enum err err = find_draft(request, &request->args[ARG_WALLET_GOOGLE_OFFER_token], &draft);
	if (err) return err == ERR_RESOURCE_NOT_FOUND ? OK : err;
	if (fate_of(&draft) != PACKAGE_MADE) return OK;
	row.pass_number = draft.pass.number;
	err = wallet_google_row_get(request->view, draft.pass.account, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	return row.state == WALLET_GOOGLE_SAVED ? OK : offer(request, &draft, &row);
}
