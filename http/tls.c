/* TLS as we offer it. No HTTP/2 is negotiated: the packaged h2o has unpatched faults there, and with ALPN
 * naming HTTP/1.1 alone its HTTP/2 code cannot be reached. */
#include "http/tls.h"
#include "actors/rt/tls_key.h"

#include <h2o.h>
#include <openssl/err.h>
#include <stdbool.h>
#include <stdio.h>

static bool load(SSL_CTX *tls, const char *cert, const char *key)
{
	return SSL_CTX_use_certificate_chain_file(tls, cert) == 1 && tls_key_take(tls, key);
}

enum err tls_open(const char *cert, const char *key, SSL_CTX **tls, char why[128])
{
	static const h2o_iovec_t http11[] = {{H2O_STRLIT("http/1.1")}, {NULL, 0}};
	static const uint8_t     session_context[] = "stampede";
	SSL_CTX                 *made = SSL_CTX_new(TLS_server_method());
	if (!made) return ERR_NO_MEMORY;
	SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
	/* h2o cannot write from inside a read, which a renegotiation would need. */
	SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
	                              SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_id_context(made, session_context, sizeof session_context - 1);
	h2o_ssl_register_alpn_protocols(made, http11);
	if (!load(made, cert, key)) {
		const char *reason = ERR_reason_error_string(ERR_peek_last_error());
		snprintf(why, 128, "%s", reason ? reason : "the certificate and the key do not fit");
		SSL_CTX_free(made);
		return ERR_BAD_OPTION;
	}
	*tls = made;
	return OK;
}
