/* Writes pass.json member by member. A value is written by its own type: its field may have had another one when the pass was
 * made. */
#include "schemas/wallet/pass_json.h"

#include "schemas/colour.h"
#include "schemas/wallet/pass_field.h"
#include "schemas/wallet/pass_parts.h"

#include <stdio.h>

static const char message_key[] = "stampede.message";

struct writer {
	const struct wallet_pass *pass;
	struct pass_parts         parts;
	struct buffer            *out;
};

/* ---- members ---- */

static void put_key(struct buffer *out, const char *key)
{
	buffer_text(out, ",\"");
	buffer_text(out, key);
	buffer_text(out, "\":");
}

static void put_text(struct buffer *out, const char *key, struct span text)
{
	put_key(out, key);
	json_quote(text, out);
}

static unsigned channel(struct span colour, unsigned index)
{
	unsigned value = 0;
	for (unsigned i = 1 + 2 * index; i < 3 + 2 * index; i++) {
		uint8_t c = colour.at[i];
		value = value * 16 + (c <= '9' ? c - (unsigned)'0' : (c | 0x20u) - 'a' + 10);
	}
	return value;
}

static void put_colour(struct buffer *out, const char *key, struct span colour)
{
	char text[24];
	snprintf(text, sizeof text, "rgb(%u, %u, %u)", channel(colour, 0), channel(colour, 1),
	         channel(colour, 2));
	put_text(out, key, span_str(text));
}

/* ---- what identifies it, and how it looks ---- */

static void put_head(const struct writer *writer)
{
	const struct wallet_pass     *pass = writer->pass;
	const struct wallet_settings *settings = pass->settings;
	struct buffer                *out = writer->out;
	buffer_text(out, "{\"formatVersion\":1");
	put_text(out, "passTypeIdentifier", pass->pass_type);
	put_text(out, "teamIdentifier", pass->team);
	put_text(out, "serialNumber", pass->serial);
	put_text(out, "organizationName", pass_parts_organization(&writer->parts));
	put_text(out, "description",
	         settings->description.size ? settings->description : pass->template->name);
	put_text(out, "logoText", pass_parts_title(&writer->parts));
}

/* Without a background nothing is known about the other colours' contrast: the phone takes its own. */
static void put_colours(const struct writer *writer)
{
	const struct wallet_settings *settings = writer->pass->settings;
	struct span behind = pass_parts_background(&writer->parts), ink = settings->foreground_color;
	if (!behind.size) return;
	if (!ink.size) ink = span_str(strcmp(colour_ink(behind), "#fff") ? "#000000" : "#ffffff");
	put_colour(writer->out, "backgroundColor", behind);
	put_colour(writer->out, "foregroundColor", ink);
	if (settings->label_color.size) put_colour(writer->out, "labelColor", settings->label_color);
}

/* A pass that no longer counts has no address: phones would ask there for ever. */
static void put_service(const struct writer *writer)
{
	const struct wallet_pass *pass = writer->pass;
	if (!pass->settings->sharing) buffer_text(writer->out, ",\"sharingProhibited\":true");
	if (pass->is_voided) buffer_text(writer->out, ",\"voided\":true");
	if (pass->is_voided || !pass->service_url.size) return;
	put_text(writer->out, "webServiceURL", pass->service_url);
	put_text(writer->out, "authenticationToken", pass->auth);
}

static bool is_latin1(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] > 0xc3) return false; /* begins a character beyond U+00FF */
	return true;
}

static bool is_ascii(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] > 0x7e) return false;
	return true;
}

static void put_barcode(const struct writer *writer)
{
	static const char *const  formats[WALLET_BARCODES] = {"QR", "PDF417", "Aztec", "Code128"};
	const struct wallet_pass *pass = writer->pass;
	struct buffer            *out = writer->out;
	if (!pass->template->qr || !pass->pass_id.size) return;
	buffer_text(out, ",\"barcodes\":[{\"format\":\"PKBarcodeFormat");
	buffer_text(out, formats[pass->settings->barcode]);
	buffer_byte(out, '"');
	put_text(out, "message", pass->pass_id);
	put_text(out, "messageEncoding", span_str(is_latin1(pass->pass_id) ? "iso-8859-1" : "utf-8"));
	if (pass->settings->caption) put_text(out, "altText", pass->pass_id);
	buffer_text(out, "}]");
}

