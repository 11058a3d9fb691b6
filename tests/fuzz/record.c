/* store/record.h: one journal record as any bytes, in every second run with a valid checksum. A record is
 * accepted only with a valid checksum; its operations written again give the same bytes; and any flipped bit
 * is refused. */
#include "tests/fuzz/fuzz.h"

#include "schemas/crc32c.h"
#include "store/record.h"

#include <stdlib.h>

static struct arena  arena;
static struct buffer again;

enum { AT_KIND = RECORD_OUTER + 1, AT_LENGTH = RECORD_OUTER + 44, AT_SUM = 32 };

/* Of the inner part and then the head, as one piece. */
static uint32_t sum_of(const uint8_t *record, size_t size)
{
	uint8_t *one = malloc(size);
	must(one);
	memcpy(one, record + RECORD_OUTER, size - RECORD_OUTER);
	memcpy(one + size - RECORD_OUTER, record, AT_SUM);
	uint32_t sum = crc32c_by_table(0, one, size - RECORD_OUTER + AT_SUM);
	free(one);
	return sum;
}

static void mend(uint8_t *record, size_t size)
{
	if (size < RECORD_HEAD) return;
	memcpy(record, "STRC", 4);
	put_le32(record + 4, RECORD_VERSION);
	record[RECORD_OUTER] = RECORD_VERSION;
	record[AT_KIND] = RECORD_WRITES;
	put_le32(record + AT_LENGTH, (uint32_t)(size - RECORD_HEAD));
	put_le32(record + AT_SUM, sum_of(record, size));
}

static bool sum_holds(const uint8_t *record, size_t size)
{
	return sum_of(record, size) == get_le32(record + AT_SUM);
}

static void check_operations(struct record record, struct span bytes)
{
	struct span  left = record.writes;
	struct write write;
	enum err     err;
	record_begin(&again);
	while (!(err = record_next(&left, &arena, &write))) {
		must(write.key.size >= 1 && write.key.size <= KEY_BYTES_MAX &&
		     write.patch_count <= PATCHES_MAX);
		must(write.table > 0 && write.table < TABLE_END);
		record_add(&again, &write);
	}
	must(err == ERR_NOT_FOUND || err == ERR_MALFORMED || err == ERR_UNSUPPORTED);
	if (err != ERR_NOT_FOUND) return;
	uint32_t chain = record.chain;
	record_seal(&again, &record);
	must(record.chain == chain && span_equal(buffer_span(&again), bytes));
}

static void check_flip(uint8_t *bytes, size_t size, uint32_t where)
{
	struct record record;
	size_t        bit = where % (size * 8);
	bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	must(record_open(span_of(bytes, size), &record) != OK);
	bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply supply = {span_of(bytes, size)};
	bool          mended = supply_byte(&supply) & 1;
	uint32_t      where = (uint32_t)supply_number(&supply, 3);
	struct record record;
	struct span   input = supply_rest(&supply);
	uint8_t      *copy = malloc(input.size);
	must(copy || !input.size);
	if (input.size) memcpy(copy, input.at, input.size);
	if (mended) mend(copy, input.size);
	enum err err = record_open(span_of(copy, input.size), &record);
	must(err == OK || err == ERR_NOT_FOUND || err == ERR_MALFORMED || err == ERR_UNSUPPORTED);
	if (mended && input.size >= RECORD_HEAD) must(err == OK);
	if (!err) {
		size_t whole = RECORD_HEAD + record.writes.size;
		must(whole <= input.size && sum_holds(copy, whole));
		check_operations(record, span_of(copy, whole));
		check_flip(copy, whole, where);
	}
	free(copy);
	arena_reset(&arena);
	return 0;
}
