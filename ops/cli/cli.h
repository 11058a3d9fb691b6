#pragma once
#include "ops/cli/args.h"
#include "ops/cli/service.h"
#include "schemas/cause.h"
#include "schemas/fields.h"
#include "schemas/msgpack_look.h"

#include <stdio.h>

/* The operator's commands: `stampede NOUN VERB ...`, of which argv holds all but the program's name. Prints one JSON value, or
 * {"code","message","field"?} on stderr. Returns the exit status: 0, 1 (failed), 2 (wrong usage).
 */
int cli_main(int argc, char **argv);

/* Prints help: on one command, on all of a noun (`verb` NULL), or on everything (`noun` NULL). */
void cli_help(FILE *to, const char *noun, const char *verb);
/* The same to standard output, as the answer. Returns the exit status: 1, with the failure on stderr, if it cannot be written. */
int cli_print_help(const char *noun, const char *verb);

/* The commands of the help, by number: the words of each, its usage text and its example's arguments. False: there are no
 * more. For a test. */
enum { CLI_NAME = 64, CLI_TEXT = 400 };
bool cli_command(unsigned number, char name[CLI_NAME], char usage[CLI_TEXT], char example[CLI_TEXT]);

/* ---- for the commands ---- */

/* One run of a command: it fills `out` with JSON, or fails. */
struct cli {
	struct args     args;
	const char     *data;
	struct service *service; /* open after cli_open() */
	struct buffer   out;
	enum err        err; /* the first failure */
	char            message[REASON_TEXT];
	char            field[ERROR_FIELD_BYTES_MAX + 1]; /* what it is about; "": nothing in particular */
};

enum outcome { DONE = 0, FAILED = 1, MISUSED = 2 };

/* FAILED, with the reason; the first failure is kept. `message` NULL: the error's own. */
enum outcome cli_fail(struct cli *cli, enum err err, const char *message);
/* The same for a field, whose name is cut to ERROR_FIELD_BYTES_MAX. */
enum outcome cli_fail_field(struct cli *cli, enum err err, struct span field, const char *message);

/* FAILED, for a file or directory and errno: "`what` PATH: why." */
enum outcome cli_fail_at(struct cli *cli, const char *what, const char *path);

/* FAILED, for a known cause, and its field if it has one. */
enum outcome cli_refuse(struct cli *cli, const struct reason *reason);

/* In the sentence of a failure, the member at fault becomes the option that gave it. */
void cli_name_option(struct cli *cli, const char *option);

/* A parent may have left us few descriptors, a small stack, or standard descriptors that do not wait. */
void cli_settle_process(void);

/* Opens the service, unless it is open. FAILED: with a sentence that says why not. */
must_check enum outcome cli_open(struct cli *cli);

/* Reads the account's id. False: the command has failed (no account has an id of another form). */
must_check bool cli_account(struct cli *cli, const char *text, struct account_id *account);

/* Reads a file (-: standard input) with one JSON object, and packs it. The shard checks its members. */
must_check enum outcome cli_pack_file(struct cli *cli, const char *path, msgpack_packer *packer);
/* Calls the account's shard or (account NULL) all; each part goes to `on_part`. */
enum outcome cli_call_parts(struct cli *cli, const struct call_spec *request, service_part_fn on_part,
                            void *user);
/* The same with the arguments packed in `args`, which it frees. FAILED too: they did not fit into memory. */
enum outcome cli_call_packed(struct cli *cli, struct call_spec request, struct buffer *args,
                             service_part_fn on_part, void *user);

/* Writes JSON, or lines with it, so that no character in it acts on a terminal. Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err cli_write(FILE *to, struct span text);
#define CLI_NOT_WRITTEN \
	"The answer cannot be written to standard output. If the command changes something, that is done."
/* Prints what `out` holds, and empties it. FAILED: with a sentence that says why. */
must_check enum outcome cli_print(struct cli *cli);

/* For parts: false if the reply is a failure, which becomes the command's. */
bool cli_part_ok(struct cli *cli, const struct reply *reply);

/* The items of a list's part: an array, or [items, total, has_more]; NULL: neither. */
const msgpack_object_array *cli_items(const msgpack_object *payload);

/* Take nothing of a part but its failure; print it: the whole answer; the items of a list's part, into an array around all
 * parts. */
void cli_take_nothing(void *user, uint32_t shard, const struct reply *reply);
void cli_print_part(void *user, uint32_t shard, const struct reply *reply);
void cli_print_items(void *user, uint32_t shard, const struct reply *reply);

/* The commands with their own functions. own.def is generated from schemas/api/ and verbs.def, and changes only with their
 * names. */
#define OWN(noun, verb) enum outcome noun##_##verb(struct cli *cli);
#include "ops/cli/own.def"
#undef OWN
