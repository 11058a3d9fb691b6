/* Reads the member `wallet` of a template file. Null is the same as absence, except in `changes`, where it means that nothing
 * is shown. Members that are not known are refused at every level. */
#include "schemas/wallet/settings.h"

#include "schemas/fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const style_texts[WALLET_STYLES] = {"storeCard", "generic", "coupon", "eventTicket"};
static const char *const barcode_texts[WALLET_BARCODES] = {"qr", "pdf417", "aztec", "code128"};
static const char *const reinstall_texts[] = {"allow", "block"};
static const char *const place_texts[WALLET_PLACES] = {"header", "primary", "secondary", "auxiliary", "back"};
static const uint8_t     place_most[WALLET_PLACES] = {3, 1, 4, 4, WALLET_BACK_FIELDS_MAX};

static const char unknown[] = "The wallet settings have no such member here";

const char *wallet_style_text(enum wallet_style style)
{
	return style_texts[style];
}

const char *wallet_place_text(enum wallet_place place)
{
	return place_texts[place];
}

/* A reader of one file: its template, the settings so far, and the fault. */
struct reader {
	const struct template *template;
	struct wallet_settings *settings;
	struct file_fault      *fault;
};

/* ---- members of any object ---- */

static bool read_text(struct reader *reader, const struct json *object, const char *in, const char *key,
                      struct span *to)
{
	if (file_text(object, key, to) && utf8_length(*to) <= WALLET_TEXT_POINTS_MAX) return true;
	return file_must(reader->fault, in, key, "a text of 1 to 200 characters", NULL);
}

static bool read_flag(struct reader *reader, const struct json *object, const char *in, const char *key,
                      bool *to)
{
	return file_flag(object, key, to) || file_must(reader->fault, in, key, "true or false", NULL);
}

