/* Shared by the commands: failing, calling a shard, packing arguments, reading answers. */
#include "actors/rt/channel.h"
#include "actors/rt/needs.h"
#include "actors/rt/stdio_wait.h"
#include "ops/cli/cli.h"
#include "ops/cli/reach.h"
#include "schemas/json.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum outcome cli_fail(struct cli *cli, enum err err, const char *message)
{
	return cli_fail_field(cli, err, span_of("", 0), message);
}

/* Names of files may be of any bytes, and may have been cut within a character. */
static void show_as_text(char *text)
{
	size_t size = strlen(text), good;

	while ((good = utf8_valid_size(span_of(text, size))) < size)
		text[good] = '?';
}

enum outcome cli_fail_field(struct cli *cli, enum err err, struct span field, const char *message)
{
	if (cli->err) return FAILED;
	cli->err = err;
	field = utf8_cut(field, ERROR_FIELD_BYTES_MAX);
	if (!message) message = field.size ? err_message_of_field(err) : err_message(err);
	snprintf(cli->message, sizeof cli->message, "%s", message);
	show_as_text(cli->message);
	snprintf(cli->field, sizeof cli->field, "%.*s", (int)field.size, (const char *)field.at);
	return FAILED;
}

enum outcome cli_fail_at(struct cli *cli, const char *what, const char *path)
{
	char message[256];

	snprintf(message, sizeof message, "%s %.150s: %s.", what, path, strerror(errno));
	return cli_fail(cli, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, message);
}

enum outcome cli_refuse(struct cli *cli, const struct reason *reason)
{
	struct refusal refusal;
	enum err       err = refusal_of(&refusal, reason);
	struct span    none = span_of("", 0);

	return cli_fail_field(cli, err, refusal.field.at ? refusal.field : none, refusal.message);
}

void cli_name_option(struct cli *cli, const char *option)
{
	char        member[sizeof cli->field + 2], message[sizeof cli->message];
	const char *at;

	snprintf(member, sizeof member, "`%s`", cli->field);
	if (!cli->err || !*cli->field || !(at = strstr(cli->message, member))) return;
	snprintf(message, sizeof message, "%.*s`%s`%s", (int)(at - cli->message), cli->message, option,
	         at + strlen(member));
	memcpy(cli->message, message, sizeof message);
}

void cli_settle_process(void)
{
	struct rlimit limit;
	uint64_t      allowed;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (!needs_stack(&allowed)) fprintf(stderr, "stampede: ulimit -s is too low for a thread\n");
	stdio_wait();
}

/* May this process not have what a session takes? */
static bool lacks_means(char text[REASON_TEXT])
{
	int         error;
	const char *lack = channel_lacked(&error);

	if (!lack && (lack = channel_lack())) error = errno;
	if (lack)
		snprintf(text, REASON_TEXT, "The system refuses this process %s: %s.", lack, strerror(error));
	return lack != NULL;
}

enum outcome cli_open(struct cli *cli)
{
	char     text[REASON_TEXT];
	enum err err = cli->service ? OK : service_open(cli->data, &cli->service);

	if (!err) return DONE;
	if (lacks_means(text)) return cli_fail(cli, ERR_UNSUPPORTED, text);
	reach_explain(cli->data, err, text);
	return cli_fail(cli, err, text);
}

bool cli_account(struct cli *cli, const char *text, struct account_id *account)
{
	if (account_id_read(span_str(text), account)) return true;
	cli_refuse(cli, REASON(ACCOUNT_FORM, "account_id", .given = span_str(text)));
	return false;
}

enum err cli_write(FILE *to, struct span text)
{
	struct buffer shown = {0};
	enum err      err = OK;

	json_shown(text, &shown);
	if (shown.failed)
		err = ERR_NO_MEMORY;
	else if (fwrite(shown.at, 1, shown.size, to) != shown.size || fflush(to))
		err = ERR_IO;
	buffer_free(&shown);
	return err;
}

enum outcome cli_print(struct cli *cli)
{
	enum err err = cli->out.failed ? ERR_NO_MEMORY : cli_write(stdout, buffer_span(&cli->out));

	buffer_clear(&cli->out);
	if (!err) return DONE;
	return cli_fail(cli, err, err == ERR_IO ? CLI_NOT_WRITTEN : NULL);
}

bool cli_part_ok(struct cli *cli, const struct reply *reply)
{
	char                  message[sizeof cli->message];
	const msgpack_object *text = reply->payload;

	if (!reply->err) return true;
	if (text->type != MSGPACK_OBJECT_STR) {
		cli_fail_field(cli, reply->err, reply->field, NULL);
		return false;
	}
	snprintf(message, sizeof message, "%.*s", (int)text->via.str.size, text->via.str.ptr);
	cli_fail_field(cli, reply->err, reply->field, message);
	return false;
}

enum outcome cli_call_parts(struct cli *cli, const struct call_spec *request, service_part_fn on_part,
                            void *user)
{
	enum err err;

	if (cli_open(cli) != DONE) return FAILED;
	err = service_call(cli->service, request, on_part, user);
	if (err) return cli_fail(cli, err, NULL);
	return cli->err ? FAILED : DONE;
}

enum outcome cli_call_packed(struct cli *cli, struct call_spec request, struct buffer *args,
                             service_part_fn on_part, void *user)
{
	request.args = buffer_span(args);
	enum outcome outcome = args->failed ? cli_fail(cli, ERR_NO_MEMORY, NULL)
	                                    : cli_call_parts(cli, &request, on_part, user);
	buffer_free(args);
	return outcome;
}

void cli_take_nothing(void *user, uint32_t shard, const struct reply *reply)
{
	(void)shard;
	(void)cli_part_ok(user, reply);
}

void cli_print_part(void *user, uint32_t shard, const struct reply *reply)
{
	struct cli *cli = user;

	(void)shard;
	if (cli_part_ok(cli, reply) && json_render(reply->payload, &cli->out))
		cli_fail(cli, ERR_MALFORMED, NULL);
}

void cli_print_items(void *user, uint32_t shard, const struct reply *reply)
{
	struct cli                 *cli = user;
	const msgpack_object_array *items;

	(void)shard;
	if (!cli_part_ok(cli, reply)) return;
	if (!(items = cli_items(reply->payload))) {
		cli_fail(cli, ERR_MALFORMED, NULL);
		return;
	}
	for (uint32_t i = 0; i < items->size; i++) {
		if (cli->out.size > 1) buffer_byte(&cli->out, ',');
		if (json_render(&items->ptr[i], &cli->out)) cli_fail(cli, ERR_MALFORMED, NULL);
	}
}

const msgpack_object_array *cli_items(const msgpack_object *payload)
{
	const msgpack_object_array *array = &payload->via.array;

	if (payload->type != MSGPACK_OBJECT_ARRAY) return NULL;
	/* Items are maps, so a leading array can only be the wrapped form. */
	if (array->size && array->ptr[0].type == MSGPACK_OBJECT_ARRAY) return &array->ptr[0].via.array;
	return array;
}
