/* The usage text is the only description of what a command takes: the help prints it, and this file checks arguments against
 * it. */
#include "ops/cli/usage.h"
#include "schemas/err.h"
#include "schemas/nearest.h"

#include <stdio.h>
#include <string.h>

/* ---- reading the text ---- */

struct reader {
	struct usage *usage;
	unsigned      brackets, groups, group;
};

static struct usage_item *add(struct reader *reader, const char *word, size_t size)
{
	struct usage_item *item = &reader->usage->of[reader->usage->count++];

	must(reader->usage->count <= USAGE_ITEMS_MAX && size < USAGE_NAME);
	*item = (struct usage_item){.is_option = !strncmp(word, "--", 2),
	                            .is_optional = reader->brackets > 0,
	                            .group = reader->group};
	memcpy(item->name, word, size);
	return item;
}

static void cut_dots(struct usage_item *item, char *text)
{
	size_t size = strlen(text);

	item->repeats = size > 3 && !strcmp(text + size - 3, "...");
	if (item->repeats) text[size - 3] = 0;
}

/* Is the last item an option without a value yet? `open`: only space has come since. */
static void take_word(struct reader *reader, const char *word, size_t size, bool open)
{
	struct usage      *usage = reader->usage;
	struct usage_item *last = usage->count ? &usage->of[usage->count - 1] : NULL;

	if (open && last && last->is_option && !*last->value && strncmp(word, "--", 2)) {
		must(size < USAGE_NAME);
		memcpy(last->value, word, size);
		cut_dots(last, last->value);
		return;
	}
	last = add(reader, word, size);
	if (!last->is_option) cut_dots(last, last->name);
}

/* "[--a A | --b B]": the last item and the next ones are a group. */
static void join(struct reader *reader)
{
	must(reader->brackets && reader->usage->count);
	reader->group = ++reader->groups;
	reader->usage->of[reader->usage->count - 1].group = reader->group;
}

void usage_read(const char *text, struct usage *usage)
{
	struct reader reader = {.usage = usage};
	bool          open = false;

	*usage = (struct usage){.count = 0};
	while (*text) {
		size_t size = strcspn(text, " \n[]()");
		if (size == 1 && *text == '|') {
			if (!reader.group) join(&reader);
			open = false;
			text++;
		} else if (size) {
			take_word(&reader, text, size, open);
			open = true;
			text += size;
		} else {
			if (*text == '[') reader.brackets++;
			if (*text == ']') reader.brackets--;
			if (*text == ']') reader.group = 0;
			if (*text == '(') reader.group = ++reader.groups;
			if (*text == ')') reader.group = 0;
			if (*text != ' ' && *text != '\n') open = false;
			text++;
		}
	}
}

/* ---- checking arguments ---- */

struct check {
	const struct usage *usage;
	bool                seen[USAGE_ITEMS_MAX];
	unsigned            next;    /* where the next positional argument is searched */
	const char         *account; /* the word in the account's place; NULL: none */
	char               *why;
};

static bool refuse(struct check *check, const char *what, const char *behind)
{
	snprintf(check->why, USAGE_WHY, "%.90s%.90s", what, behind);
	return false;
}

static unsigned option_at(const struct usage *usage, const char *word, size_t size)
{
	unsigned i = 0;

	while (i < usage->count && !(usage->of[i].is_option && strlen(usage->of[i].name) == size &&
	                             !memcmp(usage->of[i].name, word, size)))
		i++;
	return i;
}

bool usage_has_option(const struct usage *usage, const char *word)
{
	return option_at(usage, word, strcspn(word, "=")) < usage->count;
}

bool usage_takes_value(const struct usage *usage, const char *word)
{
	unsigned at = option_at(usage, word, strlen(word));

	return !strcmp(word, "--data") || (at < usage->count && *usage->of[at].value);
}

/* "on|off", but not "FILE|-". */
static bool is_choice(const char *form)
{
	return strchr(form, '|') && strspn(form, "abcdefghijklmnopqrstuvwxyz_-|") == strlen(form);
}

static bool is_one_of(const char *form, const char *value)
{
	size_t size = strlen(value), part;

	for (; *form; form += part + (form[part] == '|')) {
		part = strcspn(form, "|");
		if (part == size && !memcmp(form, value, size)) return true;
	}
	return false;
}

static bool check_form(struct check *check, const char *name, const char *form, const char *value)
{
	if (!is_choice(form) || is_one_of(form, value)) return true;
	snprintf(check->why, USAGE_WHY, "%s%s%.40s is not one of %s", name, *name ? ": " : "", value, form);
	return false;
}

