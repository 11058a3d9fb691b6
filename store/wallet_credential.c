/* Rows of the table WALLET_CREDENTIAL. */
#include "store/wallet_credential.h"

#include "schemas/bytes.h"
#include "schemas/sha256.h"
#include "store/keys.h"

enum {
	ROW_VERSION = 1,
	CURRENT_BYTES = 1 + 8,
	AT_PUT = 6,
	AT_BEFORE = 14,
	AT_AFTER = 22,
	AT_ISSUER_AFTER = 30,
	AT_RESTS = 38,
	AT_REST_S = 46,
	AT_SIZES = 50,
	TEXTS = 8,
	HEAD_BYTES = AT_SIZES + 2 * TEXTS,
};

const struct account_id wallet_operator = {{0}};

/* The texts in their order in a row. */
static void texts_of(struct wallet_credential *row, struct span *texts[TEXTS])
{
	struct span *const own[TEXTS] = {&row->name,   &row->owner,     &row->key_id,     &row->certificate,
	                                 &row->issuer, &row->token_uri, &row->last_error, &row->sealed};
	memcpy(texts, own, sizeof own);
}

uint64_t wallet_number(struct span name)
{
	uint8_t hash[SHA256_BYTES];
	sha256_of(&name, 1, hash);
	uint64_t number = get_be64(hash);
	return number ? number : 1;
}

/* Keys ---------------------------------------------------------------------------------------------------- */

static struct row_key key_of(struct account_id account, enum wallet_kind kind, uint64_t number)
{
	struct row_key key = key_account(account);
	key.bytes[key.size++] = (uint8_t)kind;
	put_be64(key.bytes + key.size, number);
	key.size += 8;
	return key;
}

bool wallet_key_read(struct span rest, enum wallet_kind *kind, uint64_t *number)
{
	if (rest.size != WALLET_KEY_BYTES || rest.at[0] < WALLET_APPLE || rest.at[0] >= WALLET_KIND_END)
		return false;
	*kind = (enum wallet_kind)rest.at[0];
	*number = get_be64(rest.at + 1);
	return true;
}

/* Values -------------------------------------------------------------------------------------------------- */

enum err wallet_credential_read(struct span value, struct wallet_credential *row)
{
	const uint8_t *at = value.at;
	struct span   *texts[TEXTS];
	size_t         used = HEAD_BYTES;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->warnings = at[1];
	row->generation = get_le32(at + 2);
	row->put.v = (int64_t)get_le64(at + AT_PUT);
	row->not_before.v = (int64_t)get_le64(at + AT_BEFORE);
	row->not_after.v = (int64_t)get_le64(at + AT_AFTER);
	row->issuer_not_after.v = (int64_t)get_le64(at + AT_ISSUER_AFTER);
	row->rests_until.v = (int64_t)get_le64(at + AT_RESTS);
	row->rest_s = get_le32(at + AT_REST_S);
	texts_of(row, texts);
	for (unsigned i = 0; i < TEXTS; i++) {
		size_t size = get_le16(at + AT_SIZES + 2 * i);
		if (size > value.size - used) return ERR_DAMAGED;
		*texts[i] = span_of(at + used, size);
		used += size;
	}
	return used == value.size && row->name.size && row->generation ? OK : ERR_DAMAGED;
}

void wallet_credential_write(const struct wallet_credential *row, struct buffer *out)
{
	struct wallet_credential copy = *row;
	struct span             *texts[TEXTS];
	uint8_t                  head[HEAD_BYTES] = {ROW_VERSION, row->warnings};
	put_le32(head + 2, row->generation);
	put_le64(head + AT_PUT, (uint64_t)row->put.v);
	put_le64(head + AT_BEFORE, (uint64_t)row->not_before.v);
	put_le64(head + AT_AFTER, (uint64_t)row->not_after.v);
	put_le64(head + AT_ISSUER_AFTER, (uint64_t)row->issuer_not_after.v);
	put_le64(head + AT_RESTS, (uint64_t)row->rests_until.v);
	put_le32(head + AT_REST_S, row->rest_s);
	texts_of(&copy, texts);
	for (unsigned i = 0; i < TEXTS; i++) {
		must(texts[i]->size <= UINT16_MAX);
		put_le16(head + AT_SIZES + 2 * i, (uint16_t)texts[i]->size);
	}
	buffer_append(out, head, sizeof head);
	for (unsigned i = 0; i < TEXTS; i++)
		buffer_append(out, texts[i]->at, texts[i]->size);
}

