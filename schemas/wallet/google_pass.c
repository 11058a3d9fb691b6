/* Writes classes and objects of Google's wallet member by member. */
#include "schemas/wallet/google_pass.h"

#include "schemas/wallet/pass_field.h"
#include "schemas/wallet/pass_parts.h"

#include <stdio.h>
#include <string.h>

/* A logo is required of a loyalty class, and Google fetches it: where a template has none, ours. */
static const char own_logo[] = "/wallet/logo.png";

struct google_writer {
	const struct google_pass *google;
	const struct wallet_pass *pass;
	struct pass_parts         parts;
	struct buffer            *out;
};

static bool is_loyalty(const struct wallet_pass *pass)
{
	return pass->template->counter;
}

const char *google_kind(const struct google_pass *google)
{
	return is_loyalty(google->pass) ? "loyalty" : "generic";
}

void google_class_id(const struct google_pass *google, char text[GOOGLE_ID_TEXT])
{
	char template[TEMPLATE_ID_TEXT];
	template_id_text(google->account, google->template_number, template);
	snprintf(text, GOOGLE_ID_TEXT, "%.*s.%s", (int)google->issuer.size, (const char *)google->issuer.at,
	         template);
}

void google_object_id(const struct google_pass *google, char text[GOOGLE_ID_TEXT])
{
	const struct span serial = google->pass->serial;
	snprintf(text, GOOGLE_ID_TEXT, "%.*s.%.*s", (int)google->issuer.size, (const char *)google->issuer.at,
	         (int)serial.size, (const char *)serial.at);
}

/* ---- members ---- */

static void put_key(struct google_writer *writer, const char *key)
{
	struct buffer *out = writer->out;
	uint8_t        last = out->size ? out->at[out->size - 1] : '{';
	if (last != '{' && last != '[') buffer_byte(out, ',');
	buffer_byte(out, '"');
	buffer_text(out, key);
	buffer_text(out, "\":");
}

static void put_text(struct google_writer *writer, const char *key, struct span text)
{
	put_key(writer, key);
	json_quote(text, writer->out);
}

/* What the pass has not. */
static void put_none(struct google_writer *writer, const char *key)
{
	if (!writer->google->is_update) return;
	put_key(writer, key);
	buffer_text(writer->out, "null");
}

/* Google wants texts that may be translated in this form. */
static void put_localized(struct google_writer *writer, const char *key, struct span text)
{
	put_key(writer, key);
	buffer_text(writer->out, "{\"defaultValue\":{\"language\":\"en\"");
	put_text(writer, "value", text);
	buffer_text(writer->out, "}}");
}

static void put_image(struct google_writer *writer, const char *key, struct span url)
{
	put_key(writer, key);
	buffer_text(writer->out, "{\"sourceUri\":{");
	put_text(writer, "uri", url);
	buffer_text(writer->out, "}}");
}

static void put_colour(struct google_writer *writer)
{
	struct span colour = pass_parts_background(&writer->parts);
	if (colour.size)
		put_text(writer, "hexBackgroundColor", colour);
	else
		put_none(writer, "hexBackgroundColor");
}

/* ---- the class ---- */

static void put_logo(struct google_writer *writer)
{
	char url[2048];
	const struct template *template = writer->pass->template;
	snprintf(url, sizeof url, "%s%s", writer->google->public_url, own_logo);
	put_image(writer, is_loyalty(writer->pass) ? "programLogo" : "logo",
	          template->logo.size ? template->logo : span_str(url));
}

/* Google calls only https. */
static void put_callback(struct google_writer *writer)
{
	static const char scheme[] = "https://";
	char              account[ACCOUNT_ID_TEXT], url[2048];
	const char       *public_url = writer->google->public_url;
	if (strncmp(public_url, scheme, sizeof scheme - 1) != 0) return;
	account_id_text(writer->google->account, account);
	snprintf(url, sizeof url, "%s/wallet/google/%s/callback", public_url, account);
	put_key(writer, "callbackOptions");
	buffer_byte(writer->out, '{');
	put_text(writer, "url", span_str(url));
	buffer_byte(writer->out, '}');
}

static enum err begin(struct google_writer *writer, const struct google_pass *google, struct arena *arena,
                      struct buffer *out)
{
	*writer = (struct google_writer){.google = google, .pass = google->pass, .out = out};
	return pass_parts_read(google->pass, arena, &writer->parts);
}

/* What the class shows is its template's, whatever a pass of it has. */
enum err google_class_json(const struct google_pass *google, struct arena *arena, struct buffer *out)
{
	struct google_writer writer;
	char                 id[GOOGLE_ID_TEXT];
	struct wallet_pass   plain = *google->pass;
	struct google_pass   of_template = *google;
	of_template.pass = &plain;
	plain.visible = plain.appearance = span_of(NULL, 0);
	enum err err = begin(&writer, &of_template, arena, out);
	if (err) return err;
	google_class_id(google, id);
	buffer_byte(out, '{');
	put_text(&writer, "id", span_str(id));
	if (is_loyalty(google->pass)) {
		put_text(&writer, "issuerName", pass_parts_organization(&writer.parts));
		put_text(&writer, "programName", pass_parts_title(&writer.parts));
		put_logo(&writer);
		put_text(&writer, "reviewStatus", span_str("UNDER_REVIEW"));
		put_colour(&writer);
	}
	put_callback(&writer);
	buffer_byte(out, '}');
	return out->failed ? ERR_NO_MEMORY : OK;
}

/* ---- the object ---- */

