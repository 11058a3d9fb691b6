/* The check of a command's arguments against its usage text, and the table of commands. */
#include "ops/cli/usage.h"
#include "ops/cli/cli.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WORDS_MAX = 16 };

static char why[USAGE_WHY];

/* Words are separated by a space; text between two " is one word. `line` is changed. */
static int split(char *line, char *words[WORDS_MAX])
{
	int count = 0;

	while (*(line += strspn(line, " "))) {
		char end = *line == '"' ? '"' : ' ';
		if (end == '"') line++;
		words[count++] = line;
		line += strcspn(line, (char[]){end, 0});
		if (*line) *line++ = 0;
	}
	return count;
}

static bool takes(const char *usage_text, const char *text)
{
	struct usage usage;
	char         line[512], *words[WORDS_MAX];

	why[0] = 0;
	snprintf(line, sizeof line, "%s", text);
	usage_read(usage_text, &usage);
	return usage_check(&usage, split(line, words), words, why);
}

Test(usage, accepts_its_own_syntax)
{
	static const struct {
		const char *usage, *words;
	} cases[] = {
	    {"", ""},
	    {"ACCOUNT", "a"},
	    {"ACCOUNT", "-- --a"},
	    {"ACCOUNT FILE|-", "a -"},
	    {"--name NAME [--rewards] [--webhooks]", "--webhooks --name x"},
	    {"--name NAME [--rewards]", "--name=x"},
	    {"ACCOUNT [--rewards on|off]\n   [--rate-limit N]", "--rewards off a --rate-limit -1"},
	    {"ACCOUNT (--pass PASS_ID | --audience ID) --at TIME", "a --audience x --at y"},
	    {"ACCOUNT [--id ID] --pass PASS_ID...", "a --pass x --pass y"},
	    {"ACCOUNT [--id ID] --pass PASS_ID...", "a --pass x y z"},
	    {"ACCOUNT [--id ID] --pass PASS_ID...", "--pass x a y"},
	    {"ACCOUNT KEY_ID", "a \"\""}, /* it names no key, as the command reports itself */
	    {"FILE...", "a b c"},
	    {"ACCOUNT [PASS_ID]", "a"},
	    {"ACCOUNT installed|gone", "a gone"},
	    {"--name NAME", "--name \"\""},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect(takes(cases[i].usage, cases[i].words), "%s: %s", cases[i].words, why);
}

Test(usage, names_the_fault)
{
	static const struct {
		const char *usage, *words, *want;
	} cases[] = {
	    {"", "a", "unexpected argument a"},
	    {"ACCOUNT", "", "ACCOUNT is missing"},
	    {"ACCOUNT", "\"\"", "ACCOUNT is empty"},
	    {"ACCOUNT KEY_ID", "acc_a", "KEY_ID is missing"},
	    {"ACCOUNT FILE|-", "acc_a", "FILE|- is missing"},
	    {"ACCOUNT KEY_ID", "a", "KEY_ID is missing, or ACCOUNT is: a is no account's id"},
	    {"ACCOUNT PASS_ID installed|active", "ada installed",
	     "installed|active is missing, or ACCOUNT is: ada is no account's id"},
	    {"ACCOUNT", "a b", "unexpected argument b"},
	    {"ACCOUNT (--pass PASS_ID | --audience ID)", "a --pass x --audience y",
	     "give --pass or --audience, not both"},
	    {"ACCOUNT", "a --bogus", "unknown option --bogus"},
	    {"ACCOUNT", "a --bogus=x", "unknown option --bogus"},
	    {"ACCOUNT", "a --dta d", "unknown option --dta, did you mean --data?"},
	    {"--name NAME [--rewards]", "--nmae x", "unknown option --nmae, did you mean --name?"},
	    {"--name NAME [--rewards]", "--name x --reward",
	     "unknown option --reward, did you mean --rewards?"},
	    {"--name NAME [--rewards]", "--rewards", "--name is missing"},
	    {"--name NAME [--rewards]", "--name", "--name wants a value"},
	    {"--name NAME [--rewards]", "--name --rewards",
	     "--name wants a value, and the next word is an option"},
	    {"--name NAME [--rewards]", "--name a --name=b", "--name is given twice"},
	    {"--name NAME [--rewards]", "--rewards --name a --rewards", "--rewards is given twice"},
	    {"--name NAME [--rewards]", "--name a --data b", "--data is given twice"},
	    {"--name NAME [--rewards]", "--name x --rewards=on", "--rewards takes no value"},
	    {"ACCOUNT [--rewards on|off]", "a --rewards maybe", "--rewards: maybe is not one of on|off"},
	    {"ACCOUNT [--rewards on|off]", "a --rewards=", "--rewards:  is not one of on|off"},
	    {"ACCOUNT (--pass P | --audience ID)", "a", "--pass or --audience is missing"},
	    {"ACCOUNT --pass P...", "a", "--pass is missing"},
	    {"FILE...", "", "FILE is missing"},
	    {"ACCOUNT installed|gone", "a eaten", "eaten is not one of installed|gone"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_expect_not(takes(cases[i].usage, cases[i].words), "%s", cases[i].words);
		cr_expect_str_eq(why, cases[i].want);
	}
}

Test(usage, skips_accepted_words)
{
	struct usage usage;
	char        *words[] = {NULL, NULL, "a"};

	usage_read("ACCOUNT", &usage);
	cr_expect(usage_check(&usage, 3, words, why), "%s", why);
}

Test(usage, every_example_is_valid)
{
	char name[CLI_NAME], usage[CLI_TEXT], example[CLI_TEXT];

	for (unsigned i = 0; cli_command(i, name, usage, example); i++) {
		char *data = strstr(example, " --data "); /* found before */
		if (data) *data = 0;
		cr_expect(takes(usage, example), "%s %s: %s", name, example, why);
	}
}
