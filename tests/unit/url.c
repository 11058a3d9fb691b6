/* URLs of endpoints: what is refused in every spelling, and when two are the same. */
#include "schemas/url.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>

static enum err check(const char *text)
{
	return url_check(span_str(text), NULL);
}

Test(url, is_refused_for_local_private_and_invalid_hosts)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
	    {"", "empty"},
	    {"https", "no URL"},
	    {"https:", "no URL"},
	    {"https:/example.com/", "one slash"},
	    {"https://", "no host"},
	    {"https:///", "no host"},
	    {"https:///example.com", "no host; some readers skip the slash"},
	    {"https://?x", "no host"},
	    {"https://#x", "no host"},
	    {"https://:443/", "no host"},
	    {"http://example.com/", "not encrypted"},
	    {"HTTP://example.com/", "not encrypted"},
	    {"ftp://example.com/", "not https"},
	    {"file:///etc/passwd", "not https"},
	    {"javascript:alert(1)", "not https"},
	    {"//example.com/", "no scheme"},
	    {"example.com", "no scheme"},
	    {" https://example.com/", "blank before"},
	    {"https://example.com/ ", "blank behind"},
	    {"https://example.com/a b", "blank within"},
	    {"https://exa\tmple.com/", "tab, which browsers drop"},
	    {"https://example.com/\r\nX: y", "another header"},
	    {"https://example.com/\x7f", "control character"},
	    {"https://example.com/\xc3\xbc", "a path that is not encoded"},
	    {"https://example.com\\@127.0.0.1/", "a backslash, which is a slash to some"},
	    {"https://user@example.com/", "credentials"},
	    {"https://user:pass@example.com/", "credentials"},
	    {"https://@example.com/", "empty credentials"},
	    {"https://:@example.com/", "empty credentials"},
	    {"https://example.com@127.0.0.1/", "a host that is a user"},
	    {"https://127.0.0.1:443@example.com/", "credentials like a host"},
	    {"https://example.com:0/", "no port"},
	    {"https://example.com:65536/", "no port"},
	    {"https://example.com:-1/", "no port"},
	    {"https://example.com:4x/", "no port"},
	    {"https://example.com:443:443/", "two ports"},
	    {"https://localhost/", "this host"},
	    {"https://localhost", "this host"},
	    {"https://localhost:8443/", "this host"},
	    {"https://LOCALHOST/", "this host"},
	    {"https://LocalHost./", "this host, with a dot"},
	    {"https://localhost../", "an empty label"},
	    {"https://foo.localhost/", "under localhost"},
	    {"https://a.b.localhost./", "under localhost"},
	    {"https://%6cocalhost/", "this host, encoded"},
	    {"https://lo%63alhos%74%2e/", "this host, encoded"},
	    {"https://\xef\xbd\x8c\xef\xbd\x8f\xef\xbd\x83\xef\xbd\x81lhost/", "this host, in wide letters"},
	    {"https://loc\xc2\xad"
	     "alhost/",
	     "this host, with a soft hyphen"},
	    {"https://\xe2\x93\x9b"
	     "ocalhost/",
	     "this host, with a letter in a circle"},
	    {"https://internal/", "a private network"},
	    {"https://db.internal/", "a private network"},
	    {"https://db.INTERNAL./", "a private network"},
	    {"https://metadata.google.internal/", "a private network"},
	    {"https://db.intern\xc3\xa4l.internal/", "a private network"},
	    {"https://db\xe3\x80\x82internal/", "a private network, with an ideographic dot"},
	    {"https://127.0.0.1/", "loopback"},
	    {"https://127.0.0.1./", "loopback, with a dot"},
	    {"https://127.0.0.1../", "an empty label"},
	    {"https://127.1/", "loopback, short"},
	    {"https://127.0.1/", "loopback, short"},
	    {"https://127/", "0.0.0.127: this network"},
	    {"https://2130706433/", "loopback as one number"},
	    {"https://017700000001/", "loopback, octal"},
	    {"https://0177.0.0.1/", "loopback, octal"},
	    {"https://0x7f000001/", "loopback, hexadecimal"},
	    {"https://0X7F000001/", "loopback, hexadecimal"},
	    {"https://0x7f.1/", "loopback, hexadecimal and short"},
	    {"https://0x7f.0.0.0x1/", "loopback, mixed"},
	    {"https://00000177.0.0.1/", "loopback, octal with zeros"},
	    {"https://127.0.0.01/", "loopback, octal"},
	    {"https://127.65535.1/", "too large a part"},
	    {"https://127.16777215/", "loopback's last"},
	    {"https://%31%32%37.0.0.1/", "loopback, encoded"},
	    {"https://127%2e0%2e0%2e1/", "loopback, encoded dots"},
	    {"https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "loopback in wide digits"},
	    {"https://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/", "loopback in circles"},
	    {"https://127\xe3\x80\x82"
	     "0\xef\xbc\x8e"
	     "0\xef\xbd\xa1"
	     "1/",
	     "loopback with dots of other scripts"},
	    {"https://0/", "unspecified"},
	    {"https://0.0.0.0/", "unspecified"},
	    {"https://0x0/", "unspecified"},
	    {"https://00/", "unspecified"},
	    {"https://0x/", "a number that is none"},
	    {"https://10.0.0.1/", "private"},
	    {"https://167772161/", "private as one number"},
	    {"https://012.1/", "private, octal and short"},
	    {"https://0xa000001/", "private, hexadecimal"},
	    {"https://172.16.0.1/", "private"},
	    {"https://0xac.0x10.1/", "private, hexadecimal"},
	    {"https://192.168.1.1/", "private"},
	    {"https://192.168.257/", "private, short"},
	    {"https://0300.0250.1.1/", "private, octal"},
	    {"https://100.64.0.1/", "a carrier's"},
	    {"https://169.254.169.254/latest/meta-data/", "a cloud's metadata"},
	    {"https://2852039166/", "metadata as one number"},
	    {"https://0251.0376.0251.0376/", "metadata, octal"},
	    {"https://0xa9fea9fe/", "metadata, hexadecimal"},
	    {"https://169.16689662/", "metadata, short"},
	    {"https://224.0.0.1/", "multicast"},
	    {"https://255.255.255.255/", "broadcast"},
	    {"https://4294967295/", "broadcast as one number"},
	    {"https://4294967296/", "too large a number"},
	    {"https://240.0.0.1/", "reserved"},
	    {"https://198.18.0.1/", "benchmarks"},
	    {"https://192.0.0.8/", "protocol assignments"},
	    {"https://256.1.1.1/", "no address"},
	    {"https://8.8.8.8.8/", "no address"},
	    {"https://example.com.8/", "ends in a number"},
	    {"https://example.0x7f/", "ends in a number"},
	    {"https://1.2.3.08/", "ends in a number that is not octal"},
	    {"https://[::1]/", "loopback"},
	    {"https://[::1]:8443/", "loopback"},
	    {"https://[0:0:0:0:0:0:0:1]/", "loopback"},
	    {"https://[0000:0000:0000:0000:0000:0000:0000:0001]/", "loopback"},
	    {"https://[::]/", "unspecified"},
	    {"https://[::ffff:127.0.0.1]/", "loopback, mapped"},
	    {"https://[::ffff:7f00:1]/", "loopback, mapped"},
	    {"https://[0:0:0:0:0:ffff:10.0.0.1]/", "private, mapped"},
	    {"https://[::FFFF:a9fe:a9fe]/", "metadata, mapped"},
	    {"https://[::127.0.0.1]/", "loopback in a form given up"},
	    {"https://[::ffff:0:127.0.0.1]/", "loopback, translated"},
	    {"https://[64:ff9b::127.0.0.1]/", "loopback by NAT64"},
	    {"https://[64:ff9b::a00:1]/", "private by NAT64"},
	    {"https://[64:ff9b:1::808:808]/", "NAT64 of local use"},
	    {"https://[2002:7f00:1::]/", "loopback by 6to4"},
	    {"https://[2002:c0a8:1::1]/", "private by 6to4"},
	    {"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "Teredo"},
	    {"https://[fe80::1]/", "link-local"},
	    {"https://[fe80::1%25eth0]/", "link-local, with its link"},
	    {"https://[fe80::1%eth0]/", "link-local, with its link"},
	    {"https://[2606:4700::1%251]/", "a link means something here alone"},
	    {"https://[fc00::1]/", "private"},
	    {"https://[fd00:ec2::254]/", "a cloud's metadata"},
	    {"https://[fec0::1]/", "private once"},
	    {"https://[ff02::1]/", "multicast"},
	    {"https://[100::1]/", "discarded"},
	    {"https://[4000::1]/", "not given out"},
	    {"https://[::1/", "half a bracket"},
	    {"https://::1/", "no brackets"},
	    {"https://[]/", "nothing in brackets"},
	    {"https://[::1]x/", "something behind brackets"},
	    {"https://[v1.x]/", "an address of the future"},
	    {"https://[127.0.0.1]/", "no IPv6"},
	    {"https://.example.com/", "an empty label"},
	    {"https://example..com/", "an empty label"},
	    {"https://./", "no name"},
	    {"https://exa$mple.com/", "no name"},
	    {"https://exa%00mple.com/", "a zero byte"},
	    {"https://exa%2fmple.com/", "a slash within a name"},
	    {"https://exa%40mple.com/", "an @ within a name"},
	    {"https://exa%25mple.com/", "a per cent within a name"},
	    {"https://xn--a/", "no A-label"},
	    {"https://\xff\xfe/", "no UTF-8"},
	};
	_Static_assert(sizeof rows / sizeof *rows >= 100, "a row for each spelling");

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(check(rows[i].text), ERR_INVALID_WEBHOOK_URL, "%s: %s", rows[i].text,
		             rows[i].why);
}