static void put_points(struct google_writer *writer)
{
	const struct wallet_pass *pass = writer->pass;
	char                      digits[24];
	bool                      is_small = pass->balance >= INT32_MIN && pass->balance <= INT32_MAX;
	if (!is_loyalty(pass)) return;
	if (!pass->pass_id.size) {
		put_none(writer, "loyaltyPoints");
		return;
	}
	snprintf(digits, sizeof digits, "%lld", (long long)pass->balance);
	put_key(writer, "loyaltyPoints");
	buffer_byte(writer->out, '{');
	put_text(writer, "label", pass->template->counter->label);
	put_key(writer, "balance");
	buffer_byte(writer->out, '{');
	put_key(writer, is_small ? "int" : "string");
	if (is_small)
		buffer_text(writer->out, digits);
	else
		json_quote(span_str(digits), writer->out);
	put_none(writer, is_small ? "string" : "int");
	buffer_text(writer->out, "}}");
}

static void put_barcode(struct google_writer *writer)
{
	static const char *const  types[WALLET_BARCODES] = {"QR_CODE", "PDF_417", "AZTEC", "CODE_128"};
	const struct wallet_pass *pass = writer->pass;
	if (!pass->template->qr) return;
	if (!pass->pass_id.size) {
		put_none(writer, "barcode");
		return;
	}
	put_key(writer, "barcode");
	buffer_byte(writer->out, '{');
	put_text(writer, "type", span_str(types[pass->settings->barcode]));
	put_text(writer, "value", pass->pass_id);
	if (pass->settings->caption)
		put_text(writer, "alternateText", pass->pass_id);
	else
		put_none(writer, "alternateText");
	buffer_byte(writer->out, '}');
}

static struct span text_of(const struct json *value)
{
	switch (value->kind) {
	case JSON_TRUE: return span_str("Yes");
	case JSON_FALSE: return span_str("No");
	default: return value->text;
	}
}

static const struct json *value_at(const struct google_writer *writer, unsigned index)
{
	const struct json *value = writer->parts.values[index];
	return value && pass_field_is_shown(value) ? value : NULL;
}

static bool is_name(const struct wallet_pass *pass, unsigned index)
{
	return is_loyalty(pass) && pass->template->name_field.size &&
	       span_equal(pass->template->fields[index].key, pass->template->name_field);
}

static void put_name(struct google_writer *writer)
{
	for (unsigned i = 0; i < writer->pass->template->field_count; i++) {
		if (!is_name(writer->pass, i) || !value_at(writer, i)) continue;
		put_text(writer, "accountName", text_of(value_at(writer, i)));
		return;
	}
	put_none(writer, "accountName");
}

/* The fields that have no place of their own. */
static void put_texts(struct google_writer *writer)
{
	const struct template *template = writer->pass->template;
	bool has_any = false;
	for (unsigned i = 0; i < template->field_count; i++) {
		const struct template_field *field = &template->fields[i];
		const struct json           *value = value_at(writer, i);
		if (field == template->counter || is_name(writer->pass, i) || !value) continue;
		if (!has_any) {
			put_key(writer, "textModulesData");
			buffer_byte(writer->out, '[');
		} else {
			buffer_byte(writer->out, ',');
		}
		has_any = true;
		buffer_byte(writer->out, '{');
		put_text(writer, "id", field->key);
		put_text(writer, "header", field->label);
		put_text(writer, "body", text_of(value));
		buffer_byte(writer->out, '}');
	}
	if (has_any) buffer_byte(writer->out, ']');
	if (has_any || !writer->google->is_update) return;
	put_key(writer, "textModulesData");
	buffer_text(writer->out, "[]");
}

/* Messages are added by calls of their own. An erased pass, which has no id, keeps none. */
static void put_messages(struct google_writer *writer)
{
	if (!writer->google->is_update || writer->google->pass->pass_id.size) return;
	put_key(writer, "messages");
	buffer_text(writer->out, "[]");
}

static void put_generic_head(struct google_writer *writer)
{
	put_localized(writer, "cardTitle", pass_parts_organization(&writer->parts));
	put_localized(writer, "header", pass_parts_title(&writer->parts));
	put_logo(writer);
}

enum err google_object_json(const struct google_pass *google, struct arena *arena, struct buffer *out)
{
	struct google_writer writer;
	char                 id[GOOGLE_ID_TEXT], class[GOOGLE_ID_TEXT];
	enum err             err = begin(&writer, google, arena, out);
	if (err) return err;
	google_object_id(google, id);
	google_class_id(google, class);
	buffer_byte(out, '{');
	put_text(&writer, "id", span_str(id));
	put_text(&writer, "classId", span_str(class));
	put_text(&writer, "state", span_str(google->pass->is_voided ? "INACTIVE" : "ACTIVE"));
	if (is_loyalty(google->pass)) {
		if (google->pass->pass_id.size)
			put_text(&writer, "accountId", google->pass->pass_id);
		else
			put_none(&writer, "accountId");
		put_name(&writer);
	} else {
		put_generic_head(&writer);
	}
	put_points(&writer);
	if (is_loyalty(google->pass) && google->pass->settings->notifies_balance)
		put_text(&writer, "notifyPreference", span_str("NOTIFY_ON_UPDATE"));
	else if (is_loyalty(google->pass))
		put_none(&writer, "notifyPreference");
	put_barcode(&writer);
	put_colour(&writer);
	put_texts(&writer);
	put_messages(&writer);
	buffer_byte(out, '}');
	return out->failed ? ERR_NO_MEMORY : OK;
}
