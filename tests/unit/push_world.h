/* Pushes without the shard: accounts whose passes are on phones, the timer's commands as the engine carries them out (decide, apply,
 * notify), and short functions for both. Criterion runs each test in its own process, so these can be static. */
#pragma once
#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/held.h"
#include "schemas/api/push.h"
#include "schemas/states.h"
#include "schemas/wallet/push.h"
#include "store/keys.h"
#include "store/registration.h"
#include "store/wallet_credential.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { PASSES = 40, LEASES_TAKEN_MAX = PUSHES_PER_CALL_MAX, REAL_S = 5000 };

static struct scratch       s;
static struct work_queue   *work;
static struct account_cache cache;
static struct push_counters counters;
static struct shard_facts   facts;
static struct random_pool   randomness;
static struct call          call;
static struct outcome       outcome;
static struct buffer        payload;
static wall_us              now;
static mono_us              mono;
static uint64_t             instance = 1;

/* The last answer. */
static struct push_lease leases[LEASES_TAKEN_MAX];
static unsigned          lease_count, token_counts[LEASES_TAKEN_MAX], credential_count;
static uint64_t          first_number; /* of its first credential */
static bool              first_is_doubtful;

static inline struct account_id shop(unsigned number)
{
	return (struct account_id){{'s', (uint8_t)number}};
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
	                        .work = work,
	                        .pushes = &counters};
}

/* As the engine after a handler: applies a command's writes and passes them on. */
static inline enum err save(enum err err)
{
	cr_assert_leq(s.staged.count, BULK_WRITES_MAX);
	for (unsigned i = 0; !err && i < s.staged.count; i++)
		cr_assert_eq(db_apply(s.db, &s.staged.rows[i], false), OK);
	if (!err && work) {
		cr_assert_eq(work_on_writes(work, &s.staged, now), OK);
		cr_assert_eq(held_on_settings(work, &s.staged, now), OK);
	}
	if (s.staged.tables & TABLE_BIT(TABLE_ACCOUNT)) account_forget_all(&cache);
	s.staged = writes_none(&s.arena);
	arena_reset(&s.arena);
	s.view = db_view(s.db, &s.staged, &s.arena);
	return err;
}

static inline void read_lease(unsigned i, const msgpack_object *item)
{
	cr_assert_eq(item->via.array.ptr[0].via.bin.size, PUSH_LEASE_BYTES);
	push_lease_read((const uint8_t *)item->via.array.ptr[0].via.bin.ptr, &leases[i]);
	token_counts[i] = item->via.array.ptr[1].via.array.size;
	cr_assert_neq(token_counts[i], 0);
	for (unsigned k = 0; k < token_counts[i]; k++)
		cr_assert_lt(item->via.array.ptr[1].via.array.ptr[k].via.array.ptr[0].via.u64,
		             credential_count);
}

static inline void read_answer(void)
{
	msgpack_zone         *zone = msgpack_zone_new(4096);
	msgpack_object        answer = value_unpacked(&payload, zone);
	const msgpack_object *parts = answer.via.array.ptr;
	credential_count = parts[0].via.array.size;
	if (credential_count) {
		const msgpack_object *items = parts[0].via.array.ptr[0].via.array.ptr;
		cr_assert_eq(parts[0].via.array.ptr[0].via.array.size, PUSH_CREDENTIAL_ITEMS);
		first_number = items[1].via.u64;
		first_is_doubtful = items[4].via.boolean;
	}
	lease_count = parts[1].via.array.size;
	for (unsigned i = 0; i < lease_count; i++)
		read_lease(i, &parts[1].via.array.ptr[i]);
	msgpack_zone_free(zone);
}

/* How many passes were leased; their leases are in `leases`. */
static inline unsigned lease(unsigned count)
{
	msgpack_object args[ARGS_WALLET_LEASE] = {[ARG_WALLET_LEASE_instance] = value_integer(instance),
	                                          [ARG_WALLET_LEASE_count] = value_integer(count)};
	struct request request = request_now(args);
	lease_count = credential_count = 0;
	enum err err = on_WALLET_LEASE(&request, &outcome);
	cr_assert(!err || err == ERR_PARKED);
	if (!err) read_answer();
	cr_expect_eq(save(err), err);
	return lease_count;
}

static inline enum err send_report(struct span reports, struct span gone, struct span complaints)
{
	msgpack_object args[ARGS_WALLET_REPORT] = {
	    [ARG_WALLET_REPORT_reports] = value_bin(reports.at, reports.size),
	    [ARG_WALLET_REPORT_gone] = value_bin(gone.at, gone.size),
	    [ARG_WALLET_REPORT_complaints] = value_bin(complaints.at, complaints.size)};
	struct request request = request_now(args);
	return save(on_WALLET_REPORT(&request, &outcome));
}

static inline void report(const struct push_lease *of, enum push_fate fate)
{
	uint8_t bytes[PUSH_REPORT_BYTES];
	push_report_write(&(struct push_report){*of, fate}, bytes);
	cr_assert_eq(send_report(span_of(bytes, sizeof bytes), span_of(NULL, 0), span_of(NULL, 0)), OK);
}

static inline void report_gone(const struct push_gone *gone, unsigned count)
{
	uint8_t bytes[PUSH_NOTES_PER_CALL_MAX * PUSH_GONE_BYTES];
	for (unsigned i = 0; i < count; i++)
		push_gone_write(&gone[i], bytes + i * PUSH_GONE_BYTES);
	struct span all = span_of(bytes, count * PUSH_GONE_BYTES);
	cr_assert_eq(send_report(span_of(NULL, 0), all, span_of(NULL, 0)), OK);
}

