/* Addresses: which may be connected to, which may be written in a URL, and why. */
#include "schemas/address.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

enum verdict { NO, NAME_ONLY, YES };

static struct address address(const char *text)
{
	struct address read;
	cr_assert(address_read_v6(text, &read) || address_read_v4(text, &read), "no address: %s", text);
	return read;
}

static void allow(struct address_rules *rules, const char *range)
{
	cr_assert(address_range_read(range, &rules->allowed[rules->allowed_count++]), "%s", range);
}

Test(address, is_judged_by_its_range)
{
	static const struct {
		const char  *text;
		enum verdict want;
		const char  *why;
	} rows[] = {
	    {"8.8.8.8", YES, "a stranger's"},
	    {"0.0.0.0", NO, "this host, as far as connect() is concerned"},
	    {"0.255.255.255", NO, "this network's last"},
	    {"1.0.0.0", YES, "just behind it"},
	    {"9.255.255.255", YES, "just before 10/8"},
	    {"10.0.0.0", NO, "private"},
	    {"10.255.255.255", NO, "private"},
	    {"11.0.0.0", YES, "just behind 10/8"},
	    {"100.63.255.255", YES, "just before the carriers'"},
	    {"100.64.0.0", NO, "a carrier's"},
	    {"100.127.255.255", NO, "a carrier's"},
	    {"100.128.0.0", YES, "just behind the carriers'"},
	    {"126.255.255.255", YES, "just before loopback"},
	    {"127.0.0.1", NO, "loopback"},
	    {"127.255.255.255", NO, "loopback is a /8"},
	    {"128.0.0.0", YES, "just behind loopback"},
	    {"169.253.255.255", YES, "just before link-local"},
	    {"169.254.169.254", NO, "a cloud's metadata"},
	    {"169.255.0.0", YES, "just behind link-local"},
	    {"172.15.255.255", YES, "just before 172.16/12"},
	    {"172.16.0.0", NO, "private"},
	    {"172.31.255.255", NO, "private"},
	    {"172.32.0.0", YES, "just behind 172.16/12"},
	    {"192.0.0.0", NO, "protocol assignments"},
	    {"192.0.0.170", NO, "asks for NAT64's prefix"},
	    {"192.0.1.255", YES, "between two assignments"},
	    {"192.0.2.1", NAME_ONLY, "documentation"},
	    {"192.0.3.0", YES, "just behind documentation"},
	    {"192.31.196.1", NO, "swallows reverse look-ups"},
	    {"192.52.193.1", NO, "multicast's relays"},
	    {"192.88.99.1", NO, "6to4's relay"},
	    {"192.167.255.255", YES, "just before 192.168/16"},
	    {"192.168.0.1", NO, "private"},
	    {"192.168.255.255", NO, "private"},
	    {"192.169.0.0", YES, "just behind 192.168/16"},
	    {"192.175.48.1", NO, "swallows reverse look-ups"},
	    {"198.17.255.255", YES, "just before the benchmarks'"},
	    {"198.18.0.1", NO, "benchmarks"},
	    {"198.19.255.255", NO, "benchmarks"},
	    {"198.20.0.0", YES, "just behind the benchmarks'"},
	    {"198.51.100.7", NAME_ONLY, "documentation"},
	    {"203.0.113.255", NAME_ONLY, "documentation"},
	    {"223.255.255.255", YES, "just before multicast"},
	    {"224.0.0.1", NO, "multicast"},
	    {"239.255.255.255", NO, "multicast"},
	    {"240.0.0.1", NO, "reserved"},
	    {"255.255.255.255", NO, "broadcast"},
	    {"::", NO, "unspecified: this host"},
	    {"::1", NO, "loopback"},
	    {"::2", NO, "not given out"},
	    {"::7f00:1", NO, "an IPv4 address in a form long given up"},
	    {"::808:808", NO, "likewise, though the address inside is public"},
	    {"::ffff:127.0.0.1", NO, "loopback, mapped"},
	    {"::ffff:10.1.2.3", NO, "private, mapped"},
	    {"::ffff:8.8.8.8", YES, "a stranger's, mapped"},
	    {"::ffff:192.0.2.1", NAME_ONLY, "documentation, mapped"},
	    {"::ffff:0:127.0.0.1", NO, "translated, not mapped: not given out"},
	    {"::ffff:0:8.8.8.8", NO, "likewise"},
	    {"64:ff9b::127.0.0.1", NO, "loopback behind a translator"},
	    {"64:ff9b::10.0.0.1", NO, "private, behind a translator"},
	    {"64:ff9b::a9fe:a9fe", NO, "metadata behind a translator"},
	    {"64:ff9b::8.8.8.8", YES, "how hosts without IPv4 reach a stranger"},
	    {"64:ff9b:0:0:1::8.8.8.8", NO, "not the translator's prefix"},
	    {"64:ff9b:1::8.8.8.8", NO, "the translator's prefix for local use"},
	    {"100::1", NO, "discarded"},
	    {"100:0:0:1::1", NO, "a dummy prefix"},
	    {"1fff:ffff::1", NO, "just before what was given out"},
	    {"2000::1", YES, "given out"},
	    {"2001::1", NO, "Teredo"},
	    {"2001:0:7f00:1::", NO, "Teredo with loopback for a server"},
	    {"2001:0:808:808:0:ffff:80ff:fffe", NO, "Teredo with loopback for a client, inverted"},
	    {"2001:1::1", NO, "protocol assignments"},
	    {"2001:2::1", NO, "benchmarks"},
	    {"2001:10::1", NO, "no locator, but a hash"},
	    {"2001:20::1", NO, "no locator, but a hash"},
	    {"2001:1ff:ffff::1", NO, "protocol assignments' last"},
	    {"2001:200::1", YES, "just behind them"},
	    {"2001:4860:4860::8888", YES, "a stranger's"},
	    {"2001:db7:ffff::1", YES, "just before documentation"},
	    {"2001:db8::1", NAME_ONLY, "documentation"},
	    {"2001:db9::1", YES, "just behind documentation"},
	    {"2002:7f00:1::", NO, "loopback by 6to4"},
	    {"2002:a00:1::1", NO, "private by 6to4"},
	    {"2002:c0a8:101::1", NO, "private by 6to4"},
	    {"2002:a9fe:a9fe::", NO, "metadata by 6to4"},
	    {"2002:808:808::1", YES, "a stranger's by 6to4"},
	    {"2606:4700::1111", YES, "a stranger's"},
	    {"2620:4f:8000::1", NO, "swallows reverse look-ups"},
	    {"2620:4f:8001::1", YES, "just behind it"},
	    {"3ffe::1", YES, "an experiment's, given back and public like any"},
	    {"3fff::1", NAME_ONLY, "documentation"},
	    {"3fff:fff:ffff::1", NAME_ONLY, "documentation's last"},
	    {"3fff:1000::1", YES, "just behind documentation"},
	    {"4000::1", NO, "not given out"},
	    {"5f00::1", NO, "segments of routes"},
	    {"fbff::1", NO, "not given out"},
	    {"fc00::1", NO, "private"},
	    {"fd12:3456::1", NO, "private"},
	    {"fd00:ec2::254", NO, "a cloud's metadata"},
	    {"fe80::1", NO, "link-local"},
	    {"febf::1", NO, "link-local"},
	    {"fec0::1", NO, "private once, site-local"},
	    {"ff02::1", NO, "multicast"},
	    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NO, "multicast's last"},
	};
	_Static_assert(sizeof rows / sizeof *rows >= 100, "a row for each edge");

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct address one = address(rows[i].text);
		cr_expect_eq(address_may_dial(NULL, &one), rows[i].want == YES, "%s: %s", rows[i].text,
		             rows[i].why);
		cr_expect_eq(address_may_name(NULL, &one), rows[i].want != NO, "%s: %s", rows[i].text,
		             rows[i].why);
	}
}

