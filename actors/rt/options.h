#pragma once
#include "schemas/address.h"
#include "schemas/clock.h"
#include "schemas/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The options of `stampede serve`, as the supervisor and its children read them. Children are started as
 * `stampede actor ROLE INDEX <the same options> --listen-fd N --admin-fd N --settings-fd N --supervisor-pid N`.
 * Strings are borrowed from argv or owned by the options for the life of the process. Options whose row is `reloadable`
 * may change while the service runs: who goes by one of them takes it from the newest settings (settings.h). */
enum { OPTION_LIST_MAX = 32 };

struct options {
	const char *data;
	const char *listen; /* HOST:PORT */
	const char *admin;
	/* Never NULL once started: http://LISTEN with the real port, https:// with a certificate. */
	const char *public_url;
	const char *tls_cert, *tls_key;
	const char *egress_ca;
	const char *log_format, *log_level; /* words of log.h */
	const char *access_log;             /* a file, - for stderr; NULL: none */
	const char *cors_origins[OPTION_LIST_MAX];
	const char *egress_allow[OPTION_LIST_MAX];
	unsigned    cors_origin_count, egress_allow_count;
	uint32_t    shards;       /* 0: not given */
	uint32_t    http_threads; /* 0: not given */
	int64_t     max_body_bytes;
	dur_us      keep_alive;              /* of a connection between two requests; whole seconds */
	uint32_t    connections_per_address; /* 0: as many as come */
	uint32_t    idempotency_keys;        /* kept per account */
	bool        egress_allow_private;
	bool        test_clock;
	bool        no_deliveries; /* no endpoint is called: what is due waits */

	/* Only in children. */
	int  listen_fd, admin_fd; /* -1: none */
	int  counts_fd;           /* of the log: see log.h; -1: none */
	int  gate_fd; /* an eventfd, of shards: readable when all of them may change their places; -1: none */
	int  settings_fd; /* where settings come from, see settings.h; -1: none */
	int  supervisor_pid;
	int  index;
	bool may_format; /* the data directory has never been complete: a shard without files makes them */
	bool restored;   /* it was restored and not served since: a shard has its snapshot alone */

	/* Only in processes that do offline work. */
	const char *from;    /* a backup; of a dump: the first seq, or how keys begin */
	const char *table;   /* what to dump */
	const char *lineage; /* of the directory being restored, 32 hexadecimal digits */

	char  *config_text; /* what the strings of a --config file point into */
	int    argc;        /* the command line, to be read again */
	char **argv;
};

/* Reads argv[0..argc) and, if named there, the --config file; the command line wins. On failure `why` (128
 * bytes) says which option and what is wrong. options_free() comes after the last use, either way.
 * Errors: ERR_BAD_OPTION, ERR_NO_MEMORY. */
enum { OPTION_WHY = 128 };
must_check enum err options_read(int argc, char **argv, struct options *options, char why[128]);
void                options_free(struct options *options);

/* Writes a line of help for each option of `serve`. */
void options_describe(FILE *to);

/* What `fresh` says otherwise than `now`, both as they were read: `tell` gets each option's name, without dashes, once.
 * Of what may change while the service runs (`reloadable`), or of what may not. Errors: none. */
typedef void option_tell(void *user, const char *name);
void         options_compare(const struct options *now, const struct options *fresh, bool reloadable,
                             option_tell *tell, void *user);
/* Takes what may change while the service runs; the strings are borrowed from `fresh`. */
void options_adopt(struct options *to, const struct options *fresh);

/* The way back, for a child's command line: appends every option that is set to args->argv (its first
 * args->argc places are the caller's), ending with NULL. What a --config file said is spelled out, so that a
 * child never reads the file again. Strings are borrowed from `options`. Errors: none, there is always room.
 */
enum { OPTION_ARGS_MAX = 128 + 4 * OPTION_LIST_MAX };
struct option_args {
	int         argc;
	const char *argv[OPTION_ARGS_MAX];
	char        numbers[32][24]; /* the texts of numbers */
};
void options_write(const struct options *options, struct option_args *args);

/* Splits "HOST:PORT" or "[HOST]:PORT"; the brackets do not belong to the host. false when it is neither. */
enum { HOST_TEXT = 256 };
bool host_port_read(const char *text, char host[HOST_TEXT], uint16_t *port);

/* Whom accounts may have us call, as --egress-allow-private and --egress-allow say; no address of this host's yet.
 * Errors: none: options_read() has seen to the ranges. */
void options_egress(const struct options *options, struct address_rules *rules);
