/* Judging a pass type's certificate with its key, and what is stored of it. */
#include "schemas/wallet/credential.h"

#include "schemas/date.h"
#include "schemas/ids.h"
#include "schemas/wallet/keys.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#define PASS_EXTENSION  "1.2.840.113635.100.6.1.16" /* Apple's mark of a pass type's certificate */
#define WWDR_GENERATION "G4"                        /* the one that Wallet accepts */

enum { KEY_ID_BYTES_MAX = 32 }; /* of a p8 key; Apple's have ten */

const char *wallet_warning_text(enum wallet_warning warning)
{
	if (warning == WALLET_WARNS_EXTENSION)
		return "The certificate lacks Apple's extension " PASS_EXTENSION
		       ": phones may refuse its passes.";
	return "The WWDR certificate's OU is not " WWDR_GENERATION
	       ": Wallet accepts passes of that generation only.";
}

void wallet_read_forget(struct wallet_credential_read *read)
{
	wallet_keys_forget(&read->secret);
}

/* What OpenSSL made of the files. */
struct opened {
	X509     *certificate, *wwdr;
	EVP_PKEY *key, *p8;
};

static void close_all(struct opened *opened)
{
	X509_free(opened->certificate);
	X509_free(opened->wwdr);
	EVP_PKEY_free(opened->key);
	EVP_PKEY_free(opened->p8);
	ERR_clear_error();
}

static enum cause refuse(struct reason *reason, enum cause cause, const char *field)
{
	reason->cause = cause;
	reason->field = span_str(field);
	return cause;
}

/* Readable ------------------------------------------------------------------------------------------------- */

static enum cause open_key(struct span file, const char *field, EVP_PKEY **key, struct reason *reason)
{
	bool encrypted;
	if ((*key = private_key_of(file, &encrypted))) return CAUSE_NONE;
	return refuse(reason, encrypted ? CAUSE_KEY_ENCRYPTED : CAUSE_KEY_UNREADABLE, field);
}

