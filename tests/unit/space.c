/* The file of the tables: freed space in it is used again. */
#include "tests/unit/support.h"

#include "schemas/sha256.h"
#include "store/db_inside.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>

SCRATCH_SUITE(space);
static const struct account_id account = {{1, 2, 3}};

static uint64_t pages_in_file(void)
{
	MDB_envinfo info;
	cr_assert_eq(mdb_env_info(s.db->env, &info), 0);
	return info.me_last_pgno + 1;
}

/* Rows of several sizes with keys in no order, 64 a commit, like the background removal. */
static void put_and_delete(bool puts, unsigned rows)
{
	for (unsigned i = 0; i < rows; i++) {
		uint8_t        hash[32];
		struct span    number = span_of((uint8_t *)&i, sizeof i);
		struct row_key key = key_account(account);
		sha256_of(&number, 1, hash);
		memcpy(key.bytes + key.size, hash, sizeof hash);
		key.size += sizeof hash;
		enum table  table = i % 4 ? TABLE_IDEMPOTENCY : TABLE_BODY;
		struct span value = filler(i, table == TABLE_BODY ? 100 + i % 5000 : 100 + i % 300);
		must(!(puts ? write_put(&s.staged, table, key_span(&key), value)
		            : write_del(&s.staged, table, key_span(&key))));
		scratch_save(&s);
		if (i % 64 == 63) scratch_commit(&s);
	}
	scratch_commit(&s);
}

/* Tables are filled and emptied repeatedly. Freed space must be used before the file grows. */
Test(space, that_was_freed_is_used_again)
{
	enum { MANY = 10000, ROUNDS = 5 };
	uint64_t pages[ROUNDS];
	for (unsigned round = 0; round < ROUNDS; round++) {
		put_and_delete(true, MANY);
		put_and_delete(false, MANY);
		pages[round] = pages_in_file();
		fprintf(stderr, "round %u: %llu pages\n", round, (unsigned long long)pages[round]);
	}
	cr_expect_gt(pages[0], 2000);
	for (unsigned round = 2; round < ROUNDS; round++)
		cr_expect_leq(pages[round], pages[1]);
}
