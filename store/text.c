/* The rows of folded text. */
#include "store/text.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { HEAD_BYTES = 2 * TEXT_PASSES };

enum err text_row_read(struct span value, struct text_row *texts)
{
	texts->elsewhere = 0;
	if (value.size < HEAD_BYTES) return ERR_DAMAGED;
	texts->all = span_of(value.at + HEAD_BYTES, value.size - HEAD_BYTES);
	size_t at = 0;
	for (unsigned i = 0; i < TEXT_PASSES; i++) {
		size_t size = get_le16(value.at + 2 * i);
		if (size == TEXT_ELSEWHERE) {
			texts->elsewhere |= 1u << i;
			size = 0;
		}
		if (size > texts->all.size - at) return ERR_DAMAGED;
		texts->of[i] = span_of(texts->all.at + at, size);
		at += size;
	}
	return at == texts->all.size ? OK : ERR_DAMAGED;
}

/* The present row; an absent one has empty texts. */
static enum err read_row(struct view *view, enum table table, const struct row_key *key,
                         struct text_row *texts)
{
	struct span value;
	enum err    err = view_get(view, table, key_span(key), &value);
	*texts = (struct text_row){.elsewhere = 0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return text_row_read(value, texts);
}

/* A text above TEXT_BYTES_MAX has a row of its own, unless it exceeds PASS_STORED_BYTES_MAX. */
static enum err put_long(struct view *view, enum table table, const struct row_key *key, struct span text,
                         bool was_long)
{
	struct writes *writes = view_writes(view);
	if (!table) return OK;
	bool is_long = text.size > TEXT_BYTES_MAX && text.size <= PASS_STORED_BYTES_MAX;
	if (is_long) return write_put(writes, table, key_span(key), text);
	return was_long ? write_del(writes, table, key_span(key)) : OK;
}

enum err text_put(struct view *view, struct account_id account, uint32_t number, struct span text)
{
	static const struct text_tables of_passes = {TABLE_TEXT, TABLE_LONG_TEXT};
	return text_put_in(view, of_passes, account, number, text);
}

enum err text_put_in(struct view *view, struct text_tables tables, struct account_id account, uint32_t number,
                     struct span text)
{
	struct row_key  key = key_u32(account, number / TEXT_PASSES);
	struct text_row texts;
	struct buffer   row = {0};
	uint8_t         head[HEAD_BYTES];
	bool            elsewhere = text.size > TEXT_BYTES_MAX;
	enum err        err = read_row(view, tables.blocks, &key, &texts);
	if (err) return err;
	struct row_key own = key_u32(account, number);
	err = put_long(view, tables.longs, &own, text, texts.elsewhere >> number % TEXT_PASSES & 1);
	if (err) return err;
	texts.of[number % TEXT_PASSES] = elsewhere ? span_of(NULL, 0) : text;
	texts.elsewhere &= ~(1u << number % TEXT_PASSES);
	if (elsewhere) texts.elsewhere |= 1u << number % TEXT_PASSES;
	for (unsigned i = 0; i < TEXT_PASSES; i++)
		put_le16(head + 2 * i,
		         texts.elsewhere >> i & 1 ? TEXT_ELSEWHERE : (uint16_t)texts.of[i].size);
	buffer_append(&row, head, sizeof head);
	for (unsigned i = 0; i < TEXT_PASSES; i++)
		buffer_append(&row, texts.of[i].at, texts.of[i].size);
	return view_put_buffer(view, tables.blocks, &key, &row);
}
