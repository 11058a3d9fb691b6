/* The options of `serve`: accepted and refused values, messages, and the conversion back to a command
 * line. */
#include "actors/rt/options.h"
#include "actors/rt/options_inside.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 24 };

static struct options options;
static char           why[OPTION_WHY];

/* Parses words that end with NULL. */
static enum err read_words(char **words)
{
	int count = 0;

	while (words[count])
		count++;
	why[0] = 0;
	return options_read(count, words, &options, why);
}
#define READ(...) read_words((char *[WORDS_MAX]){__VA_ARGS__})

static const char *write_config(const char *text)
{
	static char path[64];
	FILE       *file;

	snprintf(path, sizeof path, "/tmp/stampede-options-%d", (int)getpid());
	file = fopen(path, "w");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
	return path;
}

Test(options, have_defaults)
{
	cr_assert_eq(READ("--data", "d"), OK, "%s", why);
	cr_expect_str_eq(options.data, "d");
	cr_expect_str_eq(options.listen, "127.0.0.1:8080");
	cr_expect_str_eq(options.admin, "127.0.0.1:9090");
	cr_expect_null(options.public_url);
	cr_expect_eq(options.shards, 0);
	cr_expect_eq(options.http_threads, 0);
	cr_expect_eq(options.max_body_bytes, BODY_BYTES_DEFAULT_MAX);
	cr_expect_eq(options.keep_alive.v, KEEP_ALIVE_S_DEFAULT * US_PER_SEC);
	cr_expect_eq(options.connections_per_address, 0);
	cr_expect_eq(options.listen_fd, -1);
	cr_expect_eq(options.admin_fd, -1);
	cr_expect_not(options.test_clock);
	cr_expect_not(options.may_format);
}

Test(options, take_a_value_as_the_next_word_or_after_an_equals_sign)
{
	cr_assert_eq(READ("--data=d", "--shards", "3", "--http-threads=2", "--test-clock", "--max-body=0",
	                  "--idempotency-keys=7"),
	             OK, "%s", why);
	cr_expect_str_eq(options.data, "d");
	cr_expect_eq(options.shards, 3);
	cr_expect_eq(options.http_threads, 2);
	cr_expect_eq(options.max_body_bytes, 0);
	cr_expect_eq(options.idempotency_keys, 7);
	cr_expect(options.test_clock);
}

Test(options, take_durations)
{
	static const struct {
		char   *text;
		int64_t seconds;
	} rows[] = {{"1s", 1}, {"30s", 30}, {"5m", 300}, {"1h", 3600}, {"060s", 60}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert_eq(READ("--data", "d", "--keep-alive", rows[i].text), OK, "%s", why);
		cr_expect_eq(options.keep_alive.v, rows[i].seconds * US_PER_SEC, "%s", rows[i].text);
	}
	cr_expect_eq(READ("--data", "d", "--keep-alive", "2h"), ERR_BAD_OPTION);
	cr_expect_str_eq(why, "--keep-alive: wants a duration from 1s to 3600s, such as 30s or 5m, not 2h");
}

Test(options, collect_repeatable_values_and_use_the_last_of_others)
{
	cr_assert_eq(
	    READ("--data", "a", "--data", "b", "--cors-origin", "http://x", "--cors-origin", "https://y:1"),
	    OK, "%s", why);
	cr_expect_str_eq(options.data, "b");
	cr_assert_eq(options.cors_origin_count, 2);
	cr_expect_str_eq(options.cors_origins[0], "http://x");
	cr_expect_str_eq(options.cors_origins[1], "https://y:1");
}