/* ---- where and when it matters ---- */

static void put_moment(const struct writer *writer, const char *key, struct span field_key)
{
	const struct template_field *field = template_field(writer->pass->template, field_key);
	const struct json *value = field ? writer->parts.values[field - writer->pass->template->fields]
	                                 : NULL;
	char               text[PASS_DATE_TEXT];
	bool               is_day;
	if (value && value->kind == JSON_STRING && pass_date_text(value->text, text, &is_day))
		put_text(writer->out, key, span_str(text));
}

static void put_locations(const struct writer *writer)
{
	const struct wallet_settings *settings = writer->pass->settings;
	struct buffer                *out = writer->out;
	for (unsigned i = 0; i < settings->location_count; i++) {
		const struct wallet_location *location = &settings->locations[i];
		buffer_text(out, i ? ",{\"latitude\":" : ",\"locations\":[{\"latitude\":");
		buffer_append(out, location->latitude.at, location->latitude.size);
		put_key(out, "longitude");
		buffer_append(out, location->longitude.at, location->longitude.size);
		if (location->text.size) put_text(out, "relevantText", location->text);
		buffer_text(out, i + 1 < settings->location_count ? "}" : "}]");
	}
	if (!settings->max_distance) return;
	put_key(out, "maxDistance");
	json_number(settings->max_distance, out);
}

/* ---- fields ---- */

/* The text that the phone shows when the field has changed; size 0: none, or the default. */
static struct span change_of(const struct writer *writer, unsigned field, bool *has_default)
{
	const struct wallet_pass *pass = writer->pass;
	bool                      is_counter = &pass->template->fields[field] == pass->template->counter;
	bool                      is_announced = is_counter
	                                             ? pass->announces == WALLET_ANNOUNCES_COUNTER
	                                             : pass->announces == WALLET_ANNOUNCES_FIELD && pass->announced_field == field;
	*has_default = is_announced && is_counter && !pass->settings->is_silent &&
	               !pass->settings->changes[field].size;
	return is_announced && !(is_counter && pass->settings->is_silent) ? pass->settings->changes[field]
	                                                                  : span_of(NULL, 0);
}

static bool put_field(const struct writer *writer, unsigned index, enum wallet_place place, bool is_first)
{
	const struct template_field *field = &writer->pass->template->fields[index];
	struct pass_field            shown = {
	               .field = field, .value = writer->parts.values[index], .is_back = place == WALLET_BACK};
	struct json counter = {.kind = JSON_NUMBER};
	char        digits[24];
	if (field == writer->pass->template->counter) {
		snprintf(digits, sizeof digits, "%lld", (long long)writer->pass->balance);
		counter.text = span_str(digits);
		shown.value = &counter;
	}
	if (!shown.value || !pass_field_is_shown(shown.value)) return false;
	shown.change = change_of(writer, index, &shown.has_default_change);
	if (!is_first) buffer_byte(writer->out, ',');
	pass_field_write(&shown, writer->out);
	return true;
}

static bool put_message(const struct writer *writer, bool is_first)
{
	const struct wallet_pass *pass = writer->pass;
	const struct pass_words   words = {.key = message_key,
	                                   .label = pass->settings->message_label,
	                                   .value = pass->message,
	                                   .change = pass->announces == WALLET_ANNOUNCES_MESSAGE ? "%@" : NULL};
	if (!pass->message.size) return false;
	if (!is_first) buffer_byte(writer->out, ',');
	pass_words_write(&words, writer->out);
	return true;
}