static bool is_key_id(struct span id)
{
	for (size_t i = 0; i < id.size; i++)
		if (!memchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", id.at[i], 62))
			return false;
	return id.size && id.size <= KEY_ID_BYTES_MAX;
}

static enum cause open_all(const struct apple_files *files, struct opened *opened, struct reason *reason)
{
	enum cause cause;
	if (!(opened->certificate = certificate_of(files->certificate)))
		return refuse(reason, CAUSE_CERTIFICATE_UNREADABLE, "cert");
	if ((cause = open_key(files->key, "key", &opened->key, reason))) return cause;
	if (!(opened->wwdr = certificate_of(files->wwdr)))
		return refuse(reason, CAUSE_WWDR_UNREADABLE, "wwdr");
	if (!files->p8.size != !files->p8_id.size) return refuse(reason, CAUSE_P8_ALONE, "p8");
	if (!files->p8.size) return CAUSE_NONE;
	if ((cause = open_key(files->p8, "p8", &opened->p8, reason))) return cause;
	return is_key_id(files->p8_id) ? CAUSE_NONE : refuse(reason, CAUSE_P8_ID, "p8_id");
}

/* Names ---------------------------------------------------------------------------------------------------- */

/* Copies into the arena. At NULL: no memory. */
static struct span kept(struct arena *arena, const void *bytes, size_t size)
{
	uint8_t *copy = arena_take(arena, size + 1);
	if (!copy) return span_of(NULL, 0);
	if (size) memcpy(copy, bytes, size);
	return span_of(copy, size);
}

static bool is_pass_type(struct span text)
{
	return text.size > 5 && text.size <= WALLET_NAME_BYTES_MAX && !memcmp(text.at, "pass.", 5);
}

static bool is_team(struct span text)
{
	return text.size == APPLE_TEAM_BYTES;
}

static bool is_any(struct span text)
{
	(void)text;
	return true;
}

/* The first entry of that kind in the certificate's subject that fits, as UTF-8 in the arena; at NULL: none. */
static struct span name_in(X509 *certificate, int kind, bool (*fits)(struct span), struct arena *arena)
{
	const X509_NAME *subject = X509_get_subject_name(certificate);
	struct span      found = {NULL, 0};
	for (int at = -1; !found.at && (at = X509_NAME_get_index_by_NID(subject, kind, at)) >= 0;) {
		uint8_t    *text = NULL;
		int         size = ASN1_STRING_to_UTF8(&text,
		                                       X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
		struct span entry = span_of(text, size > 0 ? (size_t)size : 0);
		if (size > 0 && fits(entry) && text_is_plain(entry, WALLET_NAME_BYTES_MAX))
			found = kept(arena, entry.at, entry.size);
		OPENSSL_free(text);
	}
	return found;
}

/* Issuer, times, strength ---------------------------------------------------------------------------------- */

static bool issued_by(X509 *certificate, X509 *issuer)
{
	EVP_PKEY *key = X509_get0_pubkey(issuer);
	return key && X509_check_ca(issuer) && X509_check_issued(issuer, certificate) == X509_V_OK &&
	       X509_verify(certificate, key) == 1;
}

static bool time_of(const ASN1_TIME *at, wall_us *time)
{
	struct tm tm;
	if (ASN1_TIME_to_tm(at, &tm) != 1) return false;
	time->v = (int64_t)timegm(&tm) * US_PER_SEC;
	return true;
}

/* Reads both certificates' times. False: one has none that can be read. */
static bool times_of(const struct opened *opened, struct wallet_credential_read *read, wall_us *wwdr_before)
{
	return time_of(X509_get0_notBefore(opened->certificate), &read->not_before) &&
	       time_of(X509_get0_notAfter(opened->certificate), &read->not_after) &&
	       time_of(X509_get0_notBefore(opened->wwdr), wwdr_before) &&
	       time_of(X509_get0_notAfter(opened->wwdr), &read->issuer_not_after);
}

static enum cause refuse_at(struct reason *reason, enum cause cause, const char *field, wall_us at,
                            struct arena *arena)
{
	char text[RFC3339_TEXT];
	rfc3339_text(at, text);
	reason->given = kept(arena, text, strlen(text));
	return refuse(reason, cause, field);
}

static enum cause judge_times(const struct opened *opened, wall_us now, struct arena *arena,
                              struct wallet_credential_read *read, struct reason *reason)
{
	wall_us wwdr_before;
	if (!times_of(opened, read, &wwdr_before))
		return refuse(reason, CAUSE_CERTIFICATE_UNREADABLE, "cert");
	if (read->not_after.v <= now.v)
		return refuse_at(reason, CAUSE_CERTIFICATE_EXPIRED, "cert", read->not_after, arena);
	if (read->issuer_not_after.v <= now.v)
		return refuse_at(reason, CAUSE_WWDR_EXPIRED, "wwdr", read->issuer_not_after, arena);
	if (read->not_before.v > now.v)
		return refuse_at(reason, CAUSE_CERTIFICATE_EARLY, "cert", read->not_before, arena);
	if (wwdr_before.v > now.v) return refuse_at(reason, CAUSE_WWDR_EARLY, "wwdr", wwdr_before, arena);
	return CAUSE_NONE;
}

/* All ------------------------------------------------------------------------------------------------------ */

static enum cause judge(const struct opened *opened, wall_us now, struct arena *arena,
                        struct wallet_credential_read *read, struct reason *reason)
{
	enum cause cause;
	if (X509_check_private_key(opened->certificate, opened->key) != 1)
		return refuse(reason, CAUSE_KEY_OTHER, "key");
	read->name = name_in(opened->certificate, NID_userId, is_pass_type, arena);
	if (!read->name.at) return refuse(reason, CAUSE_CERTIFICATE_TYPE, "cert");
	read->owner = name_in(opened->certificate, NID_organizationalUnitName, is_team, arena);
	if (!read->owner.at) return refuse(reason, CAUSE_CERTIFICATE_TEAM, "cert");
	if (!issued_by(opened->certificate, opened->wwdr)) return refuse(reason, CAUSE_WWDR_OTHER, "wwdr");
	if ((cause = judge_times(opened, now, arena, read, reason))) return cause;
	reason->least = RSA_BITS_MIN;
	if (!key_is_rsa(opened->key, RSA_BITS_MIN) && !key_is_p256(opened->key))
		return refuse(reason, CAUSE_KEY_WEAK, "cert");
	return opened->p8 && !key_is_p256(opened->p8) ? refuse(reason, CAUSE_P8_CURVE, "p8") : CAUSE_NONE;
}

static unsigned warnings_of(const struct opened *opened, struct arena *arena)
{
	ASN1_OBJECT *mark = OBJ_txt2obj(PASS_EXTENSION, 1);
	bool         has_mark = mark && X509_get_ext_by_OBJ(opened->certificate, mark, -1) >= 0;
	struct span  unit = name_in(opened->wwdr, NID_organizationalUnitName, is_any, arena);
	ASN1_OBJECT_free(mark);
	return (has_mark ? 0 : WALLET_WARNS_EXTENSION) |
	       (!unit.at || span_is(unit, WWDR_GENERATION) ? 0 : WALLET_WARNS_ISSUER);
}

/* The certificate in DER, in the arena; at NULL: no memory. */
static struct span der_of(X509 *certificate, struct arena *arena)
{
	uint8_t    *der = NULL;
	int         size = i2d_X509(certificate, &der);
	struct span copy = size > 0 ? kept(arena, der, (size_t)size) : span_of(NULL, 0);
	OPENSSL_free(der);
	return copy;
}

static enum err take_keys(const EVP_PKEY *key, const EVP_PKEY *p8, struct wallet_credential_read *read)
{
	if (!buffer_reserve(&read->secret, 2 * (size_t)KEY_DER_BYTES_MAX)) return ERR_NO_MEMORY;
	enum err err = key_write(key, &read->secret);
	size_t   size = read->secret.size;
	if (!err && p8) err = key_write(p8, &read->secret);
	read->keys.key = span_of(read->secret.at, size);
	read->keys.p8 = span_of(read->secret.at + size, read->secret.size - size);
	return err;
}

enum err apple_credential_read(const struct apple_files *files, wall_us now, struct arena *arena,
                               struct wallet_credential_read *read, struct reason *reason)
{
	struct opened opened = {NULL};
	enum err      err;
	*read = (struct wallet_credential_read){.warnings = 0};
	*reason = (struct reason){.cause = CAUSE_NONE};
	enum cause cause = open_all(files, &opened, reason);
	if (!cause) cause = judge(&opened, now, arena, read, reason);
	if ((err = cause_err(cause))) goto out;
	read->warnings = warnings_of(&opened, arena);
	read->certificate = der_of(opened.certificate, arena);
	read->issuer = der_of(opened.wwdr, arena);
	read->key_id = kept(arena, files->p8_id.at, files->p8_id.size);
	if (!read->certificate.at || !read->issuer.at || !read->key_id.at) err = ERR_NO_MEMORY;
	if (!err) err = take_keys(opened.key, opened.p8, read);
	if (err == ERR_TOO_LARGE) err = cause_err(refuse(reason, CAUSE_KEY_UNREADABLE, "key"));
out:
	close_all(&opened);
	return err;
}
