/* wallet check: a rehearsal, step by step, with what serves the account: does the certificate still hold as it did when it
 * was put, does its signature, is the public URL one that phones take, and (asked before, see probe.h) do APNs and Google take
 * what it is to be served with? */
#include "actors/shard/wallet/signer.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/object_msgpack.h"
#include "schemas/wallet/credential.h"

#include <stdio.h>

/* The steps so far. */
struct steps {
	struct buffer packed;
	unsigned      count;
	bool          has_failed;
	bool          has_any; /* a credential serves the account */
};

static void add_step(struct steps *steps, const char *name, bool ok, const char *detail)
{
	msgpack_packer packer = buffer_packer(&steps->packed), *pk = &packer;
	size_t         map = map_begin(pk);
	MEMBER_ALWAYS(step, STRING, name);
	MEMBER_ALWAYS(ok, BOOLEAN, ok);
	MEMBER_ALWAYS(detail, STRING, detail);
	steps->count++;
	steps->has_failed |= !ok;
}

/* Judges the stored certificate and its opened key once more. */
static enum err judge(struct request *request, const struct wallet_credential *row, struct reason *reason)
{
	const struct wallet_seal      whose = {row->account, row->kind, row->number, row->generation};
	struct wallet_credential_read read = {.warnings = 0};
	struct wallet_keys            keys;
	struct buffer                 plain = {0};
	enum err err = wallet_unseal(request->facts->wallet_key, &whose, row->sealed, &plain, &keys);
	if (!err) {
		const struct apple_files files = {.certificate = row->certificate,
		                                  .key = keys.key,
		                                  .wwdr = row->issuer,
		                                  .p8 = keys.p8,
		                                  .p8_id = row->key_id};
		err = apple_credential_read(&files, request->now, view_arena(request->view), &read, reason);
	}
	wallet_read_forget(&read);
	wallet_keys_forget(&plain);
	return err;
}

static enum err check_certificate(struct request *request, const struct wallet_credential *row,
                                  struct steps *steps)
{
	struct reason reason = {.cause = CAUSE_NONE};
	char          text[REASON_TEXT], end[RFC3339_TEXT];
	enum err      err = judge(request, row, &reason);
	if (err == ERR_NO_MEMORY) return err;
	rfc3339_text(wallet_credential_end(row), end);
	if (reason.cause)
		reason_text(&reason, text);
	else if (err)
		snprintf(text, sizeof text,
		         "The private key does not open: it was sealed with another master key.");
	else
		snprintf(text, sizeof text, "%.*s of team %.*s, valid until %s.", (int)row->name.size,
		         (const char *)row->name.at, (int)row->owner.size, (const char *)row->owner.at, end);
	add_step(steps, "certificate", !err, text);
	return OK;
}

/* Is what it signs a signature that a phone takes? */
static enum err check_package(struct request *request, const struct wallet_credential *row,
                              struct steps *steps)
{
	static const char    manifest[] = "{\"pass.json\":\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"}";
	struct buffer        signature = {0};
	const struct signing signing = {row, request->facts->wallet_key, request->wall};
	enum err             err = signer_sign(request->signer, &signing, span_str(manifest), &signature);
	bool ok = !err && wallet_signature_holds(span_str(manifest), buffer_span(&signature), row->issuer);
	buffer_free(&signature);
	if (err == ERR_NO_MEMORY) return err;
	add_step(steps, "package", ok,
	         ok    ? "A package was signed, and its signature holds."
	         : err ? "A package cannot be signed: see the step certificate."
	               : "The signature of a package does not lead to the WWDR certificate.");
	return OK;
}

/* What the command line has found out. */
static void check_apns(struct request *request, struct steps *steps)
{
	const msgpack_object *args = request->args;
	char                  detail[PUSH_REASON_TEXT + 64];
	struct span           text = arg_span(&args[ARG_WALLET_CHECK_apns_detail]);
	if (!arg_present(&args[ARG_WALLET_CHECK_apns_ok])) return;
	snprintf(detail, sizeof detail, "%.*s", (int)text.size, (const char *)text.at);
	add_step(steps, "apns", arg_boolean(&args[ARG_WALLET_CHECK_apns_ok], false), detail);
}

static void check_public_url(const struct request *request, struct steps *steps)
{
	const bool ok = wallet_has_service(request);
	add_step(
	    steps, "public_url", ok,
	    ok ? request->facts->public_url
	       : "The public URL is not https: phones register for no updates. Serve with --public-url.");
}

static enum err check_apple(struct request *request, struct steps *steps)
{
	struct wallet_credential row;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	steps->has_any = true;
	if ((err = check_certificate(request, &row, steps))) return err;
	return check_package(request, &row, steps);
}

/* What the command line has found out. */
static void add_google(struct request *request, const struct wallet_credential *row, struct steps *steps)
{
	const msgpack_object *args = request->args;
	char                  detail[PUSH_REASON_TEXT + 128], token[320];
	struct span           text = arg_span(&args[ARG_WALLET_CHECK_google_detail]);
	bool                  has_token = arg_boolean(&args[ARG_WALLET_CHECK_google_token], false);
	if (!arg_present(&args[ARG_WALLET_CHECK_google_ok])) return;
	snprintf(detail, sizeof detail, "%.*s%s", (int)text.size, (const char *)text.at,
	         wallet_has_service(request)
	             ? ""
	             : " Google says nothing of passes: the public URL is not https.");
	snprintf(token, sizeof token, "Google gave %.*s an access token.", (int)row->owner.size,
	         (const char *)row->owner.at);
	add_step(steps, "google_token", has_token, has_token ? token : detail);
	add_step(steps, "google_class", arg_boolean(&args[ARG_WALLET_CHECK_google_ok], false),
	         has_token ? detail : "Not tried: see the step google_token.");
}

static enum err check_google(struct request *request, struct steps *steps)
{
	struct wallet_credential row;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_GOOGLE, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	steps->has_any = true;
	add_google(request, &row, steps);
	return OK;
}

enum err on_WALLET_CHECK(struct request *request, struct outcome *outcome)
{
	struct steps   steps = {.count = 0};
	msgpack_packer packer = buffer_packer(outcome->payload), *pk = &packer;
	enum err       err = check_apple(request, &steps);
	if (!err && steps.has_any) {
		check_public_url(request, &steps);
		check_apns(request, &steps);
	}
	if (!err) err = check_google(request, &steps);
	if (!err && steps.packed.failed) err = ERR_NO_MEMORY;
	if (!err && !steps.has_any) {
		char account[ACCOUNT_ID_TEXT];
		account_id_text(request->account->id, account);
		err = refuse(outcome, REASON_OF_ALL(CREDENTIAL_NONE, .given = span_str(account)));
	}
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(ok, BOOLEAN, !steps.has_failed);
	map_key(pk, map, "steps");
	msgpack_pack_array(pk, steps.count);
	buffer_append(outcome->payload, steps.packed.at, steps.packed.size);
	buffer_free(&steps.packed);
	return err;
}
