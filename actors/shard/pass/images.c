/* Which images of a pass are missing? An image counts as there if it was fetched less than IMAGE_FRESH_S ago, or since
 * this pass began. Without the second rule, one image could expire while the pass waits for a slow host with the
 * other. */
#include "actors/shard/pass/images.h"

static enum err is_fresh(struct view *view, struct account_id account, struct span url, wall_us since,
                         bool *fresh)
{
	struct image image;
	enum err     err = OK;
	*fresh = url.size == 0;
	if (url.size == 0 || url.size > URL_BYTES_MAX) return OK;
	err = image_of_url(view, account, url, &image);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	*fresh = image.fetched.v >= since.v;
	return OK;
}

enum err images_missing(struct view *view, struct account_id account, const struct issuing *row, wall_us now,
                        struct missing *missing)
{
	const struct missing images[] = {{"logo", "logo: its URL is too long", row->logo},
	                                 {"banner", "banner: its URL is too long", row->banner},
	                                 {"icon", "icon: its URL is too long", row->icon}};
	wall_us              row_txn_ago = {now.v - IMAGE_FRESH_S * US_PER_SEC + 1};
	wall_us              since = row->begun.v < row_txn_ago.v ? row->begun : row_txn_ago;
	*missing = (struct missing){.image = NULL};
	for (unsigned i = 0; i < sizeof images / sizeof *images; i++) {
		bool     fresh;
		enum err err = is_fresh(view, account, images[i].url, since, &fresh);
		if (err) return err;
		if (fresh) continue;
		*missing = images[i];
		return OK;
	}
	return OK;
}
