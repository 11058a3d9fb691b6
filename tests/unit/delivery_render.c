/* The contents of an attempt: the pass as it is now, signed with the subscriber's secret. Tests the answer to
 * DELIVERY_RENDER, which of its leases are left out, void or cannot be sent, and contents that are sent
 * together with leases. */
#include "tests/unit/args.h"
#include "tests/unit/audit_shop.h"

#include "actors/shard/account/account.h"
#include "actors/shard/command.h"
#include "actors/shard/delivery/queue.h"
#include "actors/shard/subscription/subscription.h"
#include "schemas/webhook.h"
#include "store/delivery.h"

#include <criterion/criterion.h>

enum { PASS = 3 };
static struct shard_facts  facts = {.public_url = "https://example"};
static struct random_pool  randomness;
static struct buffer       payload;
static struct outcome      outcome;
static struct subscription hook;
static msgpack_zone       *zone;
static msgpack_object      answer;
static size_t refused_from = SIZE_MAX; /* bytes: more memory than can be allocated in one piece */

void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);

void *__wrap_realloc(void *at, size_t size)
{
	return size >= refused_from ? NULL : __real_realloc(at, size);
}

static struct request request_with(const msgpack_object *args)
{
	outcome = (struct outcome){.payload = &payload};
	buffer_clear(&payload);
	return (struct request){.args = args,
	                        .view = s.view,
	                        .facts = &facts,
	                        .zone = zone,
	                        .random = &randomness,
	                        .now = {1700000000123456}};
}

static void put_hook(bool active)
{
	hook.active = active;
	must(!subscription_put(s.view, account, &hook));
	scratch_save(&s);
}

static void begin(void)
{
	struct account *loaded = NULL;
	make_shop();
	zone = msgpack_zone_new(4096);
	must(!account_load(s.view, account, &loaded));
	struct request request = request_with(NULL);
	request.account = loaded;
	hook = (struct subscription){
	    .kind_count = 1, .kinds = {EVENT_PASS_BALANCE_UPDATE}, .url = span_str("https://a.example/x")};
	must(!subscription_draw(&request, &hook));
	hook.generation = 1;
	put_hook(true);
	account_free(&loaded);
}

static void finish(void)
{
	buffer_free(&payload);
	msgpack_zone_free(zone);
	end();
}

TestSuite(delivery_render, .init = begin, .fini = finish);

static struct delivery row_of(enum delivery_zone in, uint8_t tag, uint32_t pass)
{
	return (struct delivery){.account = account,
	                         .subscription = hook.id,
	                         .event = {{1, [15] = tag}},
	                         .zone = in,
	                         .due = {1700000000000000},
	                         .kind = EVENT_PASS_BALANCE_UPDATE,
	                         .attempts = in == ZONE_LEASED,
	                         .generation = 1,
	                         .subject = pass,
	                         .fact = {1700000000000000}};
}

static struct lease put_lease(uint8_t tag, uint32_t pass)
{
	struct delivery row = row_of(ZONE_LEASED, tag, pass);
	row.token = tag + 100u;
	row.instance = 1;
	must(!delivery_put(s.view, &row));
	scratch_save(&s);
	return (struct lease){row.account, row.subscription, row.due, row.event, row.token};
}

/* The items of the answer. */
static enum err render(const struct lease *leases, unsigned count, size_t cut)
{
	static uint8_t bytes[LEASES_PER_CALL_MAX * LEASE_BYTES];
	for (unsigned i = 0; i < count; i++)
		lease_write(&leases[i], bytes + i * LEASE_BYTES);
	msgpack_object arg = value_bin(bytes, count * LEASE_BYTES - cut);
	struct request request = request_with(&arg);
	enum err       err = on_DELIVERY_RENDER(&request, &outcome);
	account_free(&request.account);
	cr_assert_eq(s.staged.count, 0);
	if (err) return err;
	answer = value_unpacked(&payload, zone);
	cr_assert(answer.type == MSGPACK_OBJECT_ARRAY && answer.via.array.size == 3);
	answer = answer.via.array.ptr[0];
	return OK;
}

