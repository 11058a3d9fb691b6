/* The set of accounts with uncommitted rows. */
#include "actors/shard/engine/uncommitted.h"
#include "store/keys.h"

#include <criterion/criterion.h>

static const struct account_id shop = {{'s'}}, other = {{'o'}};

Test(uncommitted, has_an_account_from_its_first_row_to_the_commit)
{
	static struct arena arena;
	struct uncommitted  uncommitted = {{0}};
	struct writes       writes = writes_none(&arena);
	struct row_key      key = key_u32(shop, 7);
	cr_assert_eq(write_put(&writes, TABLE_META, span_str("issuer"), span_str("1")), OK);
	uncommitted_on_writes(&uncommitted, &writes);
	for (unsigned i = 0; i < UNCOMMITTED_MARKS / 64; i++)
		cr_expect_eq(uncommitted.marks[i], 0, "a row of no account");
	cr_assert_eq(write_put(&writes, TABLE_HOT, key_span(&key), span_str("1")), OK);
	uncommitted_on_writes(&uncommitted, &writes);
	cr_expect(uncommitted_has(&uncommitted, shop));
	cr_expect_not(uncommitted_has(&uncommitted, other));
	uncommitted_clear(&uncommitted);
	cr_expect_not(uncommitted_has(&uncommitted, shop));
	arena_free(&arena);
}
