/* How far the tables are: the journal's newest record that they include, and the one up to which those of late tables are
 * in LMDB. Rows of META, written in the transactions that they are about. */
#include "store/db_inside.h"

#include "schemas/bytes.h"
#include "store/keys.h"

static const struct span applied_key = {(const uint8_t *)"applied", 7};
static const struct span late_key = {(const uint8_t *)"late", 4};
enum {
	VERSION_BYTES = 4,
	APPLIED_AT = APPLIED_BYTES - APPLIED_BYTES_1, /* where the position begins */
	APPLIED_SEQ_AT = APPLIED_AT + 16
};

static enum err put_position(struct db *db, struct span key, const struct applied *applied)
{
	uint8_t value[APPLIED_BYTES], *at = value + APPLIED_AT;
	put_le32(value, TABLES_VERSION);
	memcpy(value + VERSION_BYTES, db->lineage, LINEAGE_BYTES);
	put_le64(at, applied->segment);
	put_le64(at + 8, applied->offset);
	put_le64(at + 16, applied->seq);
	put_le64(at + 24, applied->epoch);
	put_le64(at + 32, (uint64_t)applied->now.v);
	put_le64(at + 40, applied->record_offset);
	put_le32(at + 48, applied->chain);
	return row_put(db, TABLE_META, key, span_of(NULL, 0), span_of(value, sizeof value));
}

enum err position_put(struct db *db, const struct applied *applied)
{
	return put_position(db, applied_key, applied);
}

enum err db_put_late(struct db *db, const struct applied *late)
{
	return put_position(db, late_key, late);
}

enum err db_write_late(struct db *db, struct account_id account, uint32_t number, struct span row,
                       bool stored)
{
	struct row_key key = key_u32(account, number);
	struct span    before;
	/* A damaged row must not become a sound one without notice. */
	enum err err = stored ? row_get(&db->writer, TABLE_HOT, key_span(&key), &before) : OK;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return row_put(db, TABLE_HOT, key_span(&key), span_of(NULL, 0), row);
}

uint64_t db_late_rows(struct db *db)
{
	MDB_stat stat;
	return mdb_stat(db->writer.txn, db->dbis[TABLE_HOT], &stat) ? 0 : stat.ms_entries;
}

/* 0: no value of ours. */
static uint32_t tables_version(struct span value)
{
	if (value.size == APPLIED_BYTES_1) return 1;
	return value.size >= VERSION_BYTES ? get_le32(value.at) : 0;
}

enum err applied_read(struct span value, struct applied *applied)
{
	uint32_t version = tables_version(value);
	if (version == 0) return ERR_DAMAGED;
	if (version > TABLES_VERSION) return ERR_UNSUPPORTED;
	static const size_t sizes[] = {
	    [1] = APPLIED_BYTES_1, [2] = APPLIED_BYTES_2, [3] = APPLIED_BYTES, [4] = APPLIED_BYTES};
	_Static_assert(sizeof sizes / sizeof *sizes == TABLES_VERSION + 1, "a size of each version");
	if (value.size != sizes[version]) return ERR_DAMAGED;
	const uint8_t *at = value.at + value.size - APPLIED_BYTES_1;
	*applied = (struct applied){
	    .segment = get_le64(at),
	    .offset = get_le64(at + 8),
	    .seq = get_le64(at + 16),
	    .epoch = get_le64(at + 24),
	    .now = {(int64_t)get_le64(at + 32)},
	    .record_offset = get_le64(at + 40),
	    .chain = get_le32(at + 48),
	};
	return OK;
}

enum err db_applied(struct view *view, struct applied *applied)
{
	struct span value;
	enum err    err = row_get(view, TABLE_META, applied_key, &value);
	return err ? err : applied_read(value, applied);
}

enum err db_late(struct view *view, struct applied *late)
{
	struct span value;
	enum err    err = row_get(view, TABLE_META, late_key, &value);
	if (err == ERR_NOT_FOUND) return db_applied(view, late);
	return err ? err : applied_read(value, late);
}

enum err db_standing(struct view *view, struct standing *standing)
{
	enum err err = db_applied(view, &standing->at);
	return err ? err : db_late(view, &standing->late);
}

void db_refusal(struct view *view, const char *file, char why[VERSION_TEXT])
{
	struct span value = {NULL, 0};
	uint32_t    found = row_get(view, TABLE_META, applied_key, &value) ? 0 : tables_version(value);
	version_refusal(VERSION_OF_DATA, file, found, TABLES_VERSION, why);
}

uint64_t db_newest_applied(struct span pages, const uint8_t lineage[LINEAGE_BYTES])
{
	uint64_t newest = 0;
	size_t   row = applied_key.size + APPLIED_BYTES + CRC_BYTES;
	while (pages.size >= row) {
		const uint8_t *at = memmem(pages.at, pages.size, applied_key.at, applied_key.size);
		if (!at || (size_t)(pages.at + pages.size - at) < row) break;
		const uint8_t *value = at + applied_key.size;
		uint64_t       seq = get_le64(value + APPLIED_SEQ_AT);
		bool           holds = !memcmp(value + VERSION_BYTES, lineage, LINEAGE_BYTES) &&
		             get_le32(value + APPLIED_BYTES) ==
		                 row_crc(TABLE_META, applied_key, value, APPLIED_BYTES);
		if (holds && seq > newest) newest = seq;
		pages = span_of(value, (size_t)(pages.at + pages.size - value));
	}
	return newest;
}

bool db_is_position_row(enum table table, const struct raw_row *row)
{
	return table == TABLE_META && (span_equal(row->key, applied_key) || span_equal(row->key, late_key));
}
