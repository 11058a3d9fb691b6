#pragma once
#include "actors/rt/options.h"

#include <stddef.h>

/* The table of options, for the files that read and write them. */
enum kind { TEXT, LIST, FLAG, NUMBER_U32, NUMBER_I64, NUMBER_INT, DURATION };

struct row {
	const char *name; /* with its dashes; a file omits them */
	enum kind   kind;
	size_t      at;       /* of the value in struct options */
	size_t      count_at; /* LIST: of its count */
	int64_t     min, max; /* NUMBER_*; DURATION: in seconds */
	bool (*is_valid)(const char *value);
	const char *form;       /* what is_valid accepts, for people */
	bool        cuts_slash; /* a trailing / is removed */
	bool        reloadable; /* may change while the service runs */
	const char *value;      /* in the help; NULL: a flag's */
	const char *about;      /* likewise; NULL: set only by a supervisor for its children */
	/* Texts, where they apply: what holds without the option if no value expresses it; more for the reference
	 * page and the sample file; an example value for both if there is no default; the heading above this row
	 * and those below. */
	const char *unset, *note, *example, *group;
};

extern const struct row     option_rows[];
extern const size_t         option_row_count;
extern const struct options option_defaults;

/* What holds without the option, written as a value; false: no value expresses it. Errors: none. */
enum { OPTION_DEFAULT_TEXT = 64 };
bool option_default(const struct row *row, char text[OPTION_DEFAULT_TEXT]);

static inline const void *option_value(const struct options *options, size_t at)
{
	return (const char *)options + at;
}
