/* The files that options name, read once: the supervisor checks what it has read and passes on exactly that. */
#include "actors/supervisor/files.h"
#include "actors/rt/named_file.h"
#include "actors/rt/tls_pair.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof((struct files_refusal){0}.reason) == TLS_WHY, "a reason fits");

void files_free(struct files *files)
{
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++) {
		if (files->of[i].at) explicit_bzero(files->of[i].at, files->of[i].capacity);
		buffer_free(&files->of[i]);
	}
}

/* The memory is reserved at once: growing would leave copies of a key behind. */
static enum err read_whole(const char *path, struct buffer *text)
{
	enum { FIRST_BYTES = 64 << 10 };
	mono_us until;
	int     fd = named_file_open(path, &until);
	ssize_t n = -1;

	if (fd < 0) return ERR_IO;
	while (buffer_reserve(text, text->size ? text->size : FIRST_BYTES) &&
	       (n = named_file_read(fd, text->at + text->size, text->capacity - text->size, until)) > 0) {
		text->size += (size_t)n;
		if (text->size <= SETTINGS_FILE_BYTES_MAX) continue;
		errno = EFBIG;
		n = -1;
		break;
	}
	int error = errno;
	close(fd);
	errno = error;
	if (text->failed) return ERR_NO_MEMORY;
	if (n < 0) return ERR_IO;
	errno = ENODATA;
	return text->size ? OK : ERR_IO;
}

static enum err read_all(const struct options *options, struct files *files, struct files_refusal *refusal)
{
#define SETTINGS_FILE_AS_NAME(name, field, option, role) {option, options->field},
	const struct {
		const char *option, *path;
	} named[SETTINGS_FILE_COUNT] = {SETTINGS_FILES(SETTINGS_FILE_AS_NAME)};
#undef SETTINGS_FILE_AS_NAME
	enum err err;

	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++) {
		if (!named[i].path || !(err = read_whole(named[i].path, &files->of[i]))) continue;
		*refusal = (struct files_refusal){named[i].option, named[i].path, ""};
		snprintf(refusal->reason, sizeof refusal->reason, "%s",
		         errno == ENODATA ? "is empty" : named_file_error(errno));
		return err == ERR_NO_MEMORY ? err : ERR_BAD_OPTION;
	}
	return OK;
}

static enum err judge_certificate(const struct options *options, SSL_CTX *tls, struct files *files,
                                  struct files_refusal *refusal)
{
	struct span cert = buffer_span(&files->of[SETTINGS_CERT]);
	enum err    err;

	*refusal = (struct files_refusal){"--tls-cert", options->tls_cert, ""};
	if ((err = tls_take_certificate(tls, cert, refusal->reason))) return err;
	*refusal = (struct files_refusal){"--tls-key", options->tls_key, ""};
	if ((err = tls_take_key(tls, buffer_span(&files->of[SETTINGS_KEY]), refusal->reason))) return err;
	*refusal = (struct files_refusal){"--tls-cert", options->tls_cert, ""};
	if ((err = tls_rehearse(tls, refusal->reason))) return err;
	struct tls_validity validity = tls_validity(tls);
	files->has_certificate = true;
	files->not_before = validity.not_before;
	files->not_after = validity.not_after;
	sha256_of(&cert, 1, files->digest);
	return OK;
}

static enum err judge_authorities(const struct options *options, SSL_CTX *tls, const struct files *files,
                                  struct files_refusal *refusal)
{
	*refusal = (struct files_refusal){"--egress-ca", options->egress_ca, ""};
	return tls_take_authorities(SSL_CTX_get_cert_store(tls), buffer_span(&files->of[SETTINGS_CA]),
	                            refusal->reason);
}

enum err files_read(const struct options *options, struct files *files, struct files_refusal *refusal)
{
	ERR_clear_error();
	SSL_CTX *tls = SSL_CTX_new(TLS_method());
	enum err err;

	*files = (struct files){.has_certificate = false};
	if (!tls) {
		*refusal = (struct files_refusal){"OpenSSL", "openssl.cnf", ""};
		const char *why = ERR_reason_error_string(ERR_get_error());
		snprintf(refusal->reason, sizeof refusal->reason, "TLS cannot be used on this host: %.50s",
		         why ? why : "no reason given");
		return ERR_BAD_OPTION;
	}
	err = read_all(options, files, refusal);
	if (!err && options->tls_cert) err = judge_certificate(options, tls, files, refusal);
	if (!err && options->egress_ca) err = judge_authorities(options, tls, files, refusal);
	SSL_CTX_free(tls);
	return err;
}
