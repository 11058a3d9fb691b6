/* The server's TLS. HTTP/2 is not negotiated: the packaged h2o has unpatched faults there. With ALPN offering only HTTP/1.1,
 * its HTTP/2 code cannot be reached. */
#include "http/tls.h"
#include "actors/rt/tls_pair.h"

#include <h2o.h>

enum err tls_open(struct span cert, struct span key, SSL_CTX **tls)
{
	static const h2o_iovec_t http11[] = {{H2O_STRLIT("http/1.1")}, {NULL, 0}};
	static const uint8_t     session_context[] = "stampede";
	SSL_CTX                 *made = SSL_CTX_new(TLS_server_method());
	if (!made) return ERR_NO_MEMORY;
	SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
	/* h2o cannot write from inside a read, which a renegotiation would need. */
	SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
	                              SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* Buffers of 34 KB go while a connection is idle: strangers may hold thousands. */
	SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_id_context(made, session_context, sizeof session_context - 1);
	h2o_ssl_register_alpn_protocols(made, http11);
	char     why[TLS_WHY];
	enum err err = tls_take_certificate(made, cert, why);
	if (!err) err = tls_take_key(made, key, why);
	if (err)
		SSL_CTX_free(made);
	else
		*tls = made;
	return err;
}
