/* TLS beyond what libcurl does: which authorities connections trust, and notes about invalid certificates.
 *
 * OpenSSL calls back only during the handshake, while the connection belongs to one attempt. Renegotiation, which could come
 * during another attempt, is switched off. */
#include "actors/timer/egress_inside.h"
#include "actors/timer/trust.h"

#include <openssl/ssl.h>

/* The issuer is unknown. For a lone leaf certificate, most often an intermediate was left out. */
static enum attempt_detail detail_of_issuer(const struct attempt *attempt, int depth)
{
	if (trust_is_empty(attempt->egress->trust)) return DETAIL_TLS_NO_ROOTS;
	return depth > 0 ? DETAIL_TLS_UNKNOWN_ISSUER : DETAIL_TLS_MISSING_INTERMEDIATE;
}

static enum attempt_detail detail_of_certificate(const struct attempt *attempt, X509_STORE_CTX *context)
{
	int depth = X509_STORE_CTX_get_error_depth(context);

	switch (X509_STORE_CTX_get_error(context)) {
	case X509_V_ERR_CERT_HAS_EXPIRED: return DETAIL_TLS_EXPIRED;
	case X509_V_ERR_CERT_NOT_YET_VALID: return DETAIL_TLS_NOT_YET_VALID;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return DETAIL_TLS_SELF_SIGNED;
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return detail_of_issuer(attempt, depth + 1);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: return detail_of_issuer(attempt, depth);
	default: return DETAIL_TLS_CERTIFICATE;
	}
}

/* Notes the fault and does not change the verdict. */
static int on_verified(int is_good, X509_STORE_CTX *context)
{
	SSL            *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct attempt *attempt = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (!is_good && !attempt->detail) attempt->detail = detail_of_certificate(attempt, context);
	return is_good;
}

/* The endpoint asks for a client certificate, which we do not have. Some accept that, others end the connection. */
static int on_certificate_asked(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
	struct attempt *attempt = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	(void)certificate, (void)key;
	attempt->was_asked_certificate = true;
	return 0;
}

CURLcode tls_begin(CURL *easy, void *context, void *user)
{
	struct attempt *attempt = user;

	(void)easy;
	attempt->detail = DETAIL_NONE; /* dialling noted a detail of addresses that were not used */
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
	/* Without Diffie-Hellman over finite fields: an endpoint may choose a prime that takes this thread a second. */
	if (!SSL_CTX_set_cipher_list(context, "DEFAULT:!kDHE") ||
	    !SSL_CTX_set1_groups_list(context, "X25519:P-256:X448:P-384:P-521"))
		return CURLE_SSL_CIPHER;
	SSL_CTX_set_app_data(context, attempt);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verified);
	SSL_CTX_set_client_cert_cb(context, on_certificate_asked);
	SSL_CTX_set1_cert_store(context, trust_store(attempt->egress->trust));
	return CURLE_OK;
}
