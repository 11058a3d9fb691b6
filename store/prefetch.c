/* The leaves of a table in the order of their keys. Their numbers stand in the pages above them, which are few: what lies
 * in a leaf itself would be known only after waiting for it, and after many changes the next one is anywhere.
 *
 * Of LMDB's form (0.9, little-endian, 64 bits) this knows: a page begins with its number u64, two bytes, flags u16, and
 * u16 twice for where its list of u16 places of nodes ends and where nodes begin; a node of a page that leads to others is
 * the child's number in six bytes, the key's size u16, and the key; the first one's key is none. A table's row in the
 * unnamed one ends with the number of its root. */
#include "store/prefetch.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"

enum {
	PAGE_FLAGS = 10,
	PAGE_LOWER = 12,
	PAGE_HEAD_BYTES = 16,
	BRANCH = 1,
	NODE_KEY_SIZE = 6,
	NODE_HEAD_BYTES = 8,
	TABLE_ROW_BYTES = 48,
	TABLE_ROOT = 40,
	LINE_BYTES = 64,
};

/* NULL: there is no such page. */
static const uint8_t *page_at(const struct prefetch *ahead, uint64_t number)
{
	return number < ahead->pages ? ahead->map + number * ahead->page_bytes : NULL;
}

static unsigned node_place(const uint8_t *page, unsigned i)
{
	return get_le16(page + PAGE_HEAD_BYTES + (size_t)2 * i);
}

/* Is it a page that leads to others, all of whose nodes lie in it? Their count; 0: it is not. */
static unsigned branch_count(const struct prefetch *ahead, const uint8_t *page)
{
	if (!page || get_le16(page + PAGE_FLAGS) != BRANCH) return 0;
	size_t lower = get_le16(page + PAGE_LOWER);
	if (lower < PAGE_HEAD_BYTES || lower > ahead->page_bytes) return 0;
	unsigned count = (unsigned)(lower - PAGE_HEAD_BYTES) / 2;
	for (unsigned i = 0; i < count; i++) {
		size_t place = node_place(page, i);
		if (place + NODE_HEAD_BYTES > ahead->page_bytes) return 0;
		if (place + NODE_HEAD_BYTES + get_le16(page + place + NODE_KEY_SIZE) > ahead->page_bytes)
			return 0;
	}
	return count;
}

static const uint8_t *child(const struct prefetch *ahead, const uint8_t *page, unsigned i)
{
	const uint8_t *node = page + node_place(page, i);
	return page_at(ahead, get_le32(node) | (uint64_t)get_le16(node + 4) << 32);
}

/* The last child whose key is not behind `key`. */
static unsigned child_of(const uint8_t *page, unsigned count, struct span key)
{
	unsigned low = 0, high = count; /* the first one's key is before all */
	while (high - low > 1) {
		unsigned       middle = low + (high - low) / 2;
		const uint8_t *node = page + node_place(page, middle);
		struct span    first = span_of(node + NODE_HEAD_BYTES, get_le16(node + NODE_KEY_SIZE));
		if (span_order(first, key) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* From `page` down to a leaf, by `key` or (size 0) always by the first child. NULL: that is not how it looks. */
static const uint8_t *descend(struct prefetch *ahead, const uint8_t *page, struct span key)
{
	while (ahead->depth < ahead->height) {
		unsigned count = branch_count(ahead, page);
		if (count == 0) return NULL;
		unsigned at = key.size ? child_of(page, count, key) : 0;
		ahead->levels[ahead->depth++] = (struct prefetch_level){page, at + 1, count};
		page = child(ahead, page, at);
	}
	return page;
}

/* The leaf behind the one that was told last; NULL: that was the last one. */
static const uint8_t *next_leaf(struct prefetch *ahead)
{
	while (ahead->depth) {
		struct prefetch_level *level = &ahead->levels[ahead->depth - 1];
		if (level->at < level->count)
			return descend(ahead, child(ahead, level->page, level->at++), span_of(NULL, 0));
		ahead->depth--;
	}
	return NULL;
}

static void ask_next(struct prefetch *ahead)
{
	const uint8_t *leaf = next_leaf(ahead);
	ahead->coming[ahead->next++ % AHEAD_PAGES] = leaf;
	/* into the second cache: the first would not hold them until they are wanted */
	for (size_t at = 0; leaf && at < ahead->page_bytes; at += LINE_BYTES)
		__builtin_prefetch(leaf + at, 0, 2);
}

/* The map, from a page that knows its number; and the table's root. NULL: there is none that leads to others. */
static const uint8_t *find_root(struct prefetch *ahead, struct view *view, enum table table,
                                const uint8_t *at)
{
	MDB_stat       stat;
	MDB_envinfo    info;
	MDB_val        name = val(span_str(table_name(table))), row;
	const uint8_t *page;
	if (mdb_stat(view->txn, view->db->dbis[table], &stat) || stat.ms_depth < 2) return NULL;
	if (stat.ms_depth > AHEAD_LEVELS_MAX || mdb_env_info(view->db->env, &info)) return NULL;
	if (mdb_get(view->txn, view->db->names, &name, &row) || row.mv_size != TABLE_ROW_BYTES) return NULL;
	ahead->height = stat.ms_depth - 1;
	ahead->page_bytes = stat.ms_psize;
	ahead->pages = info.me_last_pgno + 1;
	if (ahead->pages > info.me_mapsize / stat.ms_psize) return NULL;
	page = at - (uintptr_t)at % stat.ms_psize;
	if (get_le64(page) >= ahead->pages) return NULL;
	ahead->map = page - get_le64(page) * stat.ms_psize;
	page = page_at(ahead, get_le64((const uint8_t *)row.mv_data + TABLE_ROOT));
	return page;
}

void prefetch_begin(struct prefetch *ahead, struct view *view, enum table table, struct span key)
{
	*ahead = (struct prefetch){.depth = 0};
	if (view == &view->db->writer) return; /* what it has changed lies elsewhere */
	const uint8_t *root = find_root(ahead, view, table, key.at);
	if (!root || !descend(ahead, root, key)) ahead->depth = 0;
	for (unsigned i = 0; i < AHEAD_PAGES; i++)
		ask_next(ahead);
}

/* A cursor may pass over a page, or come to one that was not expected. */
void prefetch_follow(struct prefetch *ahead, const uint8_t *at)
{
	unsigned passed = 0;
	if (!ahead->height) return;
	const uint8_t *page = at - (uintptr_t)at % ahead->page_bytes;
	if (page == ahead->here) return;
	ahead->here = page;
	while (passed < AHEAD_PAGES && ahead->coming[(ahead->next + passed) % AHEAD_PAGES] != page)
		passed++;
	for (unsigned i = 0; passed < AHEAD_PAGES && i <= passed; i++)
		ask_next(ahead);
}
