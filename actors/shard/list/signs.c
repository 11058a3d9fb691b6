/* Rows of texts in memory. What is known is right for a view if it was read in it or before, and the row was not written
 * since (view_row_moment()); who looks from an older view leaves it as it is. */
#include "actors/shard/list/signs.h"

#include <stdlib.h>
#include <string.h>

static unsigned bit_of(const uint8_t *at)
{
	uint32_t three = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	return (three * 0x9e3779b1u) >> 21;
}
_Static_assert((int)SIGN_BITS == 1 << (32 - 21) && (int)SIGN_BYTES == 3, "as many bits as a sign has");

static void drop(struct kept_item *item)
{
	struct signs *signs = (struct signs *)item; /* whose first member it is */
	for (uint32_t row = 0; row < signs->rows; row++)
		free(signs->list[row].copy);
	free(signs->list);
	free(signs);
}

static void count_bytes(struct signs *signs)
{
	signs->kept.bytes = signs->rows * sizeof *signs->list + signs->copies_size;
}

/* Of what is new nothing is known yet. */
static enum err make_room(struct signs *signs, uint32_t rows)
{
	if (rows <= signs->rows) return OK;
	struct sign *list = realloc(signs->list, rows * sizeof *list);
	if (!list) return ERR_NO_MEMORY;
	for (uint32_t row = signs->rows; row < rows; row++)
		list[row] = (struct sign){.moment = 0};
	signs->list = list;
	signs->rows = rows;
	count_bytes(signs);
	return OK;
}

enum err signs_take(struct kept *kept, enum table table, struct account_id account, uint32_t rows,
                    struct signs **out)
{
	struct signs *signs = (struct signs *)kept_take(kept, table, account);
	*out = NULL;
	if (!signs && !(signs = calloc(1, sizeof *signs))) return ERR_NO_MEMORY;
	signs->kept = (struct kept_item){account, table, signs->kept.bytes, drop};
	enum err err = make_room(signs, rows);
	if (err)
		drop(&signs->kept);
	else
		*out = signs;
	return err;
}

void signs_give(struct kept *kept, struct signs **signs_p)
{
	struct signs *signs = *signs_p;
	*signs_p = NULL;
	if (signs) kept_give(signs->rows < SIGNS_ROWS_MIN ? NULL : kept, &signs->kept);
}

bool signs_stand(const struct signs *signs, struct view *view, uint32_t row)
{
	uint64_t moment = signs->list[row].moment;
	return moment && moment <= view_moment(view) &&
	       view_row_moment(view, signs->kept.table, signs->kept.account, row) <= moment;
}

bool signs_have(const struct signs *signs, uint32_t row, struct span q)
{
	const struct sign *sign = &signs->list[row];
	for (size_t i = 0; sign->has_bits && i + SIGN_BYTES <= q.size; i++) {
		unsigned bit = bit_of(q.at + i);
		if (!(sign->bits[bit / 64] >> bit % 64 & 1)) return false;
	}
	return true;
}

struct span signs_copy(const struct signs *signs, uint32_t row)
{
	return span_of(signs->list[row].copy, signs->list[row].copy_size);
}

/* None when there is no memory for it: then the row is read again. */
static void copy_row(struct signs *signs, struct sign *sign, struct span value)
{
	signs->copies_size -= sign->copy_size;
	size_t size = signs->copies_size + value.size;
	bool   fits = value.size && size <= SIGNS_COPIES_MAX &&
	            signs->rows * sizeof *signs->list + size <= KEPT_BYTES_MAX;
	uint8_t *copy = fits ? realloc(sign->copy, value.size) : NULL;
	if (copy)
		memcpy(copy, value.at, value.size);
	else
		free(sign->copy);
	sign->copy = copy;
	sign->copy_size = copy ? (uint32_t)value.size : 0;
	signs->copies_size += sign->copy_size;
	count_bytes(signs);
}

bool signs_note(struct signs *signs, struct view *view, uint32_t row, struct span value)
{
	struct sign *sign = &signs->list[row];
	uint64_t     moment = view_moment(view);
	if (sign->moment > moment) return false;
	copy_row(signs, sign, value);
	sign->has_bits = false;
	sign->moment = moment;
	return true;
}

void signs_mark(struct signs *signs, uint32_t row, const struct text_row *texts)
{
	struct sign *sign = &signs->list[row];
	struct span  all = texts->all;
	bool         are_elsewhere = texts->elsewhere != 0; /* whatever they hold: they are looked at */
	if (sign->has_bits) return;
	memset(sign->bits, are_elsewhere ? 0xff : 0, sizeof sign->bits);
	for (size_t i = 0; !are_elsewhere && i + SIGN_BYTES <= all.size; i++) {
		unsigned bit = bit_of(all.at + i);
		sign->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	sign->has_bits = true;
}
