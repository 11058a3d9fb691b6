/* The queue in memory, compared with the tables: after any sequence of events, leases, reports, passing time,
 * deletions and restarts it equals the queue that a start builds from the rows, it hands out everything that
 * may be handed out, and no delivery is lost or handed out twice. Also its fairness: no lane waits for
 * another's queue, and endpoints that do not answer have a limited share. */
#include "tests/unit/deliveries.h"

enum { STEPS = 20000, OUTSTANDING_MAX = 256, RANDOM_SHOPS = 5, RANDOM_LEASES_MAX = 40 };

TestSuite(delivery_queue, .init = begin_shops, .fini = end_deliveries);

/* The queue and its rows ---------------------------------------------------------------------------------- */

static struct delivery_queue fresh;

static const struct held_lease *held_of(const struct delivery_queue *in, const struct held_lease *like)
{
	const struct held_lease *lease;
	TAILQ_FOREACH(lease, &in->leases_by_age, by_age)
	{
		if (lease->due.v == like->due.v && lease->instance == like->instance &&
		    !memcmp(lease->event.b, like->event.b, sizeof lease->event.b) &&
		    !memcmp(lease->lane->subscription.b, like->lane->subscription.b, 16))
			return lease;
	}
	return NULL;
}

static unsigned count_held(const struct delivery_queue *in)
{
	const struct held_lease *lease;
	unsigned                 count = 0;
	TAILQ_FOREACH(lease, &in->leases_by_age, by_age) count++;
	return count;
}

static void expect_same_held(void)
{
	const struct held_lease *lease;
	cr_assert_eq(count_held(&queue), count_held(&fresh));
	TAILQ_FOREACH(lease, &fresh.leases_by_age, by_age) cr_assert(held_of(&queue, lease));
	cr_assert_eq(queue_leases(&queue), count_held(&queue));
}

static uint32_t most_of(const struct lane *lane)
{
	if (lane->health == LANE_DOUBTFUL) return lane->does_answer ? LANE_SLOW_MAX : LANE_DOUBTFUL_MAX;
	return lane->health == LANE_SOUND ? LANE_SOUND_MAX : LANE_NEW_MAX;
}

static bool is_in_ring(const struct lane *lane)
{
	const struct lane *at;
	TAILQ_FOREACH(at, &queue.ready[lane->health], in_ring) if (at == lane) return true;
	return false;
}

static void expect_placed(const struct lane *lane)
{
	bool may = lane->due.v != NO_DUE && lane->leased < most_of(lane);
	cr_assert_eq(lane->state == LANE_RESTING, !may);
	cr_assert_eq(lane->state == LANE_READY, is_in_ring(lane));
	if (lane->state == LANE_LATER) {
		cr_assert(lane->later.place && lane->later.place <= queue.later.count);
		cr_assert_eq(queue.later.heap[lane->later.place - 1], &lane->later);
		cr_assert_eq(lane->later.at, lane->due.v > lane->hold.v ? lane->due.v : lane->hold.v);
	}
	cr_assert_not(lane->is_stale);
}

static void expect_owners(size_t lanes)
{
	uint32_t leased = 0;
	for (unsigned i = 0; i < LEASE_BUCKETS; i++) {
		const struct lane_owner *owner;
		LIST_FOREACH(owner, &queue.owners[i], in_bucket)
		{
			cr_assert(owner->lanes);
			leased += owner->leased;
			lanes -= owner->lanes;
		}
	}
	cr_assert(lanes == 0 && leased == queue_leases(&queue));
}

