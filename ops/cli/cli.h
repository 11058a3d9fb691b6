#pragma once
#include "ops/cli/args.h"
#include "ops/cli/service.h"
#include "schemas/fields.h"

#include <stdio.h>

/* The operator's commands: `stampede NOUN VERB ...`, of which argv holds all but the program's name. Prints
 * one JSON value, or {"code","message","field"?} on stderr. Returns the exit status: 0, 1 (failed), 2 (wrong usage).
 */
int cli_main(int argc, char **argv);

/* Prints help: on one command, on all of a noun (`verb` NULL), or on everything (`noun` NULL). */
void cli_help(FILE *to, const char *noun, const char *verb);

/* The examples of the help, by number: command, arguments, and the usage text they are held against (NULL: no command of that
 * name). false: there are no more. For a test. */
bool cli_example(unsigned number, const char **command, const char **arguments, const char **usage);
/* Likewise, the command words of everything there is. */
bool cli_command(unsigned number, char name[64]);

/* ---- for the commands themselves ---- */

/* One run of a command: it fills `out` with JSON, or fails. */
struct cli {
	struct args     args;
	const char     *data;
	struct service *service; /* open once service_open() was called */
	struct buffer   out;
	enum err        err; /* the first failure */
	char            message[256];
	char            field[ERROR_FIELD_BYTES_MAX + 1]; /* what it is about; "": nothing in particular */
};

enum outcome { DONE = 0, FAILED = 1, MISUSED = 2 };

/* FAILED, with what was wrong; the first failure stays. `message` NULL: the error's own. */
enum outcome cli_fail(struct cli *cli, enum err err, const char *message);
/* The same, of a field, whose name is cut to ERROR_FIELD_BYTES_MAX. */
enum outcome cli_fail_field(struct cli *cli, enum err err, struct span field, const char *message);

/* Reads the account's id. false: it has failed (an id of the wrong form is no account). */
must_check bool cli_account(struct cli *cli, const char *text, struct account_id *account);

/* Calls the account's shard and prints its answer. `args` is what the command packed. */
enum outcome cli_call(struct cli *cli, enum message message, const struct account_id *account,
                      struct buffer *args);
/* The same for an answer that is a list, in one part or many: prints one array. */
enum outcome cli_call_list(struct cli *cli, enum message message, const struct account_id *account,
                           struct buffer *args);
/* All of a command whose words are ACCOUNT FILE|-: the file is the first argument of the message, and the flag, if there is
 * one (else NULL), the second. */
enum outcome cli_put_file(struct cli *cli, enum message message, const char *flag);
/* Calls, on the account's shard or (NULL) on all; each part goes to `on_part`. */
enum outcome cli_call_parts(struct cli *cli, const struct request *request, service_part_fn on_part,
                            void *user);

/* For parts: false when the reply is a failure, which then is the command's. */
bool cli_part_ok(struct cli *cli, const struct reply *reply);

/* The value of `key` in a map, or NULL. The items of a list's part: an array, or [items, total, has_more]. */
const msgpack_object       *cli_member(const msgpack_object *map, const char *key);
const msgpack_object_array *cli_items(const msgpack_object *payload);

/* Packs a flag: true, or absent; a toggle or number: its value, or absent. */
void cli_pack_flag(msgpack_packer *packer, bool on);
void cli_pack_toggle(msgpack_packer *packer, struct toggle toggle);
void cli_pack_number(msgpack_packer *packer, struct number number);

#define V(noun, verb, usage, about) enum outcome noun##_##verb(struct cli *cli);
#define W(word, usage, about)       enum outcome word##_alone(struct cli *cli);
#define P(word, usage, about)       enum outcome word##_alone(struct cli *cli);
#define D                           V
#include "ops/cli/verbs.def"
