/* wallet preview ACCOUNT PASS_ID: pass.json and the Google object as they would go out now, what the holder would miss, and the package. It changes
 * nothing, and does not ask whether the holder may have the pass. */
#include "actors/shard/list/list_out.h"
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/google.h"

#include "schemas/api/wallet.h"
#include "schemas/wallet/google_pass.h"

enum { WARNINGS_MAX = 16 };

/* The warnings so far, as msgpack texts. */
struct warnings {
	struct buffer texts;
	unsigned      count;
};

static void warn(void *user, const char *text)
{
	struct warnings *warnings = user;
	msgpack_packer   pk = buffer_packer(&warnings->texts);
	if (warnings->count == WARNINGS_MAX) return;
	warnings->count++;
	pack_text(&pk, text);
}

/* What keeps the holder from having it, though it can be made. */
static void warn_of_state(const struct request *request, const struct draft *draft, struct warnings *warnings)
{
	const struct hot *pass = &draft->pass.now;
	if (!wallet_is_on(&request->account->row, WALLET_APPLE))
		warn(warnings, "The account's Apple wallet is off.");
	if (pass->status == PASS_CREATING) warn(warnings, "The pass is still being issued.");
	if (pass->status == PASS_CREATION_FAILED) warn(warnings, "The pass could not be issued.");
	if (pass->status == PASS_DEACTIVATED) warn(warnings, "The pass is deactivated.");
	if (pass->flags & HOT_REINSTALL_BLOCKED) warn(warnings, "The pass's reinstallation is blocked.");
	if (draft->credential.not_after.v <= request->now.v)
		warn(warnings, "The certificate has expired.");
	else if (wallet_credential_ended(&draft->credential, request->now))
		warn(warnings, "The WWDR certificate has expired.");
}

static enum err warn_of_all(struct request *request, const struct draft *draft, struct warnings *warnings)
{
	const struct kit_wish wish = {draft->template, draft->shown.settings, &draft->body,
	                              draft->pass.number};
	warn_of_state(request, draft, warnings);
	enum err err = wallet_pass_warn(&draft->shown, view_arena(request->view), warn, warnings);
	return err ? err : draft_kit_warn(request, &wish, warn, warnings);
}

/* The kit as it is read for the file; the signer may know it without its bytes. */
static enum err write_package(struct request *request, const struct draft *draft,
                              const struct package_own *own, struct buffer *out)
{
	const struct kit_wish wish = {draft->template, draft->shown.settings, &draft->body,
	                              draft->pass.number};
	struct draft_kit      kit;
	struct buffer         bytes = {0}, between = {0}, behind = {0};
	struct request        reader = *request;
	reader.signer = NULL;
	enum err err = draft_kit_find(&reader, &wish, &kit);
	if (!err) err = draft_kit_write(&kit, &bytes);
	if (!err) {
		package_write(&kit.is, own, &between, &behind);
		buffer_append(out, bytes.at, kit.is.local_size);
		buffer_append(out, between.at, between.size);
		buffer_append(out, bytes.at + kit.is.local_size, kit.is.central_size);
		buffer_append(out, behind.at, behind.size);
		if (between.failed || behind.failed || out->failed) err = ERR_NO_MEMORY;
	}
	buffer_free(&bytes);
	buffer_free(&between);
	buffer_free(&behind);
	return err;
}

static enum err send_parts(struct outcome *outcome, struct span package)
{
	enum err       err = send_front(outcome, &package);
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (err) return err;
	pack_bin(&pk, package);
	return outcome->payload->failed ? ERR_NO_MEMORY : outcome->part(outcome->part_user, outcome->payload);
}

/* What the operator sees: JSON texts, of size 0: null. */
struct shown {
	struct buffer apple, class, object;
};

static void pack_json(msgpack_packer *pk, const struct buffer *json)
{
	json->size ? pack_bin(pk, buffer_span(json)) : (void)msgpack_pack_nil(pk);
}

