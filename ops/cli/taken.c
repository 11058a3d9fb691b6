/* Converts command-line words to a message's arguments, by the ARG and TAKES rows of schemas/api/. */
#include "ops/cli/taken.h"
#include "ops/cli/usage.h"
#include "schemas/api/all.h"
#include "schemas/date.h"

#include <string.h>

enum form { FORM_TEXT, FORM_NUMBER, FORM_DURATION, FORM_TIME, FORM_FLAG, FORM_ON_OFF, FORM_FILE, FORM_TEXTS };

static const struct taking {
	enum message message;
	unsigned     argument;
	enum form    form;
	const char  *usage;
} takings[] = {
#define ARG(op, name, type, need, min, max, form, usage) {MSG_##op, ARG_##op##_##name, FORM_##form, usage},
#define TAKES(op, name, form, usage)                     {MSG_##op, ARG_##op##_##name, FORM_##form, usage},
#include "schemas/api/begin.def"
#include "schemas/api/all.def"
#include "schemas/api/end.def"
};
enum { TAKINGS = sizeof takings / sizeof *takings };

/* A new account has no id yet: the command makes it. */
static bool takes_account(enum message message)
{
	return message_row(message)->about == ABOUT_ACCOUNT && message != MSG_ACCOUNT_CREATE;
}

void taken_usage(enum message message, char text[TAKEN_USAGE])
{
	size_t used = (size_t)snprintf(text, TAKEN_USAGE, "%s", takes_account(message) ? "ACCOUNT" : "");

	for (size_t i = 0; i < TAKINGS; i++) {
		if (takings[i].message != message) continue;
		used += (size_t)snprintf(text + used, TAKEN_USAGE - used, "%s%s", used ? " " : "",
		                         takings[i].usage);
		must(used < TAKEN_USAGE);
	}
}

/* ---- values ---- */

/* Begins a value; the caller packs it, and keep() ends it. */
static msgpack_packer begin(struct taken *taken, unsigned argument)
{
	taken->of[argument].at = taken->bytes.size;
	return buffer_packer(&taken->bytes);
}

static void keep(struct taken *taken, unsigned argument)
{
	taken->of[argument].size = taken->bytes.size - taken->of[argument].at;
}

void taken_bin(struct taken *taken, unsigned argument, struct span value)
{
	msgpack_packer packer = begin(taken, argument);
	pack_bin(&packer, value);
	keep(taken, argument);
}

void taken_int(struct taken *taken, unsigned argument, int64_t value)
{
	msgpack_packer packer = begin(taken, argument);
	pack_int(&packer, value);
	keep(taken, argument);
}

void taken_text(struct taken *taken, unsigned argument, const char *text)
{
	msgpack_packer packer = begin(taken, argument);
	pack_text(&packer, text);
	keep(taken, argument);
}

void taken_boolean(struct taken *taken, unsigned argument, bool on)
{
	msgpack_packer packer = begin(taken, argument);
	on ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
	keep(taken, argument);
}

/* ---- forms ---- */

/* The current argument. `option` is its name with dashes; "": it is a word. */
struct argument {
	const struct taking *taking;
	const struct field  *field;
	const char          *option;
};

static const char *take_word(struct cli *cli, const struct argument *argument)
{
	return *argument->option ? args_option(&cli->args, argument->option) : args_word(&cli->args);
}

/* Checked here against the field's range, because the option's name is known. */
static enum outcome take_number(struct cli *cli, struct taken *taken, const struct argument *argument,
                                struct number number, const char *unit)
{
	const struct field *field = argument->field;
	char                message[200];

	if (!number.given || cli->args.wrong) return DONE;
	if (number.value >= field->min && number.value <= field->max) {
		taken_int(taken, argument->taking->argument, number.value);
		return DONE;
	}
	snprintf(message, sizeof message, "%s%s must be from %lld to %lld.", argument->option, unit,
	         (long long)field->min, (long long)field->max);
	return cli_fail_field(cli, ERR_INVALID_INPUT, span_str(field->name), message);
}

static enum outcome take_time(struct cli *cli, struct taken *taken, const struct argument *argument)
{
	const char *text = take_word(cli, argument);
	char        message[160];
	wall_us     time;

	if (!text) return DONE;
	if (rfc3339_read(span_str(text), &time)) {
		taken_int(taken, argument->taking->argument, time.v);
		return DONE;
	}
	snprintf(message, sizeof message, "%s must be %s.", argument->option, rfc3339_wanted(span_str(text)));
	return cli_fail_field(cli, ERR_INVALID_INPUT, span_str(argument->option + 2), message); /* as typed */
}

/* Every value of a repeated option, and further words after it: "--pass a --pass b", "--pass a b". */
static void take_texts(struct cli *cli, struct taken *taken, const struct argument *argument)
{
	struct buffer  texts = {0};
	msgpack_packer text = buffer_packer(&texts), packer;
	size_t         count = 0;
	const char    *each;

	while ((each = args_option(&cli->args, argument->option)) ||
	       (count && (each = args_word_or_none(&cli->args)))) {
		pack_text(&text, each);
		count++;
	}
	if (count) {
		packer = begin(taken, argument->taking->argument);
		msgpack_pack_array(&packer, count);
		buffer_append(&taken->bytes, texts.at, texts.size);
		keep(taken, argument->taking->argument);
	}
	if (texts.failed) taken->bytes.failed = true;
	buffer_free(&texts);
}

