/* schemas/base64url.h: RFC 4648's own examples without padding, and one text for each value. */
#include "schemas/base64url.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(base64url, writes_the_examples_of_the_standard)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {{"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
	            {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "-_8"}};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span bytes = span_str(rows[i].bytes);
		char        text[BASE64URL_TEXT(6)];
		uint8_t     again[6];
		base64url_text(bytes, text);
		cr_expect_str_eq(text, rows[i].text);
		cr_assert(base64url_read(span_str(text), again, bytes.size), "%s", text);
		cr_expect(!memcmp(again, bytes.at, bytes.size));
	}
}

Test(base64url, reads_one_text_of_each_value)
{
	static const char *const bad[] = {"Zh", "Zg==", "Z", "Zg=", "Z+", "Z/", "Z\n", "Zgg", ""};
	uint8_t                  byte;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(base64url_read(span_str(bad[i]), &byte, 1), "%s", bad[i]);
	cr_expect(base64url_read(span_str("Zg"), &byte, 1) && byte == 'f');
}
