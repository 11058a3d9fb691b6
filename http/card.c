/* A pass as HTML. The pieces between its texts are a table (page.def). All text from outside goes through html.h. Fields stand
 * in the template's order, the counter first and large. Fields that the template no longer has come last, under their keys. */
#include "http/card.h"

#include "schemas/colour.h"
#include "http/html.h"
#include "http/qr.h"

#include <openssl/evp.h>

/* The pieces, with their sizes: P(NAME, html). */
#define P(name, html) static const char piece_##name[] = html;
#include "http/page.def"
#undef P

#define PUT(out, name) buffer_append(out, piece_##name, sizeof piece_##name - 1)

static const char card_default[] = "#1f3a5f", words_default[] = "#ffffff";

enum {
	WIDE_BYTES = 20,       /* a longer value gets its own row */
	LARGE_MAX = 999999999, /* larger counters use a smaller font, to stay on one line */
};

static void hash_text(struct span style, char text[CARD_HASH_TEXT])
{
	uint8_t hash[SHA256_BYTES];
	sha256_of(&style, 1, hash);
	EVP_EncodeBlock((unsigned char *)text, hash, sizeof hash);
}

/* Everything before the body. `card` is a colour; `with_wallets`: there are buttons, which need styles of their own. */
static void put_head(struct buffer *out, struct span title, struct span card, bool with_wallets,
                     struct card_hashes *hashes)
{
	PUT(out, HEAD);
	html_plain(out, title);
	PUT(out, STYLE_BEGIN);
	PUT(out, STYLE);
	PUT(out, COLOURS_BEGIN);
	size_t begin = out->size;
	PUT(out, COLOURS);
	buffer_append(out, card.at, card.size);
	PUT(out, COLOURS_INK);
	buffer_text(out, colour_ink(card));
	PUT(out, COLOURS_END);
	if (with_wallets) PUT(out, WALLETS_STYLE);
	if (!out->failed) {
		hash_text(span_of(piece_STYLE, sizeof piece_STYLE - 1), hashes->text[0]);
		hash_text(span_of(out->at + begin, out->size - begin), hashes->text[1]);
	}
	PUT(out, BODY);
}

/* --- appearance --- */

static struct span text_member(const struct json *object, const char *key)
{
	const struct json *value = object ? json_member(object, key) : NULL;
	return value && value->kind == JSON_STRING ? value->text : span_of(NULL, 0);
}

static struct span first_of(struct span a, struct span b)
{
	return a.size ? a : b;
}

/* --- header --- */

/* Writes the image if the pass has one. Its URL is relative, so it works behind any proxy. */
static bool put_image(struct buffer *out, const struct pass_view *shown, struct span link,
                      enum page_image which)
{
	if (!shown->images[which].width) return false;
	PUT(out, IMAGE);
	buffer_text(out, page_image_names[which]);
	if (which == PAGE_IMAGE_LOGO && shown->images[which].width / 2 > shown->images[which].height)
		PUT(out, IMAGE_ACROSS);
	PUT(out, IMAGE_PAGE);
	html_url(out, link);
	buffer_byte(out, '/');
	buffer_text(out, page_image_names[which]);
	PUT(out, IMAGE_WIDTH);
	json_number(shown->images[which].width, out);
	PUT(out, IMAGE_HEIGHT);
	json_number(shown->images[which].height, out);
	PUT(out, IMAGE_END);
	return true;
}

static void put_header(struct buffer *out, struct span title, enum pass_status status)
{
	static const struct {
		const char *code, *pill, *notice;
	} states[PASS_STATUSES] = {
#define S(name, text) [PASS_##name].code = text,
#include "schemas/states.def"
#undef S
#define N(name, pill_text, notice_text) [PASS_##name].pill = pill_text, [PASS_##name].notice = notice_text,
#include "http/page.def"
#undef N
	};
	PUT(out, TITLE);
	html_apart(out, title);
	PUT(out, STATUS);
	if (states[status].notice[0]) PUT(out, STATUS_OFF);
	PUT(out, STATUS_CODE);
	buffer_text(out, states[status].code);
	PUT(out, STATUS_TEXT);
	buffer_text(out, states[status].pill);
	PUT(out, HEADER_END);
	if (!states[status].notice[0]) return;
	PUT(out, NOTICE);
	buffer_text(out, states[status].notice);
	PUT(out, NOTICE_END);
}

