/* A shard's deliveries without the shard: accounts with passes and subscriptions, the timer's commands as the
 * engine carries them out (decide, apply, notify), and short functions for both. Criterion runs each test in
 * its own process, so these can be static. */
#pragma once
#include "actors/shard/delivery/delivery.h"
#include "actors/shard/delivery/fan_out.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/hot.h"
#include "store/subscription.h"

#include <criterion/criterion.h>

enum { SHOPS = 16, SHOP_PASSES = 3, ISSUED = 2 };

static struct scratch           s;
static struct delivery_queue    queue;
static struct account_cache     cache;
static struct delivery_counters counters;
static struct shard_facts       facts;
static struct random_pool       randomness;
static struct arena             plain_arena;
static struct call              call;
static struct outcome           outcome;
static struct buffer            payload;
static wall_us                  now;
static mono_us                  mono;
static uint64_t                 instance;
static unsigned                 writes_most; /* of one command */
static struct lease             leases[LEASES_PER_CALL_MAX];
static unsigned                 lease_count;

static inline struct account_id shop(unsigned number)
{
	return (struct account_id){{'s', (uint8_t)number}};
}

/* Their last bytes differ, which selects the lane. */
static inline struct uuid hook(unsigned number)
{
	return (struct uuid){{'h', [15] = (uint8_t)number}};
}

/* Commands ------------------------------------------------------------------------------------------------ */

static inline struct request request_now(const msgpack_object *args)
{
	payload.size = 0;
	outcome = (struct outcome){.payload = &payload};
	call.deadline = mono_after(mono, (dur_us){LEASE_ASK_MS * US_PER_MS});
	s.view = db_view(s.db, &s.staged, &s.arena);
	return (struct request){.call = &call,
	                        .args = args,
	                        .view = s.view,
	                        .now = now,
	                        .random = &randomness,
	                        .facts = &facts,
	                        .mono = mono,
	                        .accounts = &cache,
	                        .deliveries = &queue,
	                        .counters = &counters};
}

/* Like the engine after a handler: applies a command's writes. */
static inline enum err save(enum err err)
{
	if (s.staged.count > writes_most) writes_most = s.staged.count;
	for (unsigned i = 0; !err && i < s.staged.count; i++)
		cr_assert_eq(db_apply(s.db, &s.staged.rows[i], false), OK);
	if (!err) {
		struct view *plain = db_view(s.db, NULL, &plain_arena);
		cr_assert_eq(queue_on_writes(&queue, &s.staged, plain, mono), OK);
	}
	s.staged = writes_none(&s.arena);
	arena_reset(&s.arena);
	arena_reset(&plain_arena);
	s.view = db_view(s.db, &s.staged, &s.arena);
	return err;
}

/* An event of a pass, as commands record it. */
static inline void fact(unsigned of, enum event_kind kind, uint32_t pass)
{
	struct request request = request_now(NULL);
	cr_assert_eq(account_cached(&cache, s.view, shop(of), &request.account), OK);
	cr_assert_eq(save(fan_out(&request, kind, pass)), OK);
}

static inline void take_leases(void)
{
	msgpack_zone  *zone = msgpack_zone_new(4096);
	msgpack_object answer = value_unpacked(&payload, zone);
	cr_assert(answer.type == MSGPACK_OBJECT_ARRAY && answer.via.array.size == 3);
	const struct span bytes = arg_span(&answer.via.array.ptr[0]);
	cr_assert_eq(bytes.size % LEASE_BYTES, 0);
	lease_count = (unsigned)(bytes.size / LEASE_BYTES);
	cr_assert_leq(lease_count, LEASES_PER_CALL_MAX);
	for (unsigned i = 0; i < lease_count; i++)
		lease_read(bytes.at + i * LEASE_BYTES, &leases[i]);
	msgpack_zone_free(zone);
}

/* DELIVERY_LEASE: the leases are in `leases`. Errors: ERR_PARKED: nothing is due. */
static inline enum err lease_some(unsigned count)
{
	msgpack_object args[] = {value_integer(instance), value_integer(count)};
	struct request request = request_now(args);
	lease_count = 0;
	enum err err = on_DELIVERY_LEASE(&request, &outcome);
	if (!err) take_leases();
	return save(err);
}

static inline struct attempt_report end_of_lease(unsigned i, enum attempt_what what, uint8_t error,
                                                 uint16_t status)
{
	return (struct attempt_report){.lease = leases[i], .what = what, .error = error, .status = status};
}