Test(url, is_accepted_for_public_hosts)
{
	static const char *const texts[] = {
	    "https://example.com",
	    "https://example.com/",
	    "HTTPS://EXAMPLE.COM/Hook?a=b#c",
	    "https://example.com:8443/hook",
	    "https://example.com:/",
	    "https://example.com./",
	    "https://example.com?x=@:/#",
	    "https://example.com/@\"<>{}|^`%zz",
	    "https://localhost.example.com/",
	    "https://internal.example.com/",
	    "https://notlocalhost/",
	    "https://myinternal/",
	    "https://intranet/",
	    "https://b\xc3\xbc"
	    "cher.example/",
	    "https://xn--bcher-kva.example/",
	    "https://r3---sn-abc.example.com/",
	    "https://a_b.example.com/",
	    "https://127.0.0.1.example.com/",
	    "https://0x7f.example/",
	    "https://8.8.8.8/",
	    "https://134744072/",
	    "https://[2606:4700::1111]/",
	    "https://[64:ff9b::8.8.8.8]/",
	    "https://[::ffff:8.8.8.8]/",
	    "https://192.0.2.1/",
	    "https://198.51.100.1/",
	    "https://203.0.113.1/",
	    "https://[2001:db8::1]/",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_eq(check(texts[i]), OK, "%s", texts[i]);
}

Test(url, of_an_image_may_be_http_with_the_same_rules)
{
	static const struct {
		const char *text, *normal; /* NULL: refused */
	} rows[] = {
	    {"http://example.com/a", "http://example.com/a"},
	    {"HTTP://Example.com:80", "http://example.com/"},
	    {"http://example.com:443/", "http://example.com:443/"},
	    {"https://example.com:80/", "https://example.com:80/"},
	    {"https://example.com:443/?x#y", "https://example.com/?x"},
	    {"http://127.0.0.1/", NULL},
	    {"http://0x7f.1/", NULL},
	    {"http://localhost/", NULL},
	    {"http://db.internal/", NULL},
	    {"http://u@example.com/", NULL},
	    {"http:///example.com", NULL},
	    {"ftp://example.com/", NULL},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buffer text = {0};
		struct url    url;
		enum err      err = url_check_image(span_str(rows[i].text), NULL);
		cr_expect_eq(err, rows[i].normal ? OK : ERR_INVALID_WEBHOOK_URL, "%s", rows[i].text);
		if (err || url_read_image(span_str(rows[i].text), &url)) continue;
		url_write(&url, &text);
		cr_expect(span_equal(buffer_span(&text), span_str(rows[i].normal)), "%s", rows[i].text);
		buffer_free(&text);
	}
}

Test(url, is_allowed_by_the_operators_exceptions_but_never_without_https)
{
	static const struct {
		const char *range, *text;
		enum err    want;
	} rows[] = {
	    {NULL, "https://127.0.0.1:1/", OK},
	    {NULL, "https://localhost/", OK},
	    {NULL, "https://db.internal./", OK},
	    {NULL, "https://[fe80::1]/", OK},
	    {NULL, "http://127.0.0.1/", ERR_INVALID_WEBHOOK_URL},
	    {NULL, "https://u@127.0.0.1/", ERR_INVALID_WEBHOOK_URL},
	    {NULL, "https://999.0.0.1/", ERR_INVALID_WEBHOOK_URL},
	    {"10.0.0.0/8", "https://10.1.2.3/", OK},
	    {"10.0.0.0/8", "https://0xa010203/", OK},
	    {"10.0.0.0/8", "https://[::ffff:10.1.2.3]/", OK},
	    {"10.0.0.0/8", "https://11.1.2.3/", OK},
	    {"10.0.0.0/8", "https://192.168.0.1/", ERR_INVALID_WEBHOOK_URL},
	    {"10.0.0.0/8", "https://localhost/", ERR_INVALID_WEBHOOK_URL},
	    {"10.0.0.0/8", "https://db.internal/", OK},
	    {"127.0.0.0/8", "https://localhost/", OK},
	    {"127.0.0.0/8", "https://db.internal/", ERR_INVALID_WEBHOOK_URL},
	    {"127.0.0.1/32", "https://db.internal/", ERR_INVALID_WEBHOOK_URL},
	    {"::1/128", "https://db.internal/", ERR_INVALID_WEBHOOK_URL},
	    {"0.0.0.0/0", "https://db.internal/", OK},
	    {"fd00::/8", "https://db.internal/", OK},
	    {"::1/128", "https://a.localhost/", OK},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static struct address_rules rules;
		rules = (struct address_rules){.allow_private = !rows[i].range};
		if (rows[i].range)
			cr_assert(address_range_read(rows[i].range, &rules.allowed[rules.allowed_count++]));
		cr_expect_eq(url_check(span_str(rows[i].text), &rules), rows[i].want, "%s with %s",
		             rows[i].text, rows[i].range);
	}
}

Test(url, has_one_normal_form)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"https://example.com", "https://example.com/"},
	    {"https://example.com/", "https://example.com/"},
	    {"hTTps://eXample.COM/A/B", "https://example.com/A/B"},
	    {"https://example.com:443/", "https://example.com/"},
	    {"https://example.com:0443/", "https://example.com/"},
	    {"https://example.com:/", "https://example.com/"},
	    {"https://example.com:8443", "https://example.com:8443/"},
	    {"https://example.com./x", "https://example.com/x"},
	    {"https://example.com#top", "https://example.com/"},
	    {"https://example.com/#", "https://example.com/"},
	    {"https://example.com?", "https://example.com/?"},
	    {"https://example.com/?", "https://example.com/?"},
	    {"https://example.com?a=/../", "https://example.com/?a=/../"},
	    {"https://example.com/a/../b/./c//", "https://example.com/a/../b/./c//"},
	    {"https://example.com/%7e%7E~", "https://example.com/%7e%7E~"},
	    {"https://example.com/a;b=c?d=%20#e?f", "https://example.com/a;b=c?d=%20"},
	    {"https://B\xc3\x9c"
	     "CHER.example/",
	     "https://xn--bcher-kva.example/"},
	    {"https://XN--bcher-KVA.example/", "https://xn--bcher-kva.example/"},
	    {"https://stra\xc3\x9f"
	     "e.example/",
	     "https://xn--strae-oqa.example/"},
	    {"https://ex%61mple.com/", "https://example.com/"},
	    {"https://134744072/", "https://8.8.8.8/"},
	    {"https://0000127.0.0.1/", "https://87.0.0.1/"},
	    {"https://EXAMPLE.COM.:443#x", "https://example.com/"},
	    {"https://[2606:4700:0:0::1111]:443/", "https://[2606:4700::1111]/"},
	    {"https://[2606:4700::ABCD]:8443/", "https://[2606:4700::abcd]:8443/"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buffer out = {0};
		struct buffer again = {0};
		cr_expect_eq(url_normal(span_str(rows[i].text), &out), OK, "%s", rows[i].text);
		cr_expect(span_is(buffer_span(&out), rows[i].want), "%s: %.*s", rows[i].text, (int)out.size,
		          (char *)out.at);
		cr_expect_eq(url_normal(buffer_span(&out), &again), OK, "%s", rows[i].want);
		cr_expect(span_equal(buffer_span(&out), buffer_span(&again)),
		          "the normal form of a normal form: %s", rows[i].want);
		buffer_free(&out);
		buffer_free(&again);
	}
}

Test(url, has_a_maximum_length)
{
	static char text[URL_BYTES_MAX + 2];

	memset(text, 'a', sizeof text);
	memcpy(text, "https://example.com/", 20);
	cr_expect_eq(url_check(span_of(text, URL_BYTES_MAX), NULL), OK);
	cr_expect_eq(url_check(span_of(text, URL_BYTES_MAX + 1), NULL), ERR_INVALID_WEBHOOK_URL);
	memset(text + 8, 'a', URL_BYTES_MAX - 8);
	cr_expect_eq(url_check(span_of(text, URL_BYTES_MAX), NULL), ERR_INVALID_WEBHOOK_URL);
}

Test(url, ends_where_its_span_ends)
{
	cr_expect_eq(url_check(span_of("https://example.com:80x", 22), NULL), OK);
	cr_expect_eq(url_check(span_of("https://example.com\0.internal/", 30), NULL),
	             ERR_INVALID_WEBHOOK_URL);
	cr_expect_eq(url_check(span_of("https://example.com/\0", 21), NULL), ERR_INVALID_WEBHOOK_URL);
	cr_expect_eq(url_check(span_of(NULL, 0), NULL), ERR_INVALID_WEBHOOK_URL);
}