Test(options, name_the_refused_option)
{
	static const struct {
		char       *words[WORDS_MAX];
		const char *want;
	} cases[] = {
	    {{"--listen", "1.2.3.4:5"}, "--data"},
	    {{"--data"}, "--data"},
	    {{"--data", ""}, "--data"},
	    {{"--data", "d", "--bogus"}, "unknown option --bogus"},
	    {{"--data", "d", "stray"}, "unexpected argument stray"},
	    {{"--data", "d", "--dat", "x"}, "unknown option --dat, did you mean --data?"},
	    {{"--data", "d", "--confg", "x"}, "unknown option --confg, did you mean --config?"},
	    {{"--data", "d", "--listn-fd", "3"}, "unknown option --listn-fd"},
	    {{"--data", "d", "--shards", "0"}, "--shards"},
	    {{"--data", "d", "--shards", "65"}, "--shards"},
	    {{"--data", "d", "--shards", "2x"}, "--shards"},
	    {{"--data", "d", "--shards", ""}, "--shards"},
	    {{"--data", "d", "--max-body", "-1"}, "--max-body"},
	    {{"--data", "d", "--keep-alive", "0"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "0s"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "30"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "-30s"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "1.5m"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "30s "}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "3601s"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", "1d"}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive", ""}, "--keep-alive"},
	    {{"--data", "d", "--keep-alive"}, "--keep-alive"},
	    {{"--data", "d", "--connections-per-address", "-1"}, "--connections-per-address"},
	    {{"--data", "d", "--connections-per-address", "1000001"}, "--connections-per-address"},
	    {{"--data", "d", "--connections-per-address", "many"}, "--connections-per-address"},
	    {{"--data", "d", "--idempotency-keys", "0"}, "--idempotency-keys"},
	    {{"--data", "d", "--idempotency-keys", "100000001"}, "--idempotency-keys"},
	    {{"--data", "d", "--max-body", "99999999999999999999"}, "--max-body"},
	    {{"--data", "d", "--listen", "nowhere"}, "--listen"},
	    {{"--data", "d", "--public-url", "ftp://x"}, "--public-url"},
	    {{"--data", "d", "--public-url", "https://"}, "--public-url"},
	    {{"--data", "d", "--public-url", "/"}, "--public-url"},
	    {{"--data", "d", "--cors-origin", "https://x/"}, "--cors-origin"},
	    {{"--data", "d", "--egress-allow", "10.0.0.0"}, "--egress-allow"},
	    {{"--data", "d", "--egress-allow", "10.0.0.0/33"}, "--egress-allow"},
	    {{"--data", "d", "--test-clock=maybe"}, "--test-clock"},
	    {{"--data", "d", "--tls-cert", "c"}, "--tls-key"},
	    {{"--data", "d", "--tls-key", "k"}, "--tls-cert"},
	    {{"--data", "d", "--wallet-google", "http://127.0.0.1:9"},
	     "--wallet-google: http is for tests only"},
	    {{"--data", "d", "--wallet-google-keys", "http://127.0.0.1:9/k"},
	     "--wallet-google-keys: http is"},
	    {{"--data", "d", "--egress-allow", "127.0.0.0/8", "--wallet-google", "http://[::1]:9"},
	     "--wallet-google: "},
	    {{"--data", "d", "--config", "/nonexistent/file"}, "--config"},
	    {{"--data", "d", "--config"}, "--config"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char texts[WORDS_MAX][64], *words[WORDS_MAX] = {NULL};
		for (size_t j = 0; cases[i].words[j]; j++) {
			snprintf(texts[j], sizeof texts[j], "%s",
			         cases[i].words[j]); /* can be changed in place */
			words[j] = texts[j];
		}
		enum err got = read_words(words);
		cr_expect_eq(got, ERR_BAD_OPTION, "case %zu", i);
		cr_expect_eq(strncmp(why, cases[i].want, strlen(cases[i].want)), 0, "case %zu: %s", i, why);
	}
}

Test(options, accept_google_in_plain_text_only_beside_a_private_network)
{
	cr_expect_eq(READ("--data", "d", "--egress-allow-private", "--wallet-google", "http://127.0.0.1:9",
	                  "--wallet-google-keys", "http://127.0.0.1:9/k"),
	             OK, "%s", why);
	cr_expect_eq(READ("--data", "d", "--wallet-google", "https://127.0.0.1:9"), OK, "%s", why);
}

Test(options, accept_both_kinds_of_address_range)
{
	cr_assert_eq(READ("--data", "d", "--egress-allow", "10.0.0.0/8", "--egress-allow", "fd00::/7"), OK,
	             "%s", why);
	cr_expect_eq(options.egress_allow_count, 2);
}

