/* The audit of entitlements: each rule, broken alone in an otherwise sound shop, is reported. The shop has
 * assigned five entitlements of one reward: two available (one partly redeemed), one that never expires, one
 * redeemed, one replaced. */
#include "tests/unit/audit_look.h"

#include "store/entitlement.h"
#include "store/expiry.h"
#include "store/redemption.h"
#include "store/reward.h"

enum { FAMILY = 1, ALLOWANCE = 3, MADE = 1000, TAKEN = 2000, ENDS = 900000, GIVEN = 5 };
enum { IN_PART, UNTOUCHED, FOR_EVER, REDEEMED, REPLACED };

static struct uuid id_of_one(uint8_t tag)
{
	return (struct uuid){{(uint8_t)(tag + 1)}};
}

static struct row_key key_of_one(uint8_t tag)
{
	struct row_key key = key_u32(account, tag);
	memcpy(key.bytes + key.size, id_of_one(tag).b, sizeof(struct uuid));
	key.size += sizeof(struct uuid);
	return key;
}

static struct row_key key_of_open(uint8_t tag, uint32_t family, uint64_t expires)
{
	struct row_key key = key_u32(account, tag);
	put_be32(key.bytes + key.size, family);
	put_be64(key.bytes + key.size + 4, expires);
	memcpy(key.bytes + key.size + 12, id_of_one(tag).b, sizeof(struct uuid));
	key.size += 12 + sizeof(struct uuid);
	return key;
}

static struct row_key key_of_held(uint32_t pass, uint32_t family)
{
	struct row_key key = key_u32(account, pass);
	put_be32(key.bytes + key.size, family);
	key.size += 4;
	return key;
}

static struct row_key key_of_expiry(uint8_t level, uint64_t span)
{
	struct row_key key = key_account(account);
	key.bytes[key.size] = level;
	put_be64(key.bytes + key.size + 1, span);
	key.size += 9;
	return key;
}

static void put_reward(void)
{
	struct reward_version version = {.family = FAMILY,
	                                 .version = 1,
	                                 .repeat_assignment = true,
	                                 .redemption_allowance = ALLOWANCE,
	                                 .id = {{1}},
	                                 .family_id = {{2}},
	                                 .created = {5},
	                                 .made = {5},
	                                 .slug = span_str("coffee"),
	                                 .name = span_str("Coffee")};
	struct reward         reward = {.family = FAMILY,
	                                .version = 1,
	                                .created = {5},
	                                .updated = {5},
	                                .assigned = GIVEN,
	                                .assigned_newest = GIVEN,
	                                .family_id = {{2}},
	                                .slug = span_str("coffee")};
	struct reward_tally   tally = {.families = 1, .rewards = 1};
	must(!reward_version_put(s.view, account, &version) && !reward_put(s.view, account, &reward));
	must(!reward_slug_put(s.view, account, &reward) && !reward_tally_put(s.view, account, &tally));
	scratch_save(&s);
}

static struct entitlement give(uint8_t tag)
{
	struct entitlement row = {.pass = tag,
	                          .id = id_of_one(tag),
	                          .family = FAMILY,
	                          .version = 1,
	                          .allowance = ALLOWANCE,
	                          .remaining = ALLOWANCE,
	                          .expires = {tag == FOR_EVER ? 0 : ENDS + tag},
	                          .created = {MADE},
	                          .updated = {MADE}};
	must(!entitlement_add(s.view, account, &row));
	scratch_save(&s);
	return row;
}

static void redeem(uint8_t tag, uint32_t amount)
{
	struct entitlement before, after;
	must(!entitlement_get(s.view, account, tag, id_of_one(tag), &before));
	after = before;
	after.updated.v = TAKEN;
	after.remaining -= amount;
	if (!after.remaining) after.state = ENTITLEMENT_REDEEMED;
	struct redemption row = {.pass = tag,
	                         .entitlement = before.id,
	                         .id = {{(uint8_t)after.remaining}},
	                         .amount = amount,
	                         .remaining = after.remaining,
	                         .created = {TAKEN},
	                         .context = span_str("till")};
	must(!entitlement_change(s.view, account, &before, &after) && !redemption_put(s.view, account, &row));
	scratch_save(&s);
}

static void open_shop(void)
{
	make_shop();
	put_reward();
	for (uint8_t tag = 0; tag < GIVEN; tag++)
		give(tag);
	redeem(IN_PART, 2);
	redeem(REDEEMED, 1);
	redeem(REDEEMED, 2);
	struct entitlement before, after;
	must(!entitlement_get(s.view, account, REPLACED, id_of_one(REPLACED), &before));
	after = before;
	after.state = ENTITLEMENT_REPLACED;
	must(!entitlement_change(s.view, account, &before, &after));
	scratch_save(&s);
}

TestSuite(audit_entitlements, .init = open_shop, .fini = end);

static void patch_one(uint8_t tag, size_t offset, uint8_t byte)
{
	patch(TABLE_ENTITLEMENT, key_of_one(tag), offset, &byte, 1);
}

