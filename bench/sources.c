/* The files of a run: --names and --keys. */
#include "bench/sources.h"
#include "bench/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 256 };

/* A line for each pass that may be drawn, all as long as the first. */
static const char *names_read(struct sources *sources, const struct options *options)
{
	struct request_names *names = &sources->names;
	uint64_t              count = options->choice.pass_count;
	FILE                 *file = fopen(options->names_path, "r");
	char                  line[LINE_BYTES_MAX];
	const char           *wrong = NULL;

	if (!file) return "--names cannot be read";
	for (uint64_t i = 0; i < count && !wrong; i++) {
		size_t size = fgets(line, sizeof(line), file) ? strcspn(line, "\n") : 0;

		if (i == 0) {
			names->line_bytes = (uint32_t)size;
			names->word_bytes = (uint32_t)strcspn(line, " \n");
			names->lines = sources->name_lines = calloc(count, size + 1);
			if (!names->lines) wrong = "no memory";
		}
		if (!size || line[size] != '\n' || size != names->line_bytes)
			wrong = "--names has fewer lines than there are passes, or others than names";
		if (!wrong) memcpy(sources->name_lines + i * size, line, size);
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
	free(sources->name_lines);
	free(sources->key_text);
	free(sources->keys);
	*sources = (struct sources){0};
}
