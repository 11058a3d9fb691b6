/* The audit of idempotency keys: a fault in either of the two tables of an otherwise sound shop is
 * reported. */
#include "tests/unit/audit_look.h"

TestSuite(audit_idempotency, .init = make_shop, .fini = end);

static const uint8_t third[32] = {3};

static struct row_key key_of(uint8_t first)
{
	struct row_key key = key_account(account);
	memset(key.bytes + key.size, 0, 32);
	key.bytes[key.size] = first;
	key.size += 32;
	return key;
}

static void patch_key(size_t offset, uint8_t byte)
{
	patch(TABLE_IDEMPOTENCY, key_of(3), offset, &byte, 1);
}

static void break_what(void)
{
	patch_key(0, 9);
}
static void break_flags(void)
{
	patch_key(1, 64);
}
static void break_number(void)
{
	patch_key(4, PASSES);
}
static void break_number_of_nothing(void)
{
	patch_key(0, RECIPE_EMPTY);
}
static void break_time(void)
{
	patch_key(8, 31);
}
static void break_sign(void)
{
	patch_key(15, 0x80);
}
static void break_order(void)
{
	patch_key(16, 4);
}
static void break_order_of_another(void)
{
	patch_key(16, 5);
}
static void break_form(void)
{
	put(TABLE_IDEMPOTENCY, key_of(3), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_IDEMPOTENCY, key_u64(account, 3), span_of(filler(1, 56).at, 56));
}
static void break_missing(void)
{
	del(TABLE_IDEMPOTENCY, key_of(3));
}
static void break_place_missing(void)
{
	del(TABLE_IDEMPOTENCY_ORDER, key_u64(account, 3));
}
static void break_place_key(void)
{
	patch(TABLE_IDEMPOTENCY_ORDER, key_u64(account, 3), 31, "\x01", 1);
}
static void break_place_twice(void)
{
	uint8_t test_dir[40] = {3, [32] = 60};
	put(TABLE_IDEMPOTENCY_ORDER, key_u64(account, 6), span_of(test_dir, sizeof test_dir));
}
static void break_place_time(void)
{
	patch(TABLE_IDEMPOTENCY_ORDER, key_u64(account, 3), 32, "\x40", 1);
}
static void break_import_time(void)
{
	patch(TABLE_IDEMPOTENCY_ORDER, key_u64(account, IDEMPOTENCY_IMPORTS + 2), 32, "\x40", 1);
}
static void break_place_form(void)
{
	put(TABLE_IDEMPOTENCY_ORDER, key_u64(account, 3), span_of(third, sizeof third));
}
static void break_place_size(void)
{
	put(TABLE_IDEMPOTENCY_ORDER, key_u32(account, 3), span_of(filler(1, 40).at, 40));
}
static void break_detail_of_nothing(void)
{
	uint8_t value[57] = {RECIPE_PASS, [16] = 3};
	put(TABLE_IDEMPOTENCY, key_of(3), span_of(value, sizeof value));
}
static void break_detail(void)
{
	uint8_t value[56 + 20] = {RECIPE_SUBSCRIPTION, [16] = 3};
	put(TABLE_IDEMPOTENCY, key_of(3), span_of(value, sizeof value));
}
static void break_account(void)
{
	put(TABLE_IDEMPOTENCY, key_u32(nobody, 1), span_str("x"));
}

static const struct breakage breakages[] = {
    B(what, "table idempotency, account acc_mfrqaaaaaaaaaaaa: key 3: an unknown answer"),
    B(flags, "key 3: an unknown answer"),
    B(number, "key 3: pass 45 does not exist"),
    B(number_of_nothing, "key 3: pass 4 does not exist"),
    B(time, "key 3: another time than in the order"),
    B(sign, "key 3: an impossible number or time"),
    B(order, "table idempotency, account acc_mfrqaaaaaaaaaaaa: key 4: it is not in the order"),
    B(order_of_another, "key 5: it is not in the order"),
    B(form, "table idempotency, account acc_mfrqaaaaaaaaaaaa: a row of a wrong form"),
    B(key, "table idempotency, account acc_mfrqaaaaaaaaaaaa: a row of a wrong form"),
    B(missing, "table idempotency_order, account acc_mfrqaaaaaaaaaaaa: number 3 leads to no key"),
    B(place_missing, "key 3: it is not in the order"),
    B(place_key, "key 3: it is not in the order"),
    B(place_twice, "number 6 leads to no key"),
    B(place_time, "number 5 is older than the one before"),
    B(import_time, "number 9223372036854775812 is older than the one before"),
    B(place_form, "table idempotency_order, account acc_mfrqaaaaaaaaaaaa: a row of a wrong form"),
    B(place_size, "table idempotency_order, account acc_mfrqaaaaaaaaaaaa: a row of a wrong form"),
    B(detail_of_nothing, "key 3: a detail that cannot be read"),
    B(detail, "key 3: a detail that cannot be read"),
    B(account, "account acc_nyaaaaaaaaaaaaaa: rows of an account that does not exist"),
};

Test(audit_idempotency, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}
