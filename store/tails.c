/* Reading tails and adding to them. The writer looks in memory first, since it knows what is there. A reader looks in its view
 * of LMDB first: what is not there lies in memory, unless it was decided after the view, or has been written since and made
 * way to other rows. */
#include "store/cells_inside.h"

#include "store/db_inside.h"
#include "store/keys.h"

static bool split_key(struct span key, struct account_id *account, uint64_t *seq)
{
	if (key.size != sizeof account->b + 8) return false;
	memcpy(account->b, key.at, sizeof account->b);
	*seq = get_be64(key.at + sizeof account->b);
	return true;
}

static bool is_writer(const struct view *view)
{
	return view == &view->db->writer;
}

/* Reading ------------------------------------------------------------------------------------------------- */

struct row_copy {
	uint64_t txn, words[TAIL_ROW_WORDS];
	size_t   size;
};

/* False: it is not in memory. */
static bool load_row(const struct cell_account *account, uint64_t seq, struct row_copy *copy)
{
	const struct tail_run *run = tails_run(account, seq);
	if (!run) return false;
	uint64_t stamp = atomic_load_explicit(&run->stamp, memory_order_acquire);
	bool     is_ours = atomic_load_explicit(&run->account, memory_order_relaxed) == account &&
	               atomic_load_explicit(&run->first, memory_order_relaxed) == seq - seq % TAIL_RUN_ROWS;
	const struct tail_row *row = &run->rows[seq % TAIL_RUN_ROWS];
	uint64_t               about = atomic_load_explicit(&row->about, memory_order_acquire);
	for (unsigned i = 0; i < TAIL_ROW_WORDS; i++)
		copy->words[i] = atomic_load_explicit(&row->words[i], memory_order_relaxed);
	copy->txn = about >> 8;
	copy->size = (uint8_t)about;
	atomic_thread_fence(memory_order_acquire);
	return stamp && is_ours && about && atomic_load_explicit(&run->stamp, memory_order_acquire) == stamp;
}

static enum err copied(struct view *view, const struct row_copy *copy, struct span *row)
{
	uint8_t *at = arena_take(view->arena, sizeof copy->words);
	if (!at) return ERR_NO_MEMORY;
	memcpy(at, copy->words, sizeof copy->words);
	*row = span_of(at, copy->size);
	return OK;
}

static uint64_t written_of(const struct cell_account *account)
{
	return atomic_load_explicit(&account->tail.written, memory_order_acquire);
}

static uint64_t last_of(const struct cell_account *account)
{
	return atomic_load_explicit(&account->tail.last, memory_order_acquire);
}

static bool is_later(const struct view *view, const struct row_copy *copy)
{
#ifdef FAULT_LATE_AHEAD
	(void)view, (void)copy;
	return false; /* the fault: a view shows rows that are newer than it */
#endif
	return copy->txn > mdb_txn_id(view->txn);
}

static enum err too_old(struct view *view)
{
	view->is_too_old = true;
	return ERR_OVERLOADED;
}

static enum err row_of_reader(struct view *view, const struct cell_account *account, uint64_t seq,
                              struct span *row)
{
	struct row_copy copy;
	if (load_row(account, seq, &copy))
		return is_later(view, &copy) ? ERR_NOT_FOUND : copied(view, &copy, row);
	return seq > written_of(account) ? ERR_NOT_FOUND : too_old(view);
}

/* What the writer does not know has nothing in memory. */
static bool is_known(const struct cell_account *account)
{
	return account && account->tail.is_known;
}

enum err tails_row(struct view *view, struct span key, struct span *row)
{
	struct account_id account;
	struct row_copy   copy;
	uint64_t          seq;
	if (!split_key(key, &account, &seq) || !seq) return row_get(view, TABLE_LEDGER, key, row);
	const struct cell_account *at = cells_account(view->cells, account);
	if (is_writer(view) && is_known(at) && seq > written_of(at)) {
		if (seq > last_of(at)) return ERR_NOT_FOUND;
		must(load_row(at, seq, &copy));
		return copied(view, &copy, row);
	}
	enum err err = row_get(view, TABLE_LEDGER, key, row);
	return err == ERR_NOT_FOUND && at && !is_writer(view) ? row_of_reader(view, at, seq, row) : err;
}

