/* Fields of pass.json. A number and a date keep their type, so that the phone writes them as its owner's language does. */
#include "schemas/wallet/pass_field.h"

#include "schemas/date.h"

#include <stdio.h>

enum { DAY = 10, SECONDS = 19 }; /* characters of "2026-11-26", and of "2026-11-26T10:00:00" */

/* A leap second is none for Apple; as elsewhere, it is the second after it. */
static void put_moment(struct span value, wall_us at, char text[PASS_DATE_TEXT])
{
	struct span offset = span_of(value.at + SECONDS, value.size - SECONDS);
	char        whole[RFC3339_TEXT];
	if (value.at[SECONDS - 2] == '6') {
		rfc3339_text(at, whole);
		snprintf(text, PASS_DATE_TEXT, "%.*sZ", SECONDS, whole);
		return;
	}
	while (offset.size && (*offset.at == '.' || (*offset.at >= '0' && *offset.at <= '9')))
		offset = span_of(offset.at + 1, offset.size - 1);
	bool is_utc = offset.size == 1;
	snprintf(text, PASS_DATE_TEXT, "%.*sT%.*s%.*s", DAY, (const char *)value.at, SECONDS - DAY - 1,
	         (const char *)value.at + DAY + 1, is_utc ? 1 : (int)offset.size,
	         is_utc ? "Z" : (const char *)offset.at);
}

bool pass_date_text(struct span value, char text[PASS_DATE_TEXT], bool *is_day)
{
	wall_us at;
	*is_day = value.size == DAY;
	if (!*is_day) {
		if (!rfc3339_read(value, &at)) return false;
		put_moment(value, at, text);
		return true;
	}
	snprintf(text, PASS_DATE_TEXT, "%.*sT00:00:00Z", DAY, (const char *)value.at);
	return rfc3339_read(span_str(text), &at);
}

/* ---- parts of a field ---- */

static void put_key(struct buffer *out, const char *key)
{
	buffer_text(out, ",\"");
	buffer_text(out, key);
	buffer_text(out, "\":");
}

static bool begins(struct span text, const char *with)
{
	size_t size = strlen(with);
	return text.size >= size && !memcmp(text.at, with, size);
}

/* The three as one JSON string. */
static void put_joined(struct buffer *out, const char *before, struct span text, const char *after)
{
	struct buffer whole = {0};
	buffer_text(&whole, before);
	buffer_append(&whole, text.at, text.size);
	buffer_text(&whole, after);
	json_quote(buffer_span(&whole), out);
	out->failed |= whole.failed;
	buffer_free(&whole);
}

static void put_escaped(struct buffer *out, struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		switch (text.at[i]) {
		case '&': buffer_text(out, "&amp;"); break;
		case '<': buffer_text(out, "&lt;"); break;
		case '>': buffer_text(out, "&gt;"); break;
		case '"': buffer_text(out, "&quot;"); break;
		case '\'': buffer_text(out, "&#39;"); break;
		default: buffer_byte(out, text.at[i]);
		}
}

/* The URL as its value, and as a link to it. */
static void put_url(struct buffer *out, struct span url)
{
	struct buffer html = {0};
	json_quote(url, out);
	buffer_text(&html, "<a href=\"");
	put_escaped(&html, url);
	buffer_text(&html, "\">");
	put_escaped(&html, url);
	buffer_text(&html, "</a>");
	put_key(out, "attributedValue");
	json_quote(buffer_span(&html), out);
	out->failed |= html.failed;
	buffer_free(&html);
}

static void put_date(struct buffer *out, const char *text, bool is_day)
{
	json_quote(span_str(text), out);
	put_key(out, "dateStyle");
	buffer_text(out, "\"PKDateStyleMedium\"");
	put_key(out, "timeStyle");
	/* Without ignoresTimeZone a phone west of Greenwich shows the day before. */
	buffer_text(out, is_day ? "\"PKDateStyleNone\",\"ignoresTimeZone\":true" : "\"PKDateStyleShort\"");
}

/* Writes the value and what belongs to it. Returns whether it is a link. */
static bool put_value(struct buffer *out, const struct json *value, enum field_kind kind)
{
	char date[PASS_DATE_TEXT];
	bool is_day, is_text = value->kind == JSON_STRING;
	bool is_link = is_text && kind == FIELD_URL && is_web_url(value->text);
	put_key(out, "value");
	if (is_link)
		put_url(out, value->text);
	else if (is_text && kind == FIELD_DATE && pass_date_text(value->text, date, &is_day))
		put_date(out, date, is_day);
	else if (is_text)
		json_quote(value->text, out);
	else if (value->kind == JSON_NUMBER)
		buffer_append(out, value->text.at, value->text.size);
	else
		buffer_text(out, value->kind == JSON_TRUE ? "\"Yes\"" : "\"No\"");
	return is_link;
}

/* Phones make links of what reads as an address or a number. On the back only links are to be links. */
static void end_field(struct buffer *out, bool is_back, bool is_link)
{
	if (is_back && !is_link) buffer_text(out, ",\"dataDetectorTypes\":[]");
	buffer_byte(out, '}');
}

/* ---- fields ---- */

bool pass_field_is_shown(const struct json *value)
{
	return value->kind == JSON_STRING || value->kind == JSON_NUMBER || value->kind == JSON_TRUE ||
	       value->kind == JSON_FALSE;
}

static bool has_mark(struct span text)
{
	return text.size > 1 && memmem(text.at, text.size, "%@", 2);
}

static void put_change(const struct pass_field *shown, struct buffer *out)
{
	if (!shown->change.size && !shown->has_default_change) return;
	put_key(out, "changeMessage");
	if (shown->change.size) {
		json_quote(shown->change, out);
		return;
	}
	/* A label that has the mark itself would stand for the value, too. */
	bool is_plain = !has_mark(shown->field->label);
	put_joined(out, "", is_plain ? shown->field->label : span_of(NULL, 0), is_plain ? ": %@" : "%@");
}

void pass_field_write(const struct pass_field *shown, struct buffer *out)
{
	const struct template_field *field = shown->field;
	bool is_ours = begins(field->key, "stampede.") || begins(field->key, "field:");
	buffer_text(out, "{\"key\":");
	put_joined(out, is_ours ? "field:" : "", field->key, "");
	put_key(out, "label");
	json_quote(field->label, out);
	bool is_link = put_value(out, shown->value, field->kind);
	put_change(shown, out);
	end_field(out, shown->is_back, is_link);
}

void pass_words_write(const struct pass_words *words, struct buffer *out)
{
	buffer_text(out, "{\"key\":\"");
	buffer_text(out, words->key);
	buffer_byte(out, '"');
	put_key(out, "label");
	json_quote(words->label, out);
	put_key(out, "value");
	if (words->is_link)
		put_url(out, words->value);
	else
		json_quote(words->value, out);
	if (words->change) {
		put_key(out, "changeMessage");
		json_quote(span_str(words->change), out);
	}
	end_field(out, true, words->is_link);
}
