/* Credentials for wallets of an account, on its shard, or of the operator, on every shard. */
#include "ops/cli/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/wallet/sealing.h"

#include <errno.h>
#include <string.h>

enum outcome wallet_misused(struct cli *cli, const char *why)
{
	snprintf(cli->args.why, sizeof cli->args.why, "%s", why);
	return MISUSED;
}

enum outcome wallet_target_read(struct cli *cli, struct wallet_target *target)
{
	const char *account;

	*target = (struct wallet_target){.is_default = args_flag(&cli->args, "--default")};
	account = target->is_default ? NULL : args_word(&cli->args);
	if (!args_end(&cli->args)) return MISUSED;
	return target->is_default || cli_account(cli, account, &target->account) ? DONE : FAILED;
}

/* The members of a put are named like its options. */
static enum outcome name_option(struct cli *cli, enum outcome outcome)
{
	char option[sizeof cli->field + 2];

	if (outcome != FAILED || !*cli->field) return outcome;
	snprintf(option, sizeof option, "--%s", cli->field);
	for (char *at = option; (at = strchr(at, '_'));)
		*at = '-';
	cli_name_option(cli, option);
	return outcome;
}

enum outcome wallet_file_read(struct cli *cli, const char *name, const char *path, struct buffer *text)
{
	FILE    *file = fopen(path, "re");
	uint8_t *room = buffer_reserve(text, WALLET_FILE_BYTES_MAX + 1);
	size_t   size = file && room ? fread(room, 1, WALLET_FILE_BYTES_MAX + 1, file) : 0;
	bool     is_bad = !file || ferror(file);
	int      error = errno;

	if (file) fclose(file);
	if (!room) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	if (is_bad)
		return name_option(cli, cli_refuse(cli, REASON(OPTION_FILE, name, .given = span_str(path),
		                                               .wanted = strerror(error))));
	if (size > WALLET_FILE_BYTES_MAX)
		return name_option(cli,
		                   cli_refuse(cli, REASON(OPTION_FILE_LARGE, name, .given = span_str(path),
		                                          .most = WALLET_FILE_BYTES_MAX)));
	text->size = size;
	return DONE;
}

/* Calls -------------------------------------------------------------------------------------------------- */

/* The answer of one shard. */
struct answer {
	struct cli   *cli;
	bool          has_come, is_missing; /* missing: there is no such credential */
	int64_t       generation;
	char          name[300]; /* of the pass type or issuer */
	char          state[16];
	bool          has_error; /* a last one */
	struct buffer json;
};

static void take_text(const msgpack_object *value, char *text, size_t size)
{
	bool is_text = value && value->type == MSGPACK_OBJECT_STR;

	snprintf(text, size, "%.*s", is_text ? (int)value->via.str.size : 0,
	         is_text ? value->via.str.ptr : "");
}

static void on_answer(void *user, uint32_t shard, const struct reply *reply)
{
	struct answer        *answer = user;
	const msgpack_object *generation, *name, *error;

	(void)shard;
	answer->has_come = true;
	answer->is_missing = reply->err == ERR_RESOURCE_NOT_FOUND;
	if (!cli_part_ok(answer->cli, reply)) return;
	if (reply->payload->type != MSGPACK_OBJECT_MAP) return;
	generation = msgpack_member(reply->payload, "generation");
	name = msgpack_member(reply->payload, "pass_type_id");
	if (!name) name = msgpack_member(reply->payload, "issuer_id");
	if (generation) answer->generation = arg_integer(generation, 0);
	take_text(name, answer->name, sizeof answer->name);
	take_text(msgpack_member(reply->payload, "state"), answer->state, sizeof answer->state);
	error = msgpack_member(reply->payload, "last_error");
	answer->has_error = error && error->type == MSGPACK_OBJECT_STR;
	if (json_render(reply->payload, &answer->json)) cli_fail(answer->cli, ERR_MALFORMED, NULL);
}

