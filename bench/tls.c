/* The load generator's side of HTTPS. A request is one SSL_write and one system call. An answer is one SSL_read and, because
 * OpenSSL reads ahead, one system call, as without TLS. Every connection does a full handshake without resumption. During the
 * measured time only replacements of lost connections do one. */
#include "bench/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdlib.h>

struct tls_client {
	SSL_CTX    *context;
	const char *fault;
};

/* The name or the address that the certificate must be for. */
static bool expect_host(SSL_CTX *context, const char *host)
{
	X509_VERIFY_PARAM *rules = SSL_CTX_get0_param(context);
	struct in6_addr    address; /* room for either kind */
	bool is_address = inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;

	return is_address ? X509_VERIFY_PARAM_set1_ip_asc(rules, host)
	                  : X509_VERIFY_PARAM_set1_host(rules, host, 0);
}

static bool context_init(SSL_CTX *context, const char *ca_path, const char *host)
{
	static const unsigned char http11[] = "\x08http/1.1";

	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE);
	SSL_CTX_set_read_ahead(context, 1);
	return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_load_verify_file(context, ca_path) == 1 && expect_host(context, host) &&
	       /* 0 is success, unlike in other calls. */
	       SSL_CTX_set_alpn_protos(context, http11, sizeof(http11) - 1) == 0;
}

bool tls_client_new(struct tls_client **client, const char *ca_path, const char *host)
{
	*client = calloc(1, sizeof(**client));
	if (!*client) return false;
	(*client)->context = SSL_CTX_new(TLS_client_method());
	if (!(*client)->context || !context_init((*client)->context, ca_path, host)) {
		tls_client_destroy(client);
		return false;
	}
	(*client)->fault = "nothing was tried";
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
	return true;
}

void tls_client_destroy(struct tls_client **client)
{
	if (!*client) return;
	SSL_CTX_free((*client)->context);
	free(*client);
	*client = NULL;
}

const char *tls_client_fault(const struct tls_client *client)
{
	return client->fault;
}

SSL *tls_begin(struct tls_client *client, int fd)
{
	SSL *tls = SSL_new(client->context);
	long verdict;

	ERR_clear_error();
	if (tls && SSL_set_fd(tls, fd) == 1 && SSL_connect(tls) == 1) return tls;
	verdict = tls ? SSL_get_verify_result(tls) : X509_V_ERR_OUT_OF_MEM;
	client->fault = verdict == X509_V_OK ? "the handshake fails" : X509_verify_cert_error_string(verdict);
	SSL_free(tls);
	return NULL;
}

void tls_end(SSL **tls)
{
	SSL_free(*tls); /* without notice to the server, which sees the socket close */
	*tls = NULL;
}

static ssize_t errno_of(SSL *tls, int got)
{
	switch (SSL_get_error(tls, got)) {
	case SSL_ERROR_ZERO_RETURN: return 0;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
	default: errno = ECONNRESET; return -1;
	}
}

ssize_t tls_send(SSL *tls, const char *bytes, size_t size)
{
	int sent;

	ERR_clear_error();
	sent = SSL_write(tls, bytes, (int)size);
	return sent > 0 ? sent : errno_of(tls, sent);
}

ssize_t tls_recv(SSL *tls, char *bytes, size_t size)
{
	size_t have = 0;
	int    got;

	do {
		ERR_clear_error();
		got = SSL_read(tls, bytes + have, (int)(size - have));
		if (got > 0) have += (size_t)got;
	} while (got > 0 && have < size && SSL_has_pending(tls));
	return have > 0 ? (ssize_t)have : errno_of(tls, got);
}
