/* The journal record's codec: pure, so that recovery, the crash tests and a fuzzer can all use it. */
#include "store/record.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"

static const uint32_t magic = 0x43525453; /* "STRC" */

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

static uint32_t chained(uint32_t chain_before, uint32_t crc)
{
	uint8_t bytes[4];
	put_le32(bytes, crc);
	return crc32c(chain_before, bytes, sizeof bytes);
}

void record_seal(struct buffer *out, struct record *record)
{
	must(!out->failed && out->size >= RECORD_HEAD);
	uint8_t *head = out->at;
	put_le32(head, magic);
	head[4] = RECORD_VERSION;
	head[5] = (uint8_t)record->kind;
	put_le16(head + 6, record->shard);
	memcpy(head + 8, record->lineage, 16);
	put_le64(head + 24, record->segment);
	put_le64(head + 32, record->offset);
	put_le64(head + 40, record->epoch);
	put_le64(head + 48, record->seq);
	put_le64(head + 56, record->durable_seq);
	put_le64(head + 64, (uint64_t)record->now.v);
	put_le32(head + 72, (uint32_t)(out->size - RECORD_HEAD));
	put_le32(head + 76, record->operations);
	put_le32(head + 80, record->chain_before);
	put_le32(head + 84, 0);
	uint32_t crc = crc32c(0, out->at, out->size);
	put_le32(head + 84, crc);
	record->chain = chained(record->chain_before, crc);
	record->writes = span_of(out->at + RECORD_HEAD, out->size - RECORD_HEAD);
}

enum err record_open(struct span bytes, struct record *record)
{
	static const uint8_t no_crc[4];
	if (bytes.size < RECORD_HEAD || get_le32(bytes.at) != magic) return ERR_NOT_FOUND;
	const uint8_t *head = bytes.at;
	uint32_t       length = get_le32(head + 72);
	if (length > bytes.size - RECORD_HEAD) return ERR_MALFORMED;
	uint32_t crc = crc32c(0, head, 84);
	crc = crc32c(crc, no_crc, sizeof no_crc);
	crc = crc32c(crc, head + RECORD_HEAD, length);
	if (crc != get_le32(head + 84)) return ERR_MALFORMED;
	if (head[4] != RECORD_VERSION || (head[5] != RECORD_WRITES && head[5] != RECORD_EPOCH))
		return ERR_UNSUPPORTED;
	*record = (struct record){
	    .kind = (enum record_kind)head[5],
	    .shard = get_le16(head + 6),
	    .segment = get_le64(head + 24),
	    .offset = get_le64(head + 32),
	    .epoch = get_le64(head + 40),
	    .seq = get_le64(head + 48),
	    .durable_seq = get_le64(head + 56),
	    .now = {(int64_t)get_le64(head + 64)},
	    .operations = get_le32(head + 76),
	    .chain_before = get_le32(head + 80),
	    .chain = chained(get_le32(head + 80), crc),
	    .writes = span_of(head + RECORD_HEAD, length),
	};
	memcpy(record->lineage, head + 8, 16);
	return OK;
}

bool record_head_now(const uint8_t head[RECORD_HEAD], wall_us *now)
{
	now->v = (int64_t)get_le64(head + 64);
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
