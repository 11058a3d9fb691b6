/* Finding the command, running it, printing its outcome. The commands themselves are one file a noun; what
 * they share is in common.c. */
#include "ops/cli/cli.h"
#include "actors/rt/options.h"
#include "ops/cli/usage.h"
#include "schemas/json.h"
#include "schemas/nearest.h"

#include <stdlib.h>
#include <string.h>

struct verb {
	const char *noun, *verb;   /* noun NULL: a heading; verb NULL: the noun alone */
	const char *usage, *about; /* of a heading: its text */
	enum outcome (*run)(struct cli *cli);
	bool of_program; /* asks for no data directory */
};

static const struct verb verbs[] = {
#define V(noun, verb, usage, about) {#noun, #verb, usage, about, noun##_##verb, false},
#define W(word, usage, about)       {#word, NULL, usage, about, word##_alone, false},
#define P(word, usage, about)       {#word, NULL, usage, about, word##_alone, true},
#define D(noun, verb, usage, about) {#noun, #verb, usage, about, noun##_##verb, true},
#define G(title)                    {.about = title},
#include "ops/cli/verbs.def"
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static const struct {
	const char *command, *arguments;
} examples[] = {
#define X(command, arguments) {command, arguments},
#include "ops/cli/verbs.def"
};
enum { EXAMPLE_COUNT = sizeof examples / sizeof *examples };

static void name_of(const struct verb *verb, char name[64])
{
	snprintf(name, 64, "%s%s%s", verb->noun, verb->verb ? " " : "", verb->verb ? verb->verb : "");
}

/* ---- help ---- */

static const char serve_usage[] = "  stampede serve --data DIR [OPTION]...\n"
                                  "      runs the service in the foreground, until SIGTERM or SIGINT; in "
                                  "brackets what holds without the option\n";
static const char serve_example[] = "      stampede serve --data /var/lib/stampede --listen 0.0.0.0:443 "
                                    "--tls-cert chain.pem --tls-key key.pem\n";

static void print_verb(FILE *to, const struct verb *verb)
{
	char name[64];

	name_of(verb, name);
	fprintf(to, "  stampede %s%s%s\n      %s\n", name, *verb->usage ? " " : "", verb->usage, verb->about);
}

static void print_examples(FILE *to, const struct verb *verb)
{
	char name[64];

	name_of(verb, name);
	for (size_t i = 0; i < EXAMPLE_COUNT; i++)
		if (!strcmp(examples[i].command, name))
			fprintf(to, "      example: stampede %s%s%s\n", name,
			        *examples[i].arguments ? " " : "", examples[i].arguments);
}

static bool is_noun(const char *word)
{
	for (size_t i = 0; word && i < VERB_COUNT; i++)
		if (verbs[i].noun && !strcmp(verbs[i].noun, word)) return true;
	return word && !strcmp(word, "serve");
}

static bool is_of(const struct verb *verb, const char *noun, const char *word)
{
	return verb->noun && !strcmp(verb->noun, noun) && (!word || !verb->verb || !strcmp(verb->verb, word));
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
		print_examples(to, &verbs[i]);
	}
	fputs(which_data, to);
}

bool cli_command(unsigned number, char name[64])
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (!verbs[i].noun || number--) continue;
		name_of(&verbs[i], name);
		return true;
	}
	return false;
}

bool cli_example(unsigned number, const char **command, const char **arguments, const char **usage)
{
	char name[64];

	if (number >= EXAMPLE_COUNT) return false;
	*command = examples[number].command;
	*arguments = examples[number].arguments;
	*usage = NULL;
	for (size_t i = 0; i < VERB_COUNT; i++) {
		if (!verbs[i].noun) continue;
		name_of(&verbs[i], name);
		if (!strcmp(name, *command)) *usage = verbs[i].usage;
	}
	return true;
}

/* ---- finding the command ---- */

/* The command that the first words name, with the count of those words; NULL: none. */
static const struct verb *find(int argc, char **argv, int *words)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		bool alone = !verbs[i].verb;
		if (!verbs[i].noun || argc < (alone ? 1 : 2) || strcmp(argv[0], verbs[i].noun)) continue;
		if (!alone && strcmp(argv[1], verbs[i].verb)) continue;
		*words = alone ? 1 : 2;
		return &verbs[i];
	}
	return NULL;
}

