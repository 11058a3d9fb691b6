/* Walks everything that LMDB stores, as far as its interface shows it.
 * A cursor that moves from row to row follows the pages' pointers, not the keys in branch pages, so it would miss a
 * search that goes astray. Therefore the first and last row of every page are also searched for, and must be found
 * at the address where the walk met them. A row's address determines its page, and a page begins with its own
 * number, so all pages must agree on where the file is mapped. Visited pages are marked, and the list of free pages
 * must not contain them. */
#include "store/walk.h"

#include "store/db_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAIN_DBI = 1, FREE_DBI = 0, TEXT_OF_KEY = 64 };

/* Free pages at the end may never have been written. A claim far beyond the file is damage, not a reason to reserve memory. */
enum { PAGES_BEYOND_MAX = 1 << 20 };

struct walk {
	struct view                *view;
	struct faults              *faults;
	struct progress            *progress;
	uintptr_t                   map; /* the file's address; 0: unknown */
	uint64_t                    page_bytes, pages, file_bytes;
	uint8_t                    *seen; /* a bit a page */
	MDB_cursor                 *search;
	enum table                  table;
	struct raw_row              last;      /* of the table, in a page that it shares */
	uint64_t                    accounted; /* pages that belong to a tree, by the trees' own counts */
	const struct walk_listener *listener;  /* NULL: none */
};

static void key_text(struct span key, char text[TEXT_OF_KEY])
{
	size_t at = 0;
	for (size_t i = 0; i < key.size && at + 3 < TEXT_OF_KEY; i++, at += 2)
		snprintf(text + at, 3, "%02x", key.at[i]);
	text[at] = 0;
}

static void row_fault(const struct walk *walk, const char *what, struct span key)
{
	char text[TEXT_OF_KEY];
	key_text(key, text);
	fault(walk->faults, "table %s: %s, key %s", table_name(walk->table), what, text);
}

static uintptr_t page_address(const struct walk *walk, struct span row)
{
	return (uintptr_t)row.at & ~(uintptr_t)(walk->page_bytes - 1);
}

/* The number stored in the page; SIZE_MAX if the page is not where that number belongs. */
static uint64_t page_number(struct walk *walk, struct span row)
{
	uintptr_t at = page_address(walk, row);
	size_t    number;
	memcpy(&number, (const void *)at, sizeof number);
	if (!walk->map && number < walk->pages) walk->map = at - number * walk->page_bytes;
	return number < walk->pages && walk->map + number * walk->page_bytes == at ? number : SIZE_MAX;
}

/* Is it within the file? A damaged page may point anywhere. Before the first page is known everything is. */
static bool is_in_file(const struct walk *walk, const void *at, size_t size)
{
	uintptr_t from = (uintptr_t)at - walk->map; /* offset in the file; huge if before it */
	return at && (!walk->map || (from <= walk->file_bytes && size <= walk->file_bytes - from));
}

/* Marks a page; false: it was marked already. */
static bool mark(const struct walk *walk, uint64_t page)
{
	uint8_t bit = (uint8_t)(1u << page % 8);
	if (walk->seen[page / 8] & bit) return false;
	walk->seen[page / 8] |= bit;
	return true;
}

static enum err expect_found(const struct walk *walk, const struct raw_row *row)
{
	MDB_val k = val(row->key), stored = {0, NULL};
	int     rc = mdb_cursor_get(walk->search, &k, &stored, MDB_SET);
	if (rc && rc != MDB_NOTFOUND) return db_err(rc);
	if (rc || stored.mv_data != row->stored.at)
		row_fault(walk, "a search does not find the row", row->key);
	return OK;
}