/* --- fields --- */

static void put_link(struct buffer *out, struct span url)
{
	PUT(out, LINK);
	html_url(out, url);
	PUT(out, LINK_TEXT);
	html_apart(out, url);
	PUT(out, LINK_END);
}

/* Renders a value by its own type: the field may have had another type when it was written. */
static void put_value(struct buffer *out, const struct json *value, enum field_kind kind)
{
	if (value->kind == JSON_TRUE || value->kind == JSON_FALSE)
		buffer_text(out, value->kind == JSON_TRUE ? "Yes" : "No");
	else if (value->kind == JSON_STRING && kind == FIELD_URL && is_web_url(value->text))
		put_link(out, value->text);
	else
		html_apart(out, value->text);
}

static void put_field(struct buffer *out, struct span label, const struct json *value, enum field_kind kind)
{
	if (value->text.size > WIDE_BYTES)
		PUT(out, FIELD_WIDE);
	else
		PUT(out, FIELD);
	html_apart(out, label);
	PUT(out, VALUE);
	put_value(out, value, kind);
	PUT(out, FIELD_END);
}

static void put_counter(struct buffer *out, struct span label, int64_t balance)
{
	if (balance > LARGE_MAX || balance < -LARGE_MAX)
		PUT(out, FIELD_COUNTER_LONG);
	else
		PUT(out, FIELD_COUNTER);
	html_apart(out, label);
	PUT(out, VALUE);
	json_number(balance, out);
	PUT(out, FIELD_END);
}

static unsigned field_of(const struct pass_view *shown, struct span key)
{
	unsigned i = 0;
	while (i < shown->field_count && !span_equal(shown->fields[i].key, key))
		i++;
	return i;
}

static void put_fields(struct buffer *out, const struct pass_view *shown, const struct json *visible)
{
	const struct json *values[TEMPLATE_FIELDS_MAX] = {NULL};
	unsigned           strangers = 0;
	bool               counts = shown->counter < shown->field_count;
	for (const struct json *value = visible->child; value; value = value->next) {
		unsigned field = field_of(shown, value->key);
		if (field < shown->field_count)
			values[field] = value;
		else
			strangers++;
	}
	if (!counts && !visible->child) return; /* nothing to show */
	PUT(out, FIELDS);
	if (counts) put_counter(out, shown->fields[shown->counter].label, shown->balance);
	for (unsigned i = 0; i < shown->field_count; i++)
		if (values[i] && i != shown->counter)
			put_field(out, shown->fields[i].label, values[i], shown->fields[i].kind);
	for (const struct json *value = visible->child; strangers && value; value = value->next) {
		if (field_of(shown, value->key) < shown->field_count) continue;
		put_field(out, value->key, value, FIELD_TEXT);
		strangers--;
	}
	PUT(out, FIELDS_END);
}

/* --- wallets --- */

static const struct wallet_button {
	enum wallet_kind kind;
	const char *class, *path, *words;
} buttons[] = {
#define B(kind, class, path, words) {WALLET_##kind, class, path, words},
#include "http/page.def"
#undef B
};

/* The wallets that the reader is offered: those of its system, or the others where these are off. */
static unsigned offered(const struct pass_view *shown, enum agent agent)
{
	unsigned own = agent == AGENT_APPLE     ? WALLET_BIT(WALLET_APPLE)
	               : agent == AGENT_ANDROID ? WALLET_BIT(WALLET_GOOGLE)
	                                        : WALLET_BITS_ALL;
	if (!shown->may_be_put) return 0;
	return shown->wallets & own ? shown->wallets & own : shown->wallets;
}

