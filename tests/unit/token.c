/* Download tokens: encrypted and decrypted with the key of a lineage; without the key they are
 * meaningless. */
#include "actors/rt/token.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>

static const struct token_keys key = {.count = 1, .of = {{1, 2, 3}}},
                               other_key = {.count = 1, .of = {{1, 2, 4}}};

Test(token, names_the_pass_it_was_made_for)
{
	uint64_t state = chance_begin();
	for (unsigned i = 0; i < 2000; i++) {
		struct account_id account, got;
		uint32_t          number = i < 2 ? i - 1 : (uint32_t)chance(&state), read = 0;
		uint8_t           token[16], again[16];
		memcpy(account.b, filler(chance(&state), 10).at, 10);
		token_make(&key, account, number, token);
		token_make(&key, account, number, again);
		cr_assert(!memcmp(token, again, 16));
		cr_assert(token_read(&key, token, &got, &read));
		cr_assert(account_same(got, account) && read == number);
	}
}

/* The block, encrypted by the openssl program with the same key. */
Test(token, is_account_and_number_encrypted_with_aes)
{
	static const uint8_t want[16] = {0x1b, 0xfb, 0xae, 0x7a, 0x31, 0xf1, 0x89, 0xb8,
	                                 0x02, 0xa9, 0x9d, 0xeb, 0x7b, 0xf3, 0x38, 0x76};
	struct account_id    account = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
	uint8_t              token[16];
	token_make(&key, account, 0x0a0b0c0d, token);
	cr_expect(!memcmp(token, want, 16));
}

Test(token, of_neighbours_have_nothing_in_common)
{
	struct account_id account = {{1}}, got;
	uint8_t           a[16], b[16];
	uint32_t          number;
	unsigned          read = 0;
	token_make(&key, account, 1, a);
	token_make(&key, account, 2, b);
	unsigned same = 0;
	for (unsigned i = 0; i < 16; i++)
		same += a[i] == b[i];
	cr_expect_lt(same, 6);
	for (unsigned i = 0; i < 128;
	     i++) { /* a changed bit gives a random block; sixteen zero bits are rare */
		a[i / 8] ^= (uint8_t)(1 << i % 8);
		read += token_read(&key, a, &got, &number);
		a[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_eq(read, 0);
	cr_expect(token_read(&key, a, &got, &number) && number == 1);
}

Test(token, has_one_text_form)
{
	static const uint8_t ones[TOKEN_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t want[TOKEN_BYTES] = {0x1b, 0xfb, 0xae, 0x7a, 0x31, 0xf1, 0x89, 0xb8,
	                                          0x02, 0xa9, 0x9d, 0xeb, 0x7b, 0xf3, 0x38, 0x76};
	uint8_t              got[TOKEN_BYTES];
	char                 text[TOKEN_TEXT];
	token_text(want, text);
	cr_expect_str_eq(text, "G_uuejHxibgCqZ3re_M4dg");
	cr_assert(token_text_read(span_str(text), got));
	cr_expect(!memcmp(got, want, sizeof want));
	token_text(ones, text);
	cr_expect_str_eq(text, "_____________________w");
	cr_expect(token_text_read(span_str(text), got) && !memcmp(got, ones, sizeof ones));
	unsigned read = 0;
	for (unsigned c = 0; c < 256; c++) { /* the last character has four bits too many */
		text[21] = (char)c;
		read += token_text_read(span_of(text, 22), got);
	}
	cr_expect_eq(read, 4);
}

Test(token, of_another_form_is_invalid)
{
	static const char *const texts[] = {"",
	                                    "G_uuejHxibgCqZ3re_M4d",
	                                    "G_uuejHxibgCqZ3re_M4dgA",
	                                    "G_uuejHxibgCqZ3re_M4d=",
	                                    "G/uuejHxibgCqZ3re+M4dg",
	                                    "G_uuejHxibgCqZ3re%4dg",
	                                    " _uuejHxibgCqZ3re_M4dg",
	                                    "G_uuejHxibg\xc3\xa9Z3re_M4dg"};
	uint8_t                  token[TOKEN_BYTES];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_not(token_text_read(span_str(texts[i]), token), "%s", texts[i]);
}

Test(token, of_another_key_is_invalid)
{
	struct account_id account = {{1}};
	uint32_t          number;
	uint8_t           token[16], ours[16];
	token_make(&other_key, account, 1, token);
	cr_expect_not(token_read(&key, token, &account, &number));
	token_make(&key, (struct account_id){{1}}, 1, ours);
	cr_expect(memcmp(token, ours, 16));
}

/* A directory restored from a backup of a restored directory. */
static const struct token_keys restored = {.count = 3, .of = {{7}, {1, 2, 3}, {9}}};

Test(token, made_before_a_restore_is_read_after_it)
{
	static const struct token_keys        eldest = {.count = 1, .of = {{7}}};
	static const struct token_keys *const makers[] = {&eldest, &key, &restored};
	struct account_id                     account = {{1, 2}}, got;
	uint8_t                               token[16], seen[3][16];
	uint32_t                              number;
	for (unsigned i = 0; i < 3; i++) {
		token_make(makers[i], account, 5, token);
		cr_expect(token_read(&restored, token, &got, &number), "%u", i);
		cr_expect(number == 5 && account_same(got, account), "%u", i);
		memcpy(seen[i], token, sizeof token);
		for (unsigned before = 0; before < i; before++)
			cr_expect(memcmp(token, seen[before], sizeof token),
			          "the same under another lineage");
	}
	token_make(&restored, account, 5, token);
	cr_expect_not(token_read(&key, token, &got, &number));
}

/* A token of the newest key may also decrypt under an older one by chance; such tokens are never given
 * out. */
Test(token, is_never_taken_for_an_older_lineage_s)
{
	static const struct token_keys newest = {.count = 1, .of = {{9}}},
	                               older = {.count = 2, .of = {{7}, {1, 2, 3}}};
	struct account_id account = {{1, 2}}, got;
	uint8_t           plain[16], token[16];
	unsigned          met = 0;
	for (uint32_t number = 0, read; met < 8 && number < 1000000; number++) {
		token_make(&newest, account, number, plain);
		if (!token_read(&older, plain, &got, &read)) continue;
		met++;
		token_make(&restored, account, number, token);
		cr_expect(memcmp(token, plain, sizeof token));
		cr_expect_not(token_read(&older, token, &got, &read));
		cr_expect(token_read(&restored, token, &got, &read));
		cr_expect(read == number && account_same(got, account));
	}
	cr_expect_eq(met, 8);
}

Test(token, keys_are_of_one_lineage_each)
{
	static const uint8_t         master[32] = {5};
	static const struct identity first = {.lineage = {1}},
	                             second = {.lineage = {2}, .earlier = {.count = 1, .of = {{1}}}};
	struct token_keys    of_first, of_second, of_other;
	static const uint8_t other_master[32] = {6};
	cr_assert_eq(token_keys_derive(master, &first, &of_first), OK);
	cr_assert_eq(token_keys_derive(master, &second, &of_second), OK);
	cr_assert_eq(token_keys_derive(other_master, &first, &of_other), OK);
	cr_expect(of_first.count == 1 && of_second.count == 2 && of_other.count == 1);
	cr_expect(!memcmp(of_first.of[0], of_second.of[0], SECRET_KEY_BYTES));
	cr_expect(memcmp(of_second.of[0], of_second.of[1], SECRET_KEY_BYTES));
	cr_expect(memcmp(of_first.of[0], of_other.of[0], SECRET_KEY_BYTES));
	cr_expect(memcmp(of_first.of[0], master, SECRET_KEY_BYTES));
}