/* Making -------------------------------------------------------------------------------------------------- */

static inline void put_credential_at(struct account_id of, const char *name, wall_us put)
{
	struct wallet_credential row = {.account = of,
	                                .kind = WALLET_APPLE,
	                                .number = wallet_number(span_str(name)),
	                                .generation = 1,
	                                .put = put,
	                                .not_after = {INT64_MAX},
	                                .issuer_not_after = {INT64_MAX},
	                                .name = span_str(name)};
	cr_assert_eq(wallet_credential_put(s.view, &row), OK);
	cr_assert_eq(wallet_current_put(s.view, of, row.kind, row.number), OK);
	cr_assert_eq(save(OK), OK);
}

static inline void put_credential(struct account_id of, const char *name)
{
	put_credential_at(of, name, (wall_us){7});
}

static inline struct wallet_credential credential(struct account_id of, const char *name)
{
	struct wallet_credential row;
	cr_assert_eq(wallet_credential_get(s.view, of, WALLET_APPLE, wallet_number(span_str(name)), &row),
	             OK);
	return row;
}

static inline struct registration phone(uint32_t pass, uint8_t device, const char *credential_name)
{
	return (struct registration){.pass_number = pass,
	                             .device = {device},
	                             .credential = wallet_number(span_str(credential_name)),
	                             .since = {REAL_S * US_PER_SEC},
	                             .push_token = span_str(device % 2 ? "aa11" : "bb22")};
}

static inline void put_phone(unsigned of, uint32_t pass, uint8_t device, const char *credential_name)
{
	struct registration row = phone(pass, device, credential_name);
	cr_assert_eq(registration_put(s.view, shop(of), &row), OK);
	cr_assert_eq(save(OK), OK);
}

static inline void set_wallets(unsigned of, unsigned off)
{
	struct account_row row = {
	    .created = {1}, .template_count = 1, .name = span_str("Shop"), .wallets_off = (uint8_t)off};
	cr_assert_eq(account_row_put(s.view, shop(of), &row), OK);
	cr_assert_eq(save(OK), OK);
}

static inline void make_shop(unsigned of)
{
	struct row_key key = key_u32(shop(of), 1);
	struct hot     pass = {.status = PASS_ACTIVE,
	                       .flags = HOT_BY_WALLET,
	                       .template = 1,
	                       .created = {1},
	                       .updated = {1},
	                       .ledger_head = 1};
	set_wallets(of, 0);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key),
	                       span_str("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}")),
	             OK);
	cr_assert_eq(save(OK), OK);
	for (uint32_t i = 0; i < PASSES; i++) {
		cr_assert_eq(hot_add(s.view, shop(of), i, &pass), OK);
		cr_assert_eq(save(OK), OK);
	}
}

static inline void begin_pushes(void)
{
	scratch_open(&s);
	now.v = 1700000000 * US_PER_SEC;
	mono.v = 1000 * US_PER_SEC;
	atomic_store(&facts.wallets, WALLET_BIT(WALLET_APPLE));
	for (unsigned of = 0; of < 2; of++)
		make_shop(of);
	put_credential(wallet_operator, "pass.default");
	cr_assert_eq(work_load(&work, s.view), OK);
}

static inline void end_pushes(void)
{
	work_free(&work);
	account_forget_all(&cache);
	buffer_free(&payload);
	scratch_close(&s);
}

static inline void change_to(unsigned of, uint32_t pass, enum pass_status status)
{
	struct request request = request_now(NULL);
	struct hot_at  at;
	cr_assert_eq(hot_get(s.view, shop(of), pass, &at), OK);
	struct hot after = at.now;
	after.status = (uint8_t)status;
	after.ledger_head++;
	cr_assert_eq(wallet_pass_changes(&request, &at, &after), OK);
	cr_assert_eq(hot_put(s.view, &at, &after), OK);
	cr_assert_eq(save(OK), OK);
}

static inline void change(unsigned of, uint32_t pass)
{
	change_to(of, pass, PASS_ACTIVE);
}

static inline bool is_due(unsigned of, enum wallet_due_kind kind, uint32_t pass, struct wallet_due *row)
{
	*row = (struct wallet_due){.account = shop(of), .kind = kind, .number = pass};
	enum err err = wallet_due_get(s.view, row);
	cr_assert(!err || err == ERR_NOT_FOUND);
	return !err;
}

static inline bool is_push_due(unsigned of, uint32_t pass)
{
	struct wallet_due row;
	return is_due(of, WALLET_DUE_PUSH, pass, &row);
}

static inline void pass_seconds(int64_t seconds)
{
	now.v += seconds * US_PER_SEC;
	mono.v += seconds * US_PER_SEC;
}

static inline void complain(enum push_complaint_kind kind, uint32_t generation)
{
	uint8_t               bytes[PUSH_COMPLAINT_BYTES];
	struct push_complaint complaint = {.kind = kind,
	                                   .account = wallet_operator,
	                                   .number = wallet_number(span_str("pass.default")),
	                                   .generation = generation,
	                                   .put = {7},
	                                   .reason = "403 BadCertificate"};
	push_complaint_write(&complaint, bytes);
	cr_assert_eq(send_report(span_of(NULL, 0), span_of(NULL, 0), span_of(bytes, sizeof bytes)), OK);
}
