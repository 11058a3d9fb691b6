/* The codec of journal records: complete records read as they were written, and no other bytes read as a
 * record with other contents. */
#include "store/record.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { SUM_AT = 32, PADDED = 2 * RECORD_ALIGN };

static struct arena  arena;
static struct buffer bytes;

static void end(void)
{
	arena_free(&arena);
	buffer_free(&bytes);
}

TestSuite(record, .fini = end);

static struct patch       two_patches[] = {{3, 2, (const uint8_t *)"ab"}, {65000, 1, (const uint8_t *)"c"}};
static const struct write operations[] = {
    {.kind = WRITE_PUT,
     .table = TABLE_HOT,
     .key = {(const uint8_t *)"key one", 7},
     .value = {(const uint8_t *)"value", 5}},
    {.kind = WRITE_PUT, .table = TABLE_PASS_ID, .key = {(const uint8_t *)"k", 1}},
    {.kind = WRITE_DEL, .table = TABLE_BODY, .key = {(const uint8_t *)"gone", 4}},
    {.kind = WRITE_PATCH,
     .table = TABLE_HOT,
     .key = {(const uint8_t *)"key", 3},
     .patches = two_patches,
     .patch_count = 2},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static struct record sample(void)
{
	return (struct record){.kind = RECORD_WRITES,
	                       .shard = 0x1234,
	                       .lineage = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	                       .segment = 0x0102030405060708,
	                       .offset = 0x1112131415161718,
	                       .epoch = 0x2122232425262728,
	                       .seq = 0x3132333435363738,
	                       .durable_seq = 0x4142434445464748,
	                       .now = {-5},
	                       .operations = OPERATIONS,
	                       .chain_before = 0x51525354};
}

/* The sample with the four operations, in `bytes`. */
static struct record write_sample(void)
{
	struct record record = sample();
	record_begin(&bytes);
	for (unsigned i = 0; i < OPERATIONS; i++)
		record_add(&bytes, &operations[i]);
	cr_assert(!bytes.failed);
	record_seal(&bytes, &record);
	return record;
}

static void expect_operation(const struct write *got, const struct write *want)
{
	cr_assert_eq(got->kind, want->kind);
	cr_assert_eq(got->table, want->table);
	cr_assert(span_equal(got->key, want->key));
	cr_assert(span_equal(got->value, want->value));
	cr_assert_eq(got->patch_count, want->patch_count);
	for (unsigned i = 0; i < want->patch_count; i++) {
		const struct patch *a = &got->patches[i], *b = &want->patches[i];
		cr_assert(a->offset == b->offset && a->size == b->size &&
		          !memcmp(a->bytes, b->bytes, b->size));
	}
}

Test(record, reads_as_it_was_written)
{
	struct record want = write_sample(), got;
	struct write  write;
	cr_assert_eq(record_open(buffer_span(&bytes), &got), OK);
	cr_expect_eq(got.kind, want.kind);
	cr_expect_eq(got.shard, want.shard);
	cr_expect(!memcmp(got.lineage, want.lineage, sizeof want.lineage));
	cr_expect(got.segment == want.segment && got.offset == want.offset);
	cr_expect(got.epoch == want.epoch && got.seq == want.seq && got.durable_seq == want.durable_seq);
	cr_expect_eq(got.now.v, want.now.v);
	cr_expect_eq(got.operations, want.operations);
	cr_expect(got.chain_before == want.chain_before && got.chain == want.chain);
	cr_assert(span_equal(got.writes, want.writes));
	for (unsigned i = 0; i < OPERATIONS; i++) {
		cr_assert_eq(record_next(&got.writes, &arena, &write), OK);
		expect_operation(&write, &operations[i]);
	}
	cr_expect_eq(record_next(&got.writes, &arena, &write), ERR_NOT_FOUND);
}

/* The layout is stored on disks: each field is at the documented position. */
Test(record, has_the_layout_its_header_describes)
{
	struct record  record = write_sample();
	const uint8_t *b = bytes.at, *inner = b + RECORD_OUTER;
	cr_expect(!memcmp(b, "STRC", 4) && get_le32(b + 4) == RECORD_VERSION);
	cr_expect(get_le64(b + 8) == record.segment && get_le64(b + 16) == record.offset);
	cr_expect(get_le64(b + 24) == record.durable_seq);
	cr_expect(inner[0] == RECORD_VERSION && inner[1] == RECORD_WRITES);
	cr_expect(get_le16(inner + 2) == record.shard && !memcmp(inner + 4, record.lineage, 16));
	cr_expect(get_le64(inner + 20) == record.epoch && get_le64(inner + 28) == record.seq);
	cr_expect((int64_t)get_le64(inner + 36) == record.now.v);
	cr_expect(get_le32(inner + 44) == bytes.size - RECORD_HEAD && get_le32(inner + 48) == OPERATIONS);
	cr_expect(get_le32(inner + 52) == record.chain_before);
	cr_expect(!memcmp(b + RECORD_HEAD, "\1\6\7\0key one\5\0\0\0value", 20));
	cr_expect(!memcmp(b + RECORD_HEAD + 20, "\1\10\1\0k\0\0\0\0", 9));
	cr_expect(!memcmp(b + RECORD_HEAD + 29, "\2\7\4\0gone", 8));
	cr_expect(!memcmp(b + RECORD_HEAD + 37, "\3\6\3\0key\2\3\0\2\0ab\xe8\xfd\1\0c", 19));
}

/* Made by another program, from the description of the layout alone. */
static const uint8_t golden[] = {
    0x53, 0x54, 0x52, 0x43, 0x02, 0x00, 0x00, 0x00, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x18,
    0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0xec, 0x51,
    0xc4, 0xd8, 0x02, 0x01, 0x34, 0x12, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
    0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35,
    0x34, 0x33, 0x32, 0x31, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x38, 0x00, 0x00, 0x00, 0x04,
    0x00, 0x00, 0x00, 0x54, 0x53, 0x52, 0x51, 0x01, 0x06, 0x07, 0x00, 0x6b, 0x65, 0x79, 0x20, 0x6f, 0x6e,
    0x65, 0x05, 0x00, 0x00, 0x00, 0x76, 0x61, 0x6c, 0x75, 0x65, 0x01, 0x08, 0x01, 0x00, 0x6b, 0x00, 0x00,
    0x00, 0x00, 0x02, 0x07, 0x04, 0x00, 0x67, 0x6f, 0x6e, 0x65, 0x03, 0x06, 0x03, 0x00, 0x6b, 0x65, 0x79,
    0x02, 0x03, 0x00, 0x02, 0x00, 0x61, 0x62, 0xe8, 0xfd, 0x01, 0x00, 0x63,
};
enum { GOLDEN_CHAIN = 0xd10041f6 };

Test(record, is_these_bytes)
{
	struct record got, record = write_sample();
	cr_expect_eq(bytes.size, sizeof golden);
	cr_expect_arr_eq(bytes.at, golden, sizeof golden);
	cr_expect_eq(record.chain, (uint32_t)GOLDEN_CHAIN);
	cr_assert_eq(record_open(span_of(golden, sizeof golden), &got), OK);
	cr_expect_eq(got.chain, (uint32_t)GOLDEN_CHAIN);
}

/* Another place and another disk: another head, the same inner part, the same chain. */
Test(record, has_an_inner_part_that_is_the_same_on_any_host)
{
	struct record here = write_sample(), there = here, got;
	uint8_t       before[sizeof golden];
	memcpy(before, bytes.at, sizeof before);
	there.segment = 7;
	there.offset = 8192;
	there.durable_seq = 0;
	record_seal(&bytes, &there);
	cr_expect_eq(there.chain, here.chain);
	cr_expect_arr_eq(bytes.at + RECORD_OUTER, before + RECORD_OUTER, sizeof before - RECORD_OUTER);
	cr_expect_neq(get_le32(bytes.at + SUM_AT), get_le32(before + SUM_AT));
	cr_assert_eq(record_open(buffer_span(&bytes), &got), OK);
	cr_expect(got.segment == 7 && got.offset == 8192 && got.durable_seq == 0 && got.chain == here.chain);
	/* An inner part under the head of another place holds only with that head's own sum. */
	memcpy(bytes.at, before, SUM_AT);
	cr_expect_eq(record_open(buffer_span(&bytes), &got), ERR_MALFORMED);
}

Test(record, with_any_flipped_bit_is_refused)
{
	struct record got;
	uint8_t       padded[PADDED] = {0};
	write_sample();
	memcpy(padded, bytes.at, bytes.size);
	for (size_t i = 0; i < bytes.size * 8; i++) {
		padded[i / 8] ^= (uint8_t)(1 << i % 8);
		enum err err = record_open(span_of(padded, sizeof padded), &got);
		cr_expect(err == ERR_MALFORMED || err == ERR_NOT_FOUND, "bit %zu gives %d", i, err);
		padded[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_eq(record_open(span_of(padded, sizeof padded), &got), OK);
}

/* One bit in the head and one in the inner part, which two separate sums could cancel. */
Test(record, with_a_flipped_bit_in_each_part_is_refused)
{
	struct record got;
	write_sample();
	for (size_t i = 4 * 8; i < SUM_AT * 8; i++) {
		bytes.at[i / 8] ^= (uint8_t)(1 << i % 8);
		for (size_t k = RECORD_OUTER * 8; k < bytes.size * 8; k++) {
			bytes.at[k / 8] ^= (uint8_t)(1 << k % 8);
			cr_expect_eq(record_open(buffer_span(&bytes), &got), ERR_MALFORMED, "%zu and %zu", i,
			             k);
			bytes.at[k / 8] ^= (uint8_t)(1 << k % 8);
		}
		bytes.at[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

Test(record, is_followed_by_zeros)
{
	struct record got;
	uint8_t       padded[PADDED] = {0};
	write_sample();
	memcpy(padded, bytes.at, bytes.size);
	cr_assert_eq(record_open(span_of(padded, sizeof padded), &got), OK);
	for (size_t i = bytes.size; i < sizeof padded; i++) {
		padded[i] = 1;
		bool holds = record_padding_holds(span_of(padded, sizeof padded), &got);
		cr_expect_eq(holds, i >= RECORD_ALIGN, "byte %zu", i);
		padded[i] = 0;
	}
	cr_expect_not(record_padding_holds(span_of(padded, RECORD_ALIGN - 1), &got));
}

Test(record, torn_anywhere_is_refused)
{
	struct record got;
	uint8_t       padded[PADDED] = {0};
	write_sample();
	for (size_t size = 0; size < bytes.size; size++) {
		uint8_t *exact = malloc(
		    size + 1); /* exact size, so that a sanitizer detects a read beyond the end */
		memcpy(exact, bytes.at, size);
		enum err cut = record_open(span_of(exact, size), &got);
		cr_expect(cut == ERR_MALFORMED || cut == ERR_NOT_FOUND, "cut at %zu gives %d", size, cut);
		free(exact);
		memcpy(padded, bytes.at, size);
		memset(padded + size, 0, sizeof padded - size);
		enum err torn = record_open(span_of(padded, sizeof padded), &got);
		cr_expect(torn == ERR_MALFORMED || torn == ERR_NOT_FOUND, "torn at %zu gives %d", size, torn);
	}
}

static void set_sum(void)
{
	uint32_t chain = crc32c(0, bytes.at + RECORD_OUTER, bytes.size - RECORD_OUTER);
	put_le32(bytes.at + SUM_AT, crc32c(chain, bytes.at, SUM_AT));
}

Test(record, of_another_version_or_kind_is_unsupported_only_if_intact)
{
	static const struct {
		unsigned at, value;
	} rows[] = {{4, 0},  {4, 1},  {4, 3},  {4, 255}, {7, 1},   {36, 0},
	            {36, 1}, {36, 3}, {37, 0}, {37, 3},  {37, 255}};
	struct record got;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_sample();
		bytes.at[rows[i].at] = (uint8_t)rows[i].value;
		cr_expect_eq(record_open(buffer_span(&bytes), &got), ERR_MALFORMED, "row %u", i);
		set_sum();
		cr_expect_eq(record_open(buffer_span(&bytes), &got), ERR_UNSUPPORTED, "row %u", i);
		if (rows[i].at == 4) cr_expect_eq(record_version(buffer_span(&bytes)), rows[i].value);
	}
}

Test(record, bytes_without_magic_are_no_record)
{
	static const uint8_t zeros[PADDED];
	struct record        got;
	cr_expect_eq(record_open(span_of(zeros, sizeof zeros), &got), ERR_NOT_FOUND);
	cr_expect_eq(record_open(span_of("STRC", 4), &got), ERR_NOT_FOUND);
	cr_expect_eq(record_open(span_of(NULL, 0), &got), ERR_NOT_FOUND);
}

Test(record, chain_depends_on_the_previous_record)
{
	struct record a = write_sample(), b = sample(), c = sample();
	b.chain_before++;
	record_seal(&bytes, &b);
	cr_expect_neq(a.chain, b.chain);
	c.seq++;
	record_seal(&bytes, &c);
	cr_expect_neq(a.chain, c.chain);
	cr_expect_neq(b.chain, c.chain);
}

Test(record, size_is_rounded_up_to_blocks)
{
	static const uint64_t rows[][2] = {{0, 4096},         {1, 4096},
	                                   {4096 - 92, 4096}, {4096 - 91, 8192},
	                                   {8192 - 92, 8192}, {UINT32_MAX, UINT64_C(1) << 32 | 4096}};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(record_room(rows[i][0]), rows[i][1], "row %u", i);
}

static bool table_exists(unsigned table)
{
	switch (table) {
#define T(id, NAME, name, kind) case id:
#include "store/tables.def"
#undef T
		return true;
	default: return false;
	}
}

/* Operations that the writer never makes: `raw` is the whole rest of a record. */
static enum err next_of(const void *raw, size_t size)
{
	struct write write;
	uint8_t     *exact = malloc(size + 1);
	memcpy(exact, raw, size);
	struct span left = span_of(exact, size);
	enum err    err = record_next(&left, &arena, &write);
	free(exact);
	return err;
}

Test(record, refuses_unknown_tables_and_operations)
{
	uint8_t raw[] = {WRITE_DEL, TABLE_HOT, 1, 0, 'k'};
	cr_assert_eq(next_of(raw, sizeof raw), OK);
	for (unsigned kind = 0; kind < 256; kind++) {
		raw[0] = (uint8_t)kind;
		bool known = kind >= WRITE_PUT && kind <= WRITE_PATCH;
		cr_expect_eq(next_of(raw, sizeof raw) == ERR_UNSUPPORTED, !known, "operation %u", kind);
	}
	raw[0] = WRITE_DEL;
	for (unsigned table = 0; table < 256; table++) {
		raw[1] = (uint8_t)table;
		cr_expect_eq(next_of(raw, sizeof raw), table_exists(table) ? OK : ERR_UNSUPPORTED, "table %u",
		             table);
	}
}

Test(record, refuses_incomplete_operations)
{
	struct record record = write_sample();
	unsigned      ends = 0;
	for (size_t size = 0; size < record.writes.size; size++) {
		uint8_t *exact = malloc(size + 1);
		memcpy(exact, record.writes.at, size);
		struct span  left = span_of(exact, size);
		struct write write;
		enum err     err;
		while (!(err = record_next(&left, &arena, &write)))
			;
		ends += err == ERR_NOT_FOUND;
		cr_expect(err == ERR_NOT_FOUND || err == ERR_MALFORMED, "%zu bytes give %d", size, err);
		free(exact);
	}
	cr_expect_eq(ends, OPERATIONS); /* between two of them, and before the first */
}

Test(record, refuses_counts_and_keys_that_are_never_written)
{
	uint8_t               raw[KEY_BYTES_MAX + 64] = {WRITE_PATCH, TABLE_HOT, 1, 0, 'k'};
	static const unsigned counts[] = {0, PATCHES_MAX + 1, 255};
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		raw[5] = (uint8_t)counts[i];
		cr_expect_eq(next_of(raw, sizeof raw), ERR_MALFORMED, "%u patches", counts[i]);
	}
	raw[5] = PATCHES_MAX; /* with empty keys and values */
	cr_expect_eq(next_of(raw, sizeof raw), OK);
	raw[0] = WRITE_DEL;
	for (unsigned size = 0; size <= KEY_BYTES_MAX + 1; size++) {
		put_le16(raw + 2, (uint16_t)size);
		bool good = size > 0 && size <= KEY_BYTES_MAX;
		cr_expect_eq(next_of(raw, sizeof raw), good ? OK : ERR_MALFORMED, "a key of %u bytes", size);
	}
}
