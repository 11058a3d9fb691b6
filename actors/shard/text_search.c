/* Searching texts, row by row in the order of numbers. */
#include "actors/shard/text_search.h"

#include "actors/rt/time.h"
#include "schemas/search.h"
#include "store/keys.h"
#include "store/text.h"

static enum err read_texts(struct text_search *search, uint32_t number, struct text_row *texts)
{
	struct row_key  key = key_u32(search->request->account->id, number);
	struct view_row row;
	if (!search->has_read || search->at + 1 != number)
		search->stream = stream_from(search->request->view, search->table, &key);
	enum err err = stream_next_whole(&search->stream, &search->room, &row);
	search->at = number;
	search->has_read = true;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return span_equal(row.key, key_span(&key)) ? text_row_read(row.value, texts) : ERR_DAMAGED;
}

/* Of those of one row that are in `among`: which hold q. */
static enum err search_row(struct text_search *search, uint32_t row, uint32_t among, uint32_t *found)
{
	struct text_row texts;
	enum err        err = read_texts(search, row, &texts);
	*found = 0;
	if (err || (!texts.elsewhere && !span_holds(texts.all, search->q))) return err;
	for (; !err && among; among &= among - 1) {
		unsigned i = (unsigned)__builtin_ctz(among);
		bool     holds = search->holds(search, texts.of[i]);
		if (texts.elsewhere >> i & 1)
			err = search->holds_elsewhere(search, row * TEXT_PASSES + i, &holds);
		if (holds) *found |= 1u << i;
	}
	return err;
}

static enum err is_late(const struct text_search *search)
{
	return search->request->call->deadline.v <= time_mono().v ? ERR_OVERLOADED : OK;
}

static enum err search_all(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	selection->total = 0;
	for (uint32_t row = 0; row * (uint64_t)TEXT_PASSES < selection->made; row++) {
		unsigned shift = row % 2 * TEXT_PASSES;
		uint32_t wanted = (uint32_t)(selection->bits[row / 2] >> shift);
		uint32_t has = found ? wanted & (uint32_t)(found[row / 2] >> shift) : 0, more = 0;
		enum err err = wanted & ~has ? search_row(search, row, wanted & ~has, &more) : OK;
		if (err || (err = is_late(search))) return err;
		selection->bits[row / 2] &= ~((uint64_t)UINT32_MAX << shift);
		selection->bits[row / 2] |= (uint64_t)(has | more) << shift;
		selection->total += (unsigned)__builtin_popcount(has | more);
	}
	return OK;
}

enum err text_search(struct text_search *search, const uint64_t *found, struct selection *selection)
{
	enum err err = search_all(search, found, selection);
	buffer_free(&search->room);
	return err;
}
