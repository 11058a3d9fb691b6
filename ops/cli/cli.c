/* Finds the command, runs it, prints its outcome. Most commands are one message; those with their own functions are one file a
 * noun; common.c has what they share. */
#include "ops/cli/cli.h"
#include "actors/rt/options.h"
#include "ops/cli/taken.h"
#include "ops/cli/usage.h"
#include "schemas/json.h"
#include "schemas/nearest.h"

#include <stdlib.h>
#include <string.h>

/* What a command prints of its message's answer; OWN: it has its own function. */
enum answer { ANSWER_OWN, ANSWER_OBJECT, ANSWER_LIST };

struct verb {
	const char  *noun, *verb;   /* noun NULL: a heading; verb NULL: the noun alone */
	const char  *usage, *about; /* usage NULL: from its message; of a heading: its text */
	const char  *example;
	enum answer  answer;
	enum message message;
	enum outcome (*run)(struct cli *cli);
	bool of_program; /* needs no data directory */
};

#define RUN_OWN(noun, verb)    noun##_##verb
#define RUN_OBJECT(noun, verb) NULL
#define RUN_LIST(noun, verb)   NULL
static const struct verb verbs[] = {
#define COMMAND(op, noun, verb, answer, about, example) \
	{#noun, #verb, NULL, about, example, ANSWER_##answer, MSG_##op, RUN_##answer(noun, verb), false},
#define V(noun, verb, usage, about, example) \
	{#noun, #verb, usage, about, example, ANSWER_OWN, MSG_COUNT, noun##_##verb, false},
#define W(word, usage, about, example) \
	{#word, NULL, usage, about, example, ANSWER_OWN, MSG_COUNT, word##_alone, false},
#define P(word, usage, about, example) \
	{#word, NULL, usage, about, example, ANSWER_OWN, MSG_COUNT, word##_alone, true},
#define D(noun, verb, usage, about, example) \
	{#noun, #verb, usage, about, example, ANSWER_OWN, MSG_COUNT, noun##_##verb, true},
#define G(title) {.about = title},
#include "ops/cli/verbs.def"
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static void name_of(const struct verb *verb, char name[CLI_NAME])
{
	snprintf(name, CLI_NAME, "%s%s%s", verb->noun, verb->verb ? " " : "", verb->verb ? verb->verb : "");
	for (char *at = name; (at = strchr(at, '_'));)
		*at = ' '; /* the verb has two words */
}

static void usage_of(const struct verb *verb, char usage[CLI_TEXT])
{
	if (verb->usage)
		snprintf(usage, CLI_TEXT, "%s", verb->usage);
	else
		taken_usage(verb->message, usage);
}

static void read_usage(const struct verb *verb, struct usage *usage)
{
	char text[CLI_TEXT];

	usage_of(verb, text);
	usage_read(text, usage);
}

/* The table omits the account from examples of commands about one. */
static void example_of(const struct verb *verb, char example[CLI_TEXT])
{
	char usage[CLI_TEXT];
	bool has_account;

	usage_of(verb, usage);
	has_account = !strncmp(usage, "ACCOUNT", 7);
	snprintf(example, CLI_TEXT, "%s%s%s", has_account ? "acc_k3x9m2p7q4w8z5t6" : "",
	         has_account && *verb->example ? " " : "", verb->example);
}

/* ---- help ---- */

static const char serve_usage[] = "  stampede serve --data DIR [OPTION]...\n"
                                  "      runs the service in the foreground until SIGTERM or SIGINT; "
                                  "defaults are in parentheses\n";
static const char serve_example[] = "      stampede serve --data /var/lib/stampede --listen 0.0.0.0:443 "
                                    "--tls-cert chain.pem --tls-key key.pem\n";

enum { HELP_COLUMNS = 118 };

/* The size of a piece that is not broken: a word; in a usage text also "[--option VALUE]". */
static size_t piece_size(const char *text)
{
	return *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, " ");
}

/* Breaks lines between pieces; continuation lines are indented. */
static void print_wrapped(FILE *to, size_t used, int indent, const char *text)
{
	for (size_t size; *text; text += size) {
		size = piece_size(text);
		if (used + size > HELP_COLUMNS) {
			fprintf(to, "\n%*s", indent, "");
			used = (size_t)indent;
		}
		used += size;
		fprintf(to, "%.*s", (int)size, text);
		if (text[size] == ' ') {
			size++;
			used++;
			if (text[size] && used + piece_size(text + size) <= HELP_COLUMNS) fputc(' ', to);
		}
	}
	fputc('\n', to);
}

static void print_verb(FILE *to, const struct verb *verb)
{
	char name[CLI_NAME], usage[CLI_TEXT];
	int  used;

	name_of(verb, name);
	usage_of(verb, usage);
	used = fprintf(to, "  stampede %s%s", name, *usage ? " " : "");
	print_wrapped(to, (size_t)used, 12, usage);
	used = fprintf(to, "      ");
	print_wrapped(to, (size_t)used, 6, verb->about);
}

static void print_example(FILE *to, const struct verb *verb)
{
	char name[CLI_NAME], example[CLI_TEXT];

	name_of(verb, name);
	example_of(verb, example);
	fprintf(to, "      example: stampede %s%s%s\n", name, *example ? " " : "", example);
}

static bool is_noun(const char *word)
{
	for (size_t i = 0; word && i < VERB_COUNT; i++)
		if (verbs[i].noun && !strcmp(verbs[i].noun, word)) return true;
	return word && !strcmp(word, "serve");
}

/* `word` NULL: any; the first of a verb's two words: each of them. */
static bool is_of(const struct verb *verb, const char *noun, const char *word)
{
	if (!verb->noun || strcmp(verb->noun, noun) != 0) return false;
	if (!word || !verb->verb || !strcmp(verb->verb, word)) return true;
	size_t size = strlen(word);
	return !strncmp(verb->verb, word, size) && verb->verb[size] == '_';
}

/* Is this the first of a verb's two words? */
static bool is_first_word(const char *noun, const char *word)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (verbs[i].verb && strcmp(verbs[i].verb, word) != 0 && is_of(&verbs[i], noun, word))
			return true;
	return false;
}

static void print_all(FILE *to)
{
	fputs("usage:\n", to);
	fputs(serve_usage, to);
	options_describe(to);
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (verbs[i].noun)
			print_verb(to, &verbs[i]);
		else
			fprintf(to, "\n%s:\n", verbs[i].about);
	}
	fputs("\n  stampede help [NOUN [VERB]] | stampede NOUN --help | stampede NOUN VERB --help\n"
	      "      explains, with examples, such as:\n",
	      to);
	fputs(serve_example, to);
	fputs("      stampede account create --name \"Corner cafe\" --data /var/lib/stampede\n", to);
}

static const char which_data[] = "A command speaks to the service of --data DIR, or of $STAMPEDE_DATA.\n";

void cli_help(FILE *to, const char *noun, const char *verb)
{
	if (!noun) {
		print_all(to);
		fputs(which_data, to);
		return;
	}
	fputs("usage:\n", to);
	if (!strcmp(noun, "serve")) {
		fputs(serve_usage, to);
		options_describe(to);
		fputs("      example:\n", to);
		fputs(serve_example, to);
		return;
	}
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (!is_of(&verbs[i], noun, verb)) continue;
		print_verb(to, &verbs[i]);
		print_example(to, &verbs[i]);
	}
	fputs(which_data, to);
}

bool cli_command(unsigned number, char name[CLI_NAME], char usage[CLI_TEXT], char example[CLI_TEXT])
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (!verbs[i].noun || number--) continue;
		name_of(&verbs[i], name);
		usage_of(&verbs[i], usage);
		example_of(&verbs[i], example);
		return true;
	}
	return false;
}