Test(address, of_this_host_is_refused_in_every_form)
{
	static struct address_rules rules;
	static const char *const own[] = {"8.8.4.4", "::ffff:8.8.4.4", "64:ff9b::8.8.4.4", "2002:808:404::9",
	                                  "2606:4700::1"};

	rules.own[rules.own_count++] = address("8.8.4.4");
	rules.own[rules.own_count++] = address("2606:4700::1");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		struct address one = address(own[i]);
		cr_expect_not(address_may_dial(&rules, &one), "%s", own[i]);
		cr_expect(address_may_name(&rules, &one), "%s", own[i]);
	}
	struct address other = address("8.8.4.5");
	cr_expect(address_may_dial(&rules, &other));
	allow(&rules, "8.8.4.4/32");
	struct address first = address("8.8.4.4");
	cr_expect(address_may_dial(&rules, &first), "the operator allows it");
}

Test(address, is_allowed_by_the_operators_exceptions)
{
	static const struct {
		const char *range, *text;
		bool        want;
	} rows[] = {
	    {"10.1.0.0/16", "10.1.255.255", true},
	    {"10.1.0.0/16", "10.2.0.0", false},
	    {"10.1.2.3/16", "10.1.9.9", true},
	    {"10.1.0.0/16", "::ffff:10.1.0.1", true},
	    {"10.1.0.0/16", "64:ff9b::10.1.0.1", true},
	    {"10.1.0.0/16", "2002:a01:1::", true},
	    {"10.1.0.0/16", "::10.1.0.1", false},
	    {"127.0.0.1/32", "127.0.0.1", true},
	    {"127.0.0.1/32", "127.0.0.2", false},
	    {"127.0.0.1/32", "::1", false},
	    {"0.0.0.0/0", "192.168.1.1", true},
	    {"0.0.0.0/0", "fd00::1", false},
	    {"::/0", "fd00::1", true},
	    {"::/0", "192.168.1.1", false},
	    {"::ffff:0:0/96", "192.168.1.1", true},
	    {"fd00::/9", "fd7f::1", true},
	    {"fd00::/9", "fd80::1", false},
	    {"2002:a00::/24", "2002:a00:1::", true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static struct address_rules rules;
		struct address              one = address(rows[i].text);
		rules = (struct address_rules){0};
		allow(&rules, rows[i].range);
		cr_expect_eq(address_may_dial(&rules, &one), rows[i].want, "%s in %s", rows[i].text,
		             rows[i].range);
		cr_expect_eq(address_may_name(&rules, &one), rows[i].want, "%s in %s", rows[i].text,
		             rows[i].range);
	}
	static struct address_rules all = {.allow_private = true};
	struct address              metadata = address("169.254.169.254");
	cr_expect(address_may_dial(&all, &metadata));
}

Test(address, invalid_range_is_refused)
{
	static const char *const texts[] = {"",
	                                    "/",
	                                    "10.0.0.0",
	                                    "10.0.0.0/",
	                                    "10.0.0.0/33",
	                                    "10.0.0.0/-1",
	                                    "10.0.0.0/8x",
	                                    "10.0.0.0/ 8",
	                                    "10/8",
	                                    "::/129",
	                                    "::1",
	                                    "x/8",
	                                    "::ffff/",
	                                    "1111:1111:1111:1111:1111:1111:111.111.111.1111/1"};
	struct address_range     range;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_not(address_range_read(texts[i], &range), "%s", texts[i]);
}

Test(address, of_a_socket_has_no_scope_and_a_family_of_the_net)
{
	struct sockaddr_in  v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr     local = {.sa_family = AF_UNIX};
	struct address      got, want = address("8.8.8.8");
	char                text[IP_TEXT];

	cr_assert(address_of((struct sockaddr *)&v4, &got));
	cr_expect_eq(memcmp(&got, &want, sizeof got), 0);
	address_text(&got, text);
	cr_expect_str_eq(text, "8.8.8.8");
	cr_assert_eq(inet_pton(AF_INET6, "2606:4700::1", &v6.sin6_addr), 1);
	cr_assert(address_of((struct sockaddr *)&v6, &got));
	address_text(&got, text);
	cr_expect_str_eq(text, "2606:4700::1");
	v6.sin6_scope_id = 2;
	cr_expect_not(address_of((struct sockaddr *)&v6, &got));
	cr_expect_not(address_of(&local, &got));
}