/* A word of a list; absent: unchanged. */
static bool read_word(struct reader *reader, const struct json *object, const char *key,
                      const char *const texts[], unsigned *to)
{
	unsigned count = texts == reinstall_texts ? 2
	                 : texts == style_texts   ? WALLET_STYLES
	                                          : WALLET_BARCODES;
	char     list[64] = "";
	if (!file_has(object, key) || file_choice(object, key, texts, count, to)) return true;
	for (unsigned i = 0; i < count; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", texts[i]);
	return file_must(reader->fault, texts == barcode_texts ? "wallet.barcode" : "wallet", key, "one of ",
	                 list);
}

/* The object `key`; *value NULL: it is absent. */
static bool read_object(struct reader *reader, const struct json *object, const char *key,
                        const char *const *keys, const struct json **value)
{
	char in[32];
	snprintf(in, sizeof in, "wallet.%s", key);
	*value = file_has(object, key) ? json_member(object, key) : NULL;
	if (!*value) return true;
	if ((*value)->kind != JSON_OBJECT) return file_must(reader->fault, "wallet", key, "an object", NULL);
	return !keys || file_knows(*value, keys, in, unknown, reader->fault);
}

/* The list `key` of at most `most` items; *list NULL: it is absent. */
static bool read_list(struct reader *reader, const struct json *object, const char *key, unsigned most,
                      const struct json **list)
{
	char wanted[48];
	*list = file_has(object, key) ? json_member(object, key) : NULL;
	if (!*list || ((*list)->kind == JSON_ARRAY && (*list)->count <= most)) return true;
	snprintf(wanted, sizeof wanted, "a list of at most %u", most);
	return file_must(reader->fault, "wallet", key, wanted, NULL);
}

/* ---- places ---- */

static unsigned field_index(const struct template *template, struct span key)
{
	const struct template_field *field = template_field(template, key);
	return field ? (unsigned)(field - template->fields) : TEMPLATE_FIELDS_MAX;
}

static void add(struct wallet_fields *place, unsigned most, unsigned field)
{
	if (place->count < most) place->of[place->count++] = (uint8_t)field;
}

static void place_by_default(const struct template *template, struct wallet_settings *settings)
{
	struct wallet_fields *places = settings->places;
	unsigned              others = 0;
	for (unsigned i = 0; i < template->field_count; i++) {
		if (&template->fields[i] == template->counter) {
			bool is_stamps = template->loyalty == LOYALTY_STAMPS;
			add(&places[is_stamps ? WALLET_PRIMARY : WALLET_HEADER], 1, i);
			continue;
		}
		enum wallet_place place = others < 2   ? WALLET_SECONDARY
		                          : others < 4 ? WALLET_AUXILIARY
		                                       : WALLET_BACK;
		add(&places[place], place_most[place], i);
		others++;
	}
}

static bool take_field(struct reader *reader, const struct json *value, const char *in,
                       bool named[TEMPLATE_FIELDS_MAX], unsigned *field)
{
	*field = value->kind == JSON_STRING ? field_index(reader->template, value->text)
	                                    : TEMPLATE_FIELDS_MAX;
	if (*field == TEMPLATE_FIELDS_MAX)
		return file_wrong_whole(reader->fault, in, "A place lists keys of the template's fields.");
	if (named[*field]) return file_wrong_whole(reader->fault, in, "A field stands in one place, once.");
	return named[*field] = true;
}

static bool read_place(struct reader *reader, const struct json *object, enum wallet_place place,
                       bool named[TEMPLATE_FIELDS_MAX])
{
	const struct json *list;
	char               in[32];
	unsigned           field, i = 0;
	if (!read_list(reader, object, place_texts[place], place_most[place], &list)) return false;
	for (const struct json *value = list ? list->child : NULL; value; value = value->next) {
		snprintf(in, sizeof in, "wallet.%s[%u]", place_texts[place], i++);
		if (!take_field(reader, value, in, named, &field)) return false;
		add(&reader->settings->places[place], place_most[place], field);
	}
	return true;
}

/* If any place is given, the others are empty, and the back gets the fields that are not named. */
static bool read_places(struct reader *reader, const struct json *object)
{
	bool named[TEMPLATE_FIELDS_MAX] = {false}, is_given = false;
	for (unsigned place = 0; place < WALLET_PLACES; place++) {
		is_given |= file_has(object, place_texts[place]);
		if (!read_place(reader, object, (enum wallet_place)place, named)) return false;
	}
	if (!is_given) place_by_default(reader->template, reader->settings);
	for (unsigned i = 0; is_given && i < reader->template->field_count; i++)
		if (!named[i]) add(&reader->settings->places[WALLET_BACK], WALLET_BACK_FIELDS_MAX, i);
	return true;
}

/* ---- texts of changes ---- */

static bool has_one_value(struct span text)
{
	unsigned count = 0;
	for (size_t i = 0; i + 1 < text.size; i++)
		count += text.at[i] == '%' && text.at[i + 1] == '@';
	return count == 1;
}

static bool read_change(struct reader *reader, const struct json *value)
{
	struct wallet_settings *settings = reader->settings;
	const char             *in = "wallet.changes";
	unsigned                field = field_index(reader->template, value->key);
	if (field == TEMPLATE_FIELDS_MAX)
		return file_wrong_key(reader->fault, in, value->key,
		                      "`changes` has keys of the template's fields.");
	bool is_counter = &reader->template->fields[field] == reader->template->counter;
	if (value->kind == JSON_NULL) {
		settings->is_silent |= is_counter;
		return true;
	}
	settings->changes[field] = value->text;
	if (value->kind == JSON_STRING && value->text.size && has_one_value(value->text) &&
	    utf8_length(value->text) <= WALLET_TEXT_POINTS_MAX)
		return true;
	return file_wrong_key(reader->fault, in, value->key,
	                      "The text of a change has 1 to 200 characters and exactly one %@; null: none.");
}

static bool read_changes(struct reader *reader, const struct json *object)
{
	const struct json *changes;
	if (!read_object(reader, object, "changes", NULL, &changes)) return false;
	for (const struct json *value = changes ? changes->child : NULL; value; value = value->next)
		if (!read_change(reader, value)) return false;
	return true;
}

/* ---- lists ---- */

static bool read_degrees(struct reader *reader, const struct json *object, const char *in, const char *key,
                         struct span *to)
{
	const struct json *value = json_member(object, key);
	double             most = key[1] == 'a' ? 90 : 180;
	char               text[40];
	if (value && value->kind == JSON_NUMBER && value->text.size < sizeof text) {
		memcpy(text, value->text.at, value->text.size);
		text[value->text.size] = 0;
		*to = value->text;
		if (fabs(strtod(text, NULL)) <= most) return true;
	}
	return file_must(reader->fault, in, key, "a number of degrees from ",
	                 most > 90 ? "-180 to 180" : "-90 to 90");
}

static bool read_location(struct reader *reader, const struct json *value, const char *in)
{
	static const char *const keys[] = {"latitude", "longitude", "text", NULL};
	struct wallet_location  *location = &reader->settings->locations[reader->settings->location_count];
	if (value->kind != JSON_OBJECT)
		return file_wrong_whole(reader->fault, in, "A location is an object.");
	reader->settings->location_count++;
	return file_knows(value, keys, in, unknown, reader->fault) &&
	       read_degrees(reader, value, in, keys[0], &location->latitude) &&
	       read_degrees(reader, value, in, keys[1], &location->longitude) &&
	       read_text(reader, value, in, keys[2], &location->text);
}

static bool read_link(struct reader *reader, const struct json *value, const char *in)
{
	static const char *const keys[] = {"label", "url", NULL};
	struct wallet_link      *link = &reader->settings->links[reader->settings->link_count];
	if (value->kind != JSON_OBJECT) return file_wrong_whole(reader->fault, in, "A link is an object.");
	if (!file_knows(value, keys, in, unknown, reader->fault)) return false;
	if (!file_text(value, keys[0], &link->label) || !link->label.size ||
	    utf8_length(link->label) > WALLET_LINK_LABEL_POINTS_MAX)
		return file_must(reader->fault, in, keys[0], "a text of 1 to 80 characters", NULL);
	if (!file_text(value, keys[1], &link->url) || !is_web_url(link->url))
		return file_must(reader->fault, in, keys[1], "an http or https URL", NULL);
	reader->settings->link_count++;
	return true;
}

static bool read_each(struct reader *reader, const struct json *object, const char *key, unsigned most,
                      bool (*read)(struct reader *reader, const struct json *value, const char *in))
{
	const struct json *list;
	char               in[32];
	unsigned           i = 0;
	if (!read_list(reader, object, key, most, &list)) return false;
	for (const struct json *value = list ? list->child : NULL; value; value = value->next) {
		snprintf(in, sizeof in, "wallet.%s[%u]", key, i++);
		if (!read(reader, value, in)) return false;
	}
	return true;
}

/* ---- the rest ---- */

static bool read_texts(struct reader *reader, const struct json *object)
{
	struct wallet_settings *settings = reader->settings;
	const char             *in = "wallet";
	return read_text(reader, object, in, "organization", &settings->organization) &&
	       read_text(reader, object, in, "description", &settings->description) &&
	       read_text(reader, object, in, "logo_text", &settings->logo_text) &&
	       read_text(reader, object, in, "message_label", &settings->message_label);
}

static bool read_colour(struct reader *reader, const struct json *object, const char *key, struct span *to)
{
	if (!file_has(object, key) || (file_text(object, key, to) && is_colour(*to))) return true;
	return file_must(reader->fault, "wallet", key, "a colour such as #112233", NULL);
}

static bool read_date_field(struct reader *reader, const struct json *object, const char *key,
                            struct span *to)
{
	if (!file_has(object, key)) return true;
	const struct template_field *field = NULL;
	if (file_text(object, key, to)) field = template_field(reader->template, *to);
	if (field && field->kind == FIELD_DATE) return true;
	return file_must(reader->fault, "wallet", key, "the key of a field of the type date", NULL);
}

static bool read_looks(struct reader *reader, const struct json *object)
{
	struct wallet_settings *settings = reader->settings;
	if (!read_colour(reader, object, "foreground_color", &settings->foreground_color)) return false;
	if (!read_colour(reader, object, "label_color", &settings->label_color)) return false;
	if (file_has(object, "icon") &&
	    !(file_text(object, "icon", &settings->icon) && is_web_url(settings->icon)))
		return file_must(reader->fault, "wallet", "icon", "an http or https URL", NULL);
	return read_date_field(reader, object, "relevant_field", &settings->relevant) &&
	       read_date_field(reader, object, "expires_field", &settings->expires);
}

static bool read_barcode(struct reader *reader, const struct json *object)
{
	static const char *const keys[] = {"format", "caption", NULL};
	const struct json       *value;
	unsigned                 format = WALLET_QR;
	if (!read_object(reader, object, "barcode", keys, &value)) return false;
	if (!value) return true;
	if (!read_word(reader, value, keys[0], barcode_texts, &format)) return false;
	reader->settings->barcode = (enum wallet_barcode)format;
	return read_flag(reader, value, "wallet.barcode", keys[1], &reader->settings->caption);
}

static bool read_conduct(struct reader *reader, const struct json *object)
{
	static const char *const google_keys[] = {"notify_balance", NULL};
	struct wallet_settings  *settings = reader->settings;
	const struct json       *google;
	unsigned                 style = settings->style, blocks = 0;
	if (!read_word(reader, object, "style", style_texts, &style)) return false;
	if (!read_word(reader, object, "reinstall", reinstall_texts, &blocks)) return false;
	settings->style = (enum wallet_style)style;
	settings->blocks_reinstall = blocks;
	if (!read_flag(reader, object, "wallet", "sharing", &settings->sharing)) return false;
	if (!file_integer(object, "max_distance", &settings->max_distance) ||
	    (file_has(object, "max_distance") &&
	     (settings->max_distance < 1 || settings->max_distance > WALLET_DISTANCE_MAX)))
		return file_must(reader->fault, "wallet", "max_distance", "a number of metres, 1 to 100000",
		                 NULL);
	if (!read_object(reader, object, "google", google_keys, &google)) return false;
	return !google ||
	       read_flag(reader, google, "wallet.google", google_keys[0], &settings->notifies_balance);
}

static void settings_begin(const struct template *template, struct wallet_settings *settings)
{
	*settings = (struct wallet_settings){.message_label = span_str("News"),
	                                     .style = template->counter ? WALLET_STORE_CARD : WALLET_GENERIC,
	                                     .barcode = WALLET_QR,
	                                     .caption = true,
	                                     .sharing = true};
}

void wallet_settings_default(const struct template *template, struct wallet_settings *settings)
{
	settings_begin(template, settings);
	place_by_default(template, settings);
}

static bool read_settings(struct reader *reader, const struct json *object)
{
	static const char *const keys[] = {
	    "organization",   "description",   "style",         "logo_text",
	    "header",         "primary",       "secondary",     "auxiliary",
	    "back",           "changes",       "message_label", "foreground_color",
	    "label_color",    "barcode",       "icon",          "sharing",
	    "reinstall",      "locations",     "max_distance",  "links",
	    "relevant_field", "expires_field", "google",        NULL};
	if (object->kind != JSON_OBJECT)
		return file_wrong_whole(reader->fault, "wallet", "The wallet settings are a JSON object.");
	settings_begin(reader->template, reader->settings);
	reader->settings->is_given = true;
	return file_knows(object, keys, "wallet", unknown, reader->fault) && read_texts(reader, object) &&
	       read_conduct(reader, object) && read_places(reader, object) && read_changes(reader, object) &&
	       read_looks(reader, object) && read_barcode(reader, object) &&
	       read_each(reader, object, "locations", WALLET_LOCATIONS_MAX, read_location) &&
	       read_each(reader, object, "links", WALLET_LINKS_MAX, read_link);
}

enum err wallet_template_read(const struct json      *file, struct template *template,
                              struct wallet_settings *settings, struct file_fault *fault)
{
	struct reader reader = {template, settings, fault};
	enum err      err = template_read(file, template, fault);
	if (err) return err;
	wallet_settings_default(template, settings);
	if (!file_has(file, "wallet")) return OK;
	return read_settings(&reader, json_member(file, "wallet")) ? OK : ERR_INVALID_INPUT;
}