static enum outcome take_file(struct cli *cli, struct taken *taken, const struct argument *argument)
{
	const char    *path = take_word(cli, argument);
	msgpack_packer packer;
	enum outcome   outcome;

	if (!path || cli->args.wrong) return MISUSED;
	packer = begin(taken, argument->taking->argument);
	outcome = cli_pack_file(cli, path, &packer);
	keep(taken, argument->taking->argument);
	return outcome;
}

static enum outcome take(struct cli *cli, struct taken *taken, const struct argument *argument)
{
	unsigned      number = argument->taking->argument;
	const char   *text;
	struct toggle toggle;

	switch (argument->taking->form) {
	case FORM_TEXT:
		if ((text = take_word(cli, argument))) taken_text(taken, number, text);
		break;
	case FORM_NUMBER:
		return take_number(cli, taken, argument, args_number(&cli->args, argument->option), "");
	case FORM_DURATION:
		return take_number(cli, taken, argument, args_duration(&cli->args, argument->option),
		                   ", in seconds,");
	case FORM_TIME: return take_time(cli, taken, argument);
	case FORM_FLAG:
		if (args_flag(&cli->args, argument->option)) taken_boolean(taken, number, true);
		break;
	case FORM_ON_OFF:
		toggle = args_toggle(&cli->args, argument->option);
		if (toggle.given) taken_boolean(taken, number, toggle.on);
		break;
	case FORM_FILE: return take_file(cli, taken, argument);
	case FORM_TEXTS: take_texts(cli, taken, argument); break;
	}
	return DONE;
}

/* ---- all arguments ---- */

enum turn { OPTIONS, WORDS, REPEATED, TURNS };

static enum turn turn_of(const struct usage_item *item)
{
	return !item->is_option ? WORDS : item->repeats ? REPEATED : OPTIONS;
}

/* First the options, so that they are not taken as words. Then the words, in order. Last the options that take all words left. */
static enum outcome take_all(struct cli *cli, struct taken *taken)
{
	unsigned            count;
	const struct field *fields = message_fields(taken->message, &count);
	const char         *account;
	enum outcome        outcome = DONE;

	for (enum turn turn = OPTIONS; turn < TURNS; turn++) {
		if (turn == WORDS && taken->has_account) {
			account = args_word(&cli->args);
			if (!cli->args.wrong && !cli_account(cli, account, &taken->account)) return FAILED;
		}
		for (size_t i = 0; i < TAKINGS && outcome == DONE; i++) {
			struct usage usage;
			if (takings[i].message != taken->message) continue;
			usage_read(takings[i].usage, &usage);
			if (turn_of(&usage.of[0]) != turn) continue;
			outcome = take(
			    cli, taken,
			    &(struct argument){.taking = &takings[i],
			                       .field = &fields[takings[i].argument],
			                       .option = usage.of[0].is_option ? usage.of[0].name : ""});
		}
	}
	return outcome;
}

enum outcome taken_read(struct cli *cli, enum message message, struct taken *taken)
{
	enum outcome outcome;

	*taken = (struct taken){.message = message, .has_account = takes_account(message)};
	outcome = take_all(cli, taken);
	if (outcome == FAILED) return FAILED;
	return args_end(&cli->args) ? outcome : MISUSED;
}

void taken_free(struct taken *taken)
{
	buffer_free(&taken->bytes);
}

/* A shard's answer does not name an argument that a path shows. A command has no path. */
static void name_argument(struct cli *cli, const struct taken *taken)
{
	unsigned            count;
	const struct field *fields = message_fields(taken->message, &count);

	if (cli->err != ERR_RESOURCE_NOT_FOUND || *cli->field) return;
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == FROM_PATH && taken->of[i].size)
			snprintf(cli->field, sizeof cli->field, "%s", fields[i].name);
}

/* A shard names members; the operator typed options. */
static void name_option(struct cli *cli, const struct taken *taken)
{
	unsigned            count;
	const struct field *fields = message_fields(taken->message, &count);

	for (size_t i = 0; cli->err && i < TAKINGS; i++) {
		struct usage usage;
		if (takings[i].message != taken->message) continue;
		if (strcmp(fields[takings[i].argument].name, cli->field) != 0) continue;
		usage_read(takings[i].usage, &usage);
		if (usage.of[0].is_option) cli_name_option(cli, usage.of[0].name);
	}
}

enum outcome taken_call(struct cli *cli, const struct taken *taken, service_part_fn on_part, void *user)
{
	unsigned       count;
	struct buffer  args = {0};
	msgpack_packer packer = buffer_packer(&args);
	bool           about_account = message_row(taken->message)->about == ABOUT_ACCOUNT;

	(void)message_fields(taken->message, &count);
	msgpack_pack_array(&packer, count);
	for (unsigned i = 0; i < count; i++) {
		if (taken->of[i].size)
			buffer_append(&args, taken->bytes.at + taken->of[i].at, taken->of[i].size);
		else
			msgpack_pack_nil(&packer);
	}
	struct call_spec request = {.message = taken->message,
	                            .account = about_account ? &taken->account : NULL};
	args.failed |= taken->bytes.failed;
	enum outcome outcome = cli_call_packed(cli, request, &args, on_part, user);
	name_argument(cli, taken);
	name_option(cli, taken);
	return outcome;
}
