#pragma once
#include "actors/rt/options.h"
#include "schemas/buffer.h"

/* What can change in a running service, as one value that the supervisor has checked: the options, and the content of the
 * files that they name. A process gets it at its start and after every change, through an inherited socket (--settings-fd): a
 * sealed file in memory, so that no key is in an argument, an environment or a second file on disk. `options` is what
 * options_read() makes of the words; only reloadable ones are newer than the process's own. S(name, field of the option that
 * names it, the option, the role that gets it) */
#define SETTINGS_FILES(S)                          \
	S(CERT, tls_cert, "--tls-cert", ROLE_HTTP) \
	S(KEY, tls_key, "--tls-key", ROLE_HTTP)    \
	S(CA, egress_ca, "--egress-ca", ROLE_TIMER)
#define SETTINGS_FILE_AS_ENUM(name, field, option, role) SETTINGS_##name,
enum settings_file { SETTINGS_FILES(SETTINGS_FILE_AS_ENUM) SETTINGS_FILE_COUNT };
enum { SETTINGS_FILE_BYTES_MAX = 4 << 20 }; /* a bundle of all public authorities has 0.3 MB */

struct settings {
	uint64_t       generation; /* 1, 2, … */
	struct options options;
	struct span    files[SETTINGS_FILE_COUNT]; /* size 0: not named */

	/* Memory of the rest, freed by settings_free(). */
	struct buffer bytes;
	char         *words[OPTION_ARGS_MAX];
};
void settings_free(struct settings *settings); /* wipes them; zeroed is fine */

/* Puts all of them into a sealed file in memory; the caller closes it. Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err settings_seal(uint64_t generation, const struct options *options,
                                  const struct span files[SETTINGS_FILE_COUNT], int *fd);

/* The two ends of the socket. Neither waits. Errors: ERR_WOULD_BLOCK (sending: it is full; receiving: nothing has come),
 * ERR_PEER_GONE, ERR_MALFORMED, ERR_NO_MEMORY, ERR_IO. */
must_check enum err settings_send(int socket, int fd);
must_check enum err settings_receive(int socket, struct settings *settings);
/* The reply: the receiver now uses `generation`. */
must_check enum err settings_tell_taken(int socket, uint64_t generation);
must_check enum err settings_hear_taken(int socket, uint64_t *generation);
