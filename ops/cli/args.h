#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"

#include <stdbool.h>

/* A command's arguments, taken one by one: first the options, then the words, then args_end(). Anything missing, malformed or
 * left over makes args_end() false, so a command checks only once. Strings are borrowed from argv. Errors: args_end(). */
struct args {
	int    count;
	char **words; /* taken ones are NULL */
	bool   wrong;
	char   why[1024]; /* of the first wrong one: what it should be; "": unknown */
};

const char *args_option(struct args *args, const char *name); /* its value; NULL: not given */
bool        args_flag(struct args *args, const char *name);
const char *args_word(struct args *args);         /* the next one; "": missing */
const char *args_word_or_none(struct args *args); /* NULL: there is no more */
bool        args_end(struct args *args);

/* Values of options, by form. `given` is false if the option was not given. */
struct toggle {
	bool given, on;
};
struct number {
	bool    given;
	int64_t value;
};
struct toggle args_toggle(struct args *args, const char *name);   /* on|off */
struct number args_number(struct args *args, const char *name);   /* a whole number >= 0 */
struct number args_duration(struct args *args, const char *name); /* 90s, 5m, 2h, 1d; value in seconds */
struct number args_word_duration(struct args *args);              /* the same, as the next word */
