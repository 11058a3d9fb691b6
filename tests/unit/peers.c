/* http/peers.h: the limit of connections per address. */
#include "http/peers.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>

static struct address peer_named(const char *text)
{
	struct sockaddr_in  v4 = {.sin_family = AF_INET, .sin_port = 7};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = 9, .sin6_scope_id = 3};
	struct address      peer;
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		cr_assert(peer_of((struct sockaddr *)&v4, &peer), "%s", text);
	else
		cr_assert(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 &&
		              peer_of((struct sockaddr *)&v6, &peer),
		          "%s", text);
	return peer;
}

Test(peers, are_distinguished_by_ipv4_address_or_ipv6_network)
{
	static const struct {
		const char *a, *b;
		bool        same;
	} rows[] = {
	    {"192.0.2.1", "192.0.2.1", true},
	    {"192.0.2.1", "192.0.2.2", false},
	    {"192.0.2.1", "::ffff:192.0.2.1", true},
	    {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	    {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
	    {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
	    {"fe80::1", "fe80::2", true},
	    {"::1", "127.0.0.1", false},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct address a = peer_named(rows[i].a), b = peer_named(rows[i].b);
		cr_expect_eq(memcmp(&a, &b, sizeof a) == 0, rows[i].same, "%s %s", rows[i].a, rows[i].b);
	}
	struct sockaddr_storage local = {.ss_family = AF_UNIX};
	struct address          peer;
	cr_expect_not(peer_of((struct sockaddr *)&local, &peer));
}

Test(peers, each_has_the_limit)
{
	struct peers  *peers;
	struct address a = peer_named("192.0.2.1"), b = peer_named("2001:db8::1");
	cr_assert_eq(peers_open(&peers), OK);
	for (unsigned round = 0; round < 3; round++) {
		cr_expect(peers_enter(peers, &a, 2) && peers_enter(peers, &a, 2));
		cr_expect_not(peers_enter(peers, &a, 2));
		cr_expect(peers_enter(peers, &b, 2), "another address has its own limit");
		peers_leave(peers, &a);
		cr_expect(peers_enter(peers, &a, 2));
		peers_leave(peers, &a);
		peers_leave(peers, &a);
		peers_leave(peers, &b);
	}
	peers_free(&peers);
	cr_expect_null(peers);
}

Test(peers, a_changed_limit_counts_open_connections)
{
	struct peers  *peers;
	struct address a = peer_named("192.0.2.1");
	cr_assert_eq(peers_open(&peers), OK);
	for (unsigned i = 0; i < 5; i++)
		cr_expect(peers_enter(peers, &a, UINT_MAX));
	cr_expect_not(peers_enter(peers, &a, 3));
	cr_expect(peers_enter(peers, &a, 6));
	for (unsigned i = 0; i < 4; i++)
		peers_leave(peers, &a);
	cr_expect(peers_enter(peers, &a, 3));
	cr_expect_not(peers_enter(peers, &a, 3));
	peers_free(&peers);
}

/* More addresses than table rows, counted by several threads: no count is lost in any order. */
enum { THREADS = 4, ADDRESSES = 10000 };
static struct peers *shared;

static struct address numbered(uint32_t number)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = number};
	struct address     peer;
	cr_assert(peer_of((struct sockaddr *)&v4, &peer));
	return peer;
}

static void *come_and_go(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		struct address peer = numbered(i);
		if (!peers_enter(shared, &peer, THREADS)) return "refused";
	}
	for (uint32_t i = 0; i < ADDRESSES; i += 2) {
		struct address peer = numbered(i);
		peers_leave(shared, &peer);
	}
	return NULL;
}

Test(peers, threads_count_together)
{
	pthread_t threads[THREADS];
	cr_assert_eq(peers_open(&shared), OK);
	for (unsigned i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		cr_expect_null(wrong);
	}
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		struct address peer = numbered(i);
		cr_assert_eq(peers_enter(shared, &peer, THREADS), i % 2 == 0, "%u", i);
	}
	peers_free(&shared);
}
