/* The walk over images that were fetched before there was a wallet. */
#include "store/account_row.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "store/keys.h"

enum { WALK_STEP = BULK_WRITES_MAX / 2 };
static const struct account_id of_all;

struct found {
	struct account_id account;
	struct image      image;
	uint8_t           url[IMAGE_HASH_BYTES];
};

/* The next images, in the order of accounts and URLs. */
static enum err look(struct view *view, const struct shape_due *walk, struct found found[WALK_STEP],
                     unsigned *count)
{
	const size_t    head = sizeof walk->account;
	struct row_key  from = key_account(walk->at);
	bool            is_of_all = !memcmp(walk->account.b, of_all.b, head);
	struct view_row row;
	memcpy(from.bytes + from.size, walk->hash, IMAGE_HASH_BYTES);
	from.size += IMAGE_HASH_BYTES;
	enum err err = view_from(view, TABLE_IMAGE_URL, key_span(&from), &row);
	for (*count = 0; !err && *count < WALK_STEP; err = view_next(view, TABLE_IMAGE_URL, &row)) {
		struct found *next = &found[*count];
		if (row.key.size != from.size) return ERR_DAMAGED;
		if (!is_of_all && memcmp(row.key.at, walk->account.b, head)) break;
		memcpy(next->account.b, row.key.at, head);
		memcpy(next->url, row.key.at + head, IMAGE_HASH_BYTES);
		if ((err = image_read(row.value, &next->image))) return err;
		++*count;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err want_found(struct view *view, const struct found *found)
{
	struct account_row account;
	unsigned           roles;
	enum err           err = account_row_get(view, found->account, &account);
	if (err || account.wallets_off & WALLET_BIT(WALLET_APPLE)) return err;
	if ((err = image_use_roles(view, found->account, found->url, &roles))) return err;
	return shapes_want(view, found->account, &found->image, roles);
}

/* The smallest hash after this one; false: there is none. */
static bool advance(uint8_t hash[IMAGE_HASH_BYTES])
{
	for (unsigned i = IMAGE_HASH_BYTES; i-- > 0;)
		if (++hash[i]) return true;
	return false;
}

enum err shapes_walk(struct view *view, const struct shape_due *walk)
{
	struct shape_due next = *walk;
	struct found     found[WALK_STEP];
	unsigned         count;
	enum err         err = look(view, walk, found, &count);
	for (unsigned i = 0; !err && i < count; i++)
		err = want_found(view, &found[i]);
	if (err) return err;
	if (count < WALK_STEP) return shape_due_del(view, walk);
	next.at = found[count - 1].account;
	memcpy(next.hash, found[count - 1].url, sizeof next.hash);
	must(advance(next.hash)); /* a hash of all ones is out of reach */
	return shape_due_put(view, &next);
}
