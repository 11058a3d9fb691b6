/* Notices writes that leave rows for the background removal. */
#include "actors/shard/engine/cleaning.h"

void cleaning_on_writes(struct cleaning *cleaning, const struct writes *writes, wall_us now)
{
	for (unsigned i = 0; i < writes->count; i++) {
		const struct write *write = &writes->rows[i];
		struct cleanup      row;
		if (write->table != TABLE_CLEANUP || write->kind != WRITE_PUT) continue;
		if (cleanup_read(write->key, write->value, &row) || row.from.v > now.v) continue;
		cleaning_soon(cleaning);
		return;
	}
}

void cleaning_soon(struct cleaning *cleaning)
{
	cleaning->did = true;
	if (cleaning->part == CLEAN_END) cleaning->next.v = 0;
}
