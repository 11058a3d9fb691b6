/* Text in HTML: characters that could end it or are forbidden are escaped or replaced, and no others. */
#include "http/html.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct buffer out;

static struct span shown(void (*how)(struct buffer *, struct span), struct span text)
{
	buffer_clear(&out);
	how(&out, text);
	return buffer_span(&out);
}

#define BAD "\xef\xbf\xbd"

Test(html, escapes_markup_and_replaces_forbidden_characters)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"", ""},
	    {"plain", "plain"},
	    {"<script>alert('1') && \"2\"</script>",
	     "&lt;script&gt;alert(&#39;1&#39;) &amp;&amp; &quot;2&quot;&lt;/script&gt;"},
	    {"&amp;", "&amp;amp;"},
	    {"a\tb\r\nc", "a\tb\r\nc"},
	    {"\x01\x0b\x1b[0m\x1f\x7f", BAD BAD BAD "[0m" BAD BAD},
	    {"\xc2\x80\xc2\x9f\xc2\xa0\xc3\xa9", BAD BAD "\xc2\xa0\xc3\xa9"},
	    {"\xef\xb7\x90\xef\xb7\xaf\xef\xb7\xb0", BAD BAD "\xef\xb7\xb0"},
	    {"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", BAD BAD BAD},
	    {"\xf0\x9f\xbf\xbe\xf4\x8f\xbf\xbf\xf0\x9f\x98\x80", BAD BAD "\xf0\x9f\x98\x80"},
	    {"\xe2\x80\xa8\xe2\x80\xae", "\xe2\x80\xa8\xe2\x80\xae"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span got = shown(html_text, span_str(rows[i].text));
		cr_expect(span_is(got, rows[i].want), "row %zu: %.*s", i, (int)got.size,
		          (const char *)got.at);
	}
	cr_expect(span_is(shown(html_text, span_of("a\0b", 3)), "a" BAD "b"));
}

Test(html, isolates_or_omits_direction_marks)
{
	static const char text[] = "a\xe2\x80\xae<\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f"
	                           "b";
	cr_expect(span_is(shown(html_apart, span_str(text)),
	                  "<bdi>a\xe2\x80\xae&lt;\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f"
	                  "b</bdi>"));
	cr_expect(span_is(shown(html_plain, span_str(text)), "a&lt;b"));
}

Test(html, escapes_urls)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
	    {"https://a.example/?b=1&c='2'#d[3]", "https://a.example/?b=1&amp;c=&#39;2&#39;#d%5B3%5D"},
	    {"http://[::1]:80/[a]", "http://[::1]:80/%5Ba%5D"},
	    {"http://[::1]?[a]", "http://[::1]?%5Ba%5D"},
	    {"https://a.example\\@b.example/", "https://a.example%5C@b.example/"},
	    {"https://a.example/\"><b>`{|}^", "https://a.example/%22%3E%3Cb%3E%60%7B%7C%7D%5E"},
	    {"https://a.example/\xc3\xa9%41\x7f", "https://a.example/%C3%A9%41%7F"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(span_is(shown(html_url, span_str(rows[i].url)), rows[i].want), "row %zu", i);
}

/* Texts come from a shard and are UTF-8. Invalid ones must still not be read beyond their end. */
Test(html, reads_no_further_than_the_text)
{
	static const char *const texts[] = {"\xc2", "\xef\xbf", "\xf4\x8f\xbf", "\x80", "\xff", "\xf8\x88"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		size_t size = strlen(texts[i]);
		char  *copy = malloc(size); /* exact size, so that the sanitizer detects a read beyond it */
		memcpy(copy, texts[i], size);
		shown(html_text, span_of(copy, size));
		free(copy);
	}
}