Test(options, set_the_addresses_that_webhooks_may_have)
{
	static struct address_rules rules;
	struct address              inside, outside;

	cr_assert(address_read_v4("10.1.2.3", &inside) && address_read_v4("11.1.2.3", &outside));
	cr_assert_eq(READ("--data", "d", "--egress-allow=fd00::/8", "--egress-allow=10.0.0.0/8"), OK, "%s",
	             why);
	options_egress(&options, &rules);
	cr_expect(address_is_allowed(&rules, &inside));
	cr_expect_not(address_is_allowed(&rules, &outside));
	cr_assert_eq(READ("--data", "d", "--egress-allow-private"), OK, "%s", why);
	options_egress(&options, &rules);
	cr_expect(address_is_allowed(&rules, &outside));
}

Test(options, can_be_in_a_file)
{
	const char *path = write_config(
	    "# a service\n\n  listen = 0.0.0.0:80   # outside\r\ntest-clock\n"
	    "egress-allow-private = off\ncors-origin = https://a\ncors-origin=https://b\n"
	    "data = /var/lib/with#sign");

	cr_assert_eq(READ("--config", (char *)path), OK, "%s", why);
	cr_expect_str_eq(options.listen, "0.0.0.0:80");
	cr_expect_str_eq(options.data, "/var/lib/with#sign");
	cr_expect(options.test_clock);
	cr_expect_not(options.egress_allow_private);
	cr_expect_eq(options.cors_origin_count, 2);
	options_free(&options);
	unlink(path);
}

Test(options, of_a_file_may_have_a_byte_order_mark_and_crlf)
{
	const char *path = write_config("\xef\xbb\xbf"
	                                "data = d\r\nshards = 2\r\n\r\ntest-clock\r\n");

	cr_assert_eq(READ("--config", (char *)path), OK, "%s", why);
	cr_expect_str_eq(options.data, "d");
	cr_expect_eq(options.shards, 2);
	cr_expect(options.test_clock);
	options_free(&options);
	unlink(path);
}

/* The reference page and the sample file print them. */
Test(options, have_an_example_or_a_default_that_is_valid)
{
	for (const struct row *row = option_rows; row < option_rows + option_row_count; row++) {
		char text[OPTION_DEFAULT_TEXT], word[128],
		    *words[] = {"--data", "d", word, "--tls-cert", "c", "--tls-key", "k", NULL};
		const char *value = option_default(row, text) ? text : row->example;
		if (!row->about || row->kind == FLAG) continue;
		cr_assert(value, "%s", row->name);
		snprintf(word, sizeof word, "%s=%s", row->name, value);
		cr_expect_eq(read_words(words), OK, "%s: %s", word, why);
	}
}

static char told[256];

static void tell(void *user, const char *name)
{
	(void)user;
	snprintf(told + strlen(told), sizeof told - strlen(told), "%s ", name);
}

static const char *difference(const struct options *now, const struct options *fresh, bool reloadable)
{
	told[0] = 0;
	options_compare(now, fresh, reloadable, tell, NULL);
	return told;
}

Test(options, report_changes_and_whether_they_are_allowed)
{
	struct options now;

	cr_assert_eq(READ("--data", "d", "--cors-origin", "https://a", "--listen", "a:1", "--egress-ca", "x"),
	             OK);
	now = options;
	cr_assert_eq(READ("--data", "d", "--cors-origin", "https://a", "--listen", "a:1", "--egress-ca", "x"),
	             OK);
	cr_expect_str_eq(difference(&now, &options, true), "");
	cr_expect_str_eq(difference(&now, &options, false), "");
	cr_assert_eq(READ("--data", "d", "--cors-origin", "https://b", "--listen", "a:2", "--shards", "3",
	                  "--max-body", "7", "--keep-alive", "9s", "--egress-allow-private", "--test-clock"),
	             OK);
	cr_expect_str_eq(difference(&now, &options, true),
	                 "cors-origin max-body keep-alive egress-allow-private egress-ca ");
	cr_expect_str_eq(difference(&now, &options, false), "shards listen test-clock ");
	cr_assert_eq(READ("--data", "d", "--cors-origin", "https://a", "--cors-origin", "https://b",
	                  "--listen", "a:1", "--egress-ca", "x"),
	             OK);
	cr_expect_str_eq(difference(&now, &options, true), "cors-origin ");
}

