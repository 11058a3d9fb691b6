/* schemas/wallet/serial.h: both names of a pass, beside what the openssl program makes of the same keys. */
#include "schemas/wallet/serial.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>

static const struct serial_keys keys = {{1, 2, 3}, {4, 5, 6}}, others = {{1, 2, 4}, {4, 5, 7}};
static const uint8_t token[WALLET_TOKEN_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

Test(wallet_serial, is_the_token_under_a_key_of_its_own)
{
	char    text[WALLET_SERIAL_TEXT];
	uint8_t again[WALLET_TOKEN_BYTES];
	wallet_serial_text(&keys, token, text);
	cr_expect_str_eq(text, "wyce8JjpVAv90aF2_xK6bA");
	cr_assert(wallet_serial_read(&keys, span_str(text), again));
	cr_expect(!memcmp(again, token, sizeof token));
	cr_assert(wallet_serial_read(&others, span_str(text), again));
	cr_expect(memcmp(again, token, sizeof token), "another key reads another token");
}

Test(wallet_serial, has_one_text)
{
	char    text[WALLET_SERIAL_TEXT + 1];
	uint8_t again[WALLET_TOKEN_BYTES];
	wallet_serial_text(&keys, token, text);
	cr_expect_not(wallet_serial_read(&keys, span_of(text, 21), again));
	text[21]++; /* bits that hold nothing */
	cr_expect_not(wallet_serial_read(&keys, span_str(text), again));
	text[21]--;
	text[3] = '+';
	cr_expect_not(wallet_serial_read(&keys, span_str(text), again));
}

Test(wallet_serial, authentication_tokens_are_hashes_of_the_token)
{
	char text[WALLET_AUTH_TEXT], other[WALLET_AUTH_TEXT];
	wallet_auth_text(&keys, token, text);
	cr_expect_str_eq(text, "XEkWraHL-qk_PQ1tnXbyhyKnfbeQlqsQZVey5yfVW8Q");
	cr_expect(wallet_auth_is(&keys, token, span_str(text)));
	wallet_auth_text(&others, token, other);
	cr_expect(strcmp(text, other));
	cr_expect_not(wallet_auth_is(&others, token, span_str(text)));
}

Test(wallet_serial, no_other_text_is_an_authentication_token)
{
	char    text[WALLET_AUTH_TEXT];
	uint8_t another[WALLET_TOKEN_BYTES];
	wallet_auth_text(&keys, token, text);
	for (unsigned i = 0; i < WALLET_AUTH_TEXT - 1; i++) {
		text[i] ^= 1;
		cr_expect_not(wallet_auth_is(&keys, token, span_str(text)), "%u", i);
		text[i] ^= 1;
		cr_expect_not(wallet_auth_is(&keys, token, span_of(text, i)));
	}
	memcpy(another, token, sizeof token);
	another[15] ^= 1;
	cr_expect_not(wallet_auth_is(&keys, another, span_str(text)));
}

Test(wallet_serial, keys_differ_by_purpose_and_master_key)
{
	static const uint8_t master[32] = {7}, second[32] = {8};
	struct serial_keys   a, b;
	cr_assert_eq(serial_keys_derive(master, &a), OK);
	cr_assert_eq(serial_keys_derive(second, &b), OK);
	cr_expect(memcmp(a.serial, a.auth, sizeof a.auth));
	cr_expect(memcmp(a.serial, b.serial, sizeof a.serial) && memcmp(a.auth, b.auth, sizeof a.auth));
}
