#pragma once
#include "schemas/address.h"
#include "schemas/clock.h"
#include "schemas/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The options of `stampede serve`, as the supervisor and its children read them. Children are started as `stampede actor ROLE
 * INDEX <the same options> --listen-fd N --admin-fd N --settings-fd N --supervisor-pid N`. Strings are borrowed from argv or
 * owned by the options for the life of the process. Options whose row is `reloadable` may change while the service runs: read
 * them from the newest settings (settings.h). */
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
	const char *wallet_badges;          /* a folder; NULL: none */
	const char *wallet_apns;            /* HOST:PORT */
	const char *wallet_google;          /* URL without a slash at its end; NULL: Google's own */
	const char *wallet_google_keys;     /* URL */
	const char *cors_origins[OPTION_LIST_MAX];
	const char *egress_allow[OPTION_LIST_MAX];
	unsigned    cors_origin_count, egress_allow_count;
	uint32_t    shards;       /* 0: not given */
	uint32_t    http_threads; /* 0: not given */
	int64_t     memory_bytes; /* of a shard, for passes that were used lately; 0: not given */
	int64_t     max_body_bytes;
	dur_us      keep_alive;              /* of a connection between two requests; whole seconds */
	uint32_t    connections_per_address; /* 0: no limit */
	uint32_t    idempotency_keys;        /* kept per account */
	uint32_t    wallet_bulk_rate;        /* passes a second of each shard */
	bool        egress_allow_private;
	bool        test_clock;
	bool        no_deliveries; /* no endpoint is called: what is due waits */

	/* Only in children. */
	int listen_fd, admin_fd; /* -1: none */
	int counts_fd;           /* of the log: see log.h; -1: none */
	int gate_fd; /* for shards, an eventfd: readable when all of them may change their directories; -1: none */
	int  settings_fd; /* socket for settings, see settings.h; -1: none */
	int  supervisor_pid;
	int  index;
	bool may_format; /* the data directory was never complete: a shard without files creates them */
	bool restored;   /* it was restored and not served since: a shard has only its snapshot */

	/* Only in processes that do offline work. */
	const char *from;    /* a backup; for a dump: the first seq, or the prefix of keys */
	const char *table;   /* what to dump */
	const char *lineage; /* of the directory being restored, 32 hexadecimal digits */

	char  *config_text;   /* text of the --config file, which strings point into */
	bool   config_is_dry; /* it is a pipe, and gave nothing */
	int    argc;          /* the command line, to read it again */
	char **argv;
};

/* Reads argv[0..argc) and, if named there, the --config file; the command line wins. On failure `why` names the option
 * (and the line of the file) and says what it wants. Call options_free() after the last use, also after a failure. Errors: ERR_BAD_OPTION, ERR_NO_MEMORY. */
enum { OPTION_WHY = 512 };
must_check enum err options_read(int argc, char **argv, struct options *options, char why[OPTION_WHY]);
void                options_free(struct options *options);

/* Do the options, as read, fit on the command line of a child? The kernel takes no argument of 128 KiB or more, and not all of
 * them together in more than a part of the stack's limit. On failure `why` names an option. Errors: ERR_BAD_OPTION. */
enum { OPTION_BYTES_MAX = 64 << 10, OPTIONS_BYTES_MAX = 256 << 10 };
must_check enum err options_fit(const struct options *options, char why[OPTION_WHY]);

/* Writes a line of help for each option of `serve`. */
void options_describe(FILE *to);

/* Calls `tell` once for each option that differs between `fresh` and `now`, both as read, with its name without dashes. Covers
 * the options that may change while the service runs (`reloadable`), or those that may not. Errors: none. */
typedef void option_tell(void *user, const char *name);
void         options_compare(const struct options *now, const struct options *fresh, bool reloadable,
                             option_tell *tell, void *user);
/* Copies the reloadable options; strings are borrowed from `fresh`. */
void options_adopt(struct options *to, const struct options *fresh);

/* Writes a child's command line: appends every set option to args->argv (its first args->argc places are the caller's), ending
 * with NULL. Values from a --config file are written out, so a child never reads the file. Strings are borrowed from
 * `options`. Errors: none, there is always room.
 */
enum { OPTION_ARGS_MAX = 128 + 4 * OPTION_LIST_MAX };
struct option_args {
	int         argc;
	const char *argv[OPTION_ARGS_MAX];
	char        numbers[32][24]; /* the texts of numbers */
};
void options_write(const struct options *options, struct option_args *args);

/* Splits "HOST:PORT" or "[HOST]:PORT"; the brackets are not part of the host. False: neither form. */
enum { HOST_TEXT = 256 };
bool host_port_read(const char *text, char host[HOST_TEXT], uint16_t *port);

/* The addresses that accounts may make the service call, from --egress-allow-private and --egress-allow; without this host's
 * addresses. Errors: none: options_read() has checked the ranges. */
void options_egress(const struct options *options, struct address_rules *rules);