/* The account's shard, or that shard of the operator's. */
static enum outcome call_one(struct cli *cli, const struct wallet_target *target, uint32_t shard,
                             struct call_spec request, struct answer *answer)
{
	request.account = target->is_default ? NULL : &target->account;
	request.shard = target->is_default ? &shard : NULL;
	return cli_call_parts(cli, &request, on_answer, answer);
}

static enum outcome mark(struct cli *cli, enum wallet_kind kind)
{
	struct call_spec request = {.message = MSG_WALLET_MARK};
	struct buffer    args = {0};
	msgpack_packer   packer = buffer_packer(&args);

	msgpack_pack_array(&packer, ARGS_WALLET_MARK);
	msgpack_pack_int64(&packer, WALLET_BIT(kind));
	return cli_call_packed(cli, request, &args, cli_take_nothing, cli);
}

/* Some shards have done it, this one has not: the failure becomes one that says so. */
static enum outcome fail_midway(struct cli *cli, uint32_t shard)
{
	char     message[sizeof cli->message];
	enum err err = cli->err;

	snprintf(message, sizeof message, "Shard %u has not done it, others have: repeat the command. %.300s",
	         shard, cli->message);
	cli->err = OK;
	return cli_fail(cli, err, message);
}

/* Putting ------------------------------------------------------------------------------------------------- */

/* One call of a put. */
struct step {
	uint32_t shard;
	bool     judge;
	int64_t  generation; /* at least; 0: any */
};

static enum outcome put_one(struct cli *cli, const struct wallet_target *target, const struct wallet_put *put,
                            struct step step, struct answer *answer)
{
	struct buffer  args = {0};
	msgpack_packer packer = buffer_packer(&args);
	enum outcome   outcome;

	put->pack(put->user, step.judge, step.generation, &packer);
	struct call_spec request = {.message = put->message, .args = buffer_span(&args)};
	*answer = (struct answer){.cli = cli};
	outcome = args.failed ? cli_fail(cli, ERR_NO_MEMORY, NULL)
	                      : call_one(cli, target, step.shard, request, answer);
	wallet_keys_forget(&args);
	return name_option(cli, outcome);
}

/* All shards but the first get the generation that the first has given. */
static enum outcome put_others(struct cli *cli, const struct wallet_target *target,
                               const struct wallet_put *put, int64_t generation)
{
	uint32_t      shards = target->is_default ? service_shards(cli->service) : 1;
	struct answer answer;
	enum outcome  outcome = DONE;

	for (uint32_t shard = 1; outcome == DONE && shard < shards; shard++) {
		outcome = put_one(cli, target, put, (struct step){shard, false, generation}, &answer);
		if (outcome == FAILED) outcome = fail_midway(cli, shard);
		buffer_free(&answer.json);
	}
	return outcome;
}

enum outcome wallet_put(struct cli *cli, const struct wallet_target *target, const struct wallet_put *put)
{
	struct answer answer;
	enum outcome  outcome = put_one(cli, target, put, (struct step){.judge = true}, &answer);

	buffer_free(&answer.json);
	if (outcome == DONE) outcome = mark(cli, put->kind);
	if (outcome != DONE) return outcome;
	outcome = put_one(cli, target, put, (struct step){.judge = false}, &answer);
	if (outcome == DONE) outcome = put_others(cli, target, put, answer.generation);
	if (outcome == DONE) buffer_append(&cli->out, answer.json.at, answer.json.size);
	buffer_free(&answer.json);
	return outcome;
}

/* Showing and removing ------------------------------------------------------------------------------------ */

/* A question about one kind. */
struct asking {
	struct cli          *cli;
	struct wallet_target target;
	enum message         message;
	enum wallet_kind     kind;
};

static enum outcome ask(const struct asking *asking, uint32_t shard, struct answer *answer)
{
	uint8_t args[] = {0x91, (uint8_t)asking->kind}; /* [kind]: these messages take nothing else */
	struct call_spec request = {.message = asking->message, .args = span_of(args, sizeof args)};

	*answer = (struct answer){.cli = asking->cli};
	return call_one(asking->cli, &asking->target, shard, request, answer);
}

/* The answers of all shards about the operator's: one of them, and how many have none, or another one. A shard in which it rests, or
 * has ended, comes before one in which it works, and there one with a last error before one without. */