static void pack_preview(struct outcome *outcome, const struct shown *shown, const struct warnings *warnings)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	msgpack_pack_map(&pk, 3);
	pack_text(&pk, "apple");
	pack_json(&pk, &shown->apple);
	pack_text(&pk, "google");
	if (shown->object.size) {
		msgpack_pack_map(&pk, 2);
		pack_text(&pk, "class");
		pack_json(&pk, &shown->class);
		pack_text(&pk, "object");
		pack_json(&pk, &shown->object);
	} else {
		msgpack_pack_nil(&pk);
	}
	pack_text(&pk, "warnings");
	msgpack_pack_array(&pk, warnings->count);
	buffer_append(outcome->payload, warnings->texts.at, warnings->texts.size);
}

/* Appends pass.json, and sends the package if it is wanted. */
static enum err preview_apple(struct request *request, struct outcome *outcome, struct draft *draft,
                              struct buffer *pass_json)
{
	struct package_own own;
	struct buffer      package = {0};
	if (!arg_present(&request->args[ARG_WALLET_PREVIEW_out]))
		return wallet_pass_json(&draft->shown, view_arena(request->view), pass_json);
	enum err err = draft_sign(request, draft, pass_json, &own);
	if (!err && !(err = write_package(request, draft, &own, &package)))
		err = send_parts(outcome, buffer_span(&package));
	buffer_free(&package);
	return err;
}

static enum err preview_google(struct request *request, const struct draft *draft, struct span issuer,
                               struct shown *shown)
{
	const struct google_pass google = {.pass = &draft->shown,
	                                   .issuer = issuer,
	                                   .account = request->account->id,
	                                   .template_number = draft->pass.now.template,
	                                   .public_url = request->facts->public_url};
	enum err                 err = google_class_json(&google, view_arena(request->view), &shown->class);
	return err ? err : google_object_json(&google, view_arena(request->view), &shown->object);
}

static enum err preview(struct request *request, struct outcome *outcome, struct draft *draft,
                        struct warnings *warnings, struct shown *shown)
{
	struct wallet_credential google;
	bool                     has_apple, has_google;
	/* Point reads; the texts of the one that is read first do not move. */
	enum err err = google_credential(request, request->account->id, draft->pass.number, &google);
	has_google = !err;
	if (!err || err == ERR_NOT_FOUND)
		err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE,
		                            &draft->credential);
	has_apple = !err;
	if (err && err != ERR_NOT_FOUND) return err;
	err = OK;
	if (!has_apple && !has_google) warn(warnings, "No Apple credential serves the account.");
	if (has_google && !wallet_is_on(&request->account->row, WALLET_GOOGLE))
		warn(warnings, "The account's Google wallet is off.");
	if ((has_apple || has_google) && (err = draft_begin(request, draft))) return err;
	if (has_apple && !(err = warn_of_all(request, draft, warnings)))
		err = preview_apple(request, outcome, draft, &shown->apple);
	return !err && has_google ? preview_google(request, draft, google.name, shown) : err;
}

enum err on_WALLET_PREVIEW(struct request *request, struct outcome *outcome)
{
	struct draft    draft = {.credential = {.number = 0}};
	struct warnings warnings = {.count = 0};
	struct shown    shown = {.apple = {0}};
	enum err        err = pass_find(request, arg_span(&request->args[ARG_WALLET_PREVIEW_pass_id]), false,
	                                &draft.pass);
	if (!err) err = pass_body(request, &draft.pass, &draft.body);
	if (!err) err = preview(request, outcome, &draft, &warnings, &shown);
	if (!err && warnings.texts.failed) err = ERR_NO_MEMORY;
	if (!err) pack_preview(outcome, &shown, &warnings);
	buffer_free(&warnings.texts);
	buffer_free(&shown.apple);
	buffer_free(&shown.class);
	buffer_free(&shown.object);
	return err;
}
