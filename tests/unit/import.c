/* ops/cli/import: lines of a file, CSV rows, and the request bodies made of them. */
#include "ops/cli/import/rows.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char template_file[] =
    "{\"name\":\"T\",\"loyalty_type\":\"balance\",\"fields\":[{\"key\":\"name\",\"type\":\"text\"},"
    "{\"key\":\"n\",\"type\":\"number\"},{\"key\":\"b\",\"type\":\"boolean\"},{\"key\":\"d\",\"type\":"
    "\"date\"},"
    "{\"key\":\"a.b\",\"type\":\"url\"},{\"key\":\"points\",\"type\":\"number\",\"locked\":true}]}";

struct bench {
	struct arena arena;
	struct template template;
	struct rows    *rows;
	FILE           *file;
	struct row_read row;
};

static enum err begin(struct bench *bench, enum format format, struct span text)
{
	struct json      *file;
	struct file_fault fault;

	*bench = (struct bench){.file = tmpfile(), .rows = malloc(sizeof *bench->rows)};
	cr_assert(bench->file && bench->rows);
	cr_assert_eq(json_parse(span_str(template_file), &bench->arena, &file), OK);
	cr_assert_eq(template_read(file, &bench->template, &fault), OK);
	cr_assert_eq(fwrite(text.at, 1, text.size, bench->file), text.size);
	rewind(bench->file);
	return rows_open(bench->rows, format, fileno(bench->file), &bench->template);
}

static void end(struct bench *bench)
{
	rows_close(bench->rows);
	free(bench->rows);
	arena_free(&bench->arena);
	fclose(bench->file);
}

/* The next row's body; "!CODE" if it is invalid; NULL at the end. */
static const char *next(struct bench *bench)
{
	static char text[4096];
	enum err    err = rows_next(bench->rows, &bench->row);

	if (err == ERR_NOT_FOUND) return NULL;
	cr_assert_eq(err, OK);
	if (bench->row.err)
		snprintf(text, sizeof text, "!%s", err_code(bench->row.err));
	else
		snprintf(text, sizeof text, "%.*s", (int)bench->row.body.size,
		         (const char *)bench->row.body.at);
	return text;
}

static void expect_body(const char *csv, const char *want)
{
	struct bench bench;

	cr_assert_eq(begin(&bench, FORMAT_CSV, span_str(csv)), OK, "%s: %s", csv, bench.rows->why);
	const char *got = next(&bench);
	cr_assert_not_null(got, "%s", csv);
	cr_expect_str_eq(got, want, "of %s", csv);
	cr_expect_null(next(&bench), "%s has one row", csv);
	end(&bench);
}

