/* Suggestion of the nearest known word. */
#include "schemas/nearest.h"

#include <criterion/criterion.h>

Test(nearest, finds_words_one_or_two_edits_away)
{
	static const char *const words[] = {"account", "key", "template", "--name", "--bogus-name", "status"};
	static const struct {
		const char *word, *want;
	} cases[] = {
	    {"acount", "account"},
	    {"accuont", "account"},
	    {"templates", "template"},
	    {"temlpte", "template"},
	    {"kye", "key"},
	    {"--nmae", "--name"},
	    {"statsu", "status"},
	    {"key", "key"},
	    {"xyz", NULL},
	    {"ac", NULL},
	    {"", NULL},
	    {"reward", NULL},
	    {"acnt", NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *got = nearest(cases[i].word, words, sizeof words / sizeof *words);
		if (cases[i].want)
			cr_expect_str_eq(got ? got : "nothing", cases[i].want, "%s", cases[i].word);
		else
			cr_expect_null(got, "%s: %s", cases[i].word, got);
	}
}

Test(nearest, handles_words_of_any_length)
{
	static const char *const words[] = {"a word of more than forty characters, which is never meant"};
	char                     word[4096] = {0};

	memset(word, 'a', sizeof word - 1);
	cr_expect_null(nearest(word, words, 1));
	cr_expect_null(nearest("a word", words, 1));
}
