/* Egress without an endpoint: accepted and refused requests, and an end during requests. test_egress.py tests
 * the results of attempts. */
#include "actors/rt/time.h"
#include "actors/timer/egress.h"
#include "actors/timer/own.h"
#include "schemas/limits.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static struct address_rules rules = {.allow_private = true};
static struct account_id    owner; /* for the next requests */
static unsigned             told;
static enum attempt_error   last_error;

static void on_done(void *context, const struct egress_outcome *outcome)
{
	(void)context;
	told++;
	last_error = outcome->error;
}

static struct egress *open_egress(struct egress_options options)
{
	struct egress *egress = NULL;

	options.rules = &rules;
	options.done = on_done;
	cr_assert_eq(egress_open(&egress, &options), OK);
	return egress;
}

static struct span body = {(const uint8_t *)"{}", 2}; /* for the next requests */

static enum err start(struct egress *egress, const char *url, bool is_fetch)
{
	const char *const     headers[] = {"Content-Type: application/json"};
	struct egress_request request = {.owner = owner,
	                                 .url = span_str(url),
	                                 .headers = headers,
	                                 .header_count = 1,
	                                 .is_fetch = is_fetch,
	                                 .body = body};

	return egress_start(egress, &request, time_mono());
}

/* A bound socket that never answers; returns its port. */
static int silent(int type, uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t          size = sizeof at;
	int                fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at));
	cr_assert(type == SOCK_DGRAM || !listen(fd, 16));
	cr_assert(!getsockname(fd, (struct sockaddr *)&at, &size));
	*port = ntohs(at.sin_port);
	return fd;
}

Test(egress, accepts_as_many_as_it_has_slots_and_no_invalid_urls)
{
	struct egress *egress = open_egress((struct egress_options){.attempts_max = 2, .waiting_max = 1});

	cr_expect_eq(egress_free_slots(egress), 3);
	cr_expect_eq(start(egress, "http://example.com/", false), ERR_INVALID_WEBHOOK_URL);
	cr_expect_eq(egress_free_slots(egress), 3);
	for (unsigned i = 3; i > 0; i--) {
		cr_expect_eq(start(egress, "https://127.0.0.1:1/", false), OK);
		cr_expect_eq(egress_free_slots(egress), i - 1);
	}
	cr_expect_eq(start(egress, "https://127.0.0.1:1/", false), ERR_OVERLOADED);
	cr_expect_eq(told, 0, "only a turn calls back");
	egress_close(&egress);
	cr_expect_null(egress);
	cr_expect_eq(told, 0);
}

Test(egress, limits_the_bytes_of_fetches)
{
	struct egress *egress = open_egress((struct egress_options){0});

	for (unsigned i = 0; i < EGRESS_FETCHES_MAX; i++)
		cr_expect_eq(start(egress, "https://127.0.0.1:1/", true), OK);
	cr_expect_eq(start(egress, "https://127.0.0.1:1/", true), ERR_OVERLOADED);
	cr_expect_eq(start(egress, "https://127.0.0.1:1/", false), OK);
	egress_close(&egress);
}

static unsigned start_all(struct egress *egress, unsigned most)
{
	unsigned count = 0;
	while (count < most && start(egress, "https://127.0.0.1:1/", false) == OK)
		count++;
	return count;
}

Test(egress, large_bodies_of_one_owner_leave_room_for_others)
{
	static const uint8_t large[1 << 20];
	enum { ALL = EGRESS_BYTES_MAX / sizeof large, SHARE = EGRESS_OWNER_BYTES_MAX / sizeof large };
	struct egress    *egress = open_egress((struct egress_options){.waiting_max = 2 * ALL});
	const struct span small = body;

	for (unsigned i = 0; i < ALL / SHARE; i++) {
		owner.b[0] = (uint8_t)i;
		body = span_of(large, sizeof large);
		cr_expect_eq(start_all(egress, ALL), SHARE, "owner %u", i);
	}
	owner.b[0] = ALL / SHARE;
	cr_expect_eq(start_all(egress, 1), 0, "all together have a limit too");
	body = small;
	for (; owner.b[0] > 0; owner.b[0]--)
		cr_expect_eq(start_all(egress, 1), 1);
	cr_expect(egress_free_slots(egress) > 0);
	egress_close(&egress);
}

