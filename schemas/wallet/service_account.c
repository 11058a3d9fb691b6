/* Judging the JSON file of a Google service account. */
#include "schemas/wallet/credential.h"

#include "schemas/ids.h"
#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/url.h"
#include "schemas/wallet/keys.h"

enum { ISSUER_DIGITS_MAX = 20, TEXT_BYTES_MAX = 255 };

static enum cause refuse(struct reason *reason, enum cause cause, const char *field)
{
	reason->cause = cause;
	reason->field = span_str(field);
	return cause;
}

static enum cause refuse_member(struct reason *reason, const char *member, const char *wanted)
{
	reason->given = span_str(member);
	reason->wanted = wanted;
	return refuse(reason, CAUSE_ACCOUNT_FILE_MEMBER, "service_account");
}

/* A member that is a plain text, in the arena; at NULL: it is not. */
static struct span text_in(const struct json *file, const char *member, size_t bytes_max)
{
	const struct json *found = json_member(file, member);
	if (!found || found->kind != JSON_STRING || !text_is_plain(found->text, bytes_max))
		return span_of(NULL, 0);
	return found->text;
}

/* Tokens are asked for at Google alone, whatever a file says. */
static bool is_of_google(struct span uri)
{
	static const char domain[] = "googleapis.com";
	struct url        url;
	if (url_read(uri, &url) || url.is_address || url.port != 443) return false;
	size_t size = strlen(url.name), tail = sizeof domain - 1;
	if (size < tail || strcmp(url.name + size - tail, domain) != 0) return false;
	return size == tail || url.name[size - tail - 1] == '.';
}

static enum cause judge_texts(const struct json *file, struct wallet_credential_read *read,
                              struct reason *reason)
{
	if (!span_is(text_in(file, "type", TEXT_BYTES_MAX), "service_account"))
		return refuse_member(reason, "type", "service_account");
	read->owner = text_in(file, "client_email", TEXT_BYTES_MAX);
	if (!read->owner.at || !memchr(read->owner.at, '@', read->owner.size))
		return refuse_member(reason, "client_email", "an address");
	read->key_id = text_in(file, "private_key_id", TEXT_BYTES_MAX);
	read->token_uri = text_in(file, "token_uri", URL_BYTES_MAX);
	return CAUSE_NONE;
}

static enum cause judge_rest(const struct json *file, struct span issuer_id, EVP_PKEY **key,
                             struct wallet_credential_read *read, struct reason *reason)
{
	const struct json *pem = json_member(file, "private_key");
	bool               encrypted;
	*key = pem && pem->kind == JSON_STRING ? private_key_of(pem->text, &encrypted) : NULL;
	if (!*key || !key_is_rsa(*key, 0))
		return refuse_member(reason, "private_key", "an unencrypted RSA key in PEM");
	if (!read->token_uri.at || !is_of_google(read->token_uri))
		return refuse_member(reason, "token_uri", "an https URL of googleapis.com");
	reason->least = RSA_BITS_MIN;
	if (!key_is_rsa(*key, RSA_BITS_MIN)) return refuse(reason, CAUSE_KEY_WEAK, "service_account");
	read->name = issuer_id;
	for (size_t i = 0; i < issuer_id.size; i++)
		if (issuer_id.at[i] < '0' || issuer_id.at[i] > '9')
			return refuse(reason, CAUSE_ISSUER_FORM, "issuer");
	return issuer_id.size && issuer_id.size <= ISSUER_DIGITS_MAX
	           ? CAUSE_NONE
	           : refuse(reason, CAUSE_ISSUER_FORM, "issuer");
}

/* A text with escapes was decoded into the arena, which outlives the call. The file itself is the caller's. */
static void forget_pem(const struct json *file, struct span service_account)
{
	const struct json *pem = json_member(file, "private_key");
	const uint8_t     *end = service_account.at + service_account.size;
	if (!pem || pem->kind != JSON_STRING) return;
	if (pem->text.at < service_account.at || pem->text.at >= end)
		OPENSSL_cleanse((void *)pem->text.at, pem->text.size);
}

enum err google_credential_read(const struct google_files *files, struct arena *arena,
                                struct wallet_credential_read *read, struct reason *reason)
{
	struct json *file = NULL;
	EVP_PKEY    *key = NULL;
	*read = (struct wallet_credential_read){.warnings = 0};
	*reason = (struct reason){.cause = CAUSE_NONE, .most = ISSUER_DIGITS_MAX};
	enum err err = json_parse(files->service_account, arena, &file);
	if (err == ERR_NO_MEMORY) return err;
	if (err || file->kind != JSON_OBJECT) /* nothing of a key was decoded, or it is no member */
		return cause_err(refuse(reason, CAUSE_ACCOUNT_FILE_FORM, "service_account"));
	enum cause cause = judge_texts(file, read, reason);
	if (!cause) cause = judge_rest(file, files->issuer_id, &key, read, reason);
	err = cause_err(cause);
	if (!err && !buffer_reserve(&read->secret, KEY_DER_BYTES_MAX)) err = ERR_NO_MEMORY;
	if (!err) err = key_write(key, &read->secret);
	if (err == ERR_TOO_LARGE)
		err = cause_err(refuse_member(reason, "private_key", "an RSA key of a usual size"));
	read->keys.key = buffer_span(&read->secret);
	EVP_PKEY_free(key);
	forget_pem(file, files->service_account);
	return err;
}