/* Every lane is in its right list, and every list has only its lanes. */
static void expect_order(void)
{
	uint32_t leased[LANE_HEALTHS] = {0};
	size_t   lanes = 0, later = 0;
	for (unsigned i = 0; i < LANE_BUCKETS; i++) {
		const struct lane *lane;
		LIST_FOREACH(lane, &queue.lanes[i], in_bucket)
		{
			expect_placed(lane);
			leased[lane->health] += lane->leased;
			later += lane->state == LANE_LATER;
			lanes++;
		}
	}
	cr_assert(lanes == queue.lane_count && later == queue.later.count && TAILQ_EMPTY(&queue.stale));
	cr_assert_arr_eq(leased, queue.leased, sizeof leased);
	expect_owners(lanes);
	for (size_t i = 1; i < queue.later.count; i++)
		cr_assert_leq(queue.later.heap[(i - 1) / 2]->at, queue.later.heap[i]->at);
}

static void expect_same_lines(void)
{
	size_t known = 0;
	for (unsigned i = 0; i < LANE_BUCKETS; i++) {
		const struct lane *lane;
		LIST_FOREACH(lane, &fresh.lanes[i], in_bucket)
		{
			const struct lane *own = queue_lane(&queue, lane->account, lane->subscription);
			cr_assert(own && own->due.v == lane->due.v && own->leased == lane->leased);
			known++;
		}
		LIST_FOREACH(lane, &queue.lanes[i], in_bucket)
		{
			bool idle = lane->due.v == NO_DUE && lane->leased == 0;
			cr_assert(!idle || lane->health == LANE_SOUND);
			cr_assert(idle || queue_lane(&fresh, lane->account, lane->subscription));
		}
	}
	cr_assert_leq(known, queue.lane_count);
}

/* The queue equals the one that a start builds from the tables. */
static void expect_as_loaded(void)
{
	cr_assert_eq(queue_load(&fresh, s.view, queue.leases_max, mono), OK);
	expect_same_lines();
	expect_same_held();
	expect_order();
	queue_free(&fresh);
}

/* A random life ------------------------------------------------------------------------------------------- */

static uint64_t     state;
static struct lease outstanding[OUTSTANDING_MAX];
static unsigned     outstanding_count, made[RANDOM_SHOPS], handed_out, generation;

static void lapse(int64_t us)
{
	now.v += us;
	mono.v += us;
}

static void some_fact(void)
{
	unsigned        of = chance_below(&state, RANDOM_SHOPS);
	struct account *account;
	for (unsigned i = chance_below(&state, 6); i; i--) {
		cr_assert_eq(account_cached(&cache, s.view, shop(of), &account), OK);
		made[of] += account->webhooks->count;
		fact(of, EVENT_PASS_BALANCE_UPDATE, chance_below(&state, SHOP_PASSES));
	}
}

static void keep(const struct lease *lease)
{
	unsigned at = outstanding_count < OUTSTANDING_MAX ? outstanding_count++
	                                                  : chance_below(&state, OUTSTANDING_MAX);
	outstanding[at] = *lease;
}

/* Fewer were handed out than requested, so no other may be available. */
static void expect_nothing_left(void)
{
	uint32_t sums[LANE_HEALTHS] = {queue_leases(&queue), queue.leased[LANE_NEW], 0};
	sums[LANE_DOUBTFUL] = queue.leased[LANE_DOUBTFUL];
	sums[LANE_NEW] += sums[LANE_DOUBTFUL];
	if (queue.recent >= LANE_RECENT_MIN) sums[LANE_NEW] = UINT32_MAX; /* they are handed out evenly */
	uint32_t most[LANE_HEALTHS] = {queue.leases_max, queue.leases_max / 4 * 3, queue.leases_max / 2};
	for (unsigned i = 0; i < LANE_BUCKETS; i++) {
		const struct lane *lane;
		LIST_FOREACH(lane, &queue.lanes[i], in_bucket)
		{
			bool     due = lane->due.v <= now.v && lane->hold.v <= now.v;
			uint32_t taken = sums[lane->health], all = most[lane->health];
			uint32_t left = taken < all ? all - taken : 0;
			uint32_t own = lane->health == LANE_SOUND ? lane->owner->leased : 0;
			cr_assert_not(due && lane->leased < most_of(lane) && left > own);
		}
	}
}

