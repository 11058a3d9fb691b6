/* ops/cli/import/rows.h with files of any bytes: JSON lines, or a CSV table whose header is checked against a
 * template. The first byte selects the format. Every row follows the previous one in the file, the body of a
 * JSON line is the line, and the body of a CSV row is a JSON object if its cells are UTF-8. */
#include "tests/fuzz/fuzz.h"

#include "ops/cli/import/rows.h"
#include "schemas/json.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const char template_text[] =
    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"fields\":[{\"key\":\"holder\",\"type\":\"text\"},"
    "{\"key\":\"n\",\"type\":\"number\"},{\"key\":\"b\",\"type\":\"boolean\"},"
    "{\"key\":\"points\",\"type\":\"number\",\"locked\":true}]}";

static struct arena kept, arena;
static struct template template;
static struct rows rows;

static void check_body(struct span body, bool from_table)
{
	struct json *tree;
	enum err     err = json_parse(body, &arena, &tree);
	if (from_table && utf8_is_valid(body)) must(err == OK && tree->kind == JSON_OBJECT);
	arena_reset(&arena);
}

static void check_row(const struct row_read *row, struct span file, uint64_t *behind)
{
	must(row->place.at >= *behind && row->place.at <= file.size);
	must(row->place.size <= file.size - row->place.at && row->place.line >= 1);
	*behind = row->place.at + row->place.size;
	if (row->err) {
		must(rows.why[0] && strlen(rows.why) < sizeof rows.why);
		return;
	}
	check_body(row->body, rows.format == FORMAT_CSV);
	if (rows.format == FORMAT_JSONL)
		must(row->body.size <= row->place.size &&
		     memmem(file.at + row->place.at, row->place.size, row->body.at, row->body.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply     supply = {span_of(bytes, size)};
	enum format       format = supply_byte(&supply) & 1 ? FORMAT_CSV : FORMAT_JSONL;
	struct span       file = supply_rest(&supply);
	struct row_read   row;
	struct json      *tree;
	struct file_fault fault;
	uint64_t          behind = 0;
	enum err          err;
	if (!template.name.size)
		must(!json_parse(span_str(template_text), &kept, &tree) &&
		     !template_read(tree, &template, &fault));
	int fd = memfd_create("import", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, file.at, file.size) == (ssize_t)file.size && lseek(fd, 0, SEEK_SET) == 0);
	rows = (struct rows){.format = format};
	err = rows_open(&rows, format, fd, &template);
	must(err == OK || err == ERR_INVALID_INPUT);
	if (err) must(rows.why[0]);
	while (!err && !(err = rows_next(&rows, &row)))
		check_row(&row, file, &behind);
	must(err == ERR_NOT_FOUND || err == ERR_INVALID_INPUT);
	rows_close(&rows);
	close(fd);
	return 0;
}
