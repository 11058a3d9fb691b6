/* Rows of the table TEMPLATE_STATE. */
#include "store/template_state.h"

#include "store/keys.h"

enum err template_state_read(struct span value, enum template_state *state)
{
	if (value.size != 1) return ERR_DAMAGED;
	*state = (enum template_state)value.at[0];
	return *state == TEMPLATE_USED || *state == TEMPLATE_DELETED ? OK : ERR_DAMAGED;
}

enum err template_state_get(struct view *view, struct account_id account, uint32_t number,
                            enum template_state *state)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_TEMPLATE_STATE, key_span(&key), &value);
	*state = TEMPLATE_UNUSED;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return template_state_read(value, state);
}

enum err template_state_put(struct view *view, struct account_id account, uint32_t number,
                            enum template_state state)
{
	struct row_key key = key_u32(account, number);
	uint8_t        value = (uint8_t)state;
	return write_put(view_writes(view), TABLE_TEMPLATE_STATE, key_span(&key), span_of(&value, 1));
}

enum err template_count_deleted(struct view *view, struct account_id account, uint32_t *count)
{
	struct row_key      begin = key_account(account);
	struct view_row     row;
	enum template_state state;
	enum err            err = view_from(view, TABLE_TEMPLATE_STATE, key_span(&begin), &row);
	*count = 0;
	for (; !err && key_has_prefix(row.key, key_span(&begin));
	     err = view_next(view, TABLE_TEMPLATE_STATE, &row)) {
		if ((err = template_state_read(row.value, &state))) return err;
		*count += state == TEMPLATE_DELETED;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}
