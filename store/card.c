/* Rows of the tables CARD, CARD_CODE and CARD_ID. */
#include "store/card.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, HEAD_BYTES = 10, CODE_BYTES = 20, ID_BYTES = 4 };
_Static_assert((int)HEAD_BYTES + (int)CARD_CODE_BYTES_MAX == (int)CARD_BYTES_MAX, "as the header says");
_Static_assert((int)CARD_CODE_BYTES_MAX <= (int)NAME_KEY_BYTES_MAX, "a code is part of a key");

enum err card_read(struct span value, struct card *card)
{
	const uint8_t *at = value.at;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION || at[1] > 1) return ERR_DAMAGED;
	card->linked = at[1];
	card->created.v = (int64_t)get_le64(at + 2);
	card->code = span_of(at + HEAD_BYTES, value.size - HEAD_BYTES);
	return text_is_plain(card->code, CARD_CODE_BYTES_MAX) ? OK : ERR_DAMAGED;
}

enum err card_code_read(struct span value, struct card *card)
{
	if (value.size != CODE_BYTES) return ERR_DAMAGED;
	card->pass_number = get_le32(value.at);
	memcpy(card->id.b, value.at + 4, sizeof card->id.b);
	return OK;
}

enum err card_id_read(struct span value, struct card *card)
{
	if (value.size != ID_BYTES) return ERR_DAMAGED;
	card->pass_number = get_le32(value.at);
	return OK;
}

size_t card_write(const struct card *card, uint8_t value[CARD_BYTES_MAX])
{
	must(card->code.size <= CARD_CODE_BYTES_MAX);
	value[0] = ROW_VERSION;
	value[1] = card->linked;
	put_le64(value + 2, (uint64_t)card->created.v);
	memcpy(value + HEAD_BYTES, card->code.at, card->code.size);
	return HEAD_BYTES + card->code.size;
}

enum err card_id_row(struct view *view, struct account_id account, struct card *card)
{
	struct row_key key = key_uuid(account, card->id);
	struct span    value;
	enum err       err = view_get(view, TABLE_CARD_ID, key_span(&key), &value);
	return err ? err : card_id_read(value, card);
}

enum err card_code_row(struct view *view, struct account_id account, struct span code, struct card *card)
{
	struct span value;
	if (code.size > CARD_CODE_BYTES_MAX) return ERR_NOT_FOUND;
	struct row_key key = key_card_code(account, code);
	enum err       err = view_get(view, TABLE_CARD_CODE, key_span(&key), &value);
	return err ? err : card_code_read(value, card);
}

enum err card_row(struct view *view, struct account_id account, struct card *card)
{
	struct row_key key = key_card(account, card->pass_number, card->id);
	struct span    value;
	enum err       err = view_get(view, TABLE_CARD, key_span(&key), &value);
	return err ? err : card_read(value, card);
}

/* What an id or a code leads to is there. */
static enum err follow(struct view *view, struct account_id account, struct card *card)
{
	enum err err = card_row(view, account, card);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err card_get(struct view *view, struct account_id account, struct uuid id, struct card *card)
{
	card->id = id;
	enum err err = card_id_row(view, account, card);
	return err ? err : follow(view, account, card);
}

enum err card_of_code(struct view *view, struct account_id account, struct span code, struct card *card)
{
	enum err err = card_code_row(view, account, code, card);
	return err ? err : follow(view, account, card);
}

static enum err put_code(struct view *view, struct account_id account, const struct card *card)
{
	struct row_key key = key_card_code(account, card->code);
	uint8_t        value[CODE_BYTES];
	if (!card->linked) return view_del(view, TABLE_CARD_CODE, &key);
	put_le32(value, card->pass_number);
	memcpy(value + 4, card->id.b, sizeof card->id.b);
	return view_put(view, TABLE_CARD_CODE, &key, span_of(value, sizeof value));
}

enum err card_put(struct view *view, struct account_id account, const struct card *card)
{
	struct row_key key = key_card(account, card->pass_number, card->id), id = key_uuid(account, card->id);
	uint8_t        value[CARD_BYTES_MAX], number[ID_BYTES];
	struct span    row = span_of(value, card_write(card, value));
	enum err       err = view_put(view, TABLE_CARD, &key, row);
	put_le32(number, card->pass_number);
	if (!err) err = view_put(view, TABLE_CARD_ID, &id, span_of(number, ID_BYTES));
	return err ? err : put_code(view, account, card);
}

enum err card_del(struct view *view, struct account_id account, const struct card *card)
{
	struct row_key key = key_card(account, card->pass_number, card->id), id = key_uuid(account, card->id);
	struct card    unlinked = *card;
	enum err       err = view_del(view, TABLE_CARD, &key);
	unlinked.linked = false;
	if (!err) err = view_del(view, TABLE_CARD_ID, &id);
	return err || !card->linked ? err : put_code(view, account, &unlinked);
}

/* The row that has been found, if it is one of the pass's. */
static enum err take_row(struct account_id account, const struct view_row *row, struct card *card)
{
	struct row_key begin = key_u32(account, card->pass_number);
	if (!key_has_prefix(row->key, key_span(&begin))) return ERR_NOT_FOUND;
	if (row->key.size != begin.size + sizeof card->id.b) return ERR_DAMAGED;
	memcpy(card->id.b, row->key.at + begin.size, sizeof card->id.b);
	return card_read(row->value, card);
}

enum err card_newest(struct view *view, struct account_id account, uint32_t pass_number, struct card *card)
{
	card->pass_number = pass_number;
	memset(card->id.b, 0xff, sizeof card->id.b); /* no UUID is that */
	return card_before(view, account, card);
}

enum err card_before(struct view *view, struct account_id account, struct card *card)
{
	struct row_key  end = key_card(account, card->pass_number, card->id);
	struct view_row row;
	enum err        err = view_before(view, TABLE_CARD, key_span(&end), &row);
	return err ? err : take_row(account, &row, card);
}

enum err card_older(struct view *view, struct account_id account, struct card *card)
{
	struct view_row row;
	enum err        err = view_previous(view, TABLE_CARD, &row);
	return err ? err : take_row(account, &row, card);
}

enum err card_made_before(struct view *view, struct account_id account, struct card *card)
{
	struct row_key  begin = key_account(account), end = key_uuid(account, card->id);
	struct view_row row;
	enum err        err = view_before(view, TABLE_CARD_ID, key_span(&end), &row);
	if (err) return err;
	if (!key_has_prefix(row.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (row.key.size != begin.size + sizeof card->id.b) return ERR_DAMAGED;
	memcpy(card->id.b, row.key.at + begin.size, sizeof card->id.b);
	if ((err = card_id_read(row.value, card))) return err;
	return follow(view, account, card);
}
