/* http/kits.h: kits are found by their name, the least used go, and one that is in use lives on. */
#include "http/kits.h"

#include "schemas/limits.h"

#include <criterion/criterion.h>

static struct kits *kits;

static void begin(void)
{
	cr_assert_eq(kits_open(&kits), OK);
}

static void end(void)
{
	kits_free(&kits);
}

TestSuite(kits, .init = begin, .fini = end);

/* A kit of so many bytes; all of its name and bytes are `tag`. Two names of one byte share a slot of the table. */
static struct kit *make(uint8_t tag, uint32_t size)
{
	struct package_kit is = {.count = 1, .local_size = size - size / 4, .central_size = size / 4};
	memset(is.hash, tag, sizeof is.hash);
	struct kit *kit = kit_new(&is);
	cr_assert(kit);
	memset(kit->bytes, tag, size);
	return kit;
}

static void add(uint8_t tag, uint32_t size)
{
	struct kit *kit = make(tag, size);
	kits_add(kits, kit);
	kit_leave(&kit);
}

static bool has(uint8_t tag)
{
	uint8_t hash[SHA256_BYTES];
	memset(hash, tag, sizeof hash);
	struct kit *kit = kits_find(kits, hash);
	bool        found = kit && kit->bytes[0] == tag;
	kit_leave(&kit);
	return found;
}

Test(kits, are_found_by_name)
{
	cr_expect_not(has(1));
	add(1, 100);
	add(2, 200);
	cr_expect(has(1) && has(2) && !has(3));
	cr_expect_geq(kits_bytes(kits), 300);
	uint64_t bytes = kits_bytes(kits);
	add(1, 100);
	cr_expect_eq(kits_bytes(kits), bytes, "a second one of a name is not kept");
}

Test(kits, in_one_slot_are_told_apart)
{
	struct package_kit is = {.count = 1, .local_size = 1};
	for (uint8_t i = 0; i < 3; i++) {
		is.hash[31] = i;
		struct kit *kit = kit_new(&is);
		kit->bytes[0] = i;
		kits_add(kits, kit);
		kit_leave(&kit);
	}
	for (uint8_t i = 0; i < 3; i++) {
		is.hash[31] = i;
		struct kit *kit = kits_find(kits, is.hash);
		cr_expect(kit && kit->bytes[0] == i);
		kit_leave(&kit);
	}
}

Test(kits, least_used_go_first)
{
	enum { LARGE = KITS_BYTES_MAX / 4 };
	for (uint8_t tag = 1; tag <= 3; tag++)
		add(tag, LARGE);
	cr_expect(has(1)); /* used again */
	add(4, LARGE);
	cr_expect(has(1) && !has(2) && has(3) && has(4));
	cr_expect_leq(kits_bytes(kits), KITS_BYTES_MAX);
}

Test(kits, too_large_for_all_is_not_kept_but_usable)
{
	struct kit *kit = make(7, KITS_BYTES_MAX);
	kits_add(kits, kit);
	cr_expect_not(has(7));
	cr_expect_eq(kits_bytes(kits), 0);
	cr_expect_eq(kit->bytes[KITS_BYTES_MAX - 1], 7);
	kit_leave(&kit);
}

Test(kits, in_use_live_on)
{
	uint8_t hash[SHA256_BYTES];
	memset(hash, 1, sizeof hash);
	add(1, 1000);
	struct kit *kit = kits_find(kits, hash);
	for (uint8_t tag = 2; tag < 8; tag++)
		add(tag, KITS_BYTES_MAX / 2);
	cr_expect_not(has(1));
	cr_expect_eq(kit->bytes[999], 1);
	kit_leave(&kit);
}