static void put_links(const struct writer *writer, bool is_first)
{
	const struct wallet_settings *settings = writer->pass->settings;
	char                          key[32];
	for (unsigned i = 0; i < settings->link_count; i++, is_first = false) {
		const struct wallet_link *link = &settings->links[i];
		const struct pass_words   words = {
		      .key = key, .label = link->label, .value = link->url, .is_link = true};
		snprintf(key, sizeof key, "stampede.link.%u", i + 1);
		if (!is_first) buffer_byte(writer->out, ',');
		pass_words_write(&words, writer->out);
	}
}

static void put_place(const struct writer *writer, enum wallet_place place, bool *is_first_place)
{
	const struct wallet_fields *fields = &writer->pass->settings->places[place];
	struct buffer              *out = writer->out;
	size_t                      begin = out->size;
	bool                        is_first = true;
	if (!*is_first_place) buffer_byte(out, ',');
	buffer_byte(out, '"');
	buffer_text(out, wallet_place_text(place));
	buffer_text(out, "Fields\":[");
	size_t inside = out->size;
	if (place == WALLET_BACK && put_message(writer, is_first)) is_first = false;
	for (unsigned i = 0; i < fields->count; i++)
		if (put_field(writer, fields->of[i], place, is_first)) is_first = false;
	if (place == WALLET_BACK) put_links(writer, is_first);
	if (out->size == inside) {
		if (!out->failed) out->size = begin; /* nothing is there */
		return;
	}
	buffer_byte(out, ']');
	*is_first_place = false;
}

static void put_fields(const struct writer *writer)
{
	bool is_first = true;
	put_key(writer->out, wallet_style_text(writer->pass->settings->style));
	buffer_byte(writer->out, '{');
	for (unsigned place = 0; place < WALLET_PLACES; place++)
		put_place(writer, (enum wallet_place)place, &is_first);
	buffer_byte(writer->out, '}');
}

/* ---- the whole ---- */

enum err wallet_pass_json(const struct wallet_pass *pass, struct arena *arena, struct buffer *out)
{
	struct writer writer = {.pass = pass, .out = out};
	enum err      err = pass_parts_read(pass, arena, &writer.parts);
	if (err) return err;
	put_head(&writer);
	put_colours(&writer);
	put_service(&writer);
	put_barcode(&writer);
	put_fields(&writer);
	put_locations(&writer);
	if (pass->settings->relevant.size) put_moment(&writer, "relevantDate", pass->settings->relevant);
	if (pass->settings->expires.size) put_moment(&writer, "expirationDate", pass->settings->expires);
	buffer_byte(out, '}');
	return out->failed ? ERR_NO_MEMORY : OK;
}

/* ---- warnings ---- */

static void warn_places(const struct wallet_pass *pass, void (*warn)(void *user, const char *text),
                        void                     *user)
{
	unsigned shown = 0;
	char     text[96];
	for (unsigned place = 0; place < WALLET_PLACES; place++)
		shown += pass->settings->places[place].count;
	if (shown == pass->template->field_count) return;
	snprintf(text, sizeof text, "%u fields are left out: the back holds %d.",
	         pass->template->field_count - shown, (int)WALLET_BACK_FIELDS_MAX);
	warn(user, text);
}

enum err wallet_pass_warn(const struct wallet_pass *pass, struct arena     *arena,
                          void (*warn)(void *user, const char *text), void *user)
{
	struct writer                 writer = {.pass = pass};
	const struct wallet_settings *settings = pass->settings;
	enum err                      err = pass_parts_read(pass, arena, &writer.parts);
	if (err) return err;
	warn_places(pass, warn, user);
	if (!pass_parts_background(&writer.parts).size &&
	    (settings->foreground_color.size || settings->label_color.size))
		warn(user, "The colours are left out: there is no background_color.");
	if (pass->template->qr && settings->barcode == WALLET_CODE128 && !is_ascii(pass->pass_id))
		warn(user, "The barcode may not be readable: code128 is for ASCII, and the pass_id has other "
		           "characters.");
	if (!pass->service_url.size && !pass->is_voided)
		warn(user, "Installed passes are never updated: the public URL is not https.");
	return OK;
}
