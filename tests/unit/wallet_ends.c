/* Ends of credentials in memory: read at the start, followed with each write, each threshold passed once. */
#include "actors/shard/wallet/ends.h"
#include "actors/shard/wallet/wallet.h"
#include "store/keys.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

#define DAY (INT64_C(86400) * US_PER_SEC)

static struct scratch          s;
static struct wallet_ends      ends;
static struct wallet_end       soonest[WALLET_ENDS_SHOWN_MAX];
static const struct account_id account = {{'b'}}, other = {{'c'}};

static void begin(void)
{
	scratch_open(&s);
}

static void end(void)
{
	wallet_ends_free(&ends);
	scratch_close(&s);
}

TestSuite(wallet_ends, .init = begin, .fini = end);

static void stage(struct account_id of, enum wallet_kind kind, int64_t days)
{
	struct wallet_credential row = {.account = of,
	                                .kind = kind,
	                                .number = 7,
	                                .generation = 1,
	                                .not_after = {days * DAY},
	                                .issuer_not_after = {900 * DAY},
	                                .name = span_str("pass.a"),
	                                .sealed = filler(1, 4000)};
	cr_assert_eq(wallet_credential_put(s.view, &row), OK);
	cr_assert_eq(wallet_current_put(s.view, of, kind, row.number), OK);
}

/* As the engine does it, for the write of the account's row that says which one makes new passes. */
static void follow(int64_t today)
{
	struct row_key key = key_account(account);
	key.bytes[key.size++] = WALLET_APPLE;
	put_be64(key.bytes + key.size, 0);
	key.size += 8;
	struct write  write = {.kind = WRITE_PUT, .table = TABLE_WALLET_CREDENTIAL, .key = key_span(&key)};
	struct writes writes = {.count = 1, .rows = &write};
	scratch_save(&s);
	cr_assert_eq(wallet_ends_on_writes(&ends, &writes, s.view, (wall_us){today * DAY}), OK);
}

static void expect_days(unsigned count, const int64_t days[])
{
	cr_assert_eq(wallet_ends_soonest(&ends, soonest), count);
	for (unsigned i = 0; i < count; i++)
		cr_expect_eq(soonest[i].end.v, days[i] * DAY, "place %u", i);
}

Test(wallet_ends, a_start_reads_them_and_a_write_changes_them)
{
	char text[ACCOUNT_ID_TEXT];
	stage(other, WALLET_APPLE, 50);
	stage(account, WALLET_APPLE, 40);
	stage(account, WALLET_GOOGLE, 0);
	stage(wallet_operator, WALLET_APPLE, 60);
	scratch_commit(&s);
	cr_assert_eq(wallet_ends_load(&ends, s.view, true), OK);
	expect_days(3, (int64_t[]){40, 50, 60});
	wallet_owner_text(soonest[2].account, text);
	cr_expect_str_eq(text, "default");
	wallet_ends_free(&ends);
	cr_assert_eq(wallet_ends_load(&ends, s.view, false), OK);
	expect_days(2, (int64_t[]){40, 50});
}

Test(wallet_ends, only_the_first_start_below_a_threshold_is_due)
{
	stage(account, WALLET_APPLE, 40);
	scratch_commit(&s);
	cr_assert_eq(wallet_ends_load(&ends, s.view, true), OK);
	wallet_ends_log(&ends, (wall_us){0});
	cr_expect_eq(ends.look_at.v, 10 * DAY, "30 days before its end");
	wallet_ends_log(&ends, (wall_us){10 * DAY - 1});
	cr_expect_eq(ends.look_at.v, 10 * DAY);
	wallet_ends_log(&ends, (wall_us){10 * DAY});
	cr_expect_eq(ends.look_at.v, 26 * DAY, "14 days before");
	wallet_ends_log(&ends, (wall_us){33 * DAY});
	cr_expect_eq(ends.look_at.v, 39 * DAY, "one day before: two thresholds at once");
	wallet_ends_log(&ends, (wall_us){41 * DAY});
	cr_expect_eq(ends.look_at.v, INT64_MAX);
}

Test(wallet_ends, what_is_put_or_removed_is_followed)
{
	cr_assert_eq(wallet_ends_load(&ends, s.view, true), OK);
	stage(account, WALLET_APPLE, 20);
	follow(0);
	expect_days(1, (int64_t[]){20});
	cr_expect_eq(ends.look_at.v, 6 * DAY, "the threshold of 30 days is behind");
	stage(account, WALLET_APPLE, 100);
	follow(3);
	expect_days(1, (int64_t[]){100});
	cr_expect_eq(ends.look_at.v, 70 * DAY);
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), OK);
	follow(4);
	expect_days(0, NULL);
	cr_expect_eq(ends.look_at.v, INT64_MAX);
}

Test(wallet_ends, of_many_those_that_end_first_are_shown)
{
	for (int i = 0; i < 3 * WALLET_ENDS_SHOWN_MAX; i++) {
		struct account_id of = {{'d', (uint8_t)(i / 200), (uint8_t)(i % 200)}};
		stage(of, WALLET_APPLE, 1000 - (i * 37) % 300);
		scratch_save(&s);
	}
	scratch_commit(&s);
	cr_assert_eq(wallet_ends_load(&ends, s.view, true), OK);
	cr_assert_eq(wallet_ends_soonest(&ends, soonest), WALLET_ENDS_SHOWN_MAX);
	for (unsigned i = 0; i < WALLET_ENDS_SHOWN_MAX; i++)
		cr_expect_eq(soonest[i].end.v, (int64_t)(i + 701) * DAY);
}