/* ---- finding the command ---- */

/* How many of the words are this verb, which may have two (with _ between them): 0: they are another one. */
static int words_of(const char *verb, int argc, char **argv)
{
	size_t first = strcspn(verb, "_");

	if (argc < 1 || strlen(argv[0]) != first || strncmp(argv[0], verb, first) != 0) return 0;
	if (!verb[first]) return 1;
	return argc >= 2 && !strcmp(argv[1], verb + first + 1) ? 2 : 0;
}

/* The command that the first words name, and how many words that is; NULL: none. */
static const struct verb *find(int argc, char **argv, int *words)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		int more = 0;
		if (!verbs[i].noun || argc < 1 || strcmp(argv[0], verbs[i].noun)) continue;
		if (verbs[i].verb && !(more = words_of(verbs[i].verb, argc - 1, argv + 1))) continue;
		*words = 1 + more;
		return &verbs[i];
	}
	return NULL;
}

static void print_words(FILE *to, const char *verb)
{
	for (; *verb; verb++)
		fputc(*verb == '_' ? ' ' : *verb, to);
}

enum { KNOWN_WORDS = 80, NAMES_MAX = VERB_COUNT + 2 };

static size_t nouns(const char *names[NAMES_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (verbs[i].noun) names[count++] = verbs[i].noun;
	names[count++] = "serve";
	names[count++] = "help";
	return count;
}

static size_t verbs_of(const char *noun, const char *names[NAMES_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (verbs[i].noun && !strcmp(verbs[i].noun, noun)) names[count++] = verbs[i].verb;
	return count;
}

/* The second words of verbs of two words, of which this is the first. */
static size_t second_words_of(const char *noun, const char *first, const char *names[NAMES_MAX])
{
	size_t count = 0, size = strlen(first);
	for (size_t i = 0; i < VERB_COUNT; i++) {
		bool is_meant = verbs[i].noun && verbs[i].verb && !strcmp(verbs[i].noun, noun) &&
		                !strncmp(verbs[i].verb, first, size) && verbs[i].verb[size] == '_';
		if (is_meant) names[count++] = verbs[i].verb + size + 1;
	}
	return count;
}

/* How many of the words begin a command, at most two; `names`: those that may come next. */
static int begin_command(int argc, char **argv, const char *names[NAMES_MAX], size_t *count)
{
	if (!is_noun(argv[0])) {
		*count = nouns(names);
		return 0;
	}
	*count = argc > 1 ? second_words_of(argv[0], argv[1], names) : 0;
	if (*count) return 2;
	*count = verbs_of(argv[0], names);
	return 1;
}

/* Reports an unknown command, or the beginning of one, and suggests what may have been meant. `argc`: words, without options. */
static void print_unknown(int argc, char **argv)
{
	const char *names[NAMES_MAX];
	size_t      count;
	char        known[KNOWN_WORDS];
	int         words = begin_command(argc, argv, names, &count);

	if (!*argv[0]) {
		fputs("stampede: the first word of the command is empty\n", stderr);
		return;
	}
	snprintf(known, sizeof known, "%.38s%s%.38s", words ? argv[0] : "", words > 1 ? " " : "",
	         words > 1 ? argv[1] : "");
	if (words == argc || !*argv[words]) {
		fprintf(stderr, "stampede: %s wants one more word%s:", known,
		        words < argc ? ", and that one is empty" : "");
		for (size_t i = 0; i < count; i++) {
			fputs(i ? ", " : " ", stderr);
			print_words(stderr, names[i]);
		}
		fputc('\n', stderr);
		return;
	}
	const char *meant = nearest(argv[words], names, count);
	fprintf(stderr, "stampede: unknown command %s%s%.60s", known, words ? " " : "", argv[words]);
	if (meant) {
		fprintf(stderr, ", did you mean %s%s", known, words ? " " : "");
		print_words(stderr, meant);
		fputc('?', stderr);
	}
	fputc('\n', stderr);
}

static bool is_option(const char *word)
{
	return !strncmp(word, "-", 1);
}

static enum outcome misuse(int argc, char **argv)
{
	int words = 0;

	while (words < argc && words < 3 && !is_option(argv[words]))
		words++;
	cli_help(stderr, words && is_noun(argv[0]) ? argv[0] : NULL, NULL);
	if (words)
		print_unknown(words, argv);
	else if (argc && !strncmp(argv[0], "--data", strlen("--data")))
		fputs("stampede: --data stands behind the command\n", stderr);
	else if (argc)
		fprintf(stderr, "stampede: unknown option %.60s\n", argv[0]);
	else
		fputs("stampede: no command is given\n", stderr);
	return MISUSED;
}

static bool asks_for_help(const struct verb *verb, int argc, char **argv)
{
	struct usage usage = {.count = 0};
	bool         is_value = false;

	if (verb) read_usage(verb, &usage);
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!is_value && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) return true;
		is_value = !is_value && usage_takes_value(&usage, argv[i]);
	}
	return false;
}

