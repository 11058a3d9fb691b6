/* Opening PKCS#12 files. Keychain, and OpenSSL before 3, write them with RC2, which lies in the provider "legacy": it is loaded
 * into a library context of this call alone, so that nothing else in the process gets weaker ciphers. */
#include "schemas/wallet/keys.h"

#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>

struct opening {
	OSSL_LIB_CTX  *library;
	OSSL_PROVIDER *standard, *legacy;
	PKCS12        *p12;
	EVP_PKEY      *key;
	X509          *certificate;
};

static bool begin(struct opening *opening)
{
	opening->library = OSSL_LIB_CTX_new();
	if (!opening->library) return false;
	opening->standard = OSSL_PROVIDER_load(opening->library, "default");
	opening->legacy = OSSL_PROVIDER_load(opening->library, "legacy"); /* may be missing */
	return opening->standard;
}

static void end(struct opening *opening)
{
	EVP_PKEY_free(opening->key);
	X509_free(opening->certificate);
	PKCS12_free(opening->p12);
	if (opening->legacy) OSSL_PROVIDER_unload(opening->legacy);
	if (opening->standard) OSSL_PROVIDER_unload(opening->standard);
	OSSL_LIB_CTX_free(opening->library);
	ERR_clear_error();
}

static bool read_file(struct opening *opening, struct span file)
{
	const uint8_t *at = file.at;
	PKCS12        *p12 = PKCS12_init_ex(NID_pkcs7_data, opening->library, NULL);
	if (p12 && file.size <= INT32_MAX) opening->p12 = d2i_PKCS12(&p12, &at, (long)file.size);
	if (!opening->p12) PKCS12_free(p12);
	return opening->p12;
}

static bool password_is_right(const struct opening *opening, const char *password)
{
	if (!PKCS12_mac_present(opening->p12)) return true;
	if (PKCS12_verify_mac(opening->p12, password, -1) == 1) return true;
	return !*password && PKCS12_verify_mac(opening->p12, NULL, 0) == 1;
}

static enum cause take_apart(struct opening *opening, struct span file, const char *password)
{
	if (!read_file(opening, file)) return CAUSE_P12_FORM;
	if (!password_is_right(opening, password)) return CAUSE_P12_PASSWORD;
	if (PKCS12_parse(opening->p12, password, &opening->key, &opening->certificate, NULL) != 1)
		return opening->legacy ? CAUSE_P12_FORM : CAUSE_P12_OLD;
	return opening->key && opening->certificate ? CAUSE_NONE : CAUSE_P12_PARTS;
}

static enum err write_certificate(X509 *certificate, struct buffer *out)
{
	int      size = i2d_X509(certificate, NULL);
	uint8_t *at = size > 0 ? buffer_reserve(out, (size_t)size) : NULL;
	if (!at) return ERR_NO_MEMORY;
	out->size += (size_t)i2d_X509(certificate, &at);
	return OK;
}

enum err p12_open(struct span file, const char *password, struct buffer *certificate, struct buffer *key,
                  struct reason *reason)
{
	struct opening opening = {NULL};
	enum err       err = begin(&opening) ? OK : ERR_NO_MEMORY;
	if (!err) {
		*reason = (struct reason){.cause = take_apart(&opening, file, password),
		                          .field = span_str("p12")};
		err = cause_err(reason->cause);
	}
	if (!err) err = write_certificate(opening.certificate, certificate);
	if (!err) err = key_write(opening.key, key);
	end(&opening);
	return err;
}
