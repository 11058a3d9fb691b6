#pragma once
#include "ops/cli/cli.h"

/* What the command line gave for one message, by the rows of schemas/api/: the account, and each argument's value in msgpack.
 * Arguments not given are nil. */
struct taken {
	enum message      message;
	bool              has_account;
	struct account_id account;
	struct buffer     bytes; /* the values, in the order in which they were taken */
	struct {
		size_t at, size; /* in `bytes`; size 0: not given */
	} of[ARGS_MAX];
};

/* What the command line may give for a message, ACCOUNT first, in the form of usage.h. `text` has room for TAKEN_USAGE bytes. */
enum { TAKEN_USAGE = 400 };
void taken_usage(enum message message, char text[TAKEN_USAGE]);

/* Takes the command's arguments. Call taken_free() in any case. MISUSED: something is missing, too much or malformed. FAILED:
 * a value that the shard would refuse, or an unreadable file; the failure names the argument. */
must_check enum outcome taken_read(struct cli *cli, enum message message, struct taken *taken);
void                    taken_free(struct taken *taken);

/* Sets an argument that the command line does not take. A later value replaces an earlier one. */
void taken_bin(struct taken *taken, unsigned argument, struct span value);
void taken_int(struct taken *taken, unsigned argument, int64_t value);
void taken_text(struct taken *taken, unsigned argument, const char *text);
void taken_boolean(struct taken *taken, unsigned argument, bool on);

/* Calls the account's shard, or all; each part goes to `on_part`. May be called again. */
must_check enum outcome taken_call(struct cli *cli, const struct taken *taken, service_part_fn on_part,
                                   void *user);
