/* Signs manifests with OpenSSL. */
#include "schemas/wallet/signature.h"

#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>

struct wallet_signer {
	X509     *certificate;
	EVP_PKEY *key;
	STACK_OF(X509) * issuers;
	EVP_MD *digest;
};

void wallet_signer_free(struct wallet_signer **signer_p)
{
	struct wallet_signer *signer = *signer_p;
	*signer_p = NULL;
	if (!signer) return;
	X509_free(signer->certificate);
	EVP_PKEY_free(signer->key);
	sk_X509_pop_free(signer->issuers, X509_free);
	EVP_MD_free(signer->digest);
	free(signer);
}

static X509 *read_certificate(struct span der)
{
	const unsigned char *at = der.at;
	return d2i_X509(NULL, &at, (long)der.size);
}

static bool open_all(struct wallet_signer *signer, struct span certificate, struct span key,
                     struct span issuer)
{
	const unsigned char *at = key.at;
	X509                *other = read_certificate(issuer);
	signer->certificate = read_certificate(certificate);
	signer->key = d2i_AutoPrivateKey(NULL, &at, (long)key.size);
	signer->digest = EVP_MD_fetch(NULL, "SHA256", NULL);
	signer->issuers = sk_X509_new_null();
	if (!other || !signer->issuers || !sk_X509_push(signer->issuers, other)) {
		X509_free(other);
		return false;
	}
	return signer->certificate && signer->key && signer->digest &&
	       X509_check_private_key(signer->certificate, signer->key) == 1;
}

enum err wallet_signer_open(struct span certificate, struct span key, struct span issuer,
                            struct wallet_signer **out)
{
	struct wallet_signer *signer = *out = calloc(1, sizeof *signer);
	if (!signer) return ERR_NO_MEMORY;
	if (open_all(signer, certificate, key, issuer)) return OK;
	wallet_signer_free(out);
	ERR_clear_error();
	return ERR_DAMAGED;
}

/* The time of signing, in place of the one that the library would take from the clock. */
static bool add_time(CMS_SignerInfo *info, wall_us at)
{
	ASN1_TIME *time = X509_time_adj_ex(NULL, 0, 0, &(time_t){(time_t)(at.v / US_PER_SEC)});
	bool added = time && CMS_signed_add1_attr_by_NID(info, NID_pkcs9_signingTime, time->type, time, -1);
	ASN1_TIME_free(time);
	return added;
}

static CMS_ContentInfo *sign(struct wallet_signer *signer, BIO *manifest, wall_us at)
{
	const unsigned   flags = CMS_DETACHED | CMS_BINARY | CMS_NOSMIMECAP | CMS_PARTIAL;
	CMS_ContentInfo *cms = CMS_sign(NULL, NULL, signer->issuers, manifest, flags);
	CMS_SignerInfo  *info = NULL;
	if (cms) info = CMS_add1_signer(cms, signer->certificate, signer->key, signer->digest, flags);
	if (info && add_time(info, at) && CMS_final(cms, manifest, NULL, flags)) return cms;
	CMS_ContentInfo_free(cms);
	return NULL;
}

enum err wallet_sign(struct wallet_signer *signer, struct span manifest, wall_us at, struct buffer *out)
{
	BIO             *in = BIO_new_mem_buf(manifest.at, (int)manifest.size);
	CMS_ContentInfo *cms = in ? sign(signer, in, at) : NULL;
	unsigned char   *der = NULL;
	int              size = cms ? i2d_CMS_ContentInfo(cms, &der) : 0;
	if (size > 0) buffer_append(out, der, (size_t)size);
	OPENSSL_free(der);
	CMS_ContentInfo_free(cms);
	BIO_free(in);
	ERR_clear_error();
	return size > 0 && !out->failed ? OK : ERR_NO_MEMORY;
}

static X509_STORE *store_of(X509 *issuer)
{
	const unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME;
	X509_STORE         *store = X509_STORE_new();
	bool good = store && X509_STORE_add_cert(store, issuer) && X509_STORE_set_flags(store, flags);
	if (good && X509_STORE_set_purpose(store, X509_PURPOSE_ANY)) return store;
	X509_STORE_free(store);
	return NULL;
}

bool wallet_signature_holds(struct span manifest, struct span signature, struct span issuer)
{
	const unsigned char *at = signature.at;
	X509                *trusted = read_certificate(issuer);
	X509_STORE          *store = trusted ? store_of(trusted) : NULL;
	CMS_ContentInfo     *cms = d2i_CMS_ContentInfo(NULL, &at, (long)signature.size);
	BIO                 *in = BIO_new_mem_buf(manifest.at, (int)manifest.size);
	bool                 holds = store && cms && in &&
	             CMS_verify(cms, NULL, store, in, NULL, CMS_DETACHED | CMS_BINARY) == 1;
	BIO_free(in);
	CMS_ContentInfo_free(cms);
	X509_STORE_free(store);
	X509_free(trusted);
	ERR_clear_error();
	return holds;
}