static enum err last_of_tables(struct view *view, struct account_id account, uint64_t *seq)
{
	struct row_key end = key_u64(account, UINT64_MAX);
	MDB_val        key = val(key_span(&end)), stored = {0, NULL};
	MDB_cursor    *cursor;
	struct span    value;
	enum err       err = view_cursor(view, TABLE_LEDGER, &cursor);
	*seq = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	int rc = mdb_cursor_get(cursor, &key, &stored, MDB_SET_RANGE);
	if (rc && rc != MDB_NOTFOUND) return db_err(rc);
	if ((rc = mdb_cursor_get(cursor, &key, &stored, rc ? MDB_LAST : MDB_PREV)))
		return rc == MDB_NOTFOUND ? OK : db_err(rc);
	struct span       found = span_of(key.mv_data, key.mv_size);
	struct account_id of;
	uint64_t          last;
	if ((err = row_checked(TABLE_LEDGER, found, stored, &value))) return err;
	if (split_key(found, &of, &last) && account_same(of, account)) *seq = last;
	return OK;
}

/* The newest one that is not later than the view, of those behind `seq`: they follow each other, and so do their
 * transactions. */
static enum err last_of_reader(struct view *view, const struct cell_account *account, uint64_t *seq)
{
	struct row_copy copy;
	uint64_t        end = last_of(account);
	while (*seq < end) {
		uint64_t middle = end - (end - *seq) / 2;
		if (!load_row(account, middle, &copy)) return too_old(view);
		if (is_later(view, &copy))
			end = middle - 1;
		else
			*seq = middle;
	}
	return OK;
}

enum err tails_last(struct view *view, struct account_id account, uint64_t *seq)
{
	const struct cell_account *at = view->cells ? cells_account(view->cells, account) : NULL;
	if (at && is_writer(view) && is_known(at)) {
		*seq = last_of(at);
		return OK;
	}
	enum err err = last_of_tables(view, account, seq);
	return !err && at && !is_writer(view) ? last_of_reader(view, at, seq) : err;
}

/* Adding -------------------------------------------------------------------------------------------------- */

static enum err learn(struct view *writer, struct account_id id, struct cell_account **account)
{
	uint64_t last;
	if (!(*account = cells_account_made(writer->cells, id))) return ERR_NO_MEMORY;
	if ((*account)->tail.is_known) return OK;
	enum err err = last_of_tables(writer, id, &last);
	if (err) return err;
	atomic_store_explicit(&(*account)->tail.written, last, memory_order_relaxed);
	atomic_store_explicit(&(*account)->tail.last, last, memory_order_relaxed);
	(*account)->tail.is_known = true;
	return OK;
}

static enum err add(struct view *writer, struct cell_account *account, uint64_t seq, struct span value)
{
	struct tail_run *run = tails_run_next(&writer->cells->tails, account);
	uint64_t         words[TAIL_ROW_WORDS] = {0};
	if (!run) return ERR_NO_MEMORY;
	memcpy(words, value.at, value.size);
	struct tail_row *row = &run->rows[seq % TAIL_RUN_ROWS];
	for (unsigned i = 0; i < TAIL_ROW_WORDS; i++)
		atomic_store_explicit(&row->words[i], words[i], memory_order_release);
	atomic_store_explicit(&row->about, mdb_txn_id(writer->txn) << 8 | value.size, memory_order_release);
	atomic_store_explicit(&account->tail.last, seq, memory_order_release);
	tails_set_dirty(writer->cells, account);
	return OK;
}

static enum err is_the_same(struct view *writer, const struct write *write,
                            const struct cell_account *account, uint64_t seq)
{
	struct row_copy copy;
	struct span     row = {NULL, 0};
	enum err        err = OK;
	if (load_row(account, seq, &copy))
		row = span_of(copy.words, copy.size);
	else
		err = row_get(writer, TABLE_LEDGER, write->key, &row);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return span_equal(row, write->value) ? OK : ERR_DAMAGED;
}

enum err tails_apply(struct view *writer, const struct write *write)
{
	struct account_id    id;
	struct cell_account *account;
	uint64_t             seq;
	size_t               size = write->value.size;
	if (write->kind != WRITE_PUT) return ERR_UNSUPPORTED;
	if (!split_key(write->key, &id, &seq) || !seq) return ERR_DAMAGED;
	if (size != LEDGER_EVENT_BYTES && size != LEDGER_MOVE_BYTES) return ERR_DAMAGED;
	enum err err = learn(writer, id, &account);
	if (err) return err;
	uint64_t last = last_of(account);
	if (seq <= last) return is_the_same(writer, write, account, seq);
	return seq == last + 1 ? add(writer, account, seq, write->value) : ERR_DAMAGED;
}