/* ---- running the command ---- */

static void print_failure(const struct cli *cli)
{
	struct buffer text = {0};
	struct span   none = span_of(NULL, 0);

	json_error(cli->err, span_str(cli->message), *cli->field ? span_str(cli->field) : none, none, &text);
	buffer_byte(&text, '\n');
	(void)!cli_write(stderr, buffer_span(&text));
	buffer_free(&text);
}

int cli_print_help(const char *noun, const char *verb)
{
	struct cli cli = {.err = OK};

	cli_help(stdout, noun, verb);
	if (!fflush(stdout) && !ferror(stdout)) return DONE;
	cli_fail(&cli, ERR_IO, CLI_NOT_WRITTEN);
	print_failure(&cli);
	return FAILED;
}

static enum outcome print_result(struct cli *cli)
{
	if (!cli->out.size && !cli->out.failed) return DONE; /* it has printed its output itself */
	buffer_byte(&cli->out, '\n');
	return cli_print(cli);
}

/* The fault of the arguments is printed last, where it is seen. */
static void print_misuse(const struct verb *verb, const struct cli *cli, const char *why)
{
	fputs("usage:\n", stderr);
	print_verb(stderr, verb);
	print_example(stderr, verb);
	if (!cli->data && !verb->of_program)
		fputs("No data directory is named: --data DIR, or $STAMPEDE_DATA.\n", stderr);
	if (!*why) why = *cli->args.why ? cli->args.why : cli->data ? "an argument is wrong" : why;
	if (*why) fprintf(stderr, "stampede: %s\n", why);
}