/* Item `i` belongs to that lease and has this many fields. */
static const msgpack_object *item(unsigned i, const struct lease *lease, uint32_t fields)
{
	uint8_t bytes[LEASE_BYTES];
	cr_assert_lt(i, answer.via.array.size);
	const msgpack_object *at = &answer.via.array.ptr[i];
	lease_write(lease, bytes);
	cr_assert(at->type == MSGPACK_OBJECT_ARRAY && at->via.array.size == fields, "of %u",
	          at->via.array.size);
	cr_expect(span_equal(arg_span(&at->via.array.ptr[0]), span_of(bytes, sizeof bytes)));
	return at->via.array.ptr;
}

Test(delivery_render, has_the_envelope_signed_with_the_subscribers_secret)
{
	uint8_t        secret[WEBHOOK_KEY_BYTES];
	char           want[WEBHOOK_SIGNATURE_TEXT];
	struct lease   lease = put_lease(7, PASS);
	struct request request = request_with(NULL);
	struct account of = {.id = account};
	request.account = &of;
	cr_assert_eq(subscription_secret(&request, &hook, secret), OK);
	cr_assert_eq(render(&lease, 1, 0), OK);
	cr_assert_eq(answer.via.array.size, 1);
	const msgpack_object *got = item(0, &lease, 6);
	cr_expect(span_is(arg_span(&got[1]), "https://a.example/x"));
	cr_expect(span_is(arg_span(&got[2]), "evt_01000000-0000-0000-0000-000000000007"));
	struct webhook webhook = {
	    arg_span(&got[2]), {arg_integer(&got[3], 0) * US_PER_SEC}, arg_span(&got[5])};
	webhook_sign(&webhook, secret, want);
	cr_expect(span_is(arg_span(&got[4]), want));
	static const char head[] = "{\"id\":\"evt_01000000-0000-0000-0000-000000000007\","
	                           "\"type\":\"pass.balanceUpdate\",\"created_at\":"
	                           "\"2023-11-14T22:13:20.000Z\",\"data\":{";
	struct span       body = arg_span(&got[5]);
	cr_assert_gt(body.size, sizeof head);
	cr_expect_arr_eq(body.at, head, sizeof head - 1);
	cr_expect(memmem(body.at, body.size, "\"id\":\"pass-3\"", 13), "%.*s", (int)body.size,
	          (const char *)body.at);
}

Test(delivery_render, leaves_out_ended_leases)
{
	struct lease good = put_lease(1, PASS), none = good, other_token = good;
	none.event.b[0] ^= 1;
	other_token.token++;
	struct lease all[] = {none, other_token, good};
	cr_assert_eq(render(all, 3, 0), OK);
	cr_assert_eq(answer.via.array.size, 1);
	(void)item(0, &good, 6);
	cr_expect_eq(render(all, 3, 1), ERR_MALFORMED);
}

Test(delivery_render, is_void_without_its_pass_or_subscription)
{
	struct lease leases[] = {put_lease(1, DELETED_PASS), put_lease(2, PASS)};
	cr_assert_eq(render(leases, 2, 0), OK);
	(void)item(0, &leases[0], 1);
	(void)item(1, &leases[1], 6);
	put_hook(false);
	cr_assert_eq(render(leases, 2, 0), OK);
	(void)item(1, &leases[1], 1);
	put_hook(true);
	hook.generation++;
	put_hook(true);
	cr_assert_eq(render(leases, 2, 0), OK);
	(void)item(1, &leases[1], 1);
}

Test(delivery_render, cannot_be_sent_without_the_key_that_sealed_its_secret)
{
	struct lease lease = put_lease(1, PASS);
	facts.webhook_key[0] ^= 1;
	cr_assert_eq(render(&lease, 1, 0), OK);
	cr_expect_eq(arg_integer(&item(0, &lease, 2)[1], 0), ATTEMPT_INTERNAL);
	facts.webhook_key[0] ^= 1;
}

Test(delivery_render, accepts_as_many_as_one_lease_command_returns)
{
	struct lease leases[LEASES_PER_CALL_MAX];
	for (uint8_t i = 0; i < LEASES_PER_CALL_MAX; i++)
		leases[i] = put_lease(i, LARGE_PASS);
	cr_assert_eq(render(leases, LEASES_PER_CALL_MAX, 0), OK);
	for (unsigned i = 0; i < LEASES_PER_CALL_MAX; i++)
		cr_expect_gt(arg_span(&item(i, &leases[i], 6)[5]).size, 5000);
}