static void some_leases(void)
{
	unsigned count = 1 + chance_below(&state, LEASES_PER_CALL_MAX);
	enum err err = lease_some(count);
	cr_assert(err == OK || err == ERR_PARKED);
	cr_assert_leq(lease_count, count);
	if (err == ERR_PARKED) expect_nothing_left();
	handed_out += lease_count;
	for (unsigned i = 0; i < lease_count; i++) {
		cr_assert_leq(leases[i].due.v, now.v);
		keep(&leases[i]);
	}
}

static void some_reports(void)
{
	struct attempt_report reports[REPORTS_PER_CALL_MAX];
	unsigned              count = 0, want = 1 + chance_below(&state, REPORTS_PER_CALL_MAX);
	for (; count < want && outstanding_count; count++) {
		unsigned              at = chance_below(&state, outstanding_count), how = chance(&state) % 16;
		struct attempt_report report = {.lease = outstanding[at]};
		report.what = how == 0 ? ATTEMPT_VOID : how < 3 ? ATTEMPT_NOT_MADE : ATTEMPT_MADE;
		report.error = how > 12 ? ATTEMPT_TIMEOUT : ATTEMPT_NONE;
		report.status = how & 1 ? 200 : 500;
		report.latency_ms = chance_below(&state, 2 * EGRESS_SLOW_MS);
		reports[count] = report;
		if (how != 5)
			outstanding[at] =
			    outstanding[--outstanding_count]; /* otherwise it is reported again */
	}
	if (count) cr_assert_eq(report_all(reports, count), OK);
}

static void some_time(void)
{
	static const int64_t spans[] = {1, 1000, US_PER_SEC, 40 * US_PER_SEC, 3600 * US_PER_SEC};
	lapse(spans[chance_below(&state, sizeof spans / sizeof *spans)]);
}

static void some_change(void)
{
	unsigned of = chance_below(&state, RANDOM_SHOPS), which = RANDOM_SHOPS + chance_below(&state, 4);
	switch (chance_below(&state, 12)) {
	case 0: delete_shop_pass(of, 1 + chance_below(&state, SHOP_PASSES - 1)); return;
	case 1: drop_hook(of, which); return;
	case 2: put_hook(of, which, ++generation); return;
	case 3: instance++; return;
	case 4:
		queue_free(&queue);
		cr_assert_eq(queue_load(&queue, s.view, RANDOM_LEASES_MAX, mono), OK);
		queue_meet(&queue, instance);
		return;
	default: return;
	}
}

/* Each delivery waits, is leased, or has ended: none twice and none lost. */
static void expect_all_there(void)
{
	for (unsigned of = 0; of < RANDOM_SHOPS; of++) {
		struct delivery row = {.account = shop(of)};
		uint64_t        ended;
		unsigned        there = 0;
		enum err        err = delivery_from(s.view, &row);
		for (; !err && !memcmp(row.account.b, shop(of).b, 10); err = delivery_next(s.view, &row)) {
			cr_assert_leq(row.attempts, DELIVERY_ATTEMPTS_MAX);
			there++;
		}
		cr_assert_eq(delivery_end_last(s.view, shop(of), &ended), OK);
		cr_assert_eq(there + ended, made[of], "shop %u", of);
	}
}

Test(delivery_queue, equals_the_queue_that_a_start_builds)
{
	state = chance_begin();
	queue.leases_max = RANDOM_LEASES_MAX;
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned what = chance_below(&state, 8);
		if (what < 2)
			some_fact();
		else if (what < 4)
			some_leases();
		else if (what < 6)
			some_reports();
		else if (what < 7)
			some_time();
		else
			some_change();
		if (i % 16 == 0) expect_as_loaded();
		if (i % 64 == 0) expect_all_there();
	}
	expect_as_loaded();
	expect_all_there();
	cr_expect_gt(handed_out, 4000);
	cr_expect_leq(writes_most, BULK_WRITES_MAX);
}

/* Turns --------------------------------------------------------------------------------------------------- */

static void facts_of(unsigned of, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fact(of, EVENT_PASS_BALANCE_UPDATE, 0);
}

