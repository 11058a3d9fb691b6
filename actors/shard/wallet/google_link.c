/* GET /p/{token}/google: the link by which the holder saves the pass in Google's wallet. Class and object travel inside it, signed
 * by the service account, so that a pass which nobody saves costs Google no call. */
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/google.h"
#include "schemas/api/wallet.h"
#include "schemas/wallet/jwt.h"
#include "schemas/wallet/package_reply.h"
#include "schemas/wallet/sealing.h"

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
	snprintf(head, sizeof head,
	         ",\"aud\":\"google\",\"typ\":\"savetowallet\",\"iat\":%lld,\"payload\":{\"%sClasses\":[",
	         (long long)(request->wall.v / US_PER_SEC), google_kind(google));
	buffer_text(out, head);
	buffer_append(out, texts->class.at, texts->class.size);
	snprintf(head, sizeof head, "],\"%sObjects\":[", google_kind(google));
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

static enum err write_texts(struct request *request, const struct draft *draft, struct link_texts *texts)
{
	const struct google_pass google = {.pass = &draft->shown,
	                                   .issuer = draft->credential.name,
	                                   .account = request->account->id,
	                                   .template_number = draft->pass.now.template,
	                                   .public_url = request->facts->public_url};
	buffer_clear(&texts->class);
	buffer_clear(&texts->object);
	buffer_clear(&texts->claims);
	enum err err = google_class_json(&google, view_arena(request->view), &texts->class);
	if (!err) err = google_object_json(&google, view_arena(request->view), &texts->object);
	if (err) return err;
	write_claims(request, &google, draft->credential.owner, texts);
	return texts->claims.failed ? ERR_NO_MEMORY : OK;
}

/* Texts that do not fit come with the first update, which follows the saving. */
static enum err make_link(struct request *request, struct draft *draft, struct buffer *link)
{
	struct link_texts texts = {.class = {0}};
	enum err          err = write_texts(request, draft, &texts);
	if (!err && !fits(&texts.claims)) {
		draft->shown.visible = span_of("", 0);
		err = write_texts(request, draft, &texts);
	}
	buffer_text(link, base);
	if (!err) err = sign(request, &draft->credential, buffer_span(&texts.claims), link);
	buffer_free(&texts.class);
	buffer_free(&texts.object);
	buffer_free(&texts.claims);
	return err ? err : link->failed ? ERR_NO_MEMORY : OK;
}

static enum package_fate fate_of(const struct draft *draft)
{
	const struct hot *pass = &draft->pass.now;
	if (pass->status == PASS_CREATING) return PACKAGE_LATER;
	return pass_may_be_put(pass) ? PACKAGE_MADE : PACKAGE_FORBIDDEN;
}

/* The link; false: the holder may not have the pass; nil: not yet. */
enum err on_WALLET_GOOGLE_LINK(struct request *request, struct outcome *outcome)
{
	struct draft   draft;
	struct buffer  link = {0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (!wallet_is_on(&request->account->row, WALLET_GOOGLE)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_GOOGLE,
	                                     &draft.credential);
	if (!err)
		err = pass_of_token(request, arg_span(&request->args[ARG_WALLET_GOOGLE_LINK_token]),
		                    &draft.pass, &draft.body);
	if (err) return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	switch (fate_of(&draft)) {
	case PACKAGE_LATER: msgpack_pack_nil(&pk); return OK;
	case PACKAGE_FORBIDDEN: msgpack_pack_false(&pk); return OK;
	default: break;
	}
	if (!(err = draft_show(request, &draft))) err = make_link(request, &draft, &link);
	if (!err) pack_str(&pk, buffer_span(&link));
	buffer_free(&link);
	return err;
}