Test(options, are_adopted_where_they_may_change)
{
	struct options now;

	cr_assert_eq(READ("--data", "d", "--listen", "a:1", "--cors-origin", "https://a", "--egress-allow",
	                  "10.0.0.0/8"),
	             OK);
	now = options;
	cr_assert_eq(READ("--data", "e", "--listen", "a:2", "--max-body", "7", "--cors-origin", "https://b",
	                  "--cors-origin", "https://c", "--tls-cert", "c", "--tls-key", "k"),
	             OK);
	options_adopt(&now, &options);
	cr_expect_str_eq(now.data, "d");
	cr_expect_str_eq(now.listen, "a:1");
	cr_expect_eq(now.max_body_bytes, 7);
	cr_assert_eq(now.cors_origin_count, 2);
	cr_expect_str_eq(now.cors_origins[1], "https://c");
	cr_expect_eq(now.egress_allow_count, 0);
	cr_expect_str_eq(now.tls_cert, "c");
	cr_expect_str_eq(difference(&now, &options, true), "");
}

Test(options, of_the_command_line_override_the_file)
{
	const char *path = write_config("data = file\nshards = 2\ncors-origin = https://file\n");

	cr_assert_eq(READ("--data", "line", "--config", (char *)path, "--cors-origin", "https://line"), OK,
	             "%s", why);
	cr_expect_str_eq(options.data, "line");
	cr_expect_eq(options.shards, 2);
	cr_assert_eq(options.cors_origin_count, 1);
	cr_expect_str_eq(options.cors_origins[0], "https://line");
	options_free(&options);
	unlink(path);
}

