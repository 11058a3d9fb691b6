/* Writes options: a child's command line, the help, and the differences between two readings. */
#include "actors/rt/options.h"
#include "actors/rt/options_inside.h"

#include <inttypes.h>
#include <string.h>

static bool number_of(const struct options *options, const struct row *row, int64_t *number)
{
	const void *value = option_value(options, row->at);

	if (row->kind == NUMBER_U32)
		*number = *(const uint32_t *)value;
	else if (row->kind == NUMBER_I64)
		*number = *(const int64_t *)value;
	else if (row->kind == DURATION)
		*number = ((const dur_us *)value)->v / US_PER_SEC;
	else
		*number = *(const int *)value;
	return *number >= row->min;
}

static void add(struct option_args *args, const char *name, const char *value)
{
	args->argv[args->argc++] = name;
	if (value) args->argv[args->argc++] = value;
}

static void add_list(struct option_args *args, const struct row *row, const struct options *options)
{
	const char *const *list = option_value(options, row->at);

	for (unsigned i = 0; i < *(const unsigned *)option_value(options, row->count_at); i++)
		add(args, row->name, list[i]);
}

void options_write(const struct options *options, struct option_args *args)
{
	unsigned numbers = 0;
	int64_t  number;

	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++) {
		if (row->kind == LIST) {
			add_list(args, row, options);
		} else if (row->kind == FLAG) {
			if (*(const bool *)option_value(options, row->at)) add(args, row->name, NULL);
		} else if (row->kind == TEXT) {
			const char *text = *(const char *const *)option_value(options, row->at);
			if (text) add(args, row->name, text);
		} else if (number_of(options, row, &number)) {
			char *text = args->numbers[numbers++];
			snprintf(text, sizeof args->numbers[0], "%lld%s", (long long)number,
			         row->kind == DURATION ? "s" : "");
			add(args, row->name, text);
		}
	}
	args->argv[args->argc] = NULL;
}

enum err options_fit(const struct options *options, char why[OPTION_WHY])
{
	struct option_args args = {.argc = 0};
	const char        *longest = "";
	size_t             bytes = 0, most = 0;

	options_write(options, &args);
	for (int i = 0; i < args.argc; i++) {
		size_t size = strlen(args.argv[i]);
		bytes += size + 1;
		if (size <= most) continue;
		most = size;
		longest = args.argv[i ? i - 1 : i]; /* the name before its value */
	}
	if (most <= OPTION_BYTES_MAX && bytes <= OPTIONS_BYTES_MAX) return OK;
	if (most > OPTION_BYTES_MAX)
		snprintf(why, OPTION_WHY, "%s: a value of %zu bytes, more than %d", longest, most,
		         OPTION_BYTES_MAX);
	else
		snprintf(why, OPTION_WHY,
		         "%s: the longest value of options that have %zu bytes together, more than %d",
		         longest, bytes, OPTIONS_BYTES_MAX);
	return ERR_BAD_OPTION;
}

/* ---- help ---- */

bool option_default(const struct row *row, char text[OPTION_DEFAULT_TEXT])
{
	const char *value;
	int64_t     number;

	if (row->kind == TEXT) {
		value = *(const char *const *)option_value(&option_defaults, row->at);
		if (value) snprintf(text, OPTION_DEFAULT_TEXT, "%s", value);
		return value != NULL;
	}
	if (row->kind == FLAG || row->kind == LIST || !number_of(&option_defaults, row, &number))
		return false;
	snprintf(text, OPTION_DEFAULT_TEXT, "%lld%s", (long long)number, row->kind == DURATION ? "s" : "");
	return true;
}

static void describe(FILE *to, const struct row *row)
{
	char name[40], text[OPTION_DEFAULT_TEXT];

	snprintf(name, sizeof name, "%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
	fprintf(to, "    %c %-22s  %s", row->reloadable ? '*' : ' ', name, row->about);
	if (option_default(row, text))
		fprintf(to, " (%s)", text);
	else if (row->unset)
		fprintf(to, " (%s)", row->unset);
	fputc('\n', to);
}

void options_describe(FILE *to)
{
	static const struct row config = {"--config", TEXT, .value = "FILE",
	                                  .about = "file of options without dashes, `name = value`; # begins "
	                                           "a comment; the command line wins"};

	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++)
		if (row->about) describe(to, row);
	describe(to, &config);
	fputs("      * a reload applies a change while the service runs: `stampede reload`, or SIGHUP\n", to);
}

/* ---- change ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_list(const struct row *row, const struct options *a, const struct options *b)
{
	const char *const *list = option_value(a, row->at), *const *other = option_value(b, row->at);
	unsigned           count = *(const unsigned *)option_value(a, row->count_at);

	if (count != *(const unsigned *)option_value(b, row->count_at)) return false;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(list[i], other[i])) return false;
	return true;
}

static bool is_same(const struct row *row, const struct options *a, const struct options *b)
{
	const void *one = option_value(a, row->at), *other = option_value(b, row->at);
	int64_t     number = 0, other_number = 0;

	switch (row->kind) {
	case LIST: return is_same_list(row, a, b);
	case FLAG: return *(const bool *)one == *(const bool *)other;
	case TEXT: return is_same_text(*(const char *const *)one, *(const char *const *)other);
	case NUMBER_U32:
	case NUMBER_I64:
	case DURATION:
	case NUMBER_INT: break;
	}
	number_of(a, row, &number);
	number_of(b, row, &other_number);
	return number == other_number;
}

void options_compare(const struct options *now, const struct options *fresh, bool reloadable,
                     option_tell *tell, void *user)
{
	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++)
		if (row->about && row->reloadable == reloadable && !is_same(row, now, fresh))
			tell(user, row->name + 2);
}

static size_t size_of(enum kind kind)
{
	switch (kind) {
	case TEXT: return sizeof(const char *);
	case LIST: return sizeof(const char *[OPTION_LIST_MAX]);
	case FLAG: return sizeof(bool);
	case NUMBER_U32: return sizeof(uint32_t);
	case NUMBER_I64: return sizeof(int64_t);
	case DURATION: return sizeof(dur_us);
	case NUMBER_INT: break;
	}
	return sizeof(int);
}

void options_adopt(struct options *to, const struct options *fresh)
{
	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++) {
		if (!row->reloadable) continue;
		memcpy((char *)to + row->at, option_value(fresh, row->at), size_of(row->kind));
		if (row->kind == LIST)
			memcpy((char *)to + row->count_at, option_value(fresh, row->count_at),
			       sizeof(unsigned));
	}
}