/* Runs a command that is one message: its arguments, its call, its answer. */
static enum outcome run_message(const struct verb *verb, struct cli *cli)
{
	bool            is_list = verb->answer == ANSWER_LIST;
	service_part_fn print = is_list ? cli_print_items : cli_print_part;
	struct taken    taken;
	enum outcome    outcome = taken_read(cli, verb->message, &taken);

	if (is_list) buffer_byte(&cli->out, '[');
	if (outcome == DONE) outcome = taken_call(cli, &taken, print, cli);
	if (is_list) buffer_byte(&cli->out, ']');
	taken_free(&taken);
	return outcome;
}

static enum outcome refuse_nameless(struct cli *cli)
{
	const struct reason reason = {.cause = CAUSE_DATA_NAMELESS};
	char                text[REASON_TEXT];

	reason_text(&reason, text);
	return cli_fail(cli, cause_err(reason.cause), text);
}

static enum outcome run(const struct verb *verb, int argc, char **argv)
{
	struct cli   cli = {.args = {.count = argc, .words = argv}};
	struct usage usage;
	char         why[USAGE_WHY] = "";
	enum outcome outcome = MISUSED;

	read_usage(verb, &usage);
	cli.data = args_option(&cli.args, "--data");
	if (cli.args.wrong || (cli.data && usage_has_option(&usage, cli.data)))
		snprintf(why, sizeof why, "--data wants a value");
	if (!cli.data) cli.data = getenv("STAMPEDE_DATA");
	if (!*why && usage_check(&usage, argc, argv, why) && (cli.data || verb->of_program))
		outcome = cli.data && !*cli.data && !verb->of_program ? refuse_nameless(&cli)
		          : verb->run                                 ? verb->run(&cli)
		                                                      : run_message(verb, &cli);
	if (outcome == DONE) outcome = print_result(&cli);
	if (outcome == FAILED) print_failure(&cli);
	if (outcome == MISUSED) print_misuse(verb, &cli, why);
	service_close(&cli.service);
	buffer_free(&cli.out);
	return outcome;
}

/* help [NOUN [VERB]] */
static enum outcome help(int argc, char **argv)
{
	int                words;
	const struct verb *verb = argc > 1 ? find(argc, argv, &words) : NULL;

	if (argc == 0) return (enum outcome)cli_print_help(NULL, NULL);
	bool is_first = argc == 2 && is_first_word(argv[0], argv[1]);
	if (!is_noun(argv[0]) || (argc > 1 && !verb && !is_first)) return misuse(argc, argv);
	return (enum outcome)cli_print_help(argv[0], is_first ? argv[1] : verb ? verb->verb : NULL);
}

static enum outcome choose(int argc, char **argv)
{
	int                words = 0;
	const struct verb *verb = find(argc, argv, &words);

	if (argc >= 1 && !strcmp(argv[0], "help")) return help(argc - 1, argv + 1);
	if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) return help(0, argv);
	if (argc == 1 && !strcmp(argv[0], "--version")) {
		verb = find(1, (char *[]){"version"}, &words);
		return run(verb, 0, argv);
	}
	if (verb && asks_for_help(verb, argc - words, argv + words)) return help(words, argv);
	if (!verb && argc >= 1 && is_noun(argv[0]) && (argc == 1 || is_option(argv[1])) &&
	    asks_for_help(NULL, argc - 1, argv + 1))
		return help(1, argv);
	if (!verb && argc >= 2 && is_first_word(argv[0], argv[1]) && asks_for_help(NULL, argc - 2, argv + 2))
		return help(2, argv);
	if (!verb) return misuse(argc, argv);
	return run(verb, argc - words, argv + words);
}

int cli_main(int argc, char **argv)
{
	cli_settle_process();
	return (int)choose(argc, argv);
}
