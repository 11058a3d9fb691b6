#pragma once
#include "schemas/states.h"
#include "schemas/template.h"
#include "schemas/wallet/kind.h"

/* The holder's view of a pass: PASS_PAGE's reply, from the shard to http, which makes a page from it. Data missing here
 * (hidden data, the account, times, why an issuance failed) cannot get into a page. As msgpack
 * [status, balance, counter, template's name, its title, its colour, appearance bin, visible bin, qr_value,
 *  logo's width, its height, banner's width, its height, wallets, [[key, label, kind]...]]: texts are str, of size 0 where
 *  there is none; bins are JSON text. */
enum page_image { PAGE_IMAGE_LOGO, PAGE_IMAGE_BANNER, PAGE_IMAGES };
extern const char *const page_image_names[PAGE_IMAGES]; /* "logo": in an appearance, and in an image's path */

/* The image with this name; PAGE_IMAGES: none. */
enum page_image page_image_of(struct span name);

/* PASS_IMAGE's reply is [SHA-256 of the image bin, its bytes bin]; nil in place of bytes that the caller has already. */
struct pass_view_field {
	struct span     key, label;
	enum field_kind kind;
};

struct pass_view {
	enum pass_status status;
	int64_t          balance;
	unsigned         counter;                 /* the field that displays it; field_count: no loyalty */
	struct span      name;                    /* the template's */
	struct span      title, background_color; /* the template's appearance */
	struct span      appearance, visible;     /* the pass's own, JSON objects; size 0: null */
	struct span      qr_value;                /* size 0: null */
	struct {
		uint32_t width, height; /* pixels; 0: there is none */
	} images[PAGE_IMAGES];

	unsigned wallets;    /* WALLET_BIT of those that work for the account */
	bool     may_be_put; /* into them, as the pass stands */

	unsigned               field_count; /* in the template's order */
	struct pass_view_field fields[TEMPLATE_FIELDS_MAX];
};

void pass_view_pack(const struct pass_view *shown, struct buffer *out);

/* Spans point into the payload. Errors: ERR_MALFORMED. */
must_check enum err pass_view_open(const msgpack_object *payload, struct pass_view *shown);
