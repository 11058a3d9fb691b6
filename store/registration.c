/* Rows of the tables REGISTRATION and REGISTRATION_DEVICE. */
#include "store/registration.h"

#include "schemas/bytes.h"
#include "schemas/sha256.h"
#include "store/keys.h"
#include "store/tally.h"

enum { ROW_VERSION = 1, AT_TOKEN = 9, KEY_REST = 4 + DEVICE_BYTES + 8 };
enum { REMOVED_MAX = (BULK_WRITES_MAX - 1) / 2 }; /* two writes each, and one of the count */
_Static_assert((int)AT_TOKEN + (int)PUSH_TOKEN_BYTES_MAX == (int)REGISTRATION_BYTES_MAX,
               "as the header says");

void registration_device(struct span device_id, uint8_t device[DEVICE_BYTES])
{
	uint8_t hash[SHA256_BYTES];
	sha256_of(&device_id, 1, hash);
	memcpy(device, hash, DEVICE_BYTES);
}

/* Keys ---------------------------------------------------------------------------------------------------- */

static void add_device(struct row_key *key, const struct registration *row)
{
	memcpy(key->bytes + key->size, row->device, DEVICE_BYTES);
	put_be64(key->bytes + key->size + DEVICE_BYTES, row->credential);
	key->size += DEVICE_BYTES + 8;
}

static struct row_key key_of(struct account_id account, const struct registration *row)
{
	struct row_key key = key_u32(account, row->pass_number);
	add_device(&key, row);
	return key;
}

/* Without the pass: the first part of the keys of all of the device's passes. */
static struct row_key key_of_device(struct account_id account, const struct registration *row)
{
	struct row_key key = key_account(account);
	add_device(&key, row);
	return key;
}

static struct row_key key_by_device(struct account_id account, const struct registration *row)
{
	struct row_key key = key_of_device(account, row);
	put_be32(key.bytes + key.size, row->pass_number);
	key.size += 4;
	return key;
}

static struct span rest_of(struct span key)
{
	size_t account = sizeof(struct account_id);
	return key.size < account ? span_of(NULL, 0) : span_of(key.at + account, key.size - account);
}

/* Values -------------------------------------------------------------------------------------------------- */

enum err registration_read(struct span rest, struct span value, struct registration *row)
{
	if (rest.size != KEY_REST) return ERR_DAMAGED;
	if (value.size <= AT_TOKEN || value.size > REGISTRATION_BYTES_MAX || value.at[0] != ROW_VERSION)
		return ERR_DAMAGED;
	row->pass_number = get_be32(rest.at);
	memcpy(row->device, rest.at + 4, DEVICE_BYTES);
	row->credential = get_be64(rest.at + 4 + DEVICE_BYTES);
	row->since.v = (int64_t)get_le64(value.at + 1);
	row->push_token = span_of(value.at + AT_TOKEN, value.size - AT_TOKEN);
	return OK;
}

enum err registration_device_read(struct span rest, struct registration *row)
{
	if (rest.size != KEY_REST) return ERR_DAMAGED;
	memcpy(row->device, rest.at, DEVICE_BYTES);
	row->credential = get_be64(rest.at + DEVICE_BYTES);
	row->pass_number = get_be32(rest.at + DEVICE_BYTES + 8);
	return OK;
}

