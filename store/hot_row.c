/* Columns of 40 passes in a row, and the same passes as words in memory. */
#include "store/hot_row.h"

#include "schemas/bytes.h"

/* The columns in their order, and where a field lies in the words. */
static const struct field {
	uint16_t at;
	uint8_t  width, word, shift;
} fields[HOT_FIELDS] = {
#define AT(bytes) (HOT_COLUMNS_AT + (bytes)*HOT_PASSES)
    [HOT_STATUS] = {AT(0), 1, 0, 0},       [HOT_FLAGS] = {AT(1), 1, 0, 8},
    [HOT_TEMPLATE] = {AT(2), 2, 0, 16},    [HOT_SCAN_COUNT] = {AT(4), 4, 0, 32},
    [HOT_BALANCE] = {AT(8), 8, 1, 0},      [HOT_CREATED] = {AT(16), 8, 2, 0},
    [HOT_UPDATED] = {AT(24), 8, 3, 0},     [HOT_LAST_SCAN] = {AT(32), 8, 4, 0},
    [HOT_LEDGER_HEAD] = {AT(40), 8, 5, 0},
#undef AT
};
_Static_assert((int)HOT_ROW_BYTES == 1944, "the row's form is on disk");
_Static_assert((int)HOT_ROW_BYTES <= (int)ROW_BYTES_MAX, "two rows fit a page");

bool hot_row_is_whole(struct span row)
{
	return row.size == HOT_ROW_BYTES && row.at[HOT_COUNT_USED] <= HOT_PASSES;
}

const uint8_t *hot_row_counts(struct span row)
{
	return row.at;
}

uint16_t hot_field_at(enum hot_field field, unsigned index)
{
	return (uint16_t)(fields[field].at + fields[field].width * index);
}

static const uint8_t *at_of(struct span row, enum hot_field field, unsigned index)
{
	return row.at + hot_field_at(field, index);
}

void hot_row_words(struct span row, unsigned index, uint64_t words[HOT_WORDS])
{
	words[0] = *at_of(row, HOT_STATUS, index) | (uint64_t)*at_of(row, HOT_FLAGS, index) << 8 |
	           (uint64_t)get_le16(at_of(row, HOT_TEMPLATE, index)) << 16 |
	           (uint64_t)get_le32(at_of(row, HOT_SCAN_COUNT, index)) << 32;
	for (unsigned i = 1; i < HOT_WORDS; i++)
		words[i] = get_le64(at_of(row, (enum hot_field)(HOT_BALANCE + i - 1), index));
}

void hot_row_put_words(uint8_t row[HOT_ROW_BYTES], unsigned index, const uint64_t words[HOT_WORDS])
{
	row[hot_field_at(HOT_STATUS, index)] = (uint8_t)words[0];
	row[hot_field_at(HOT_FLAGS, index)] = (uint8_t)(words[0] >> 8);
	put_le16(row + hot_field_at(HOT_TEMPLATE, index), (uint16_t)(words[0] >> 16));
	put_le32(row + hot_field_at(HOT_SCAN_COUNT, index), (uint32_t)(words[0] >> 32));
	for (unsigned i = 1; i < HOT_WORDS; i++)
		put_le64(row + hot_field_at((enum hot_field)(HOT_BALANCE + i - 1), index), words[i]);
}

struct hot hot_of_words(const uint64_t words[HOT_WORDS])
{
	return (struct hot){
	    .status = (uint8_t)words[0],
	    .flags = (uint8_t)(words[0] >> 8),
	    .template = (uint16_t)(words[0] >> 16),
	    .scan_count = (uint32_t)(words[0] >> 32),
	    .balance = (int64_t)words[1],
	    .created = {(int64_t)words[2]},
	    .updated = {(int64_t)words[3]},
	    .last_scan = {(int64_t)words[4]},
	    .ledger_head = words[5],
	};
}

static void to_words(const struct hot *pass, uint64_t words[HOT_WORDS])
{
	words[0] = pass->status | (uint64_t)pass->flags << 8 | (uint64_t)pass->template << 16 |
	           (uint64_t)pass->scan_count << 32;
	words[1] = (uint64_t)pass->balance;
	words[2] = (uint64_t)pass->created.v;
	words[3] = (uint64_t)pass->updated.v;
	words[4] = (uint64_t)pass->last_scan.v;
	words[5] = pass->ledger_head;
}

struct hot hot_row_pass(struct span row, unsigned index)
{
	uint64_t words[HOT_WORDS];
	hot_row_words(row, index, words);
	return hot_of_words(words);
}

void hot_row_put(uint8_t row[HOT_ROW_BYTES], unsigned index, const struct hot *pass)
{
	uint64_t words[HOT_WORDS];
	to_words(pass, words);
	hot_row_put_words(row, index, words);
}

static void copy_i64(const uint8_t *from, unsigned count, int64_t *to)
{
	for (unsigned i = 0; i < count; i++)
		to[i] = (int64_t)get_le64(from + (size_t)8 * i);
}

void hot_row_columns(struct span row, const struct hot_columns *columns)
{
	unsigned count = row.at[HOT_COUNT_USED];
	copy_i64(at_of(row, HOT_UPDATED, 0), count, columns->updated);
	copy_i64(at_of(row, HOT_BALANCE, 0), count, columns->balance);
	for (unsigned i = 0; i < count; i++)
		columns->template[i] = get_le16(at_of(row, HOT_TEMPLATE, i));
}

void hot_words_columns(const uint64_t words[HOT_WORDS], const struct hot_columns *columns, unsigned index)
{
	columns->updated[index] = (int64_t)words[3];
	columns->balance[index] = (int64_t)words[1];
	columns->template[index] = (uint16_t)(words[0] >> 16);
}

static const struct field *field_of(const struct patch *patch)
{
	for (unsigned i = HOT_FIELDS; i-- > 0;)
		if (patch->offset >= fields[i].at) return &fields[i];
	return NULL;
}

bool hot_patch_index(const struct patch *patch, unsigned *index)
{
	const struct field *field = field_of(patch);
	if (!field) {
		*index = HOT_HEAD;
		return patch->offset == 0 && patch->size == HOT_COUNTS;
	}
	*index = (unsigned)(patch->offset - field->at) / field->width;
	return patch->size == field->width && (patch->offset - field->at) % field->width == 0 &&
	       *index < HOT_PASSES;
}

void hot_patch_words(const struct patch *patch, uint64_t words[HOT_WORDS])
{
	const struct field *field = field_of(patch);
	uint64_t            value = 0, mask;
	unsigned width = field ? field->width : (unsigned)HOT_COUNTS, shift = field ? field->shift : 0;
	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)patch->bytes[i] << 8 * i;
	mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
	uint64_t *word = &words[field ? field->word : 0];
	*word = (*word & ~(mask << shift)) | value << shift;
}

bool hot_patch_pass(const struct write *write, unsigned index, uint8_t counts[HOT_COUNTS], struct hot *pass)
{
	uint64_t words[HOT_WORDS], head[HOT_WORDS] = {get_le64(counts)};
	unsigned of;
	to_words(pass, words);
	for (unsigned i = 0; i < write->patch_count; i++) {
		if (!hot_patch_index(&write->patches[i], &of)) return false;
		if (of == HOT_HEAD) hot_patch_words(&write->patches[i], head);
		if (of == index) hot_patch_words(&write->patches[i], words);
	}
	put_le64(counts, head[0]);
	*pass = hot_of_words(words);
	return true;
}