static void put_button(struct buffer *out, const struct wallet_button *button,
                       const struct card_reader *reader)
{
	PUT(out, WALLET);
	buffer_text(out, button->class);
	PUT(out, WALLET_LINK);
	html_url(out, reader->link);
	buffer_text(out, button->path);
	if (reader->badges[button->kind]) {
		PUT(out, WALLET_BADGE);
		buffer_text(out, wallet_kind_text(button->kind));
		PUT(out, WALLET_BADGE_WORDS);
		buffer_text(out, button->words);
		PUT(out, WALLET_BADGE_END);
	} else {
		PUT(out, WALLET_WORDS);
		buffer_text(out, button->words);
		PUT(out, WALLET_WORDS_END);
	}
}

/* True: an image is among them. */
static bool put_wallets(struct buffer *out, unsigned wallets, const struct card_reader *reader)
{
	bool has_badge = false;
	if (!wallets) return false;
	if (reader->agent == AGENT_IN_APP) {
		PUT(out, WALLET_BROWSER);
		return false;
	}
	PUT(out, WALLETS);
	for (unsigned i = 0; i < sizeof buttons / sizeof *buttons; i++) {
		if (!(wallets & WALLET_BIT(buttons[i].kind))) continue;
		put_button(out, &buttons[i], reader);
		has_badge |= reader->badges[buttons[i].kind];
	}
	PUT(out, WALLETS_END);
	return has_badge;
}

/* --- document --- */

static enum err put_qr(struct buffer *out, struct span value)
{
	if (!value.size) return OK;
	PUT(out, QR);
	enum err err = qr_svg(out, value);
	if (err) return err;
	PUT(out, QR_TEXT);
	html_apart(out, value);
	PUT(out, QR_END);
	return OK;
}

static enum err read_object(struct span text, struct arena *arena, struct json **object)
{
	enum err err = json_parse(text, arena, object);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_MALFORMED;
	return (*object)->kind == JSON_OBJECT ? OK : ERR_MALFORMED;
}

enum err card_render(const struct pass_view *shown, const struct card_reader *reader, struct arena *arena,
                     struct buffer *out, struct card_hashes *hashes)
{
	const unsigned wallets = offered(shown, reader->agent);
	struct json   *visible, *appearance = NULL;
	enum err       err = read_object(shown->visible, arena, &visible);
	if (!err && shown->appearance.size) err = read_object(shown->appearance, arena, &appearance);
	if (err) return err;
	struct span title = first_of(text_member(appearance, "title"), first_of(shown->title, shown->name));
	struct span card = first_of(text_member(appearance, "background_color"), shown->background_color);
	put_head(out, title, is_colour(card) ? card : span_str(card_default), wallets, hashes);
	PUT(out, CARD);
	hashes->has_images = put_image(out, shown, reader->link, PAGE_IMAGE_BANNER);
	PUT(out, HEADER);
	hashes->has_images |= put_image(out, shown, reader->link, PAGE_IMAGE_LOGO);
	put_header(out, title, shown->status);
	put_fields(out, shown, visible);
	hashes->has_images |= put_wallets(out, wallets, reader);
	if ((err = put_qr(out, shown->qr_value))) return err;
	PUT(out, END);
	return out->failed ? ERR_NO_MEMORY : OK;
}

void card_refusal(int status, struct buffer *out, struct card_hashes *hashes)
{
	static const struct {
		int         status;
		const char *title, *words;
	} rows[] = {
#define X(status, title, words) {status, title, words},
#include "http/page.def"
#undef X
	};
	unsigned row = 0;
	hashes->has_images = false;
	while (rows[row].status && rows[row].status != status)
		row++;
	put_head(out, span_str(rows[row].title), span_str(words_default), false, hashes);
	PUT(out, WORDS);
	buffer_text(out, rows[row].title);
	PUT(out, WORDS_TEXT);
	buffer_text(out, rows[row].words);
	PUT(out, WORDS_END);
	PUT(out, END);
}