size_t registration_write(const struct registration *row, uint8_t value[REGISTRATION_BYTES_MAX])
{
	must(row->push_token.size && row->push_token.size <= PUSH_TOKEN_BYTES_MAX);
	value[0] = ROW_VERSION;
	put_le64(value + 1, (uint64_t)row->since.v);
	memcpy(value + AT_TOKEN, row->push_token.at, row->push_token.size);
	return AT_TOKEN + row->push_token.size;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

enum err registration_get(struct view *view, struct account_id account, struct registration *row)
{
	struct row_key key = key_of(account, row);
	struct span    value;
	enum err       err = view_get(view, TABLE_REGISTRATION, key_span(&key), &value);
	return err ? err : registration_read(rest_of(key_span(&key)), value, row);
}

enum err registration_device_get(struct view *view, struct account_id account, const struct registration *row)
{
	struct row_key key = key_by_device(account, row);
	return view_exists(view, TABLE_REGISTRATION_DEVICE, key_span(&key));
}

enum err registration_renew(struct view *view, struct account_id account, const struct registration *row)
{
	struct row_key key = key_of(account, row);
	uint8_t        value[REGISTRATION_BYTES_MAX];
	struct span    bytes = span_of(value, registration_write(row, value));
	return view_put(view, TABLE_REGISTRATION, &key, bytes);
}

enum err registration_put(struct view *view, struct account_id account, const struct registration *row)
{
	struct row_key key = key_of(account, row), by_device = key_by_device(account, row);
	enum err       err = view_exists(view, TABLE_REGISTRATION, key_span(&key));
	if (err == ERR_NOT_FOUND) err = tally_registrations(view, account, 1);
	if (!err) err = registration_renew(view, account, row);
	return err ? err : view_put(view, TABLE_REGISTRATION_DEVICE, &by_device, span_of("", 0));
}

enum err registration_del(struct view *view, struct account_id account, const struct registration *row)
{
	struct row_key key = key_of(account, row), by_device = key_by_device(account, row);
	enum err       err = view_exists(view, TABLE_REGISTRATION, key_span(&key));
	if (!err) err = tally_registrations(view, account, -1);
	if (!err || err == ERR_NOT_FOUND) err = view_del(view, TABLE_REGISTRATION, &key);
	return err ? err : view_del(view, TABLE_REGISTRATION_DEVICE, &by_device);
}

static enum err take_row(struct row_key begin, const struct view_row *found, struct registration *row)
{
	if (!key_has_prefix(found->key, key_span(&begin))) return ERR_NOT_FOUND;
	return registration_read(rest_of(found->key), found->value, row);
}

static enum err take_next(struct view *view, struct row_key begin, struct registration *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_REGISTRATION, &found);
	return err ? err : take_row(begin, &found, row);
}

enum err registration_first(struct view *view, struct account_id account, struct registration *row)
{
	struct row_key  begin = key_u32(account, row->pass_number);
	struct view_row found;
	enum err        err = view_from(view, TABLE_REGISTRATION, key_span(&begin), &found);
	return err ? err : take_row(begin, &found, row);
}

enum err registration_next(struct view *view, struct account_id account, struct registration *row)
{
	return take_next(view, key_u32(account, row->pass_number), row);
}

enum err registration_from(struct view *view, struct account_id account, struct registration *row)
{
	struct row_key  begin = key_u32(account, row->pass_number);
	struct view_row found;
	enum err        err = view_from(view, TABLE_REGISTRATION, key_span(&begin), &found);
	return err ? err : take_row(key_account(account), &found, row);
}

enum err registration_account_next(struct view *view, struct account_id account, struct registration *row)
{
	return take_next(view, key_account(account), row);
}

static enum err take_pass(struct account_id account, const struct view_row *found, struct registration *row)
{
	struct row_key begin = key_of_device(account, row);
	if (!key_has_prefix(found->key, key_span(&begin))) return ERR_NOT_FOUND;
	return registration_device_read(rest_of(found->key), row);
}

enum err registration_device_first(struct view *view, struct account_id account, struct registration *row)
{
	struct row_key  begin = key_of_device(account, row);
	struct view_row found;
	enum err        err = view_from(view, TABLE_REGISTRATION_DEVICE, key_span(&begin), &found);
	return err ? err : take_pass(account, &found, row);
}

enum err registration_device_next(struct view *view, struct account_id account, struct registration *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_REGISTRATION_DEVICE, &found);
	return err ? err : take_pass(account, &found, row);
}

/* Of a removal only the key matters. The writes come last, because range reads precede them. */
enum err registrations_clean(struct view *view, const struct cleanup *row, bool *done)
{
	struct registration found = {.pass_number = cleanup_number(row)}, gone[REMOVED_MAX];
	unsigned            count = 0;
	enum err            err = registration_first(view, row->account, &found);
	while (!err && count < REMOVED_MAX) {
		gone[count++] = found;
		err = registration_next(view, row->account, &found);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	*done = err;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = registration_del(view, row->account, &gone[i]);
	return err;
}
