/* Channels: one bound, one or two connected, over an ipc endpoint in the test's directory. */
#include "tests/unit/patience.h"
#include "actors/rt/channel.h"
#include "actors/rt/loop.h"
#include "actors/rt/time.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/stampede-channel-XXXXXX";
static char endpoint[64];

static struct channel *router, *dealer;
static struct packet   packet;

static void begin(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/m", dir);
}

static void end(void)
{
	packet_close(&packet);
	channel_close(&dealer);
	channel_close(&router);
	unlink(endpoint + strlen("ipc://"));
	rmdir(dir);
}

TestSuite(channel, .init = begin, .fini = end);

static void connect_both(void)
{
	cr_assert_eq(channel_bind(&router, endpoint), OK);
	cr_assert_eq(channel_connect(&dealer, endpoint), OK);
	cr_assert(within_time(channel_link(dealer) == LINK_UP));
}

Test(channel, sends_bytes_in_both_directions)
{
	connect_both();
	cr_assert_eq(channel_send(dealer, NULL, span_str("ask")), OK);
	cr_assert(within_time(channel_recv(router, &packet) == OK));
	cr_expect(span_is(packet.bytes, "ask"));
	struct peer from = packet.from;
	cr_assert_eq(channel_send(router, &from, span_str("answer")), OK);
	cr_assert(within_time(channel_recv(dealer, &packet) == OK));
	cr_expect(span_is(packet.bytes, "answer"));
	cr_expect_eq(channel_recv(dealer, &packet), ERR_WOULD_BLOCK);
	cr_expect_eq(packet.bytes.size, 0);
}

Test(channel, keeps_the_order_and_large_messages)
{
	static uint8_t large[1 << 20];
	connect_both();
	for (uint8_t i = 0; i < 100; i++) {
		large[0] = i;
		cr_assert_eq(channel_send(dealer, NULL, span_of(large, i % 10 ? 1 : sizeof(large))), OK);
	}
	for (uint8_t i = 0; i < 100; i++) {
		cr_assert(within_time(channel_recv(router, &packet) == OK));
		cr_assert(packet.bytes.at[0] == i && packet.bytes.size == (i % 10 ? 1 : sizeof(large)));
	}
}

Test(channel, sends_nothing_without_a_peer)
{
	cr_assert_eq(channel_connect(&dealer, endpoint), OK);
	cr_expect_eq(channel_send(dealer, NULL, span_str("lost")), ERR_WOULD_BLOCK);
	cr_expect_eq(channel_link(dealer), LINK_SAME);
	cr_assert_eq(channel_bind(&router, endpoint), OK);
	cr_assert(within_time(channel_link(dealer) == LINK_UP));
	cr_expect_eq(channel_recv(router, &packet), ERR_WOULD_BLOCK); /* nothing was queued */
	cr_expect_eq(channel_send(dealer, NULL, span_str("now")),
	             OK); /* at once after the connection is up */
	cr_expect(within_time(channel_recv(router, &packet) == OK));
}

Test(channel, reports_that_a_peer_is_gone)
{
	connect_both();
	cr_assert_eq(channel_send(dealer, NULL, span_str("ask")), OK);
	cr_assert(within_time(channel_recv(router, &packet) == OK));
	struct peer from = packet.from;
	channel_close(&dealer);
	cr_expect(within_time(channel_send(router, &from, span_str("x")) == ERR_PEER_GONE));
	const struct peer nobody = {.size = 5, .id = "\0zzzz"};
	cr_expect_eq(channel_send(router, &nobody, span_str("x")), ERR_PEER_GONE);
}

Test(channel, reports_the_connection_down_and_up)
{
	connect_both();
	channel_close(&router);
	cr_assert(within_time(channel_link(dealer) == LINK_DOWN));
	cr_expect_eq(channel_send(dealer, NULL, span_str("lost")), ERR_WOULD_BLOCK);
	cr_assert_eq(channel_bind(&router, endpoint), OK);
	cr_assert(within_time(channel_link(dealer) == LINK_UP));
	cr_expect_eq(channel_link(dealer), LINK_SAME);
}