static bool refuse_unknown(struct check *check, const char *word, size_t size)
{
	const char *names[USAGE_ITEMS_MAX + 1] = {"--data"}, *meant;
	size_t      count = 1;
	char        name[64];

	snprintf(name, sizeof name, "%.*s", (int)size, word);
	for (unsigned i = 0; i < check->usage->count; i++)
		if (check->usage->of[i].is_option) names[count++] = check->usage->of[i].name;
	meant = nearest(name, names, count);
	snprintf(check->why, USAGE_WHY, "unknown option %s%s%s%s", name, meant ? ", did you mean " : "",
	         meant ? meant : "", meant ? "?" : "");
	return false;
}

/* *i is left at the last word that belongs to the option. */
static bool check_option(struct check *check, int argc, char *const *argv, int *i)
{
	const char              *word = argv[*i], *value = strchr(word, '=');
	size_t                   size = strcspn(word, "=");
	unsigned                 at = option_at(check->usage, word, size);
	const struct usage_item *item = &check->usage->of[at];

	/* The caller has taken the first --data out. */
	if (at == check->usage->count && size == strlen("--data") && !memcmp(word, "--data", size))
		return refuse(check, "--data", " is given twice");
	if (at == check->usage->count) return refuse_unknown(check, word, size);
	if (check->seen[at] && !item->repeats) return refuse(check, item->name, " is given twice");
	check->seen[at] = true;
	if (!*item->value) return value ? refuse(check, item->name, " takes no value") : true;
	if (!value) {
		if (*i + 1 >= argc || !argv[*i + 1]) return refuse(check, item->name, " wants a value");
		value = argv[++*i];
		if (usage_has_option(check->usage, value))
			return refuse(check, item->name, " wants a value, and the next word is an option");
	} else {
		value++;
	}
	return check_form(check, item->name, item->value, value);
}

/* The further values of "--pass PASS_ID..." come after everything else. */
static bool has_repeating(const struct check *check)
{
	for (unsigned i = 0; i < check->usage->count; i++)
		if (check->usage->of[i].is_option && check->usage->of[i].repeats && check->seen[i])
			return true;
	return false;
}

static bool check_word(struct check *check, const char *word)
{
	const struct usage *usage = check->usage;

	while (check->next < usage->count && usage->of[check->next].is_option)
		check->next++;
	if (check->next == usage->count)
		return has_repeating(check) || refuse(check, "unexpected argument ", word);
	const struct usage_item *item = &usage->of[check->next];
	check->seen[check->next] = true;
	if (!item->repeats) check->next++;
	if (!strcmp(item->name, "ACCOUNT")) check->account = word;
	/* An unset variable of a script. The command itself reports any other empty word, which names nothing. */
	if (!*word && !strcmp(item->name, "ACCOUNT")) return refuse(check, item->name, " is empty");
	return check_form(check, "", item->name, word);
}

static bool has_of_group(const struct check *check, unsigned group)
{
	for (unsigned i = 0; i < check->usage->count; i++)
		if (check->usage->of[i].group == group && check->seen[i]) return true;
	return false;
}

static bool check_groups(struct check *check)
{
	const struct usage *usage = check->usage;

	for (unsigned i = 0; i + 1 < usage->count; i++) {
		const struct usage_item *item = &usage->of[i], *other = item + 1;
		if (!item->group || other->group != item->group || !check->seen[i] || !check->seen[i + 1])
			continue;
		snprintf(check->why, USAGE_WHY, "give %.40s or %.40s, not both", item->name, other->name);
		return false;
	}
	return true;
}

/* If a variable of a script was unset, the later words have moved up. */
static bool refuse_missing(struct check *check, const struct usage_item *item)
{
	if (item->is_option || !check->account || !strncmp(check->account, "acc_", 4))
		return refuse(check, item->name, " is missing");
	snprintf(check->why, USAGE_WHY, "%.40s is missing, or ACCOUNT is: %.60s is no account's id",
	         item->name, check->account);
	return false;
}

static bool check_missing(struct check *check)
{
	const struct usage *usage = check->usage;

	for (unsigned i = 0; i < usage->count; i++) {
		const struct usage_item *item = &usage->of[i], *other = item + 1;
		if (check->seen[i] || item->is_optional || (item->group && has_of_group(check, item->group)))
			continue;
		if (!item->group || i + 1 == usage->count || other->group != item->group)
			return refuse_missing(check, item);
		snprintf(check->why, USAGE_WHY, "%.40s or %.40s is missing", item->name, other->name);
		return false;
	}
	return true;
}

bool usage_check(const struct usage *usage, int argc, char *const *argv, char why[USAGE_WHY])
{
	struct check check = {.usage = usage, .why = why};
	bool         options_ended = false;

	for (int i = 0; i < argc; i++) {
		bool good = true;
		if (!argv[i]) continue;
		if (!options_ended && !strcmp(argv[i], "--"))
			options_ended = true;
		else if (!options_ended && !strncmp(argv[i], "--", 2))
			good = check_option(&check, argc, argv, &i);
		else
			good = check_word(&check, argv[i]);
		if (!good) return false;
	}
	return check_missing(&check) && check_groups(&check);
}
