#pragma once
#include <stdbool.h>

/* A command's usage text from verbs.def, parsed: what it takes, and what is required.
 *   WORD  [WORD]  WORD...   a positional argument: required, optional, one or more
 *   a|b                     one of these words, if all of them are lower case
 *   --name VALUE  [--flag]  an option with a value, or without one; required unless in brackets
 *   (--a A | --b B)         one of these options; (WORD | --b) an argument or this option
 *   [--a A | --b B]         at most one of these
 * Pure. */
enum { USAGE_ITEMS_MAX = 32, USAGE_NAME = 96, USAGE_WHY = 200 };

struct usage_item {
	/* Of an option with its dashes; otherwise the argument's placeholder, or its choices. */
	char     name[USAGE_NAME];
	char     value[USAGE_NAME]; /* of an option, likewise; "": it is a flag */
	bool     is_option, is_optional, repeats;
	unsigned group; /* of options of which only one may be given; 0: none */
};
struct usage {
	unsigned          count;
	struct usage_item of[USAGE_ITEMS_MAX];
};
void usage_read(const char *text, struct usage *usage);

/* Is the word one of its options, perhaps with a value behind a =? */
bool usage_has_option(const struct usage *usage, const char *word);
/* Does an option's value follow this word? */
bool usage_takes_value(const struct usage *usage, const char *word);

/* Does the command take these arguments (NULL: already taken)? False: `why` (USAGE_WHY bytes) names what is unknown, missing,
 * empty or too much. The command checks the meaning of values. */
bool usage_check(const struct usage *usage, int argc, char *const *argv, char why[USAGE_WHY]);
