/* Takes arguments apart. Options may be anywhere before a lone `--`; after it everything is a word, so that a pass id may
 * begin with dashes. */
#include "ops/cli/args.h"
#include "schemas/date.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_end_of_options(const char *word)
{
	return word && !strcmp(word, "--");
}

/* The index of option `name`, with its value in the same word or not; -1: not given. */
static int find(const struct args *args, const char *name)
{
	size_t size = strlen(name);

	for (int i = 0; i < args->count && !is_end_of_options(args->words[i]); i++) {
		const char *word = args->words[i];
		if (word && !strncmp(word, name, size) && (!word[size] || word[size] == '=')) return i;
	}
	return -1;
}

static void refuse(struct args *args, const char *name, const char *what)
{
	if (!args->wrong) snprintf(args->why, sizeof args->why, "%s wants %s", name, what);
	args->wrong = true;
}

const char *args_option(struct args *args, const char *name)
{
	int         at = find(args, name);
	const char *value;

	if (at < 0) return NULL;
	value = strchr(args->words[at], '=');
	args->words[at] = NULL;
	if (value) return value + 1;
	if (at + 1 >= args->count || !args->words[at + 1]) {
		args->wrong = true;
		return NULL;
	}
	value = args->words[at + 1];
	args->words[at + 1] = NULL;
	return value;
}

bool args_flag(struct args *args, const char *name)
{
	int at = find(args, name);

	if (at < 0) return false;
	if (args->words[at][strlen(name)]) args->wrong = true;
	args->words[at] = NULL;
	return true;
}

const char *args_word(struct args *args)
{
	const char *word = args_word_or_none(args);

	if (!word) args->wrong = true;
	return word ? word : "";
}

const char *args_word_or_none(struct args *args)
{
	bool options_ended = false;

	for (int i = 0; i < args->count; i++) {
		const char *word = args->words[i];
		if (!options_ended && is_end_of_options(word)) {
			options_ended = true;
		} else if (word && (options_ended || strncmp(word, "--", 2))) {
			args->words[i] = NULL;
			return word;
		}
	}
	return NULL;
}

bool args_end(struct args *args)
{
	bool options_ended = false;

	for (int i = 0; i < args->count; i++) {
		if (!options_ended && is_end_of_options(args->words[i]))
			options_ended = true;
		else if (args->words[i])
			args->wrong = true;
	}
	return !args->wrong;
}

struct toggle args_toggle(struct args *args, const char *name)
{
	const char   *value = args_option(args, name);
	struct toggle toggle = {.given = value != NULL};

	if (!value) return toggle;
	toggle.on = !strcmp(value, "on");
	if (!toggle.on && strcmp(value, "off")) args->wrong = true;
	return toggle;
}

struct number args_number(struct args *args, const char *name)
{
	const char   *value = args_option(args, name);
	struct number number = {.given = value != NULL};
	char         *end = NULL;

	if (!value) return number;
	errno = 0;
	number.value = strtoll(value, &end, 10);
	if (errno || end == value || *end || number.value < 0)
		refuse(args, name, "a whole number, 0 or more");
	return number;
}

static struct number duration_of(struct args *args, const char *name, const char *value)
{
	struct number number = {.given = value != NULL};
	dur_us        duration = {0};

	if (!value) return number;
	if (!duration_read(span_str(value), &duration))
		refuse(args, name, "a length of time such as 30s, 5m, 2h or 1d, at most " DURATION_MOST);
	number.value = duration.v / US_PER_SEC;
	return number;
}

struct number args_duration(struct args *args, const char *name)
{
	return duration_of(args, name, args_option(args, name));
}

struct number args_word_duration(struct args *args)
{
	return duration_of(args, "DURATION", args_word(args));
}