Test(channel, what_arrived_before_the_end_can_still_be_read)
{
	connect_both();
	cr_assert_eq(channel_send(dealer, NULL, span_str("ask")), OK);
	cr_assert(within_time(channel_recv(router, &packet) == OK));
	struct peer from = packet.from;
	cr_assert_eq(channel_recv(dealer, &packet), ERR_WOULD_BLOCK); /* idle: both are reported at once */
	cr_assert_eq(channel_send(router, &from, span_str("last")), OK);
	cr_assert(within_time(channel_waiting(dealer))); /* closing drops unsent messages */
	channel_close(&router);
	cr_assert(within_time(channel_link(dealer) == LINK_DOWN));
	cr_assert_eq(channel_recv(dealer, &packet), OK);
	cr_expect(span_is(packet.bytes, "last"));
}

Test(channel, refuses_messages_larger_than_any_frame)
{
	connect_both();
	uint8_t *huge = calloc(1, FRAME_BYTES_MAX + 1);
	cr_assert_eq(channel_send(dealer, NULL, span_of(huge, FRAME_BYTES_MAX + 1)), OK);
	free(huge);
	cr_expect(within_time(channel_link(dealer) == LINK_DOWN));
	cr_expect_eq(channel_recv(router, &packet), ERR_WOULD_BLOCK);
}

/* True if nothing wakes the loop during one wait. */
static bool sleeps_well(struct loop *loop)
{
	cr_assert_eq(channel_recv(router, &packet), ERR_WOULD_BLOCK);
	mono_us began = time_mono();
	loop_wait(loop, (dur_us){20 * US_PER_MS});
	return mono_since(time_mono(), began).v >= 19 * US_PER_MS;
}

Test(channel, wakes_a_loop)
{
	struct loop loop;
	connect_both();
	cr_assert_eq(loop_open(&loop), OK);
	cr_assert_eq(loop_watch(&loop, channel_fd(router)), OK);
	cr_expect(within_time(sleeps_well(&loop))); /* the connection wakes the router too */
	cr_assert_eq(channel_send(dealer, NULL, span_str("up")), OK);
	mono_us began = time_mono();
	loop_wait(&loop, (dur_us){30 * US_PER_SEC});
	cr_expect_lt(mono_since(time_mono(), began).v, 10 * US_PER_SEC);
	loop_close(&loop);
}

Test(channel, reports_waiting_messages_without_receiving_them)
{
	connect_both();
	usleep(20000);
	cr_expect(!channel_waiting(router));
	cr_assert_eq(channel_send(dealer, NULL, span_str("up")), OK);
	cr_assert(within_time(channel_waiting(router)));
	cr_expect(channel_waiting(router));
	cr_assert_eq(channel_recv(router, &packet), OK);
	cr_expect(!channel_waiting(router));
}

static bool is_told(void)
{
	struct pollfd woken = {.fd = channel_fd(router), .events = POLLIN};
	return poll(&woken, 1, patience_ms(3000)) == 1;
}

/* A check consumes the wake-up, whatever its reason: to receive, to send, or nothing. */
Test(channel, reports_events_that_its_descriptor_does_not_show)
{
	connect_both();
	cr_assert_eq(channel_send(dealer, NULL, span_str("one")), OK);
	cr_assert(within_time(channel_waiting(router)));
	cr_expect(channel_has_news(router));
	cr_assert_eq(channel_recv(router, &packet), OK);
	cr_expect(!channel_has_news(router));
	cr_assert_eq(channel_send(dealer, NULL, span_str("two")), OK);
	cr_assert(is_told());
	cr_expect(!channel_has_news(router)); /* the loop is woken */
	struct peer from = packet.from;
	cr_assert_eq(channel_send(router, &from, span_str("down")), OK);
	cr_expect(channel_has_news(router));
	cr_assert_eq(channel_recv(router, &packet), OK);
	cr_assert_eq(channel_recv(router, &packet), ERR_WOULD_BLOCK);
	cr_expect(!channel_has_news(router));
}

Test(channel, refuses_an_invalid_endpoint)
{
	cr_expect_eq(channel_bind(&router, "ipc:///nonexistent/dir/m"), ERR_IO);
	cr_expect_null(router);
	cr_expect_eq(channel_connect(&dealer, "nonsense"), ERR_IO);
	cr_expect_null(dealer);
}