static void put_u64(enum table table, struct row_key key, uint64_t count)
{
	uint8_t value[8];
	put_le64(value, count);
	put(table, key, span_of(value, sizeof value));
}

static void break_form(void)
{
	patch_one(UNTOUCHED, 0, 2);
}
static void break_key(void)
{
	put(TABLE_ENTITLEMENT, key_u32(account, 1), span_str("x"));
}
static void break_pass(void)
{
	struct entitlement row = {.pass = PASSES, .id = {{77}}, .family = FAMILY, .version = 1};
	row.allowance = row.remaining = ALLOWANCE;
	row.created.v = row.updated.v = MADE;
	must(!entitlement_add(s.view, account, &row));
	scratch_save(&s);
}
static void break_remaining(void)
{
	patch_one(UNTOUCHED, 16, 0);
}
static void break_too_much(void)
{
	patch_one(UNTOUCHED, 16, ALLOWANCE + 1);
}
static void break_state(void)
{
	patch_one(REDEEMED, 1, ENTITLEMENT_OPEN);
}
static void break_created(void)
{
	patch_one(UNTOUCHED, 39, 0x80);
}
static void break_late(void)
{
	patch_one(UNTOUCHED, 43, 1);
}
static void break_version(void)
{
	patch_one(UNTOUCHED, 8, 2);
}
static void break_allowance(void)
{
	patch_one(UNTOUCHED, 12, ALLOWANCE + 1);
}
static void break_replaced(void)
{
	patch_one(UNTOUCHED, 1, ENTITLEMENT_REPLACED);
}
static void break_open_form(void)
{
	put(TABLE_OPEN, key_of_open(UNTOUCHED, FAMILY, ENDS + UNTOUCHED), span_str("x"));
}
static void break_open_missing(void)
{
	del(TABLE_OPEN, key_of_open(FOR_EVER, FAMILY, INT64_MAX));
}
static void break_open_over(void)
{
	put(TABLE_OPEN, key_of_open(REPLACED, FAMILY, ENDS + REPLACED), span_of(NULL, 0));
}
static void break_open_time(void)
{
	del(TABLE_OPEN, key_of_open(UNTOUCHED, FAMILY, ENDS + UNTOUCHED));
	put(TABLE_OPEN, key_of_open(UNTOUCHED, FAMILY, ENDS), span_of(NULL, 0));
}
static void break_open_family(void)
{
	del(TABLE_OPEN, key_of_open(UNTOUCHED, FAMILY, ENDS + UNTOUCHED));
	put(TABLE_OPEN, key_of_open(UNTOUCHED, FAMILY + 1, ENDS + UNTOUCHED), span_of(NULL, 0));
}
static void break_held_count(void)
{
	put(TABLE_HELD, key_of_held(UNTOUCHED, FAMILY), span_of("\2\0\0\0", 4));
}
static void break_held_missing(void)
{
	del(TABLE_HELD, key_of_held(REPLACED, FAMILY));
}
static void break_held_form(void)
{
	put(TABLE_HELD, key_of_held(UNTOUCHED, FAMILY), span_of("\0\0\0\0", 4));
}
static void break_expiry_count(void)
{
	put_u64(TABLE_EXPIRY, key_of_expiry(0, ENDS + UNTOUCHED), 2);
}
static void break_expiry_level(void)
{
	del(TABLE_EXPIRY, key_of_expiry(4, 0));
}
static void break_expiry_place(void)
{
	del(TABLE_EXPIRY, key_of_expiry(1, ENDS >> EXPIRY_SHIFT));
	put_u64(TABLE_EXPIRY, key_of_expiry(1, (ENDS >> EXPIRY_SHIFT) + 1), 2);
}
static void break_expiry_form(void)
{
	put_u64(TABLE_EXPIRY, key_of_expiry(EXPIRY_LEVELS, 0), 1);
}
static void break_expiry_over(void)
{
	put_u64(TABLE_EXPIRY, key_of_expiry(2, 77), 1);
}
static struct redemption a_redemption(uint8_t tag, uint8_t id)
{
	return (struct redemption){.pass = tag, .entitlement = id_of_one(tag), .id = {{id}}, .amount = 1};
}
static void store_redemption(struct redemption row)
{
	must(!redemption_put(s.view, account, &row));
	scratch_save(&s);
}
static void break_redemption_over(void)
{
	store_redemption(a_redemption(UNTOUCHED, 9));
}
static void break_redemption_amount(void)
{
	store_redemption(a_redemption(IN_PART, 1));
}
static void break_redemption_missing(void)
{
	struct row_key key = key_of_one(IN_PART);
	memcpy(key.bytes + key.size, (struct uuid){{1}}.b, sizeof(struct uuid));
	key.size += sizeof(struct uuid);
	del(TABLE_REDEMPTION, key);
}
static void break_redemption_of_none(void)
{
	struct redemption row = a_redemption(UNTOUCHED, 9);
	row.entitlement.b[0] = 99;
	store_redemption(row);
}
static void break_redemption_form(void)
{
	struct row_key key = key_of_one(UNTOUCHED);
	memset(key.bytes + key.size, 1, sizeof(struct uuid));
	key.size += sizeof(struct uuid);
	put(TABLE_REDEMPTION, key, span_str("x"));
}
static void change_tally(int of, int64_t by)
{
	struct reward_tally tally;
	must(!reward_tally_get(s.view, account, &tally));
	uint64_t *counts[] = {&tally.entitlements, &tally.redeemed, &tally.replaced, &tally.open};
	*counts[of] += (uint64_t)by;
	must(!reward_tally_put(s.view, account, &tally));
	scratch_save(&s);
}
static void break_tally_all(void)
{
	change_tally(0, 1);
}
static void break_tally_redeemed(void)
{
	change_tally(1, -1);
}
static void break_tally_replaced(void)
{
	change_tally(2, 1);
}
static void break_tally_open(void)
{
	change_tally(3, 1);
}
static void break_assigned(void)
{
	struct reward reward;
	must(!reward_get(s.view, account, FAMILY, &reward));
	reward.assigned++;
	must(!reward_put(s.view, account, &reward));
	scratch_save(&s);
}
static void break_assigned_newest(void)
{
	struct reward reward;
	must(!reward_get(s.view, account, FAMILY, &reward));
	reward.assigned_newest--;
	must(!reward_put(s.view, account, &reward));
	scratch_save(&s);
}
static void break_left_version(void)
{
	struct cleanup row = reward_version_left_over(account, FAMILY, 1);
	must(!cleanup_put(s.view, &row));
	scratch_save(&s);
}
static void break_account(void)
{
	put(TABLE_ENTITLEMENT, key_u32(nobody, 1), span_str("x"));
}

