/* The files of a run: --names and --keys. */
#include "bench/sources.h"
#include "bench/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line for each pass that may be drawn. */
static const char *names_read(struct sources *sources, const struct options *options)
{
	uint64_t    count = options->choice.pass_count;
	FILE       *file = fopen(options->names_path, "r");
	char        line[NAME_BYTES + 2];
	const char *wrong = NULL;

	if (!file) return "--names cannot be read";
	if (!(sources->names = calloc(count, NAME_BYTES))) wrong = "no memory";
	for (uint64_t i = 0; i < count && !wrong; i++) {
		if (!fgets(line, sizeof(line), file) || line[NAME_BYTES] != '\n')
			wrong = "--names has fewer lines than there are passes, or others than ids";
		else
			memcpy(sources->names + i * NAME_BYTES, line, NAME_BYTES);
	}
	fclose(file);
	return wrong;
}

/* A line for each account. */
static const char *keys_read(struct sources *sources, const char *path)
{
	FILE       *file = fopen(path, "r");
	char       *text = NULL, *line, *rest;
	size_t      room = 0;
	const char *wrong = NULL;

	if (!file || getdelim(&text, &room, '\0', file) <= 0) wrong = "--keys cannot be read, or is empty";
	if (file) fclose(file);
	rest = sources->key_text = text;
	while (!wrong && (line = strsep(&rest, "\n"))) {
		if (!*line && !rest) break; /* after the last line's end */
		if (sources->key_count == ACCOUNTS_MAX || !key_is_good(line))
			wrong = "--keys has more lines than 10000, or one that is no key";
		else
			sources->keys[sources->key_count++] = line;
	}
	return wrong;
}

const char *sources_read(struct sources *sources, const struct options *options)
{
	const char *wrong = NULL;

	*sources = (struct sources){.keys = calloc(ACCOUNTS_MAX, sizeof(*sources->keys))};
	if (!sources->keys) return "no memory";
	if (options->names_path) wrong = names_read(sources, options);
	if (!options->keys_path)
		sources->keys[sources->key_count++] = options->key;
	else if (!wrong)
		wrong = keys_read(sources, options->keys_path);
	return wrong;
}

void sources_free(struct sources *sources)
{
	free(sources->names);
	free(sources->key_text);
	free(sources->keys);
	*sources = (struct sources){0};
}