Test(import, makes_bodies_from_cells)
{
	static const struct {
		const char *csv, *want;
	} rows[] = {
	    {"pass_id\na", "{\"pass_id\":\"a\"}"},
	    {"hidden.x,pass_id\n1,a\n", "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,visible.n\na,-1.50e3\n", "{\"pass_id\":\"a\",\"visible\":{\"n\":-1.50e3}}"},
	    {"pass_id,visible.n\na,007\n", "{\"pass_id\":\"a\",\"visible\":{\"n\":\"007\"}}"},
	    {"pass_id,visible.n\na, 1\n", "{\"pass_id\":\"a\",\"visible\":{\"n\":\" 1\"}}"},
	    {"pass_id,visible.n\na,true\n", "{\"pass_id\":\"a\",\"visible\":{\"n\":\"true\"}}"},
	    {"pass_id,visible.n\na,\"1,\"\"b\"\":2\"\n",
	     "{\"pass_id\":\"a\",\"visible\":{\"n\":\"1,\\\"b\\\":2\"}}"},
	    {"pass_id,visible.b\na,TRUE\n", "{\"pass_id\":\"a\",\"visible\":{\"b\":true}}"},
	    {"pass_id,visible.b\na,False\n", "{\"pass_id\":\"a\",\"visible\":{\"b\":false}}"},
	    {"pass_id,visible.b\na,1\n", "{\"pass_id\":\"a\",\"visible\":{\"b\":\"1\"}}"},
	    {"pass_id,visible.name\na,12\n", "{\"pass_id\":\"a\",\"visible\":{\"name\":\"12\"}}"},
	    {"pass_id,visible.a.b,visible.d\na,,1990-01-01\n",
	     "{\"pass_id\":\"a\",\"visible\":{\"d\":\"1990-01-01\"}}"},
	    {"initial_platform,pass_id,visible.name\n,a,\n", "{\"pass_id\":\"a\"}"},
	    {"initial_platform,pass_id\nios,a\n", "{\"initial_platform\":\"ios\",\"pass_id\":\"a\"}"},
	    {"pass_id,hidden.x\na,\"two\r\nlines, \"\"q\"\"\"\r\n",
	     "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"two\\r\\nlines, \\\"q\\\"\"}}"},
	    {"pass_id,hidden.x\na,\"\"\n", "{\"pass_id\":\"a\"}"},
	    {"pass_id,hidden.x\n,\n\"\",\"\"\r\n,,,\n,1\n,", "{\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,hidden.x,,\na,1,,\n", "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,hidden.x,,\na,1\n", "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,hidden.x,\r\na,1,\r\n,,,\r\n\r\n", "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,,hidden.x\na,,1\n", "{\"pass_id\":\"a\",\"hidden\":{\"x\":\"1\"}}"},
	    {"pass_id,,hidden.x\na,b,1\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x,\na,1,2\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na,b,c\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na,b\rc,d\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na,b\"c\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na,\"b\" c\n", "!INVALID_REQUEST"},
	    {"pass_id,hidden.x\na,\"b\nc,d\n", "!INVALID_REQUEST"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_body(rows[i].csv, rows[i].want);
}

Test(import, refuses_headers_by_the_columns_name)
{
	static const struct {
		const char *csv, *says;
	} rows[] = {
	    {"", "empty"},
	    {"\n \r\n", "empty"},
	    {"visible.name\n", "\"pass_id\" is missing"},
	    {"pass_id,visible.nme\n", "\"visible.nme\" is not a field"},
	    {"pass_id,visible.points\n", "\"visible.points\" is a locked"},
	    {"pass_id,pass_id\n", "\"pass_id\" is there twice"},
	    {"pass_id,hidden.a,hidden.b,hidden.a\n", "\"hidden.a\" is there twice"},
	    {"pass_id,visible.\n", "\"visible.\" is unknown"},
	    {"pass_id,hidden.\xff\n", "not UTF-8"},
	    {"pass_id,hidden.a\"b\n", "not CSV"},
	    {"pass_id,hidden.a\ra,1\rb,2\r", "carriage return"},
	    {"pass_id,hidden.a\ra,\"1\rb,2\r", "carriage return"},
	    {"pass_id;hidden.a\n", "separated by commas"},
	    {"hidden.a;pass_id\n", "separated by commas"},
	    {"visible.name\tpass_id\n", "separated by commas"},
	    {"pass_id,a;b\n", "\"a;b\" is unknown: cells are separated by commas"},
	    {"pass_id,hidden.a;b,c\n", "\"c\" is unknown: pass_id"},
	    {"\xff;\n", "not UTF-8"},
	    {",,\n", "\"pass_id\" is missing"},
	    {"\xff\xfep", "UTF-16"},
	    {"\xfe\xff", "UTF-16"},
	    {"PK\3\4", ".xlsx"},
	    {"\xd0\xcf\x11\xe0", ".xls"},
	    {"\x1f\x8b\x08", "gzip"},
	    {"\x28\xb5\x2f\xfd", "zstd"},
	    {"sep=,\npass_id\n", "remove that line"},
	    {"\xef\xbb\xbfsep=;\npass_id\n", "remove that line"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench bench;
		enum err     err = begin(&bench, FORMAT_CSV, span_str(rows[i].csv));
		cr_expect_eq(err, ERR_INVALID_INPUT, "%s", rows[i].csv);
		cr_expect(strstr(bench.rows->why, rows[i].says), "%s: %s", rows[i].csv, bench.rows->why);
		end(&bench);
	}
}

Test(import, reports_faults_of_spreadsheets)
{
	static const struct {
		const char *csv, *says, *says_not;
	} rows[] = {
	    {"pass_id,hidden.x\na,1\rb,2\r", "carriage return", "quote"},
	    {"pass_id,hidden.x\na,\"b\n\n\nc,1\n", "from line 2 to line 5.", "carriage"},
	    {"pass_id,hidden.x\n\n\na,\"b\nc,\"1\nd,2\n", "from line 4 to line 5.", "carriage"},
	    {"pass_id,hidden.x\na,b\"\n", "without being doubled.", "from line"},
	    {"pass_id,hidden.x\na,\"b\n", "a quote is not closed", "from line"},
	    {"pass_id,,hidden.x\na,b,1\n", "Cell 2 of the row is not empty", "from line"},
	    {"pass_id,hidden.x\na,b,\n", "has 3 cells, the header has 2", "from line"},
	    {"pass_id,hidden.x,\na\n", "has 1 cells, the header has 3", "from line"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench bench;
		cr_assert_eq(begin(&bench, FORMAT_CSV, span_str(rows[i].csv)), OK);
		cr_assert_str_eq(next(&bench), "!INVALID_REQUEST");
		const char *why = bench.rows->why;
		cr_expect(strstr(why, rows[i].says) && !strstr(why, rows[i].says_not), "%s: %s", rows[i].csv,
		          why);
		end(&bench);
	}
	cr_expect(strstr(row_fault(span_str("{\"a\":\"caf\xe9\"}")), "not UTF-8"));
	cr_expect(strstr(row_fault(span_str("{}\r{}\r")), "(CR)"));
	cr_expect_null(row_fault(span_str("[]\r")));
	cr_expect_null(row_fault(span_str("")));
}

Test(import, limits_the_columns)
{
	for (unsigned count = CSV_COLUMNS_MAX - 1; count <= CSV_COLUMNS_MAX; count++) {
		struct bench  bench;
		struct buffer text = {0};
		char          name[24];
		buffer_text(&text, "pass_id");
		for (unsigned i = 0; i < count; i++) {
			snprintf(name, sizeof name, ",hidden.%u", i);
			buffer_text(&text, name);
		}
		cr_expect_eq(begin(&bench, FORMAT_CSV, buffer_span(&text)),
		             count < CSV_COLUMNS_MAX ? OK : ERR_INVALID_INPUT);
		end(&bench);
		buffer_free(&text);
	}
}

/* Cuts the file at the positions that rows_next() returns. Only blanks may be between rows. */
Test(import, returns_the_positions_of_rows)
{
	static const char text[] =
	    "\xef\xbb\xbfpass_id,hidden.x\r\n\r\na,1\r\n\"b\",\"\n\n\"\nc,\"oops\n\nd,4";
	static const struct {
		uint64_t    line;
		const char *bytes;
	} wants[] = {{3, "a,1\r"}, {4, "\"b\",\"\n\n\""}, {7, "c,\"oops\n\nd,4"}};
	struct bench bench;
	cr_assert_eq(begin(&bench, FORMAT_CSV, span_str(text)), OK);
	cr_expect_eq(bench.rows->header_size, strlen("\xef\xbb\xbfpass_id,hidden.x\r"));
	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
		cr_assert_not_null(next(&bench), "row %zu", i);
		struct span got = span_of(text + bench.row.place.at, bench.row.place.size);
		cr_expect_eq(bench.row.place.line, wants[i].line, "row %zu: line %lu", i,
		             bench.row.place.line);
		cr_expect(span_is(got, wants[i].bytes), "row %zu: %.*s", i, (int)got.size,
		          (const char *)got.at);
	}
	cr_expect_eq(bench.row.err, ERR_INVALID_REQUEST);
	cr_expect_null(next(&bench));
	end(&bench);
}

Test(import, returns_lines_as_bodies)
{
	struct bench bench;
	cr_assert_eq(begin(&bench, FORMAT_JSONL, span_str("\xef\xbb\xbf{}\n\n \t\r\n[1]\r\nx")), OK);
	cr_expect_str_eq(next(&bench), "{}");
	cr_expect_eq(bench.row.place.at, 3);
	cr_expect_str_eq(next(&bench), "[1]\r");
	cr_expect_eq(bench.row.place.line, 4);
	cr_expect_str_eq(next(&bench), "x");
	cr_expect_null(next(&bench));
	cr_expect_null(next(&bench));
	end(&bench);
}

static void add_many(struct buffer *text, uint8_t byte, size_t count)
{
	uint8_t *room = buffer_reserve(text, count);
	cr_assert_not_null(room);
	memset(room, byte, count);
	text->size += count;
}

/* A line of exactly the limit is accepted and one byte more is refused, wherever the reads divide it. */
Test(import, limits_the_length_of_lines)
{
	struct buffer text = {0};
	struct bench  bench;
	add_many(&text, 'a', IMPORT_ROW_BYTES_MAX);
	buffer_byte(&text, '\n');
	add_many(&text, 'b', (size_t)IMPORT_ROW_BYTES_MAX + 1);
	buffer_text(&text, "\nshort\n");
	add_many(&text, 'c', 2 * (size_t)IMPORT_ROW_BYTES_MAX);
	cr_assert_eq(begin(&bench, FORMAT_JSONL, buffer_span(&text)), OK);
	(void)next(&bench);
	cr_expect(!bench.row.err && bench.row.body.size == IMPORT_ROW_BYTES_MAX);
	cr_expect_str_eq(next(&bench), "!PAYLOAD_TOO_LARGE");
	cr_expect_eq(bench.row.place.size, (size_t)IMPORT_ROW_BYTES_MAX + 1);
	cr_expect_eq(bench.row.place.at, (size_t)IMPORT_ROW_BYTES_MAX + 1);
	cr_expect_str_eq(next(&bench), "short");
	cr_expect_str_eq(next(&bench), "!PAYLOAD_TOO_LARGE");
	cr_expect_eq(bench.row.place.size, 2 * (size_t)IMPORT_ROW_BYTES_MAX);
	cr_expect_null(next(&bench));
	end(&bench);
	buffer_free(&text);
}

/* A too long row of many short lines ends at its closing quote. */
Test(import, limits_rows_of_many_lines)
{
	struct buffer text = {0};
	struct bench  bench;
	buffer_text(&text, "pass_id,hidden.x\na,\"");
	for (unsigned i = 0; i < 2048; i++) {
		add_many(&text, 'x', 10000);
		buffer_text(&text, i % 2 ? "\n" : ",\"\"\n");
	}
	buffer_text(&text, "\"\nb,1\n");
	cr_assert_eq(begin(&bench, FORMAT_CSV, buffer_span(&text)), OK);
	cr_expect_str_eq(next(&bench), "!PAYLOAD_TOO_LARGE");
	cr_expect_eq(bench.row.place.at + bench.row.place.size, text.size - strlen("\nb,1\n"));
	cr_expect_str_eq(next(&bench), "{\"pass_id\":\"b\",\"hidden\":{\"x\":\"1\"}}");
	cr_expect_null(next(&bench));
	end(&bench);
	buffer_free(&text);
}

/* Detects the format of a JSONL file by its beginning. */
Test(import, detects_files_of_another_format)
{
	static const struct {
		struct span text;
		const char *says; /* NULL: accepted */
	} rows[] = {
	    {{(const uint8_t *)"[{\"pass_id\":\"a\"}]", 17}, "one JSON array"},
	    {{(const uint8_t *)"\xef\xbb\xbf \n[", 6}, "one JSON array"},
	    {{(const uint8_t *)"{\0\n\0", 4}, "UTF-16"},
	    {{(const uint8_t *)"\xff\xfe{\0\n\0", 6}, "UTF-16"},
	    {{(const uint8_t *)"\xff\xfe\0\0{\0\0\0", 8}, "UTF-32"},
	    {{(const uint8_t *)"\0\0\xfe\xff\0\0\0{", 8}, "UTF-32"},
	    {{(const uint8_t *)"PK\3\4", 4}, "archive"},
	    {{(const uint8_t *)"\xef\xbb\xbf{}", 5}, NULL},
	    {{(const uint8_t *)"{}", 2}, NULL},
	    {{(const uint8_t *)"", 0}, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench bench;
		enum err     err = begin(&bench, FORMAT_JSONL, rows[i].text);
		cr_expect_eq(err, rows[i].says ? ERR_INVALID_INPUT : OK, "row %zu", i);
		if (rows[i].says) cr_expect(strstr(bench.rows->why, rows[i].says), "%s", bench.rows->why);
		end(&bench);
	}
}
