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

/* 'f' a file, 'd' a directory, 'F' 'D' links to one, 'l' a dangling link, 'p' a pipe, 's' a socket. */
static void make(const char *path, char kind)
{
	char        to[64];
	int         up = 0;
	const char *end = kind == 'F' ? "paper" : kind == 'D' ? "aside" : "away";

	for (const char *at = path; (at = strchr(at, '/')); at++)
		up++;
	snprintf(to, sizeof to, "%.*s%s", 3 * up, "../../../", end);
	switch (kind) {
	case 'f': file_write(&test_dir, path, 0, span_str("x")); break;
	case 'd': cr_assert_eq(mkdirat(test_dir.fd, path, 0700), 0); break;
	case 'p': cr_assert_eq(mknodat(test_dir.fd, path, S_IFIFO | 0600, 0), 0); break;
	case 's': cr_assert_eq(mknodat(test_dir.fd, path, S_IFSOCK | 0600, 0), 0); break;
	default: cr_assert_eq(symlinkat(to, test_dir.fd, path), 0);
	}
}

Test(shape, of_an_empty_directory_is_valid)
{
	struct store_report report = {.rebuilt = false};
	cr_expect_eq(shape_judge(test_dir.fd, &report), OK);
}

Test(shape, is_told_with_what_to_do)
{
	struct store_report report = {.rebuilt = false};
	make("journal", 'd');
	make("journal/00000000000000000002.seg", 'd');
	cr_assert_eq(shape_judge(test_dir.fd, &report), ERR_UNSUPPORTED);
	cr_expect_str_eq(report.what,
	                 "journal/00000000000000000002.seg is a directory, not a file: move it away, and put "
	                 "back what was there");
	cr_assert_eq(unlinkat(test_dir.fd, "journal/00000000000000000002.seg", AT_REMOVEDIR), 0);
	make("trust", 'l');
	cr_assert_eq(shape_judge(test_dir.fd, &report), ERR_UNSUPPORTED);
	cr_expect_str_eq(report.what, "trust is a link to nothing, not a file: move it away");
}

Test(shape, names_entries_of_another_type)
{
#define NUMBER "00000000000000000007"
	static const struct {
		const char *path;
		const char *good, *bad; /* types */
		const char *inside[2];  /* directories that it needs */
	} rows[] = {
	    {"journal", "dD", "fFlps", {NULL}},
	    {"journal/next.tmp", "fF", "dDlps", {"journal"}},
	    {"journal/" NUMBER ".seg", "fF", "dDlps", {"journal"}},
	    {"journal/" NUMBER ".seg.bak", "fdFDlps", "", {"journal"}},
	    {"snapshots", "dD", "fFlps", {NULL}},
	    {"snapshots/new", "dD", "fFlps", {"snapshots"}},
	    {"snapshots/" NUMBER, "dD", "fFlps", {"snapshots"}},
	    {"snapshots/" NUMBER "/manifest", "fF", "dDlps", {"snapshots", "snapshots/" NUMBER}},
	    {"snapshots/" NUMBER "/data.mdb", "fF", "dDlps", {"snapshots", "snapshots/" NUMBER}},
	    {"snapshots/mine", "fdFDlps", "", {"snapshots"}},
	    {"db", "d", "fFDlps", {NULL}},
	    {"db/data.mdb", "fF", "dDlps", {"db"}},
	    {"db/lost+found", "f", "d", {"db"}},
	    {"db.new", "d", "fFDlps", {NULL}},
	    {"db.new/data.mdb", "f", "d", {"db.new"}},
	    {"db.old", "d", "fFDlps", {NULL}},
	    {"db.old/data.mdb", "f", "d", {"db.old"}},
	    {"trust", "fF", "dDlps", {NULL}},
	    {"lost+found", "dfFDlps", "", {NULL}},
	};
#undef NUMBER
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char kinds[16];
		for (size_t k = 0; k < 2 && rows[i].inside[k]; k++)
			make(rows[i].inside[k], 'd');
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
		for (size_t k = 2; k-- > 0;)
			if (rows[i].inside[k])
				cr_assert_eq(unlinkat(test_dir.fd, rows[i].inside[k], AT_REMOVEDIR), 0);
	}
}