Test(egress, reports_each_result_once_and_frees_its_slot)
{
	struct egress *egress = open_egress((struct egress_options){.attempts_max = 1, .waiting_max = 2});
	mono_us        end = mono_after(time_mono(), (dur_us){30 * US_PER_SEC});

	for (unsigned i = 0; i < 3; i++)
		cr_expect_eq(start(egress, "https://127.0.0.1:1/", false), OK);
	while (told < 3 && time_mono().v < end.v)
		(void)egress_turn(egress, time_mono());
	cr_expect_eq(told, 3);
	cr_expect_str_eq(attempt_word(last_error), "connect");
	cr_expect_eq(egress_free_slots(egress), 3);
	egress_close(&egress);
}

Test(egress, can_end_during_lookups_handshakes_and_waits)
{
	uint16_t port, dns_port;
	int      endpoint = silent(SOCK_STREAM, &port), dns = silent(SOCK_DGRAM, &dns_port);
	char     servers[32], url[64];

	snprintf(servers, sizeof servers, "127.0.0.1:%u", dns_port);
	struct egress *egress = open_egress(
	    (struct egress_options){.attempts_max = 4, .endpoint_max = 2, .resolver.servers = servers});
	for (unsigned i = 0; i < 3; i++) {
		snprintf(url, sizeof url, "https://127.0.0.1:%u/", port);
		cr_expect_eq(start(egress, url, i == 0), OK);
		cr_expect_eq(start(egress, "https://silent.example/", false), OK);
	}
	for (unsigned i = 0; i < 20; i++)
		(void)egress_turn(egress, time_mono());
	egress_close(&egress);
	cr_expect_eq(told, 0);
	close(endpoint);
	close(dns);
}

enum { BEGUN_MAX = 64, TURNS = 50 };

/* The connections made when each of `owners` wants this many requests to a silent host. On loopback a
 * connection succeeds within the turn that requests it, so after many turns all are made. */
static unsigned begun(struct egress_options options, unsigned owners, unsigned each)
{
	uint16_t       port;
	int            host = silent(SOCK_STREAM, &port), connections[BEGUN_MAX];
	char           url[64];
	struct egress *egress = open_egress(options);
	unsigned       count = 0;

	cr_assert(!fcntl(host, F_SETFL, O_NONBLOCK));
	snprintf(url, sizeof url, "https://127.0.0.1:%u/", port);
	for (unsigned i = 0; i < owners * each; i++) {
		owner = (struct account_id){{(uint8_t)(i / each)}};
		cr_expect_eq(start(egress, url, false), OK);
	}
	for (unsigned i = 0; i < TURNS; i++) {
		(void)egress_turn(egress, time_mono());
		while (count < BEGUN_MAX && (connections[count] = accept(host, NULL, NULL)) >= 0)
			count++;
	}
	egress_close(&egress);
	for (unsigned i = 0; i < count; i++)
		close(connections[i]);
	close(host);
	return count;
}

Test(egress, an_account_waits_only_for_its_own_requests)
{
	struct egress_options options = {.endpoint_max = 2};

	cr_expect_eq(begun(options, 1, 6), 2);
	cr_expect_eq(begun(options, 3, 6), 6);
}

Test(egress, accounts_share_a_host_and_its_second_half_in_small_parts)
{
	struct egress_options options = {.endpoint_max = 8, .host_max = 16};

	cr_expect_eq(begun(options, 1, 20), 8);
	cr_expect_eq(begun(options, 2, 20), 8);
	cr_expect_eq(begun(options, 3, 20), 3 * EGRESS_CROWDED_MAX);
	cr_expect_eq(begun(options, 8, 2), 16);
	cr_expect_eq(begun(options, 20, 2), 16);
}

Test(egress, refuses_options_that_it_cannot_use)
{
	struct egress_options no_list = {.rules = &rules, .done = on_done, .resolver.servers = "nowhere"};
	struct egress_options no_file = {.rules = &rules, .done = on_done, .ca = {(const uint8_t *)"x", 1}};
	struct egress        *egress = NULL;

	cr_expect_eq(egress_open(&egress, &no_list), ERR_BAD_OPTION);
	cr_expect_null(egress);
	cr_expect_eq(egress_open(&egress, &no_file), ERR_BAD_OPTION);
	cr_expect_null(egress);
}

Test(egress, has_a_name_for_each_error)
{
	for (unsigned one = 1; one < ATTEMPT_ERRORS; one++)
		for (unsigned other = 0; other < one; other++)
			cr_expect_str_neq(attempt_word(one), attempt_word(other));
}

Test(own, addresses_of_this_host_are_refused)
{
	static struct address_rules own;

	cr_assert_eq(own_addresses(&own), OK);
	for (unsigned i = 0; i < own.own_count; i++) {
		cr_expect(address_may_dial(NULL, &own.own[i]));
		cr_expect_not(address_may_dial(&own, &own.own[i]));
	}
}