Test(options, name_the_refused_option_of_a_file)
{
	static const struct {
		const char *text;
		unsigned    line;
		const char *want;
	} cases[] = {
	    {"colour = red\n", 1, "unknown option colour"},
	    {"# x\n\nlistn = x\n", 3, "unknown option listn, did you mean listen?"},
	    {"shards = 2\r\nlisten = x\r\n", 2, "--listen"},
	    {"shards\n", 1, "--shards"},
	    {"\xef\xbb\xbfshards\n", 1, "--shards"},
	    {"supervisor-pid = 1\n", 1, "unknown option supervisor-pid"},
	    {"settings-fd = 1\n", 1, "unknown option settings-fd"},
	    {"--data = d\n", 1, "unknown option --data"},
	    {"config = x\n", 1, "unknown option config"},
	    {"listen 127.0.0.1:80\n", 1, "wants NAME = VALUE, not listen 127.0.0.1:80"},
	    {"shards = 2\n\nshards = 3\n", 3, "--shards: line 1 has it already"},
	    {"data = e\ndata = e\n", 2, "--data: line 1 has it already"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *path = write_config(cases[i].text);
		cr_expect_eq(READ("--data", "d", "--config", (char *)path), ERR_BAD_OPTION, "%s",
		             cases[i].text);
		char want[OPTION_WHY];
		snprintf(want, sizeof want, "line %u of %s: %s", cases[i].line, path, cases[i].want);
		cr_expect_eq(strncmp(why, want, strlen(want)), 0, "%s", why);
		options_free(&options);
		unlink(path);
	}
}

Test(options, a_configuration_in_another_encoding_is_named)
{
	static const struct {
		const char *text;
		size_t      size;
		const char *want;
	} cases[] = {
	    {"\xff\xfe"
	     "d\0=\0",
	     6, "--config: the file is UTF-16; UTF-8 is wanted"},
	    {"\xfe\xff"
	     "\0d\0=",
	     6, "--config: the file is UTF-16; UTF-8 is wanted"},
	    {"d\0=\0", 4, "--config: the file is UTF-16; UTF-8 is wanted"},
	    {"\0d\0=", 4, "--config: the file is UTF-16; UTF-8 is wanted"},
	    {"\xff\xfe\0\0d\0\0\0", 8, "--config: the file is UTF-32; UTF-8 is wanted"},
	    {"\0\0\xfe\xff\0\0\0d", 8, "--config: the file is UTF-32; UTF-8 is wanted"},
	    {"data\0=", 6, "--config: the file holds a zero byte"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *path = write_config("");
		FILE       *file = fopen(path, "w");

		cr_assert(file);
		cr_assert_eq(fwrite(cases[i].text, 1, cases[i].size, file), cases[i].size);
		fclose(file);
		cr_expect_eq(READ("--config", (char *)path), ERR_BAD_OPTION);
		cr_expect_str_eq(why, cases[i].want);
		options_free(&options);
		unlink(path);
	}
}

Test(options, are_passed_to_a_child)
{
	struct option_args args = {.argc = 1, .argv = {"stampede"}};
	struct options     before;

	cr_assert_eq(READ("--data", "d", "--shards", "2", "--cors-origin", "http://a", "--cors-origin",
	                  "http://b", "--max-body", "0", "--idempotency-keys", "12", "--test-clock",
	                  "--egress-allow", "::/0", "--keep-alive=2m", "--connections-per-address=9",
	                  "--memory", "99999999"),
	             OK, "%s", why);
	options.listen_fd = 7;
	options.supervisor_pid = 42;
	options.may_format = options.restored = true;
	options.from = "b";
	before = options;
	options_write(&before, &args);
	cr_expect_null(args.argv[args.argc]);
	cr_expect_str_eq(args.argv[0], "stampede");
	cr_assert_eq(options_read(args.argc - 1, (char **)args.argv + 1, &options, why), OK, "%s", why);
	cr_expect_str_eq(options.data, "d");
	cr_expect_eq(options.shards, 2);
	cr_expect_eq(options.http_threads, 0);
	cr_expect_eq(options.cors_origin_count, 2);
	cr_expect_eq(options.egress_allow_count, 1);
	cr_expect_eq(options.max_body_bytes, 0);
	cr_expect_eq(options.memory_bytes, 99999999);
	cr_expect_eq(options.idempotency_keys, 12);
	cr_expect_eq(options.keep_alive.v, 120 * US_PER_SEC);
	cr_expect_eq(options.connections_per_address, 9);
	cr_expect_eq(options.listen_fd, 7);
	cr_expect_eq(options.admin_fd, -1);
	cr_expect_eq(options.supervisor_pid, 42);
	cr_expect(options.may_format && options.restored && options.test_clock &&
	          !options.egress_allow_private);
	cr_expect_str_eq(options.from, "b");
	cr_expect_null(options.lineage);
}

Test(options, fit_a_child_when_every_list_is_full)
{
	struct option_args args = {.argc = 4};

	cr_assert_eq(
	    READ("--data", "d", "--shards", "2", "--http-threads", "1", "--tls-cert", "c", "--tls-key", "k"),
	    OK, "%s", why);
	for (options.cors_origin_count = 0; options.cors_origin_count < OPTION_LIST_MAX;
	     options.cors_origin_count++)
		options.cors_origins[options.cors_origin_count] = "http://a";
	for (options.egress_allow_count = 0; options.egress_allow_count < OPTION_LIST_MAX;
	     options.egress_allow_count++)
		options.egress_allow[options.egress_allow_count] = "::/0";
	options.egress_ca = options.public_url = "x";
	options.listen_fd = options.admin_fd = options.supervisor_pid = 1;
	options.may_format = options.restored = options.test_clock = options.egress_allow_private = true;
	options.from = options.lineage = "x";
	options_write(&options, &args);
	cr_expect_lt(args.argc, OPTION_ARGS_MAX);
}

Test(host_port, is_split)
{
	static const struct {
		const char *text;
		bool        want;
		const char *host;
		uint16_t    port;
	} cases[] = {
	    {"127.0.0.1:80", true, "127.0.0.1", 80},
	    {"[::1]:0", true, "::1", 0},
	    {"localhost:65535", true, "localhost", 65535},
	    {"::1:80", false, "", 0},
	    {"localhost", false, "", 0},
	    {":80", false, "", 0},
	    {"[]:80", false, "", 0},
	    {"[::1:80", false, "", 0},
	    {"x:", false, "", 0},
	    {"x:65536", false, "", 0},
	    {"x:8o", false, "", 0},
	    {"x:+8", false, "", 0},
	    {"", false, "", 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char     host[HOST_TEXT];
		uint16_t port;
		bool     got = host_port_read(cases[i].text, host, &port);

		cr_expect_eq(got, cases[i].want, "%s", cases[i].text);
		if (!got || !cases[i].want) continue;
		cr_expect_str_eq(host, cases[i].host);
		cr_expect_eq(port, cases[i].port);
	}
}