static unsigned leases_for(unsigned of)
{
	unsigned count = 0;
	for (unsigned i = 0; i < lease_count; i++)
		count += !memcmp(leases[i].account.b, shop(of).b, sizeof leases[i].account.b);
	return count;
}

/* A lane with many deliveries yields to one with few, whatever is known of their endpoints. */
Test(delivery_queue, no_lane_waits_for_anothers_queue)
{
	facts_of(0, 500);
	cr_assert_eq(lease_some(1), OK);
	report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	for (unsigned of = 1; of < SHOPS; of++) {
		unsigned rounds = 0;
		facts_of(of, 1);
		do {
			cr_assert_lt(rounds++, 3, "shop %u waits", of);
			cr_assert_eq(lease_some(8), OK);
			unsigned own = leases_for(of);
			for (unsigned i = 0; i < lease_count; i++)
				report_one(i, ATTEMPT_MADE, ATTEMPT_NONE, 200);
			if (own) break;
		} while (true);
	}
}

/* All lanes with due deliveries get some before any gets more. */
Test(delivery_queue, lanes_take_turns)
{
	unsigned got[SHOPS] = {0};
	for (unsigned of = 0; of < SHOPS; of++)
		facts_of(of, 20);
	for (unsigned round = 0; round < SHOPS; round++) {
		cr_assert_eq(lease_some(2), OK);
		cr_assert_eq(lease_count, 2);
		for (unsigned of = 0; of < SHOPS; of++)
			got[of] += leases_for(of);
	}
	for (unsigned of = 0; of < SHOPS; of++)
		cr_expect_eq(got[of], 2, "shop %u", of);
}

static void make_health(unsigned of, enum lane_health health)
{
	facts_of(of, 1);
	cr_assert_eq(lease_some(24), OK);
	cr_assert_eq(lease_count, 1);
	report_one(0, ATTEMPT_MADE, health == LANE_SOUND ? ATTEMPT_NONE : ATTEMPT_TIMEOUT,
	           health == LANE_SOUND ? 200 : 0);
}

static unsigned lease_all(void)
{
	unsigned all = 0;
	while (lease_some(24) == OK)
		all += lease_count;
	return all;
}

/* When many unknown endpoints appear at once, their leases are spread over time. The last one does not wait
 * for all before it. */
Test(delivery_queue, leases_to_unknown_endpoints_are_spread_over_time)
{
	enum { ALL = 160, YOUNG = ALL / 4 * 3 * LANE_RECENT_MS / EGRESS_ATTEMPT_MS };
	queue.leases_max = ALL;
	for (unsigned of = 0; of < SHOPS - 1; of++)
		facts_of(of, LANE_NEW_MAX);
	cr_expect_eq(lease_all(), YOUNG);
	facts_of(SHOPS - 1, 1);
	cr_expect_not(queue_is_ready(&queue, now, mono));
	mono.v += LANE_RECENT_MS * US_PER_MS;
	cr_expect(queue_is_ready(&queue, now, mono));
	cr_expect_eq(lease_all(), YOUNG);
	cr_expect_eq(queue_lane(&queue, shop(SHOPS - 1), hook(SHOPS - 1))->leased, 1);
	cr_expect_eq(queue.recent, YOUNG);
}

Test(delivery_queue, a_lanes_leases_depend_on_its_endpoints_health)
{
	make_health(0, LANE_SOUND);
	make_health(1, LANE_DOUBTFUL);
	for (unsigned of = 0; of < 3; of++)
		facts_of(of, 100);
	(void)lease_all();
	cr_expect_eq(queue_lane(&queue, shop(0), hook(0))->leased, LANE_SOUND_MAX);
	cr_expect_eq(queue_lane(&queue, shop(1), hook(1))->leased, LANE_DOUBTFUL_MAX);
	cr_expect_eq(queue_lane(&queue, shop(2), hook(2))->leased, LANE_NEW_MAX);
}

