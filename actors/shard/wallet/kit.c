/* Kits of packages. The sums of a strip take half as long as a signature. So the signer keeps the sums of kits by what they are
 * made of: images by their hash, and which of their shapes exist. */
#include "actors/shard/wallet/kit.h"

#include "actors/shard/wallet/pictures.h"
#include "actors/shard/wallet/signer.h"
#include "store/image.h"
#include "store/image_shape.h"
#include "store/pass_pictures.h"

#include <stdio.h>

enum { IMAGES = 3, IMAGE_FACTS = IMAGE_HASH_BYTES + 4 };

/* Which shape of the banner a style shows; 0: none. */
static enum shape strip_of(enum wallet_style style)
{
	if (style == WALLET_GENERIC) return (enum shape)0;
	return style == WALLET_EVENT_TICKET ? SHAPE_EVENT_STRIP_2X : SHAPE_STRIP_2X;
}

/* Of pictures whose new image is still to be fetched and reduced, the former ones. *row: PASS_PICTURES, with the wanted URLs of
 * those. */
static enum err keep_former(struct request *request, uint32_t number, struct span urls[PAGE_IMAGES],
                            struct pass_pictures *row)
{
	bool     made;
	enum err err = pass_pictures_get(request->view, request->account->id, number, row);
	if (err) *row = (struct pass_pictures){.is_given_up = false};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	for (unsigned i = 0; !err && i < PAGE_IMAGES; i++) {
		if (!row->wanted[i].size) continue;
		err = shapes_are_made(request->view, request->account->id, urls[i], &made);
		if (!err && !made && row->kept[i].size)
			urls[i] = row->kept[i];
		else
			row->wanted[i] = span_of(NULL, 0);
	}
	return err;
}

static enum err find_urls(struct request *request, const struct kit_wish *wish, struct picture_urls *urls,
                          struct pass_pictures *row)
{
	struct span own[PAGE_IMAGES];
	enum err    err = pass_image_urls(request, wish->template, wish->body, own);
	if (!err) err = keep_former(request, wish->pass_number, own, row);
	if (err) return err;
	*urls = (struct picture_urls){own[PAGE_IMAGE_LOGO], own[PAGE_IMAGE_BANNER], wish->settings->icon};
	return OK;
}

/* An image's hash and what was made of it; zeros: none is there. */
static enum err image_facts(struct request *request, struct span url, uint8_t facts[IMAGE_FACTS])
{
	struct image         image;
	struct shape_verdict verdict;
	struct account_id    account = request->account->id;
	memset(facts, 0, IMAGE_FACTS);
	if (!url.size) return OK;
	enum err err = image_of_url(request->view, account, url, &image);
	if (!err) err = shape_verdict_get(request->view, account, image.hash, &verdict);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	memcpy(facts, image.hash, IMAGE_HASH_BYTES);
	facts[IMAGE_HASH_BYTES] = (uint8_t)verdict.fault;
	facts[IMAGE_HASH_BYTES + 1] = (uint8_t)verdict.made;
	facts[IMAGE_HASH_BYTES + 2] = (uint8_t)(verdict.made >> 8);
	return OK;
}

static enum err name_of(struct request *request, const struct picture_urls *urls, enum shape strip,
                        uint8_t name[SHA256_BYTES])
{
	const struct span images[IMAGES] = {urls->logo, urls->banner, urls->icon};
	uint8_t           facts[IMAGES][IMAGE_FACTS], shape = (uint8_t)strip;
	struct span pieces[2 + IMAGES] = {span_of(request->account->id.b, sizeof request->account->id.b),
	                                  span_of(&shape, 1)};
	for (unsigned i = 0; i < IMAGES; i++) {
		enum err err = image_facts(request, images[i], facts[i]);
		if (err) return err;
		pieces[2 + i] = span_of(facts[i], IMAGE_FACTS);
	}
	sha256_of(pieces, 2 + IMAGES, name);
	return OK;
}

static enum err read_kit(struct request *request, const struct picture_urls *urls, enum shape strip,
                         struct draft_kit *kit)
{
	struct account_id account = request->account->id;
	struct pictures   pictures;
	enum err          err = pictures_of(request->view, account, urls, strip, &pictures);
	if (err) return err;
	must(pictures.count <= PACKAGE_PICTURES_MAX);
	kit->pictures.count = pictures.count;
	for (unsigned i = 0; i < pictures.count; i++) {
		kit->bytes[i] = pictures.of[i].png;
		kit->pictures.of[i] = package_picture_of(pictures.of[i].file, pictures.of[i].png);
	}
	package_kit_of(&kit->pictures, span_of(account.b, sizeof account.b), &kit->is);
	return OK;
}

enum err draft_kit_find(struct request *request, const struct kit_wish *wish, struct draft_kit *kit)
{
	struct picture_urls  urls;
	uint8_t              name[SHA256_BYTES];
	enum shape           strip = strip_of(wish->settings->style);
	struct pass_pictures row;
	enum err             err = find_urls(request, wish, &urls, &row);
	*kit = (struct draft_kit){.pictures = {.count = 0}};
	if (err) return err;
	if (!request->signer) return read_kit(request, &urls, strip, kit);
	if ((err = name_of(request, &urls, strip, name))) return err;
	if (signer_find_kit(request->signer, name, &kit->pictures, &kit->is)) return OK;
	if ((err = read_kit(request, &urls, strip, kit))) return err;
	signer_keep_kit(request->signer, name, &kit->pictures, &kit->is);
	return OK;
}

enum err draft_kit_write(const struct draft_kit *kit, struct buffer *out)
{
	package_kit_write(&kit->pictures, kit->bytes, out);
	return out->failed ? ERR_NO_MEMORY : OK;
}

static enum err warn_of(struct request *request, const char *picture, struct span url,
                        void (*warn)(void *user, const char *text), void *user)
{
	const char *fault;
	char        text[128];
	enum err    err = picture_fault(request->view, request->account->id, url, &fault);
	if (err || !fault) return err;
	snprintf(text, sizeof text, "The %s is left out: %s.", picture, fault);
	warn(user, text);
	return OK;
}

static void warn_of_former(const struct pass_pictures *row, void (*warn)(void *user, const char *text),
                           void                       *user)
{
	static const char *const names[PICTURES] = {"logo", "banner"};
	char                     text[128];
	for (unsigned i = 0; i < PICTURES; i++) {
		if (!row->wanted[i].size) continue;
		snprintf(text, sizeof text, "The %s is the former one: the new one %s.", names[i],
		         row->is_given_up ? "could not be fetched" : "is still to be fetched");
		warn(user, text);
	}
}

enum err draft_kit_warn(struct request *request, const struct kit_wish   *wish,
                        void (*warn)(void *user, const char *text), void *user)
{
	struct picture_urls  urls;
	struct pass_pictures row;
	enum err             err = find_urls(request, wish, &urls, &row);
	if (!err) warn_of_former(&row, warn, user);
	if (!err) err = warn_of(request, "logo", urls.logo, warn, user);
	if (!err) err = warn_of(request, "icon", urls.icon, warn, user);
	if (!err && urls.banner.size && !strip_of(wish->settings->style))
		warn(user, "The banner is left out: a generic pass has no strip.");
	else if (!err)
		err = warn_of(request, "banner", urls.banner, warn, user);
	return err;
}
