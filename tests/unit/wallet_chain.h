/* A chain of certificates as Apple's is: a WWDR certificate that issues those of pass types. Made when a test runs. What is
 * made here lives until chain_end(). */
#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#define PASS_MARK "1.2.840.113635.100.6.1.16"

/* A certificate to make; days count from now, and may be below 0. */
struct wanted {
	const char *uid, *unit; /* NULL: none in the subject */
	bool        has_mark;
	long        from_days, to_days;
	X509       *issuer; /* NULL: itself; it may issue others then */
	EVP_PKEY   *issuer_key;
};

enum { MADE_MAX = 256 };
static X509    *made_certificates[MADE_MAX];
static BIO     *made_texts[MADE_MAX];
static unsigned made_certificate_count, made_text_count;

static inline void chain_end(void)
{
	while (made_certificate_count)
		X509_free(made_certificates[--made_certificate_count]);
	while (made_text_count)
		BIO_free(made_texts[--made_text_count]);
}

/* A text to be written; text_of() shows it. */
static inline BIO *new_text(void)
{
	BIO *bio = BIO_new(BIO_s_mem());
	must(bio && made_text_count < MADE_MAX);
	return made_texts[made_text_count++] = bio;
}

static inline void add_name(X509 *certificate, const char *kind, const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	if (!text) return;
	must(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), kind, MBSTRING_UTF8, bytes, -1,
	                                -1, 0));
}

static inline void add_extension(X509 *certificate, X509 *issuer, const char *name, const char *value)
{
	X509V3_CTX context;
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf(NULL, &context, name, value);
	must(extension && X509_add_ext(certificate, extension, -1));
	X509_EXTENSION_free(extension);
}

static inline X509 *make_certificate(EVP_PKEY *key, const struct wanted *wanted)
{
	X509 *made = X509_new(), *issuer = wanted->issuer ? wanted->issuer : made;
	must(made && X509_set_version(made, 2) && X509_set_pubkey(made, key));
	ASN1_INTEGER_set(X509_get_serialNumber(made), wanted->issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(made), wanted->from_days * 86400);
	X509_gmtime_adj(X509_getm_notAfter(made), wanted->to_days * 86400);
	add_name(made, "UID", wanted->uid);
	add_name(made, "CN", wanted->issuer ? "Pass" : "Imitated WWDR");
	add_name(made, "OU", wanted->unit);
	X509_set_issuer_name(made, X509_get_subject_name(issuer));
	add_extension(made, issuer, "basicConstraints",
	              wanted->issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (wanted->has_mark) add_extension(made, issuer, PASS_MARK, "ASN1:UTF8String:pass.example.shop");
	must(made_certificate_count < MADE_MAX);
	made_certificates[made_certificate_count++] = made;
	must(X509_sign(made, wanted->issuer ? wanted->issuer_key : key, EVP_sha256()));
	return made;
}

static inline struct span text_of(BIO *bio)
{
	char *at;
	long  size = BIO_get_mem_data(bio, &at);
	return span_of(at, (size_t)size);
}

static inline struct span pem_of_certificate(X509 *certificate)
{
	BIO *bio = new_text();
	must(PEM_write_bio_X509(bio, certificate));
	return text_of(bio);
}

/* `passphrase` NULL: not encrypted. */
static inline struct span pem_of_key(EVP_PKEY *key, const char *passphrase)
{
	BIO *bio = new_text();
	must(PEM_write_bio_PKCS8PrivateKey(bio, key, passphrase ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
	                                   (void *)passphrase));
	return text_of(bio);
}
