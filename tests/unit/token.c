/* Download tokens: made and read with the key, and nothing without it. One cipher context a thread is kept
 * with the key it saw first, so another key is used in another process. */
#include "actors/shard/token.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <sys/mman.h>

static const uint8_t key[32] = {1, 2, 3}, other_key[32] = {1, 2, 4};

Test(token, names_the_pass_it_was_made_for)
{
	uint64_t state = chance_begin();
	for (unsigned i = 0; i < 2000; i++) {
		struct account_id account, got;
		uint32_t          number = i < 2 ? i - 1 : (uint32_t)chance(&state), read = 0;
		uint8_t           token[16], again[16];
		memcpy(account.b, filler(chance(&state), 10).at, 10);
		token_make(key, account, number, token);
		token_make(key, account, number, again);
		cr_assert(!memcmp(token, again, 16));
		cr_assert(token_read(key, token, &got, &read));
		cr_assert(!memcmp(got.b, account.b, 10) && read == number);
	}
}

/* The block, encrypted by the openssl program with the same key. */
Test(token, is_the_aes_of_account_and_number)
{
	static const uint8_t want[16] = {0x1b, 0xfb, 0xae, 0x7a, 0x31, 0xf1, 0x89, 0xb8,
	                                 0x02, 0xa9, 0x9d, 0xeb, 0x7b, 0xf3, 0x38, 0x76};
	struct account_id    account = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
	uint8_t              token[16];
	token_make(key, account, 0x0a0b0c0d, token);
	cr_expect(!memcmp(token, want, 16));
}

Test(token, of_neighbours_have_nothing_in_common)
{
	struct account_id account = {{1}}, got;
	uint8_t           a[16], b[16];
	uint32_t          number;
	unsigned          read = 0;
	token_make(key, account, 1, a);
	token_make(key, account, 2, b);
	unsigned same = 0;
	for (unsigned i = 0; i < 16; i++)
		same += a[i] == b[i];
	cr_expect_lt(same, 6);
	for (unsigned i = 0; i < 128; i++) { /* one bit off is a random block: sixteen zero bits are rare */
		a[i / 8] ^= (uint8_t)(1 << i % 8);
		read += token_read(key, a, &got, &number);
		a[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_eq(read, 0);
	cr_expect(token_read(key, a, &got, &number) && number == 1);
}

static int make_with_other_key(void *token)
{
	token_make(other_key, (struct account_id){{1}}, 1, token);
	return 0;
}

Test(token, of_another_key_is_none)
{
	struct account_id account;
	uint32_t          number;
	uint8_t *token = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), ours[16];
	cr_assert_neq(token, MAP_FAILED);
	cr_assert_eq(in_child(make_with_other_key, token), 0);
	cr_expect_not(token_read(key, token, &account, &number));
	token_make(key, (struct account_id){{1}}, 1, ours);
	cr_expect(memcmp(token, ours, 16));
}
