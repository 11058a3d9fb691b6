/* When rows were written: each word records the last write of any row that shares it. Words of one table and account
 * are adjacent, ordered by number. The writer sets a word before it commits the transaction, so a reader that sees
 * the row's new value also sees the word. */
#include "store/db_inside.h"
#include "store/keys.h"

/* The first word of a table and account. */
static uint64_t first_word(enum table table, const uint8_t *account)
{
	uint64_t id = get_le64(account) ^ (uint64_t)get_le16(account + 8) << 48 ^ (uint64_t)table << 40;
	return (id * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}
_Static_assert(sizeof(struct account_id) == 10, "eight bytes and two");

void row_written(struct db *db, enum table table, struct span key)
{
	if (key.size != sizeof(struct account_id) + 4) return;
	uint64_t word = first_word(table, key.at) + get_be32(key.at + sizeof(struct account_id));
	atomic_store_explicit(&db->row_txns[word % ROW_TXNS], mdb_txn_id(db->writer.txn),
	                      memory_order_release);
}

uint64_t view_txn(struct view *view)
{
	atomic_thread_fence(memory_order_acquire);
	return mdb_txn_id(view->txn);
}

void view_row_moments(struct view *view, enum table table, struct account_id account, uint32_t word,
                      uint64_t row_txns[VIEW_ROWS])
{
	const struct db *db = view->db;
	uint64_t         first = first_word(table, account.b) + (uint64_t)word * VIEW_ROWS;
	for (unsigned i = 0; i < VIEW_ROWS; i++)
		row_txns[i] = atomic_load_explicit(&db->row_txns[(first + i) % ROW_TXNS],
		                                   memory_order_acquire);
}
