/* Finding the command, running it, printing its outcome. The commands themselves are one file a noun; what
 * they share is in common.c. */
#include "ops/cli/cli.h"
#include "actors/rt/options.h"
#include "schemas/json.h"

#include <stdlib.h>
#include <string.h>

struct verb {
	const char *noun, *verb; /* verb NULL: the noun alone */
	const char *usage, *about;
	enum outcome (*run)(struct cli *cli);
	bool of_program; /* asks for no data directory */
};

static const struct verb verbs[] = {
#define V(noun, verb, usage, about) {#noun, #verb, usage, about, noun##_##verb, false},
#define W(word, usage, about)       {#word, NULL, usage, about, word##_alone, false},
#define P(word, usage, about)       {#word, NULL, usage, about, word##_alone, true},
#define D(noun, verb, usage, about) {#noun, #verb, usage, about, noun##_##verb, true},
#include "ops/cli/verbs.def"
#undef V
#undef W
#undef P
#undef D
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static const char serve_usage[] = "  stampede serve --data DIR [OPTION]...\n"
                                  "      runs the service in the foreground, until SIGTERM or SIGINT; in "
                                  "brackets what holds without the option\n";

static void print_verb(FILE *to, const struct verb *verb)
{
	fprintf(to, "  stampede %s%s%s%s%s\n      %s\n", verb->noun, verb->verb ? " " : "",
	        verb->verb ? verb->verb : "", *verb->usage ? " " : "", verb->usage, verb->about);
}

static bool is_noun(const char *word)
{
	for (size_t i = 0; word && i < VERB_COUNT; i++)
		if (!strcmp(verbs[i].noun, word)) return true;
	return word && !strcmp(word, "serve");
}

void cli_help(FILE *to, const char *noun)
{
	bool all = !is_noun(noun);

	fputs("usage:\n", to);
	if (all || !strcmp(noun, "serve")) {
		fputs(serve_usage, to);
		options_describe(to);
	}
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (all || !strcmp(noun, verbs[i].noun)) print_verb(to, &verbs[i]);
	if (all) fputs("  stampede help | stampede NOUN --help\n", to);
	if (all || strcmp(noun, "serve"))
		fputs("A command speaks to the service of --data DIR, or of $STAMPEDE_DATA.\n", to);
}

/* The command that the first words name, with the count of those words; NULL: none. */
static const struct verb *find(int argc, char **argv, int *words)
{
	for (size_t i = 0; i < VERB_COUNT; i++) {
		bool alone = !verbs[i].verb;
		if (argc < (alone ? 1 : 2) || strcmp(argv[0], verbs[i].noun)) continue;
		if (!alone && strcmp(argv[1], verbs[i].verb)) continue;
		*words = alone ? 1 : 2;
		return &verbs[i];
	}
	return NULL;
}

/* Does an option's value follow? Flags stand alone in their brackets. */
static bool takes_value(const struct verb *verb, const char *word)
{
	char flag[32];

	if (strncmp(word, "--", 2) || strchr(word, '=')) return false;
	snprintf(flag, sizeof flag, "[%s]", word);
	return !verb || !strstr(verb->usage, flag);
}

static bool asks_for_help(const struct verb *verb, int argc, char **argv)
{
	bool is_value = false;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!is_value && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) return true;
		is_value = !is_value && takes_value(verb, argv[i]);
	}
	return false;
}

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

static int run(const struct verb *verb, int argc, char **argv)
{
	struct cli   cli = {.args = {.count = argc, .words = argv}};
	enum outcome outcome = MISUSED;

	cli.data = args_option(&cli.args, "--data");
	if (!cli.data) cli.data = getenv("STAMPEDE_DATA");
	if (cli.data || verb->of_program) outcome = verb->run(&cli);
	if (outcome == DONE) outcome = print_result(&cli);
	if (outcome == FAILED) print_failure(&cli);
	if (outcome == MISUSED) {
		fputs("usage:\n", stderr);
		print_verb(stderr, verb);
		if (!cli.data && !verb->of_program)
			fputs("No data directory is named: --data DIR, or $STAMPEDE_DATA.\n", stderr);
	}
	service_close(&cli.service);
	buffer_free(&cli.out);
	return (int)outcome;
}

int cli_main(int argc, char **argv)
{
	int                words = 0;
	const struct verb *verb = find(argc, argv, &words);

	if (argc >= 1 && !strcmp(argv[0], "help")) {
		cli_help(stdout, argc >= 2 ? argv[1] : NULL);
		return DONE;
	}
	if (asks_for_help(verb, argc, argv)) {
		cli_help(stdout, argv[0]);
		return DONE;
	}
	if (!verb) {
		cli_help(stderr, argc >= 1 ? argv[0] : NULL);
		return MISUSED;
	}
	return run(verb, argc - words, argv + words);
}
