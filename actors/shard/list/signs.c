/* Signs of rows of texts. They are right for a view if they were made in it or before, and the row was not written since
 * (view_row_moment()); who looks from an older view leaves them as they are. */
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
	free(signs->list);
	free(signs);
}

/* What is new is not made yet. */
static enum err make_room(struct signs *signs, uint32_t rows)
{
	if (rows <= signs->rows) return OK;
	struct sign *list = realloc(signs->list, rows * sizeof *list);
	if (!list) return ERR_NO_MEMORY;
	for (uint32_t row = signs->rows; row < rows; row++)
		list[row].moment = 0;
	signs->list = list;
	signs->rows = rows;
	signs->kept.bytes = rows * sizeof *list;
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
	for (size_t i = 0; i + SIGN_BYTES <= q.size; i++) {
		unsigned bit = bit_of(q.at + i);
		if (!(sign->bits[bit / 64] >> bit % 64 & 1)) return false;
	}
	return true;
}

void signs_note(struct signs *signs, struct view *view, uint32_t row, struct span texts, bool unknown)
{
	struct sign *sign = &signs->list[row];
	uint64_t     moment = view_moment(view);
	if (sign->moment > moment) return;
	memset(sign->bits, unknown ? 0xff : 0, sizeof sign->bits);
	for (size_t i = 0; !unknown && i + SIGN_BYTES <= texts.size; i++) {
		unsigned bit = bit_of(texts.at + i);
		sign->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	sign->moment = moment;
}
