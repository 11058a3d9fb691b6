/* Rows of the table TEMPLATE_STATE. */
#include "store/template_state.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { AT_STATE = 0, AT_PASSES = 1, VALUE_BYTES = AT_PASSES + 4 };

enum err template_use_read(struct span value, struct template_use *use)
{
	*use = (struct template_use){TEMPLATE_UNUSED, 0};
	if (value.size != VALUE_BYTES) return ERR_DAMAGED;
	use->state = (enum template_state)value.at[AT_STATE];
	use->passes = get_le32(value.at + AT_PASSES);
	if (use->state == TEMPLATE_USED) return OK;
	bool is_known = use->state == TEMPLATE_DELETED || use->state == TEMPLATE_RETIRED;
	return is_known && !use->passes ? OK : ERR_DAMAGED;
}

enum err template_use_get(struct view *view, struct account_id account, uint32_t number,
                          struct template_use *use)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_TEMPLATE_STATE, key_span(&key), &value);
	*use = (struct template_use){TEMPLATE_UNUSED, 0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return template_use_read(value, use);
}

enum err template_use_put(struct view *view, struct account_id account, uint32_t number,
                          const struct template_use *use)
{
	struct row_key key = key_u32(account, number);
	uint8_t        value[VALUE_BYTES] = {(uint8_t)use->state};
	put_le32(value + AT_PASSES, use->passes);
	return write_put(view_writes(view), TABLE_TEMPLATE_STATE, key_span(&key),
	                 span_of(value, sizeof value));
}

enum err template_add_pass(struct view *view, struct account_id account, uint32_t number)
{
	struct template_use use;
	enum err            err = template_use_get(view, account, number, &use);
	if (err) return err;
	if (use.state == TEMPLATE_DELETED || use.state == TEMPLATE_RETIRED) return ERR_DAMAGED;
	use.state = TEMPLATE_USED;
	use.passes++;
	return template_use_put(view, account, number, &use);
}

enum err template_remove_pass(struct view *view, struct account_id account, uint32_t number)
{
	struct template_use use;
	enum err            err = template_use_get(view, account, number, &use);
	if (err) return err;
	if (!use.passes) return ERR_DAMAGED;
	use.passes--;
	return template_use_put(view, account, number, &use);
}

enum err template_count_deleted(struct view *view, struct account_id account, uint32_t *count)
{
	struct row_key      begin = key_account(account);
	struct view_row     row;
	struct template_use use;
	enum err            err = view_from(view, TABLE_TEMPLATE_STATE, key_span(&begin), &row);
	*count = 0;
	for (; !err && key_has_prefix(row.key, key_span(&begin));
	     err = view_next(view, TABLE_TEMPLATE_STATE, &row)) {
		if ((err = template_use_read(row.value, &use))) return err;
		*count += use.state != TEMPLATE_USED;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}
