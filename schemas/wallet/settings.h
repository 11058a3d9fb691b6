#pragma once
#include "schemas/template.h"

/* The member `wallet` of a template file: how passes of the template look in a wallet (ops/docs/wallets.md). All of it is
 * optional, and a template without the member has settings too. Every text is borrowed from the file. */
enum wallet_style { WALLET_STORE_CARD, WALLET_GENERIC, WALLET_COUPON, WALLET_EVENT_TICKET, WALLET_STYLES };
enum wallet_place {
	WALLET_HEADER,
	WALLET_PRIMARY,
	WALLET_SECONDARY,
	WALLET_AUXILIARY,
	WALLET_BACK,
	WALLET_PLACES
};
enum wallet_barcode { WALLET_QR, WALLET_PDF417, WALLET_AZTEC, WALLET_CODE128, WALLET_BARCODES };

enum {
	WALLET_TEXT_POINTS_MAX = 200,      /* code points of a text */
	WALLET_LINK_LABEL_POINTS_MAX = 80, /* of a link's label */
	WALLET_BACK_FIELDS_MAX = 20,       /* more are left out */
	WALLET_LOCATIONS_MAX = 10,
	WALLET_LINKS_MAX = 10,
	WALLET_DISTANCE_MAX = 100000, /* metres */
	WALLET_FIELDS_MAX = 3 + 1 + 4 + 4 + WALLET_BACK_FIELDS_MAX,
};

struct wallet_location {
	struct span latitude, longitude; /* JSON numbers, as written */
	struct span text;                /* size 0: none */
};

struct wallet_link {
	struct span label, url;
};

struct wallet_fields {
	uint8_t count;
	uint8_t of[WALLET_BACK_FIELDS_MAX]; /* indexes of the template's fields */
};

struct wallet_settings {
	bool                 is_given;                             /* the file has the member */
	struct span          organization, description, logo_text; /* size 0: by default */
	struct span          message_label;                        /* never of size 0 */
	struct span          foreground_color, label_color, icon, relevant, expires; /* size 0: none */
	enum wallet_style    style;
	enum wallet_barcode  barcode;
	bool                 caption, sharing, blocks_reinstall, notifies_balance;
	bool                 is_silent;    /* a change of the counter shows no text */
	int64_t              max_distance; /* 0: none */
	struct wallet_fields places[WALLET_PLACES];
	struct span changes[TEMPLATE_FIELDS_MAX]; /* by field; size 0: none, and the counter's by default */
	unsigned    location_count, link_count;
	struct wallet_location locations[WALLET_LOCATIONS_MAX];
	struct wallet_link     links[WALLET_LINKS_MAX];
};

const char *wallet_style_text(enum wallet_style style);
const char *wallet_place_text(enum wallet_place place);

/* The settings of a template without the member. */
void wallet_settings_default(const struct template *template, struct wallet_settings *settings);

/* Reads a whole template file, as template_read() does, and its settings. Errors: ERR_INVALID_INPUT, with `fault`. */
must_check enum err wallet_template_read(const struct json      *file, struct template *template,
                                         struct wallet_settings *settings, struct file_fault *fault);
