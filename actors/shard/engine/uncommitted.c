/* Accounts that readers do not see as the writer does. Keys of all tables but META begin with the account (tables.def). */
#include "actors/shard/engine/uncommitted.h"

#include "schemas/crc32c.h"

static uint32_t mark_of(const uint8_t *account)
{
	return crc32c(0, account, sizeof(struct account_id)) % UNCOMMITTED_MARKS;
}

void uncommitted_on_writes(struct uncommitted *uncommitted, const struct writes *writes)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		if (write->table == TABLE_META) continue;
		uint32_t mark = mark_of(write->key.at);
		uncommitted->marks[mark / 64] |= UINT64_C(1) << mark % 64;
	}
}

bool uncommitted_has(const struct uncommitted *uncommitted, struct account_id account)
{
	uint32_t mark = mark_of(account.b);
	return uncommitted->marks[mark / 64] >> mark % 64 & 1;
}

void uncommitted_clear(struct uncommitted *uncommitted)
{
	memset(uncommitted->marks, 0, sizeof uncommitted->marks);
}