struct answers {
	struct answer first;
	uint32_t      shards, missing, others;
};

static void keep(struct answers *answers, struct answer *answer)
{
	buffer_free(&answers->first.json);
	answers->first = *answer;
	answer->json = (struct buffer){0};
}

static enum outcome ask_shard(const struct asking *asking, uint32_t shard, struct answers *answers)
{
	struct answer answer;
	enum outcome  outcome = ask(asking, shard, &answer);

	if (outcome == FAILED && answer.is_missing && asking->target.is_default) {
		asking->cli->err = OK;
		answers->missing++;
		outcome = DONE;
	} else if (outcome == DONE && answers->shards == answers->missing) {
		keep(answers, &answer);
	} else if (outcome == DONE && (strcmp(answer.name, answers->first.name) != 0 ||
	                               answer.generation != answers->first.generation)) {
		answers->others++;
	} else if (outcome == DONE && !strcmp(answers->first.state, "ok") &&
	           (strcmp(answer.state, "ok") != 0 || !answers->first.has_error)) {
		keep(answers, &answer);
	}
	answers->shards++;
	buffer_free(&answer.json);
	return outcome;
}

/* Every shard of the operator's, or the account's alone. */
static enum outcome ask_all(const struct asking *asking, struct answers *answers)
{
	enum outcome outcome = cli_open(asking->cli);
	uint32_t shards = outcome == DONE && asking->target.is_default ? service_shards(asking->cli->service)
	                                                               : 1;

	for (uint32_t shard = 0; outcome == DONE && shard < shards; shard++) {
		outcome = ask_shard(asking, shard, answers);
		bool changes = asking->message == MSG_WALLET_CREDENTIAL_REMOVE;
		if (outcome == FAILED && changes && answers->shards - 1 > answers->missing)
			outcome = fail_midway(asking->cli, shard);
	}
	if (outcome == DONE && answers->missing == answers->shards)
		outcome = cli_refuse(asking->cli,
		                     asking->kind == WALLET_APPLE
		                         ? REASON_OF_ALL(APPLE_UNKNOWN, .given = span_str("--default"))
		                         : REASON_OF_ALL(GOOGLE_UNKNOWN, .given = span_str("--default")));
	return outcome;
}

static enum outcome show(struct cli *cli, enum wallet_kind kind)
{
	struct asking  asking = {.cli = cli, .message = MSG_WALLET_CREDENTIAL_SHOW, .kind = kind};
	struct answers answers = {.shards = 0};
	enum outcome   outcome = wallet_target_read(cli, &asking.target);

	if (outcome == DONE) outcome = ask_all(&asking, &answers);
	if (outcome == DONE && (answers.missing || answers.others))
		outcome = cli_fail(cli, ERR_RESOURCE_CONFLICT,
		                   "Not every shard has the same one: put it again, or remove it.");
	if (outcome == DONE) buffer_append(&cli->out, answers.first.json.at, answers.first.json.size);
	buffer_free(&answers.first.json);
	return outcome;
}

static enum outcome remove_all(struct cli *cli, enum wallet_kind kind)
{
	struct asking  asking = {.cli = cli, .message = MSG_WALLET_CREDENTIAL_REMOVE, .kind = kind};
	struct answers answers = {.shards = 0};
	enum outcome   outcome = wallet_target_read(cli, &asking.target);

	if (outcome == DONE) outcome = ask_all(&asking, &answers);
	if (outcome == DONE) buffer_text(&cli->out, "{}");
	buffer_free(&answers.first.json);
	return outcome;
}

enum outcome wallet_apple_show(struct cli *cli)
{
	return show(cli, WALLET_APPLE);
}

enum outcome wallet_google_show(struct cli *cli)
{
	return show(cli, WALLET_GOOGLE);
}

enum outcome wallet_apple_remove(struct cli *cli)
{
	return remove_all(cli, WALLET_APPLE);
}

enum outcome wallet_google_remove(struct cli *cli)
{
	return remove_all(cli, WALLET_GOOGLE);
}
