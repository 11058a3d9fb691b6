/* Which shapes a package has. All are point reads, so that writer and readers may both call it. */
#include "actors/shard/wallet/pictures.h"

#include "actors/shard/wallet/wallet.h"
#include "schemas/wallet/icon.h"
#include "store/image_shape.h"

enum err pictures_are_wanted(struct request *request, bool *wanted)
{
	struct wallet_credential credential;
	*wanted = false;
	if (!wallet_is_on(&request->account->row, WALLET_APPLE)) return OK;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE, &credential);
	*wanted = !err;
	return err == ERR_NOT_FOUND ? OK : err;
}

struct listing {
	struct view      *view;
	struct account_id account;
	struct pictures  *pictures;
};

static void add(struct listing *list, enum shape shape, struct span png)
{
	struct pictures *pictures = list->pictures;
	pictures->of[pictures->count].file = shape_of(shape)->file;
	pictures->of[pictures->count++].png = png;
}

/* Adds the shapes from `first` to `last` of the image at this URL. *added: all are there; otherwise none is added. */
static enum err add_shapes(struct listing *list, struct span url, enum shape first, enum shape last,
                           bool *added)
{
	struct image         image;
	struct shape_verdict verdict;
	unsigned             before = list->pictures->count;
	*added = false;
	if (!url.size) return OK;
	enum err err = image_of_url(list->view, list->account, url, &image);
	if (!err) err = shape_verdict_get(list->view, list->account, image.hash, &verdict);
	for (unsigned shape = first; !err && shape <= last; shape++) {
		struct span png;
		if (!(verdict.made & SHAPE_BIT(shape)))
			err = ERR_NOT_FOUND; /* it may be there already, but a kit's name says what is made */
		else
			err = image_shape_get(list->view, list->account, image.hash, (enum shape)shape, &png);
		if (!err) add(list, (enum shape)shape, png);
	}
	*added = !err;
	if (err) list->pictures->count = before;
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err add_icon(struct listing *list, const struct picture_urls *urls)
{
	bool     added;
	enum err err = add_shapes(list, urls->icon, SHAPE_ICON, SHAPE_ICON_3X, &added);
	if (!err && !added) err = add_shapes(list, urls->logo, SHAPE_ICON, SHAPE_ICON_3X, &added);
	for (unsigned i = 0; !err && !added && i < WALLET_ICONS; i++)
		add(list, (enum shape)(SHAPE_ICON + i), wallet_icons[i].png);
	return err;
}

enum err pictures_of(struct view *view, struct account_id account, const struct picture_urls *urls,
                     enum shape strip, struct pictures *pictures)
{
	struct listing list = {view, account, pictures};
	bool           added;
	pictures->count = 0;
	enum err err = add_icon(&list, urls);
	if (!err) err = add_shapes(&list, urls->logo, SHAPE_LOGO, SHAPE_LOGO_3X, &added);
	if (!err && strip) err = add_shapes(&list, urls->banner, strip, strip, &added);
	return err;
}

enum err picture_fault(struct view *view, struct account_id account, struct span url, const char **fault)
{
	struct image         image;
	struct shape_verdict verdict;
	*fault = NULL;
	if (!url.size) return OK;
	enum err err = image_of_url(view, account, url, &image);
	if (err == ERR_NOT_FOUND) *fault = "it could not be fetched yet";
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if ((err = shape_verdict_get(view, account, image.hash, &verdict))) return err;
	if (verdict.fault) *fault = shape_fault_text(verdict.fault);
	if (verdict.fault || verdict.made) return OK;
	*fault = "it is still to be reduced";
	return OK;
}
