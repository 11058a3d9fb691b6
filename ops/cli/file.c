/* Commands that store a JSON file. It is parsed here, so that anything but a JSON object is refused at once; the shard checks
 * its members. */
#include "ops/cli/cli.h"
#include "schemas/json.h"

#include <errno.h>
#include <string.h>

enum { FILE_BYTES_MAX = 4 << 20, FILE_STEP = 64 << 10 };

static enum outcome read_file(struct cli *cli, const char *path, struct buffer *text)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	bool  is_bad, is_whole;
	int   error;

	if (!file) return cli_refuse(cli, REASON_OF_ALL(FILE_CLOSED, .wanted = strerror(errno)));
	while (text->size < FILE_BYTES_MAX && !feof(file) && !ferror(file)) {
		uint8_t *room = buffer_reserve(text, FILE_STEP);
		if (!room) break;
		text->size += fread(room, 1, FILE_STEP, file);
	}
	error = errno;
	is_bad = ferror(file);
	is_whole = feof(file);
	if (file != stdin) fclose(file);
	if (text->failed) return cli_fail(cli, ERR_NO_MEMORY, NULL);
	if (is_bad) return cli_refuse(cli, REASON_OF_ALL(FILE_UNREADABLE, .wanted = strerror(error)));
	return is_whole ? DONE : cli_refuse(cli, REASON_OF_ALL(FILE_LARGE, .most = FILE_BYTES_MAX));
}

/* Drops a byte order mark, which editors put before UTF-8. */
static struct span without_mark(struct span text)
{
	bool marked = text.size >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0;

	return marked ? span_of(text.at + 3, text.size - 3) : text;
}

static enum outcome pack_text_of(struct cli *cli, struct span text, msgpack_packer *packer)
{
	struct buffer  scratch = {0};
	struct arena   arena = {0};
	struct json   *value = NULL;
	struct refusal refusal = {.message = ""};
	enum outcome   outcome = DONE;
	enum err       err = json_parse_told(without_mark(text), &arena, &value, "The file", &refusal);

	if (err) {
		outcome = cli_fail(cli, err, *refusal.message ? refusal.message : NULL);
		goto out;
	}
	if (value->kind != JSON_OBJECT) {
		reason_text(&(struct reason){.cause = CAUSE_BODY_NO_OBJECT,
		                             .field = span_str("The file"),
		                             .given = span_str(json_kind_text(value->kind))},
		            refusal.message);
		outcome = cli_fail(cli, ERR_INVALID_REQUEST, refusal.message);
		goto out;
	}
	json_pack_object(value, packer, &scratch);
	if (scratch.failed) outcome = cli_fail(cli, ERR_NO_MEMORY, NULL);
out:
	buffer_free(&scratch);
	arena_free(&arena);
	return outcome;
}

enum outcome cli_pack_file(struct cli *cli, const char *path, msgpack_packer *packer)
{
	struct buffer text = {0};
	enum outcome  outcome = read_file(cli, path, &text);

	if (outcome == DONE) outcome = pack_text_of(cli, buffer_span(&text), packer);
	buffer_free(&text);
	return outcome;
}
