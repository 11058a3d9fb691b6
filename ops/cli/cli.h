#pragma once
#include "ops/cli/args.h"
#include "ops/cli/service.h"
#include "schemas/cause.h"
#include "schemas/fields.h"

#include <stdio.h>

/* The operator's commands: `stampede NOUN VERB ...`, of which argv holds all but the program's name. Prints
 * one JSON value, or {"code","message","field"?} on stderr. Returns the exit status: 0, 1 (failed), 2 (wrong usage).
 */
int cli_main(int argc, char **argv);

/* Prints help: on one command, on all of a noun (`verb` NULL), or on everything (`noun` NULL). */
void cli_help(FILE *to, const char *noun, const char *verb);

/* The commands of the help, by number: the words of each, its usage text and its example's arguments. false: there are no more.
 * For a test. */
enum { CLI_NAME = 64, CLI_TEXT = 400 };
bool cli_command(unsigned number, char name[CLI_NAME], char usage[CLI_TEXT], char example[CLI_TEXT]);

/* ---- for the commands themselves ---- */

/* One run of a command: it fills `out` with JSON, or fails. */
struct cli {
	struct args     args;
	const char     *data;
	struct service *service; /* open once cli_open() was called */
	struct buffer   out;
	enum err        err; /* the first failure */
	char            message[REASON_TEXT];
	char            field[ERROR_FIELD_BYTES_MAX + 1]; /* what it is about; "": nothing in particular */
};

enum outcome { DONE = 0, FAILED = 1, MISUSED = 2 };

/* FAILED, with what was wrong; the first failure stays. `message` NULL: the error's own. */
enum outcome cli_fail(struct cli *cli, enum err err, const char *message);
/* The same, of a field, whose name is cut to ERROR_FIELD_BYTES_MAX. */
enum outcome cli_fail_field(struct cli *cli, enum err err, struct span field, const char *message);

/* The same, of one of the known causes, and of its field if it has one. */
enum outcome cli_refuse(struct cli *cli, const struct reason *reason);

/* Opens the service, unless it is open. FAILED: with a sentence on what stands in the way. */
must_check enum outcome cli_open(struct cli *cli);

/* Reads the account's id. false: it has failed (an id of the wrong form is no account). */
must_check bool cli_account(struct cli *cli, const char *text, struct account_id *account);

/* Reads a file (-: standard input) that is one JSON object, and packs it. What its members mean is the shard's to judge. */
must_check enum outcome cli_pack_file(struct cli *cli, const char *path, msgpack_packer *packer);
/* Calls, on the account's shard or (NULL) on all; each part goes to `on_part`. */
enum outcome cli_call_parts(struct cli *cli, const struct call_spec *request, service_part_fn on_part,
                            void *user);

/* For parts: false when the reply is a failure, which then is the command's. */
bool cli_part_ok(struct cli *cli, const struct reply *reply);

/* The value of `key` in a map, or NULL. The items of a list's part: an array, or [items, total, has_more]. */
const msgpack_object       *cli_member(const msgpack_object *map, const char *key);
const msgpack_object_array *cli_items(const msgpack_object *payload);

/* Prints a part: the answer as it is; the items of a list's part, to an array that is begun and ended around all parts. */
void cli_print_part(void *user, uint32_t shard, const struct reply *reply);
void cli_print_items(void *user, uint32_t shard, const struct reply *reply);

/* The commands that have functions of their own: own.def is generated from schemas/api/ and verbs.def, and changes with their
 * names alone. */
#define OWN(noun, verb) enum outcome noun##_##verb(struct cli *cli);
#include "ops/cli/own.def"
#undef OWN
