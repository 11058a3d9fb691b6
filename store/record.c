/* The journal record's codec: pure, so that recovery, the crash tests and a fuzzer can all use it. */
#include "store/record.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"

static const uint32_t magic = 0x43525453; /* "STRC" */
enum { SUM_AT = 32 };                     /* in the head: what precedes it is summed */

uint64_t record_room(uint64_t length)
{
	uint64_t size = RECORD_HEAD + length;
	return (size + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

void record_begin(struct buffer *out)
{
	static const uint8_t head[RECORD_HEAD];
	buffer_clear(out);
	buffer_append(out, head, sizeof head);
}

void record_add(struct buffer *out, const struct write *write)
{
	uint8_t head[8] = {(uint8_t)write->kind, (uint8_t)write->table};
	put_le16(head + 2, (uint16_t)write->key.size);
	buffer_append(out, head, 4);
	buffer_append(out, write->key.at, write->key.size);
	if (write->kind == WRITE_PUT) {
		put_le32(head, (uint32_t)write->value.size);
		buffer_append(out, head, 4);
		buffer_append(out, write->value.at, write->value.size);
	}
	if (write->kind != WRITE_PATCH) return;
	buffer_byte(out, (uint8_t)write->patch_count);
	for (unsigned i = 0; i < write->patch_count; i++) {
		put_le16(head, write->patches[i].offset);
		put_le16(head + 2, write->patches[i].size);
		buffer_append(out, head, 4);
		buffer_append(out, write->patches[i].bytes, write->patches[i].size);
	}
}

static uint32_t chain_of(const uint8_t *record, size_t operations_size)
{
	return crc32c(0, record + RECORD_OUTER, RECORD_INNER + operations_size);
}

/* Goes on from the chain, so that the sum is one CRC-32C over the inner part and the head. Two sums side by side would
 * let a flip in the one cancel a flip at the same distance from the end of the other. */
static uint32_t sum_of(const uint8_t *record, uint32_t chain)
{
	return crc32c(chain, record, SUM_AT);
}

static void write_inner(uint8_t *inner, const struct record *record, size_t operations_size)
{
	inner[0] = RECORD_VERSION;
	inner[1] = (uint8_t)record->kind;
	put_le16(inner + 2, record->shard);
	memcpy(inner + 4, record->lineage, 16);
	put_le64(inner + 20, record->epoch);
	put_le64(inner + 28, record->seq);
	put_le64(inner + 36, (uint64_t)record->now.v);
	put_le32(inner + 44, (uint32_t)operations_size);
	put_le32(inner + 48, record->operations);
	put_le32(inner + 52, record->chain_before);
}

void record_seal(struct buffer *out, struct record *record)
{
	must(!out->failed && out->size >= RECORD_HEAD);
	uint8_t *head = out->at;
	size_t   operations_size = out->size - RECORD_HEAD;
	write_inner(head + RECORD_OUTER, record, operations_size);
	put_le32(head, magic);
	put_le32(head + 4, RECORD_VERSION);
	put_le64(head + 8, record->segment);
	put_le64(head + 16, record->offset);
	put_le64(head + 24, record->durable_seq);
	record->chain = chain_of(head, operations_size);
	put_le32(head + SUM_AT, sum_of(head, record->chain));
	record->writes = span_of(head + RECORD_HEAD, operations_size);
}

static bool is_known_form(const uint8_t *head)
{
	const uint8_t *inner = head + RECORD_OUTER;
	return get_le32(head + 4) == RECORD_VERSION && inner[0] == RECORD_VERSION &&
	       (inner[1] == RECORD_WRITES || inner[1] == RECORD_EPOCH);
}

enum err record_open(struct span bytes, struct record *record)
{
	if (bytes.size < RECORD_HEAD || get_le32(bytes.at) != magic) return ERR_NOT_FOUND;
	const uint8_t *head = bytes.at, *inner = head + RECORD_OUTER;
	uint32_t       length = get_le32(inner + 44);
	if (length > bytes.size - RECORD_HEAD) return ERR_MALFORMED;
	uint32_t chain = chain_of(head, length);
	if (sum_of(head, chain) != get_le32(head + SUM_AT)) return ERR_MALFORMED;
	if (!is_known_form(head)) return ERR_UNSUPPORTED;
	*record = (struct record){
	    .kind = (enum record_kind)inner[1],
	    .shard = get_le16(inner + 2),
	    .segment = get_le64(head + 8),
	    .offset = get_le64(head + 16),
	    .epoch = get_le64(inner + 20),
	    .seq = get_le64(inner + 28),
	    .durable_seq = get_le64(head + 24),
	    .now = {(int64_t)get_le64(inner + 36)},
	    .operations = get_le32(inner + 48),
	    .chain_before = get_le32(inner + 52),
	    .chain = chain,
	    .writes = span_of(head + RECORD_HEAD, length),
	};
	memcpy(record->lineage, inner + 4, 16);
	return OK;
}

uint32_t record_version(struct span bytes)
{
	return get_le32(bytes.at + 4);
}

bool record_padding_holds(struct span bytes, const struct record *record)
{
	uint64_t room = record_room(record->writes.size);
	if (room > bytes.size) return false;
	for (uint64_t at = RECORD_HEAD + record->writes.size; at < room; at++)
		if (bytes.at[at]) return false;
	return true;
}

bool record_head_now(const uint8_t head[RECORD_HEAD], wall_us *now)
{
	now->v = (int64_t)get_le64(head + RECORD_OUTER + 36);
	return get_le32(head) == magic;
}

/* Moves `size` bytes from the front of `from` to `*out`; false: fewer are left. */
static bool take(struct span *from, size_t size, struct span *out)
{
	if (from->size < size) return false;
	*out = span_of(from->at, size);
	*from = span_of(from->at + size, from->size - size);
	return true;
}

static enum err next_patches(struct span *writes, struct arena *arena, struct write *write)
{
	struct span part;
	if (!take(writes, 1, &part)) return ERR_MALFORMED;
	write->patch_count = part.at[0];
	if (write->patch_count == 0 || write->patch_count > PATCHES_MAX) return ERR_MALFORMED;
	write->patches = arena_take(arena, sizeof *write->patches * write->patch_count);
	if (!write->patches) return ERR_NO_MEMORY;
	for (unsigned i = 0; i < write->patch_count; i++) {
		if (!take(writes, 4, &part)) return ERR_MALFORMED;
		struct patch *patch = &write->patches[i];
		patch->offset = get_le16(part.at);
		patch->size = get_le16(part.at + 2);
		if (!take(writes, patch->size, &part)) return ERR_MALFORMED;
		patch->bytes = part.at;
	}
	return OK;
}

/* Table numbers may have gaps. */
static bool is_known(unsigned table)
{
	static const bool known[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = true,
#include "store/tables.def"
#undef T
	};
	return table < TABLE_END && known[table];
}

enum err record_next(struct span *writes, struct arena *arena, struct write *write)
{
	struct span part;
	if (writes->size == 0) return ERR_NOT_FOUND;
	if (!take(writes, 4, &part)) return ERR_MALFORMED;
	unsigned kind = part.at[0], table = part.at[1];
	if (kind < WRITE_PUT || kind > WRITE_PATCH || !is_known(table)) return ERR_UNSUPPORTED;
	*write = (struct write){.kind = (enum write_kind)kind, .table = (enum table)table};
	if (!take(writes, get_le16(part.at + 2), &write->key)) return ERR_MALFORMED;
	if (write->key.size == 0 || write->key.size > KEY_BYTES_MAX) return ERR_MALFORMED;
	if (kind == WRITE_PATCH) return next_patches(writes, arena, write);
	if (kind == WRITE_DEL) return OK;
	if (!take(writes, 4, &part)) return ERR_MALFORMED;
	return take(writes, get_le32(part.at), &write->value) ? OK : ERR_MALFORMED;
}
