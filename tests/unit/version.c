/* The sentence about a format version that is not known. */
#include "schemas/version.h"

#include <criterion/criterion.h>
#include <string.h>

Test(version, is_refused_by_one_sentence)
{
	static const struct {
		enum version_of of;
		uint64_t        found, known;
		const char     *want;
	} rows[] = {
	    {VERSION_OF_DATA, 1, 2,
	     "a/file has format version 1, this program knows 2: back up the data directory with the program "
	     "that wrote it, "
	     "and restore that backup with this one"},
	    {VERSION_OF_DATA, 3, 2,
	     "a/file has format version 3, this program knows 2: use the program that wrote it, or a newer "
	     "one"},
	    {VERSION_OF_BACKUP, 1, 2,
	     "a/file has format version 1, this program knows 2: restore this backup with the program that "
	     "wrote it"},
	    {VERSION_OF_BACKUP, 3, 2,
	     "a/file has format version 3, this program knows 2: use the program that wrote it, or a newer "
	     "one"},
	};
	char text[VERSION_TEXT];
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		version_refusal(rows[i].of, "a/file", rows[i].found, rows[i].known, text);
		cr_expect_str_eq(text, rows[i].want);
	}
}

/* The longest name and numbers: the sentence is whole. */
Test(version, sentence_is_never_cut)
{
	char name[200], text[VERSION_TEXT];
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = 0;
	version_refusal(VERSION_OF_DATA, name, UINT64_MAX - 1, UINT64_MAX, text);
	cr_expect(strstr(text, "restore that backup with this one"), "%s", text);
}
