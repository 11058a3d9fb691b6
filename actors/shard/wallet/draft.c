/* Drafts of packages. A signature is looked up by what it is of: pass.json, the pictures, and the certificate. So it needs no
 * other rule to be dropped when something changes. */
#include "actors/shard/wallet/draft.h"

#include "actors/shard/wallet/signer.h"
#include "actors/shard/wallet/announce.h"

#include <stdio.h>

/* Phones take only https. Without it a pass is as good, but is never updated. */
static void fill_service(const struct request *request, struct draft *draft)
{
	const char *public_url = request->facts->public_url;
	char        account[ACCOUNT_ID_TEXT];
	if (!wallet_has_service(request)) return;
	account_id_text(request->account->id, account);
	int size = snprintf(draft->service_url, SERVICE_URL_TEXT, "%s/wallet/apple/%s", public_url, account);
	if (size > 0 && size < SERVICE_URL_TEXT)
		draft->shown.service_url = span_of(draft->service_url, (size_t)size);
}

static bool is_voided(const struct hot *pass)
{
	return pass->status == PASS_DEACTIVATED || pass->flags & HOT_DELETED;
}

static void fill(const struct request *request, struct draft *draft, const struct wallet_settings *settings)
{
	const struct body *body = &draft->body;
	wallet_serial_text(&request->facts->serials, body->token, draft->serial);
	wallet_auth_text(&request->facts->serials, body->token, draft->auth);
	draft->shown = (struct wallet_pass){.template = draft->template,
	                                    .settings = settings,
	                                    .account_name = request->account->row.name,
	                                    .pass_type = draft->credential.name,
	                                    .team = draft->credential.owner,
	                                    .serial = span_str(draft->serial),
	                                    .auth = span_str(draft->auth),
	                                    .pass_id = body->pass_id,
	                                    .visible = body->visible,
	                                    .appearance = body->appearance,
	                                    .balance = draft->pass.now.balance,
	                                    .is_voided = is_voided(&draft->pass.now)};
	fill_service(request, draft);
}

enum err draft_show(struct request *request, struct draft *draft)
{
	const struct wallet_settings *settings;
	const struct account         *account = request->account;
	uint32_t template = draft->pass.now.template;
	enum err err = pass_template(request, &draft->pass.now, &draft->template);
	if (err) return err;
	if ((err = account_template_wallet(account, request->view, template, &draft->room, &settings)))
		return err;
	fill(request, draft, settings);
	return OK;
}

enum err draft_begin(struct request *request, struct draft *draft)
{
	enum err err = draft_show(request, draft);
	if (!err) err = wallet_announce(request, &draft->pass, &draft->shown);
	if (err) return err;
	const struct kit_wish wish = {draft->template, draft->shown.settings, &draft->body,
	                              draft->pass.number};
	return draft_kit_find(request, &wish, &draft->kit);
}

static void name_of(const struct draft *draft, struct span pass_json, uint8_t name[SHA256_BYTES])
{
	const struct wallet_credential *credential = &draft->credential;
	struct span                     pieces[] = {
	                        span_of(credential->account.b, sizeof credential->account.b),
	                        span_of(&credential->number, sizeof credential->number),
	                        span_of(&credential->generation, sizeof credential->generation),
	                        span_of(&credential->put, sizeof credential->put),
	                        span_of(draft->kit.is.hash, sizeof draft->kit.is.hash),
	                        pass_json,
        };
	sha256_of(pieces, sizeof pieces / sizeof *pieces, name);
}

static enum err sign(struct request *request, const struct draft *draft, struct span pass_json,
                     const uint8_t name[SHA256_BYTES], struct signed_manifest *made)
{
	struct buffer        manifest = {0}, signature = {0};
	const struct signing signing = {&draft->credential, request->facts->wallet_key, request->wall};
	package_manifest(&draft->kit.pictures, pass_json, &manifest);
	enum err err = manifest.failed ? ERR_NO_MEMORY : OK;
	if (!err) err = signer_sign(request->signer, &signing, buffer_span(&manifest), &signature);
	if (!err) {
		*made = (struct signed_manifest){buffer_span(&manifest), buffer_span(&signature)};
		signer_keep(request->signer, name, request->mono, made);
		/* What was kept is borrowed from the signer; without memory for it the call fails. */
		if (!signer_find(request->signer, name, request->mono, made)) err = ERR_NO_MEMORY;
	}
	buffer_free(&manifest);
	buffer_free(&signature);
	return err;
}

enum err draft_sign(struct request *request, const struct draft *draft, struct buffer *out,
                    struct package_own *own)
{
	uint8_t                name[SHA256_BYTES];
	struct signed_manifest made;
	enum err               err = wallet_pass_json(&draft->shown, view_arena(request->view), out);
	if (err) return err;
	struct span pass_json = buffer_span(out);
	name_of(draft, pass_json, name);
	if (!signer_find(request->signer, name, request->mono, &made) &&
	    (err = sign(request, draft, pass_json, name, &made)))
		return err;
	*own = (struct package_own){pass_json, made.manifest, made.signature};
	return OK;
}
