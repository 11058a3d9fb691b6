/* The file types in a directory: each entry may have certain types; any other type is named. */
#include "store/shape.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct test_dir test_dir;

static void begin(void)
{
	test_dir_make(&test_dir);
	cr_assert_eq(symlinkat("nowhere/at/all", test_dir.fd, "away"), 0);
	cr_assert_eq(mkdirat(test_dir.fd, "aside", 0700), 0);
	file_write(&test_dir, "paper", 0, span_str("x"));
}

static void end(void)
{
	test_dir_remove(&test_dir);
}

TestSuite(shape, .init = begin, .fini = end);

/* 'f' a file, 'd' a directory, 'F' 'D' links to one, 'l' a dangling link, 'p' a pipe. */
static void make(const char *path, char kind)
{
	char        to[64];
	const char *up = strchr(path, '/') ? "../" : "";

	snprintf(to, sizeof to, "%s%s", up, kind == 'F' ? "paper" : kind == 'D' ? "aside" : "away");
	switch (kind) {
	case 'f': file_write(&test_dir, path, 0, span_str("x")); break;
	case 'd': cr_assert_eq(mkdirat(test_dir.fd, path, 0700), 0); break;
	case 'p': cr_assert_eq(mknodat(test_dir.fd, path, S_IFIFO | 0600, 0), 0); break;
	default: cr_assert_eq(symlinkat(to, test_dir.fd, path), 0);
	}
}

Test(shape, of_an_empty_directory_is_valid)
{
	struct store_report report = {.rebuilt = false};
	cr_expect_eq(shape_judge(test_dir.fd, &report), OK);
}

Test(shape, names_entries_of_another_type)
{
	static const struct {
		const char *path;
		const char *good, *bad; /* types */
		const char *inside;     /* a directory that it needs, or NULL */
	} rows[] = {
	    {"journal", "dDl", "fFp", NULL},     {"journal/next.tmp", "fFl", "dDp", "journal"},
	    {"snapshots", "dDl", "fFp", NULL},   {"db", "d", "fFDlp", NULL},
	    {"db/data.mdb", "fFl", "dDp", "db"}, {"db/lost+found", "f", "d", "db"},
	    {"db.new", "d", "fFDlp", NULL},      {"db.new/data.mdb", "f", "d", "db.new"},
	    {"db.old", "d", "fFDlp", NULL},      {"db.old/data.mdb", "f", "d", "db.old"},
	    {"trust", "fFl", "dDp", NULL},       {"lost+found", "dfFDlp", "", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char kinds[16];
		if (rows[i].inside) make(rows[i].inside, 'd');
		snprintf(kinds, sizeof kinds, "%s%s", rows[i].good, rows[i].bad);
		for (const char *kind = kinds; *kind; kind++) {
			struct store_report report = {.rebuilt = false};
			bool                is_good = strchr(rows[i].good, *kind);
			make(rows[i].path, *kind);
			cr_expect_eq(shape_judge(test_dir.fd, &report), is_good ? OK : ERR_UNSUPPORTED,
			             "%s as %c: %s", rows[i].path, *kind, report.what);
			cr_expect(is_good || !strncmp(report.what, rows[i].path, strlen(rows[i].path)),
			          "%s as %c: %s", rows[i].path, *kind, report.what);
			cr_assert_eq(unlinkat(test_dir.fd, rows[i].path, *kind == 'd' ? AT_REMOVEDIR : 0), 0);
		}
		if (rows[i].inside) cr_assert_eq(unlinkat(test_dir.fd, rows[i].inside, AT_REMOVEDIR), 0);
	}
}