#define COUNTS "the counts are not those of the entitlements"

static const struct breakage breakages[] = {
    B(form, "table entitlement, " ACCOUNT "a row of a wrong form"),
    B(key, "table entitlement, " ACCOUNT "a row of a wrong form"),
    B(pass, "4d000000-0000-0000-0000-000000000000 is of a pass that was never made"),
    B(remaining, "02000000-0000-0000-0000-000000000000 is in an impossible state"),
    B(too_much, "02000000-0000-0000-0000-000000000000 is in an impossible state"),
    B(state, "04000000-0000-0000-0000-000000000000 is in an impossible state"),
    B(created, "02000000-0000-0000-0000-000000000000 has impossible times"),
    B(late, "02000000-0000-0000-0000-000000000000 has impossible times"),
    B(version, "02000000-0000-0000-0000-000000000000 is of version 2 of reward 1, which is not there"),
    B(allowance, "02000000-0000-0000-0000-000000000000 has an allowance that is not its version's"),
    B(replaced, "table open, " ACCOUNT "02000000-0000-0000-0000-000000000000 is not so"),
    B(open_form, "table open, " ACCOUNT "a row of a wrong form"),
    B(open_missing, "table open, " ACCOUNT "2 rows, but 3 are open"),
    B(open_over, "table open, " ACCOUNT "05000000-0000-0000-0000-000000000000 is not so"),
    B(open_time, "table open, " ACCOUNT "02000000-0000-0000-0000-000000000000 is not so"),
    B(open_family, "table open, " ACCOUNT "02000000-0000-0000-0000-000000000000 is not so"),
    B(held_count, "table held, " ACCOUNT COUNTS),
    B(held_missing, "table held, " ACCOUNT COUNTS),
    B(held_form, "table held, " ACCOUNT "a row of a wrong form"),
    B(expiry_count, "the counts of level 0 are not those of the entitlements"),
    B(expiry_level, "the counts of level 4 are not those of the entitlements"),
    B(expiry_place, "the counts of level 1 are not those of the entitlements"),
    B(expiry_over, "the counts of level 2 are not those of the entitlements"),
    B(expiry_form, "table expiry, " ACCOUNT "a row of a wrong form"),
    B(redemption_over, "those of 02000000-0000-0000-0000-000000000000 add up to 1, 0 are gone"),
    B(redemption_amount, "those of 01000000-0000-0000-0000-000000000000 add up to 1, 2 are gone"),
    B(redemption_missing, "table redemption, " ACCOUNT "all add up to 3, 5 are gone"),
    B(redemption_of_none, "one of 63000000-0000-0000-0000-000000000000, which is not there"),
    B(redemption_form, "pass 1: a row of a wrong form"),
    B(tally_all, "table reward_tally, " ACCOUNT COUNTS),
    B(tally_redeemed, "table reward_tally, " ACCOUNT COUNTS),
    B(tally_replaced, "table reward_tally, " ACCOUNT COUNTS),
    B(tally_open, "table reward_tally, " ACCOUNT COUNTS),
    B(assigned, "the counts of assignments are not those of the entitlements"),
    B(assigned_newest, "the counts of assignments are not those of the entitlements"),
    B(left_version, "is not one to be removed"),
    B(account, NOBODY "rows of an account that does not exist"),
};

Test(audit_entitlements, reports_each_broken_rule)
{
	for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
		scratch_close(&s);
		open_shop();
		breakages[i].work();
		expect_fault(breakages[i].name, breakages[i].want);
	}
}

Test(audit_entitlements, finds_no_fault_after_commands)
{
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