enum err wallet_current_read(struct span value, uint64_t *number)
{
	if (value.size != CURRENT_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	*number = get_le64(value.at + 1);
	return *number ? OK : ERR_DAMAGED;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

enum err wallet_credential_get(struct view *view, struct account_id account, enum wallet_kind kind,
                               uint64_t number, struct wallet_credential *row)
{
	struct row_key key = key_of(account, kind, number);
	struct span    value;
	enum err       err = number ? view_get(view, TABLE_WALLET_CREDENTIAL, key_span(&key), &value)
	                            : ERR_NOT_FOUND;
	if (err) return err;
	*row = (struct wallet_credential){.account = account, .kind = kind, .number = number};
	return wallet_credential_read(value, row);
}

enum err wallet_credential_put(struct view *view, const struct wallet_credential *row)
{
	struct row_key key = key_of(row->account, row->kind, row->number);
	struct buffer  value = {0};
	wallet_credential_write(row, &value);
	return view_put_buffer(view, TABLE_WALLET_CREDENTIAL, &key, &value);
}

enum err wallet_current_get(struct view *view, struct account_id account, enum wallet_kind kind,
                            struct wallet_credential *row)
{
	struct row_key key = key_of(account, kind, 0);
	struct span    value;
	uint64_t       number;
	enum err       err = view_get(view, TABLE_WALLET_CREDENTIAL, key_span(&key), &value);
	if (err || (err = wallet_current_read(value, &number))) return err;
	err = wallet_credential_get(view, account, kind, number, row);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err wallet_current_put(struct view *view, struct account_id account, enum wallet_kind kind,
                            uint64_t number)
{
	struct row_key key = key_of(account, kind, 0);
	uint8_t        value[CURRENT_BYTES] = {ROW_VERSION};
	put_le64(value + 1, number);
	return view_put(view, TABLE_WALLET_CREDENTIAL, &key, span_of(value, sizeof value));
}

enum err wallet_credential_next(struct view *view, struct account_id account, struct buffer *room,
                                struct wallet_credential *row)
{
	struct row_key  begin = key_account(account), key = key_of(account, row->kind, row->number);
	struct view_row found;
	key.bytes[key.size++] = 0xff; /* behind each part of its own value, before the next key */
	key.bytes[key.size++] = 0xff;
	enum err err = view_parted_from(view, TABLE_WALLET_CREDENTIAL, key_span(&key), room, &found);
	while (!err && key_has_prefix(found.key, key_span(&begin))) {
		*row = (struct wallet_credential){.account = account};
		struct span rest = span_of(found.key.at + begin.size, found.key.size - begin.size);
		if (!wallet_key_read(rest, &row->kind, &row->number)) return ERR_DAMAGED;
		if (row->number) return wallet_credential_read(found.value, row);
		err = view_parted_next(view, TABLE_WALLET_CREDENTIAL, room, &found);
	}
	return err ? err : ERR_NOT_FOUND;
}

/* The writes come last, because range reads precede them. */
enum err wallet_credential_del_all(struct view *view, struct account_id account, enum wallet_kind kind)
{
	struct wallet_credential row = {.kind = kind};
	struct buffer            room = {0};
	uint64_t                 numbers[WALLET_CREDENTIALS_MAX + 1] = {0}; /* with that of the current one */
	unsigned                 count = 1;
	enum err                 err;
	while (!(err = wallet_credential_next(view, account, &room, &row)) && row.kind == kind &&
	       count <= WALLET_CREDENTIALS_MAX)
		numbers[count++] = row.number;
	buffer_free(&room);
	if (err && err != ERR_NOT_FOUND) return err;
	if (count == 1) return ERR_NOT_FOUND;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++) {
		struct row_key key = key_of(account, kind, numbers[i]);
		err = view_del(view, TABLE_WALLET_CREDENTIAL, &key);
	}
	return err;
}
