/* Rows of the table TEMPLATE_STATE. */
#include "store/template_state.h"

#include "schemas/bytes.h"
#include "schemas/states.h"
#include "store/keys.h"

enum {
	AT_STATE = 0,
	AT_PASSES = 1,
	AT_INSTALLED = 5,
	VALUE_BYTES = AT_INSTALLED + 4,
	VALUE_BYTES_BEFORE = AT_INSTALLED
};

enum err template_use_read(struct span value, struct template_use *use)
{
	*use = (struct template_use){.state = TEMPLATE_UNUSED};
	if (value.size != VALUE_BYTES && value.size != VALUE_BYTES_BEFORE) return ERR_DAMAGED;
	use->state = (enum template_state)value.at[AT_STATE];
	use->passes = get_le32(value.at + AT_PASSES);
	use->is_from_before = value.size == VALUE_BYTES_BEFORE && use->passes;
	if (value.size == VALUE_BYTES) use->installed = get_le32(value.at + AT_INSTALLED);
	if (use->installed > use->passes) return ERR_DAMAGED;
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
	*use = (struct template_use){.state = TEMPLATE_UNUSED};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return template_use_read(value, use);
}

enum err template_use_put(struct view *view, struct account_id account, uint32_t number,
                          const struct template_use *use)
{
	struct row_key key = key_u32(account, number);
	uint8_t        value[VALUE_BYTES] = {(uint8_t)use->state};
	put_le32(value + AT_PASSES, use->passes);
	put_le32(value + AT_INSTALLED, use->installed);
	const bool is_from_before = use->is_from_before && use->passes;
	return view_put(view, TABLE_TEMPLATE_STATE, &key,
	                span_of(value, is_from_before ? VALUE_BYTES_BEFORE : VALUE_BYTES));
}

static bool is_counted(const struct hot *pass)
{
	return pass && !(pass->flags & HOT_DELETED);
}

static bool is_installed(const struct hot *pass)
{
	return is_counted(pass) && pass->status == PASS_ACTIVE;
}

enum err template_count_pass(struct view *view, struct account_id account, const struct hot *before,
                             const struct hot *after)
{
	struct template_use use;
	const int           passes = is_counted(after) - is_counted(before);
	const int           installed = is_installed(after) - is_installed(before);
	if (!passes && !installed) return OK;
	enum err err = template_use_get(view, account, after->template, &use);
	if (err) return err;
	const int64_t passes_after = (int64_t)use.passes + passes;
	const int64_t installed_after = use.is_from_before ? 0 : (int64_t)use.installed + installed;
	if (passes > 0) {
		if (use.state == TEMPLATE_DELETED || use.state == TEMPLATE_RETIRED) return ERR_DAMAGED;
		use.state = TEMPLATE_USED;
	}
	if (passes_after < 0 || installed_after < 0) return ERR_DAMAGED;
	use.passes = (uint32_t)passes_after;
	use.installed = (uint32_t)installed_after;
	return template_use_put(view, account, after->template, &use);
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
