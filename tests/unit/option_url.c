/* Options whose value is a URL. */
#include "actors/rt/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct options options;
static char           why[OPTION_WHY];

static enum err read_option(char *word)
{
	return options_read(3, (char *[]){"--data", "d", word}, &options, why);
}

Test(option_url, is_stored_without_its_final_slash_and_with_its_scheme_in_lower_case)
{
	static const struct {
		const char *text, *want;
	} cases[] = {{"https://x", "https://x"},
	             {"https://x/", "https://x"},
	             {"https://x//", "https://x"},
	             {"HTTPS://X.example///", "https://X.example"},
	             {"Http://x:8080/A@b/", "http://x:8080/A@b"},
	             {"http://x:8080/a/b/", "http://x:8080/a/b"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char word[64];
		snprintf(word, sizeof word, "--public-url=%s", cases[i].text);
		cr_assert_eq(read_option(word), OK, "%s", why);
		cr_expect_str_eq(options.public_url, cases[i].want);
	}
}

/* A user name and a password would be in every link. The refusal does not repeat them. */
Test(option_url, is_refused_if_it_names_a_user)
{
	static const char *const urls[] = {"https://user:secret@h", "https://user@h/a",
	                                   "HTTPS://:secret@h:1/"};
	static const char *const names[] = {"public-url", "cors-origin", "wallet-google",
	                                    "wallet-google-keys"};

	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			char word[64];
			snprintf(word, sizeof word, "--%s=%s", names[k], urls[i]);
			cr_expect_eq(read_option(word), ERR_BAD_OPTION, "%s", word);
			cr_expect(strstr(why, "user name or a password") && strstr(why, names[k]), "%s", why);
			cr_expect_null(strstr(why, "secret"), "%s", why);
		}
}
