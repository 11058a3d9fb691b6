/* Reads the TLS files the way http and the timer will, and throws the result away. */
#include "actors/supervisor/certificate.h"
#include "actors/rt/log.h"
#include "actors/rt/tls_key.h"

#include <openssl/err.h>
#include <string.h>
#include <sys/stat.h>

/* The first error in OpenSSL's queue is the cause, the later ones its layers. */
static enum err refuse(const char *option, const char *path)
{
	unsigned long first = ERR_peek_error();
	const char   *reason = ERR_reason_error_string(first);

	if (ERR_SYSTEM_ERROR(first)) reason = strerror(ERR_GET_REASON(first));
	log_fatal("bad_certificate", "option=%s file=\"%s\" error=\"%s\"", option, path,
	          reason ? reason : "cannot be used");
	ERR_clear_error();
	return ERR_BAD_OPTION;
}

/* A group of its own is how some hosts share a key among services. */
static void look_at_mode(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && st.st_mode & S_IRWXO)
		log_warn("tls_key_exposed", "option=--tls-key file=\"%s\" mode=%04o wanted=0600", path,
		         st.st_mode & 07777);
}

enum err certificate_check(const struct options *options)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_method());
	enum err err = OK;

	must(tls);
	if (options->tls_cert && SSL_CTX_use_certificate_chain_file(tls, options->tls_cert) != 1)
		err = refuse("--tls-cert", options->tls_cert);
	else if (options->tls_key && !tls_key_take(tls, options->tls_key))
		err = refuse("--tls-key", options->tls_key);
	else if (options->egress_ca && SSL_CTX_load_verify_file(tls, options->egress_ca) != 1)
		err = refuse("--egress-ca", options->egress_ca);
	SSL_CTX_free(tls);
	if (!err && options->tls_key) look_at_mode(options->tls_key);
	return err;
}