/* DELIVERY_REPORT of several. */
static inline enum err report_all(const struct attempt_report *reports, unsigned count)
{
	uint8_t bytes[REPORTS_PER_CALL_MAX * ATTEMPT_REPORT_BYTES];
	cr_assert_leq(count, REPORTS_PER_CALL_MAX);
	for (unsigned i = 0; i < count; i++)
		attempt_report_write(&reports[i], bytes + i * ATTEMPT_REPORT_BYTES);
	msgpack_object arg = value_bin(bytes, count * ATTEMPT_REPORT_BYTES);
	struct request request = request_now(&arg);
	return save(on_DELIVERY_REPORT(&request, &outcome));
}

/* The state of lease `i` of the last ones that were handed out. */
static inline void report_one(unsigned i, enum attempt_what what, uint8_t error, uint16_t status)
{
	struct attempt_report report = end_of_lease(i, what, error, status);
	cr_assert_eq(report_all(&report, 1), OK);
}

/* The tables ---------------------------------------------------------------------------------------------- */

static inline unsigned count_zone(enum delivery_zone zone)
{
	struct delivery row = {.due = {0}};
	unsigned        count = 0;
	for (enum err err = delivery_from(s.view, &row); !err; err = delivery_next(s.view, &row))
		count += row.zone == zone;
	return count;
}

/* The only delivery of all tables. */
static inline struct delivery only_row(void)
{
	struct delivery row = {.due = {0}}, next;
	cr_assert_eq(delivery_from(s.view, &row), OK);
	cr_assert_eq(delivery_next(s.view, &next), ERR_NOT_FOUND);
	return row;
}

static inline unsigned count_ends(unsigned of, struct delivery_end *last)
{
	struct delivery_end row = {.number = 0};
	unsigned            count = 0;
	for (; !delivery_end_after(s.view, shop(of), row.number, &row); count++)
		*last = row;
	return count;
}

/* Making -------------------------------------------------------------------------------------------------- */

static inline void put_hook(unsigned of, unsigned number, uint32_t generation)
{
	struct subscription row = {.id = hook(number),
	                           .active = true,
	                           .generation = generation,
	                           .created = {1},
	                           .updated = {1},
	                           .kind_count = 1,
	                           .kinds = {EVENT_PASS_BALANCE_UPDATE},
	                           .url = span_str("https://a.example/")};
	cr_assert_eq(subscription_put(s.view, shop(of), &row), OK);
	scratch_save(&s);
	account_forget(&cache, shop(of));
}

static inline void drop_hook(unsigned of, unsigned number)
{
	cr_assert_eq(subscription_del(s.view, shop(of), hook(number)), OK);
	scratch_save(&s);
	account_forget(&cache, shop(of));
}

static inline void delete_shop_pass(unsigned of, uint32_t pass)
{
	struct hot_at at;
	cr_assert_eq(hot_get(s.view, shop(of), pass, &at), OK);
	struct hot after = at.now;
	after.flags |= HOT_DELETED;
	cr_assert_eq(hot_put(s.view, &at, &after), OK);
	scratch_save(&s);
}

static inline void make_deliveries_shop(unsigned of)
{
	struct account_row row = {.webhooks = true, .created = {1}, .name = span_str("Shop")};
	struct hot         pass = {.status = ISSUED, .template = 1, .created = {1}, .updated = {1}};
	cr_assert_eq(account_row_put(s.view, shop(of), &row), OK);
	scratch_save(&s);
	for (uint32_t i = 0; i < SHOP_PASSES; i++) {
		cr_assert_eq(hot_add(s.view, shop(of), i, &pass), OK);
		scratch_save(&s);
	}
}

/* Creates `shops`, each with one subscription: hook(number of the shop). */
static inline void begin_deliveries(unsigned shops, uint32_t leases_max)
{
	scratch_open(&s);
	now.v = 1700000000 * US_PER_SEC;
	mono.v = 1000 * US_PER_SEC;
	instance = 1;
	for (unsigned of = 0; of < shops; of++) {
		make_deliveries_shop(of);
		put_hook(of, of, 1);
	}
	cr_assert_eq(queue_load(&queue, s.view, leases_max, mono), OK);
}

static inline void begin_shops(void)
{
	begin_deliveries(SHOPS, 1000);
}

static inline void end_deliveries(void)
{
	queue_free(&queue);
	account_forget_all(&cache);
	buffer_free(&payload);
	arena_free(&plain_arena);
	scratch_close(&s);
}