/* What is called `noun` and is no command, or the noun alone, and what may have been meant. */
static void tell_unknown(const char *noun, const char *verb)
{
	const char *names[VERB_COUNT + 2], *meant;
	size_t      count = 0;
	bool        knows_noun = is_noun(noun);

	for (size_t i = 0; i < VERB_COUNT; i++)
		if (verbs[i].noun && (!knows_noun || !strcmp(verbs[i].noun, noun)))
			names[count++] = knows_noun ? verbs[i].verb : verbs[i].noun;
	if (!knows_noun) {
		names[count++] = "serve";
		names[count++] = "help";
	}
	if (knows_noun && !verb) {
		fprintf(stderr, "stampede: %s wants one more word:", noun);
		for (size_t i = 0; i < count; i++)
			fprintf(stderr, "%s %s", i ? "," : "", names[i]);
		fputc('\n', stderr);
		return;
	}
	meant = nearest(knows_noun ? verb : noun, names, count);
	fprintf(stderr, "stampede: unknown command %.60s", noun);
	if (knows_noun) fprintf(stderr, " %.60s", verb);
	if (meant)
		fprintf(stderr, ", did you mean %s%s%s?", knows_noun ? noun : "", knows_noun ? " " : "",
		        meant);
	fputc('\n', stderr);
}

static bool is_option(const char *word)
{
	return !strncmp(word, "-", 1);
}

static enum outcome misuse(int argc, char **argv)
{
	const char *noun = argc >= 1 && !is_option(argv[0]) ? argv[0] : NULL;
	const char *verb = argc >= 2 && !is_option(argv[1]) ? argv[1] : NULL;

	cli_help(stderr, is_noun(noun) ? noun : NULL, NULL);
	if (noun)
		tell_unknown(noun, verb);
	else if (argc)
		fprintf(stderr, "stampede: unknown option %.60s\n", argv[0]);
	else
		fputs("stampede: no command is given\n", stderr);
	return MISUSED;
}

static bool asks_for_help(const struct verb *verb, int argc, char **argv)
{
	struct usage usage;
	bool         is_value = false;

	usage_read(verb ? verb->usage : "", &usage);
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!is_value && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) return true;
		is_value = !is_value && usage_takes_value(&usage, argv[i]);
	}
	return false;
}

/* ---- running it ---- */

static void print_failure(const struct cli *cli)
{
	struct buffer text = {0};

	buffer_text(&text, "{\"code\":");
	json_quote(span_str(err_code(cli->err)), &text);
	buffer_text(&text, ",\"message\":");
	json_quote(span_str(cli->message), &text);
	if (*cli->field) {
		buffer_text(&text, ",\"field\":");
		json_quote(span_str(cli->field), &text);
	}
	buffer_text(&text, "}\n");
	fwrite(text.at, 1, text.size, stderr);
	buffer_free(&text);
}

static enum outcome print_result(struct cli *cli)
{
	if (!cli->out.size && !cli->out.failed) return DONE; /* it has printed by itself */
	buffer_byte(&cli->out, '\n');
	if (cli->out.failed) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	if (fwrite(cli->out.at, 1, cli->out.size, stdout) != cli->out.size || fflush(stdout))
		return cli_fail(cli, ERR_IO, "The answer cannot be written to standard output.");
	return DONE;
}

/* What is wrong with the arguments stands last, where it is seen. */
static void tell_misuse(const struct verb *verb, const struct cli *cli, const char *why)
{
	fputs("usage:\n", stderr);
	print_verb(stderr, verb);
	print_examples(stderr, verb);
	if (!cli->data && !verb->of_program)
		fputs("No data directory is named: --data DIR, or $STAMPEDE_DATA.\n", stderr);
	if (!*why) why = *cli->args.why ? cli->args.why : cli->data ? "an argument is wrong" : why;
	if (*why) fprintf(stderr, "stampede: %s\n", why);
}

static enum outcome run(const struct verb *verb, int argc, char **argv)
{
	struct cli   cli = {.args = {.count = argc, .words = argv}};
	struct usage usage;
	char         why[USAGE_WHY] = "";
	enum outcome outcome = MISUSED;

	usage_read(verb->usage, &usage);
	cli.data = args_option(&cli.args, "--data");
	if (cli.args.wrong) snprintf(why, sizeof why, "--data wants a value");
	if (!cli.data) cli.data = getenv("STAMPEDE_DATA");
	if (!*why && usage_check(&usage, argc, argv, why) && (cli.data || verb->of_program))
		outcome = verb->run(&cli);
	if (outcome == DONE) outcome = print_result(&cli);
	if (outcome == FAILED) print_failure(&cli);
	if (outcome == MISUSED) tell_misuse(verb, &cli, why);
	service_close(&cli.service);
	buffer_free(&cli.out);
	return outcome;
}

/* help [NOUN [VERB]] */
static enum outcome help(int argc, char **argv)
{
	int words;

	if (argc == 0) {
		cli_help(stdout, NULL, NULL);
		return DONE;
	}
	if (!is_noun(argv[0]) || (argc > 1 && !find(argc, argv, &words))) return misuse(argc, argv);
	cli_help(stdout, argv[0], argc > 1 ? argv[1] : NULL);
	return DONE;
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
	if (!verb) return misuse(argc, argv);
	return run(verb, argc - words, argv + words);
}

int cli_main(int argc, char **argv)
{
	return (int)choose(argc, argv);
}