/* A row on another page than the previous row begins a page, and the previous row ended one. */
static enum err on_page(struct walk *walk, const struct raw_row *row)
{
	enum err err = OK;
	if (walk->last.key.size && page_address(walk, walk->last.stored) == page_address(walk, row->stored))
		return OK;
	uint64_t page = page_number(walk, row->stored);
	if (page == SIZE_MAX)
		row_fault(walk, "its page is not where its number says", row->key);
	else if (!mark(walk, page))
		row_fault(walk, "its page is used twice", row->key);
	if (walk->last.key.size) err = expect_found(walk, &walk->last);
	return err ? err : expect_found(walk, row);
}

static enum err on_row(struct walk *walk, const struct raw_row *row, struct span key_before)
{
	if (!is_in_file(walk, row->key.at, row->key.size) ||
	    !is_in_file(walk, row->stored.at, row->stored.size)) {
		fault(walk->faults, "table %s: a row beyond the file", table_name(walk->table));
		return ERR_DAMAGED;
	}
	if (!raw_row_holds(walk->table, row)) row_fault(walk, "checksum does not hold", row->key);
	if (key_before.size && span_order(key_before, row->key) >= 0)
		row_fault(walk, "rows out of order", row->key);
	if (row->key.size + row->stored.size > IN_PAGE_BYTES_MAX)
		return expect_found(walk, row); /* a page of its own */
	enum err err = on_page(walk, row);
	walk->last = *row;
	return err;
}

static enum err stat_of(struct walk *walk, MDB_dbi dbi, MDB_stat *stat)
{
	int rc = mdb_stat(walk->view->txn, dbi, stat);
	if (rc) return db_err(rc);
	walk->accounted += stat->ms_branch_pages + stat->ms_leaf_pages + stat->ms_overflow_pages;
	return OK;
}

static enum err walk_rows(struct walk *walk)
{
	struct raw_row row;
	struct span    key_before = {NULL, 0};
	uint64_t       count = 0;
	enum err       err = view_raw_from(walk->view, walk->table, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(walk->view, walk->table, &row)) {
		if ((err = on_row(walk, &row, key_before))) return err;
		if (!progress_step(walk->progress, row.key.size + row.stored.size)) return ERR_STOPPED;
		key_before = row.key;
		if (walk->faults->count > FAULTS_KEPT) return ERR_DAMAGED;
		count++;
	}
	if (err != ERR_NOT_FOUND) return err;
	if (walk->last.key.size && (err = expect_found(walk, &walk->last))) return err;
	MDB_stat stat;
	if ((err = stat_of(walk, walk->view->db->dbis[walk->table], &stat))) return err;
	if (stat.ms_entries != count)
		fault(walk->faults, "table %s: %" PRIu64 " rows, but it says %zu", table_name(walk->table),
		      count, stat.ms_entries);
	return OK;
}

static enum err walk_table(struct walk *walk, enum table table)
{
	MDB_dbi dbi = walk->view->db->dbis[table];
	walk->table = table;
	walk->last = (struct raw_row){.key = {NULL, 0}};
	if (!dbi) return OK; /* written by a program without this table */
	int rc = mdb_cursor_open(walk->view->txn, dbi, &walk->search);
	if (rc) return db_err(rc);
	enum err err = walk_rows(walk);
	mdb_cursor_close(walk->search);
	return err;
}

/* The i-th number of a list; on a damaged page it may be unaligned. */
static size_t listed(MDB_val list, size_t i)
{
	size_t number;
	memcpy(&number, (const uint8_t *)list.mv_data + i * sizeof number, sizeof number);
	return number;
}

/* One list of free pages: the count, then the numbers, descending. */
static void on_free_list(struct walk *walk, MDB_val list, uint64_t *free_pages)
{
	bool   readable = list.mv_size >= sizeof(size_t) && is_in_file(walk, list.mv_data, list.mv_size);
	size_t count = readable ? listed(list, 0) : 0;
	if (!readable || list.mv_size % sizeof(size_t) || count > list.mv_size / sizeof(size_t) - 1) {
		fault(walk->faults, "the list of free pages is malformed");
		return;
	}
	for (size_t i = 1; i <= count; i++) {
		size_t page = listed(list, i);
		if (page < 2 || page >= walk->pages)
			fault(walk->faults, "page %zu is free but does not exist", page);
		else if (!mark(walk, page))
			fault(walk->faults, "page %zu is free and in use", page);
	}
	*free_pages += count;
}