/* With their leases
 * --------------------------------------------------------------------------------------- */

static struct lease handed[LEASES_PER_CALL_MAX];
static unsigned     handed_count;

/* DELIVERY_LEASE of this many waiting deliveries: its items are in `answer`, its leases in `handed`. */
static void hand_out(unsigned count, uint32_t pass)
{
	static struct delivery_queue    queue;
	static struct account_cache     cache;
	static struct delivery_counters counters;
	const struct call               call = {.deadline = {LEASE_ASK_MS * US_PER_MS}};
	const msgpack_object            args[] = {value_integer(1), value_integer(count)};
	for (uint8_t i = 0; i < count; i++) {
		struct delivery row = row_of(ZONE_WAITING, i, pass);
		must(!delivery_put(s.view, &row));
		scratch_save(&s);
	}
	must(!queue_load(&queue, s.view, LEASES_MAX, (mono_us){0}));
	queue_note(&queue, queue_lane(&queue, account, hook.id), LANE_SOUND, true);
	struct request request = request_with(args);
	request.call = &call;
	request.accounts = &cache;
	request.deliveries = &queue;
	request.counters = &counters;
	cr_assert_eq(on_DELIVERY_LEASE(&request, &outcome), OK);
	scratch_save(&s);
	answer = value_unpacked(&payload, zone);
	struct span bytes = arg_span(&answer.via.array.ptr[0]);
	handed_count = (unsigned)(bytes.size / LEASE_BYTES);
	for (unsigned i = 0; i < handed_count; i++)
		lease_read(bytes.at + i * LEASE_BYTES, &handed[i]);
	answer = answer.via.array.ptr[1];
	account_forget_all(&cache);
	queue_free(&queue);
}

Test(delivery_render, is_sent_with_its_lease)
{
	hand_out(2, PASS);
	cr_assert_eq(handed_count, 2);
	cr_assert_eq(answer.via.array.size, 2);
	const msgpack_object *along[] = {item(0, &handed[0], 6), item(1, &handed[1], 6)};
	struct buffer         kept = payload; /* the items point into these */
	payload = (struct buffer){0};
	cr_assert_eq(render(handed, 2, 0), OK);
	for (unsigned i = 0; i < 2; i++) {
		const msgpack_object *asked_for = item(i, &handed[i], 6);
		for (unsigned field = 0; field < 6; field++)
			if (field != 3 && field != 4) /* seconds, signature */
				cr_expect(
				    span_equal(arg_span(&along[i][field]), arg_span(&asked_for[field])));
	}
	buffer_free(&kept);
}

Test(delivery_render, is_sent_with_its_lease_up_to_a_size)
{
	size_t bytes = 0;
	hand_out(LEASES_PER_CALL_MAX, LARGE_PASS);
	cr_assert_eq(handed_count, LEASES_PER_CALL_MAX);
	unsigned count = answer.via.array.size;
	cr_expect_lt(count, LEASES_PER_CALL_MAX);
	for (unsigned i = 0; i < count; i++)
		bytes += arg_span(&item(i, &handed[i], 6)[5]).size;
	cr_expect(bytes > HANDED_BODY_BYTES / 8 * 7 && bytes < HANDED_BODY_BYTES / 8 * 9, "%zu", bytes);
	cr_assert_eq(render(handed + count, handed_count - count, 0), OK);
	cr_expect_eq(answer.via.array.size, handed_count - count);
}

Test(delivery_render, is_not_sent_with_its_lease_if_it_cannot_be_made)
{
	facts.webhook_key[0] ^= 1;
	hand_out(2, PASS);
	facts.webhook_key[0] ^= 1;
	cr_expect_eq(handed_count, 2);
	cr_expect_eq(answer.via.array.size, 0);
}

Test(delivery_render, does_not_affect_leases_if_memory_is_short)
{
	refused_from = HANDED_BODY_BYTES / 2;
	hand_out(LEASES_PER_CALL_MAX, LARGE_PASS);
	refused_from = SIZE_MAX;
	cr_assert_eq(handed_count, LEASES_PER_CALL_MAX);
	cr_expect_eq(answer.via.array.size, 0);
	cr_assert_eq(render(handed, handed_count, 0), OK);
	cr_expect_eq(answer.via.array.size, handed_count);
}