/* A lane alone gets all leases in one request. */
Test(delivery_queue, a_single_lane_gets_all_requested_leases)
{
	make_health(0, LANE_SOUND);
	facts_of(0, 2 * LEASES_PER_CALL_MAX);
	cr_assert_eq(lease_some(LEASES_PER_CALL_MAX), OK);
	cr_expect_eq(lease_count, LEASES_PER_CALL_MAX);
	facts_of(1, 1);
	cr_assert_eq(lease_some(LEASES_PER_CALL_MAX), OK);
	cr_expect_eq(leases_for(0), LANE_TURN_MAX);
	cr_expect_eq(leases_for(1), 1);
}

/* Endpoints that do not answer have at most half of all leases; together with unknown ones, three
 * quarters. */
Test(delivery_queue, silent_endpoints_leave_room_for_others)
{
	enum { ALL = 16 };
	queue.leases_max = ALL;
	for (unsigned of = 0; of < 10; of++)
		make_health(of, LANE_DOUBTFUL);
	make_health(12, LANE_SOUND);
	for (unsigned of = 0; of < 10; of++)
		facts_of(of, 10);
	cr_expect_eq(lease_all(), ALL / 2);
	cr_expect_not(queue_is_ready(&queue, now, mono));
	facts_of(10, 10);
	facts_of(11, 10);
	cr_expect_eq(lease_all(), ALL / 4);
	cr_expect_eq(queue.leased[LANE_NEW], ALL / 4);
	facts_of(12, 10);
	cr_expect_eq(lease_all(), ALL / 8, "at most as much as it leaves");
}

/* Endpoints that were quick may all hang at the same time. However many accounts have such ones, the next
 * account gets its turn. */
Test(delivery_queue, no_account_has_more_than_half_of_the_free_leases)
{
	enum { ALL = 64 };
	unsigned left = ALL;
	queue.leases_max = ALL;
	for (unsigned of = 0; of < 6; of++)
		make_health(of, LANE_SOUND);
	for (unsigned of = 0; of < 6; of++) {
		facts_of(of, ALL);
		unsigned got = lease_all();
		cr_expect(got >= 1 && got <= left - got, "shop %u has %u of %u", of, got, left);
		cr_expect_eq(queue_lane(&queue, shop(of), hook(of))->owner->leased, got);
		left -= got;
	}
}

/* Health ------------------------------------------------------------------------------------------------- */

Test(delivery_queue, a_suspect_endpoint_is_healthy_again_when_it_answers)
{
	make_health(0, LANE_DOUBTFUL);
	cr_expect_eq(queue_lane(&queue, shop(0), hook(0))->health, LANE_DOUBTFUL);
	lapse(30 * US_PER_SEC);
	cr_assert_eq(lease_some(24), OK);
	report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 500);
	cr_expect_eq(queue_lane(&queue, shop(0), hook(0))->health, LANE_SOUND, "it answers in time");
}

Test(delivery_queue, idle_lanes_are_forgotten_except_healthy_ones)
{
	make_health(0, LANE_SOUND);
	facts_of(1, 1);
	drop_hook(1, 1);
	cr_assert_eq(lease_some(24), OK);
	cr_expect(queue.lane_count == 1 && queue_lane(&queue, shop(0), hook(0)));
	cr_expect_null(queue_lane(&queue, shop(1), hook(1)));
}

Test(delivery_queue, a_lease_found_at_a_start_equals_a_new_one)
{
	facts_of(0, 2);
	cr_assert_eq(lease_some(2), OK);
	struct attempt_report report = end_of_lease(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	mono.v += LEASE_MS * US_PER_MS - 1;
	queue_free(&queue);
	cr_assert_eq(queue_load(&queue, s.view, 1000, mono), OK);
	mono.v += LEASE_MS * US_PER_MS - 1;
	cr_expect_eq(lease_some(24), ERR_PARKED);
	cr_assert_eq(report_all(&report, 1), OK);
	mono.v += 1;
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(count_zone(ZONE_WAITING), 1);
}