/* Every page except the two meta pages is free or belongs to one tree. */
static enum err walk_free(struct walk *walk)
{
	MDB_cursor *cursor;
	MDB_val     key, list = {0, NULL};
	MDB_stat    stat;
	uint64_t    free_pages = 0;
	enum err    err;
	int         rc = mdb_cursor_open(walk->view->txn, FREE_DBI, &cursor);
	if (rc) return db_err(rc);
	while (!(rc = mdb_cursor_get(cursor, &key, &list, MDB_NEXT))) {
		on_free_list(walk, list, &free_pages);
		list = (MDB_val){0, NULL}; /* a damaged page may leave it unset */
	}
	mdb_cursor_close(cursor);
	if (rc != MDB_NOTFOUND) return db_err(rc);
	if ((err = stat_of(walk, FREE_DBI, &stat)) || (err = stat_of(walk, MAIN_DBI, &stat))) return err;
	uint64_t total = walk->accounted + free_pages + 2;
	if (total != walk->pages)
		fault(walk->faults, "%" PRIu64 " pages, but %" PRIu64 " are free or in use", walk->pages,
		      total);
	return OK;
}

/* What a start reads first: positions, and rows of late tables. */
static bool is_early(enum table table)
{
	return table == TABLE_META || table_is_late(table);
}

static enum err walk_those(struct walk *walk, bool early)
{
	for (unsigned i = 1; i < TABLE_END; i++) {
		enum table table = (enum table)i;
		if (!table_exists(table) || is_early(table) != early) continue;
		enum err err = walk_table(walk, table);
		if (err) return err;
		if (walk->listener && !walk->faults->count)
			walk->listener->on_whole(walk->listener->user, table);
	}
	return OK;
}

static enum err walk_all(struct walk *walk)
{
	enum err err = walk_those(walk, true);
	if (!err) err = walk_those(walk, false);
	/* Page positions are known only if there was no fault so far. */
	return err || walk->faults->count ? err : walk_free(walk);
}

/* The tables' size, and a bit for each page. */
static enum err prepare(struct walk *walk)
{
	MDB_env    *env = walk->view->db->env;
	MDB_envinfo info;
	MDB_stat    stat;
	struct stat file;
	int         fd;
	if (mdb_env_info(env, &info) || mdb_env_stat(env, &stat)) return ERR_IO;
	if (mdb_env_get_fd(env, &fd) || fstat(fd, &file)) return ERR_IO;
	walk->file_bytes = (uint64_t)file.st_size;
	walk->page_bytes = stat.ms_psize;
	walk->pages = info.me_last_pgno + 1;
	uint64_t in_file = walk->file_bytes / walk->page_bytes;
	if (walk->pages > 2 * in_file + PAGES_BEYOND_MAX) {
		fault(walk->faults, "the tables claim %" PRIu64 " pages, but the file has %" PRIu64,
		      walk->pages, in_file);
		return OK;
	}
	walk->seen = calloc(1, walk->pages / 8 + 1);
	return walk->seen ? OK : ERR_NO_MEMORY;
}

static enum err run(struct walk *walk)
{
	enum err err = prepare(walk);
	if (!err && walk->seen) err = walk_all(walk);
	free(walk->seen);
	if (err != ERR_DAMAGED) return err;
	fault(walk->faults, "the walk through the tables ended early");
	return OK;
}

enum err walk_tables(struct view *reader, struct faults *faults, struct progress *progress)
{
	struct walk walk = {.view = reader, .faults = faults, .progress = progress};
	return run(&walk);
}

enum err walk_tables_notify(struct view *reader, struct faults *faults, const struct walk_listener *listener)
{
	struct walk walk = {.view = reader, .faults = faults, .listener = listener};
	return run(&walk);
}
