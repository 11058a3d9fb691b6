/* The leaves of a table in key order. Their numbers are in the branch pages, which are few. A leaf's own content is
 * known only after waiting for it, and after many changes the next leaf can be anywhere.
 * Format of LMDB 0.9 (little-endian, 64 bits) assumed here. A page begins with its number u64, two bytes, flags u16,
 * then u16 end of the list of node offsets (u16 each) and u16 start of the nodes. A node of a branch page: the
 * child's number in six bytes, the key's size u16, and the key; the first node's key is empty. A table's row in the
 * unnamed table ends with the number of its root page. */
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

/* NULL: no such page. */
static const uint8_t *page_at(const struct prefetch *ahead, uint64_t number)
{
	return number < ahead->pages ? ahead->map + number * ahead->page_bytes : NULL;
}

static unsigned node_place(const uint8_t *page, unsigned i)
{
	return get_le16(page + PAGE_HEAD_BYTES + (size_t)2 * i);
}

/* The count of nodes if it is a branch page whose nodes all lie in it; otherwise 0. */
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

/* The last child whose key is at or before `key`. */
static unsigned child_of(const uint8_t *page, unsigned count, struct span key)
{
	unsigned low = 0, high = count; /* the first node's key sorts before all */
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

/* Descends from `page` to a leaf, by `key` or (size 0) always by the first child. NULL: the format does not match. */
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

/* The leaf after the last one returned; NULL: no more. */
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
	/* into the second-level cache: the first would evict them before use */
	for (size_t at = 0; leaf && at < ahead->page_bytes; at += LINE_BYTES)
		__builtin_prefetch(leaf + at, 0, 2);
}

/* Finds the map, from a page that knows its number, and the table's root. NULL: no branch page. */
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
	if (view == &view->db->writer) return; /* the writer's changed pages lie elsewhere */
	const uint8_t *root = find_root(ahead, view, table, key.at);
	if (!root || !descend(ahead, root, key)) ahead->depth = 0;
	for (unsigned i = 0; i < AHEAD_PAGES; i++)
		ask_next(ahead);
}

/* A cursor may skip a page, or reach an unexpected one. */
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
