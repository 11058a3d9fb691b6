#pragma once
#include <stdbool.h>

/* A command's usage text, as verbs.def has it, taken apart: what it takes, and what of that it must have.
 *   WORD  [WORD]  WORD...   a positional argument: required, optional, one or more
 *   a|b                     one of these words, when all of them are lower case
 *   --name VALUE  [--flag]  an option with a value, or without one; required but in brackets
 *   (--a A | --b B)         one of these options
 * Pure. */
enum { USAGE_ITEMS_MAX = 32, USAGE_NAME = 96, USAGE_WHY = 200 };

struct usage_item {
	char name
	    [USAGE_NAME]; /* of an option with its dashes; else what stands for the argument, or its choices */
	char     value[USAGE_NAME]; /* of an option: likewise; "": it is a flag */
	bool     is_option, is_optional, repeats;
	unsigned group; /* of options of which one has to be given; 0: none */
};
struct usage {
	unsigned          count;
	struct usage_item of[USAGE_ITEMS_MAX];
};
void usage_read(const char *text, struct usage *usage);

/* Does an option's value follow this word? */
bool usage_takes_value(const struct usage *usage, const char *word);

/* Are these arguments (NULL: one that was taken already) what the command takes? false: `why` (USAGE_WHY bytes) names what is
 * unknown, missing, empty or too much. What a value means is the command's to judge. */
bool usage_check(const struct usage *usage, int argc, char *const *argv, char why[USAGE_WHY]);
