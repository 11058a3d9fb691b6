/* Commands that store a JSON file. It is parsed here, so that anything but a JSON object is refused at once; the shard checks
 * its members. */
#include "ops/cli/cli.h"
#include "schemas/json.h"

#include <errno.h>
#include <string.h>

/* A name in a sentence has at most REASON_FIELD_MAX bytes, "The file ..." included. */
enum { FILE_BYTES_MAX = 4 << 20, FILE_STEP = 64 << 10, SHOWN_BYTES = 80, CALLED_TEXT = SHOWN_BYTES + 16 };

/* Of a long path the end is shown. `called` has room for CALLED_TEXT bytes. */
static void call_file(const char *path, char *called)
{
	size_t size = strlen(path);

	if (strcmp(path, "-") == 0) {
		snprintf(called, CALLED_TEXT, "Standard input");
		return;
	}
	if (size <= SHOWN_BYTES) {
		snprintf(called, CALLED_TEXT, "The file %s", path);
		return;
	}
	for (path += size - SHOWN_BYTES; (*path & 0xC0) == 0x80;)
		path++;
	snprintf(called, CALLED_TEXT, "The file ...%s", path);
}

static enum outcome refuse(struct cli *cli, const struct reason *reason)
{
	char text[REASON_TEXT];

	reason_text(reason, text);
	return cli_fail(cli, cause_err(reason->cause), text);
}

static enum outcome read_file(struct cli *cli, const char *path, const char *called, struct buffer *text)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	bool  is_bad, is_whole;
	int   error;

	if (!file) return refuse(cli, REASON(FILE_CLOSED, called, .wanted = strerror(errno)));
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
	if (is_bad) return refuse(cli, REASON(FILE_UNREADABLE, called, .wanted = strerror(error)));
	return is_whole ? DONE : refuse(cli, REASON(FILE_LARGE, called, .most = FILE_BYTES_MAX));
}

/* Drops a byte order mark, which editors put before UTF-8. */
static struct span without_mark(struct span text)
{
	bool marked = text.size >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0;

	return marked ? span_of(text.at + 3, text.size - 3) : text;
}

static enum outcome pack_text_of(struct cli *cli, struct span text, const char *called,
                                 msgpack_packer *packer)
{
	struct buffer  scratch = {0};
	struct arena   arena = {0};
	struct json   *value = NULL;
	struct refusal refusal = {.message = ""};
	enum outcome   outcome = DONE;
	enum err       err = json_parse_told(without_mark(text), &arena, &value, called, &refusal);

	if (err) {
		outcome = cli_fail(cli, err, *refusal.message ? refusal.message : NULL);
		goto out;
	}
	if (value->kind != JSON_OBJECT) {
		outcome = refuse(
		    cli, REASON(BODY_NO_OBJECT, called, .given = span_str(json_kind_text(value->kind))));
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
	char          called[CALLED_TEXT];

	call_file(path, called);
	enum outcome outcome = read_file(cli, path, called, &text);
	if (outcome == DONE) outcome = pack_text_of(cli, buffer_span(&text), called, packer);
	buffer_free(&text);
	return outcome;
}
