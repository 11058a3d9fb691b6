/* Names and searched text of a pass. A value that is not a string is searched in its JSON form. */
#include "schemas/searchable.h"

#include "schemas/fold.h"
#include "schemas/json.h"

static enum err open_visible(const struct body *body, struct arena *arena, const struct json **first)
{
	struct json *visible;
	*first = NULL;
	if (body->visible.size == 0) return OK;
	enum err err = json_parse(body->visible, arena, &visible);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	if (visible->kind != JSON_OBJECT) return ERR_DAMAGED;
	*first = visible->child;
	return OK;
}

static void fold_value(const struct json *value, size_t points_max, struct buffer *out)
{
	struct buffer text = {0};
	if (value->kind == JSON_STRING) {
		fold_first(value->text, points_max, out);
		return;
	}
	json_text(value, &text);
	fold_text(buffer_span(&text), out); /* an exponent may be written as E */
	out->failed |= text.failed;
	buffer_free(&text);
}

enum err searchable_name(const struct body *body, struct span name_field, struct arena *arena,
                         struct buffer *out)
{
	const struct json *member;
	size_t             begin = out->size;
	if (name_field.size == 0) return OK;
	enum err err = open_visible(body, arena, &member);
	if (err) return err;
	for (; member; member = member->next)
		if (span_equal(member->key, name_field)) fold_value(member, NAME_CODE_POINTS_MAX, out);
	if (out->failed) return ERR_NO_MEMORY;
	struct span whole = span_of(out->at + begin, out->size - begin);
	out->size = begin + utf8_first(whole, NAME_CODE_POINTS_MAX).size;
	return OK;
}

enum err searchable_text(const struct body *body, struct arena *arena, struct buffer *out)
{
	const struct json *member;
	enum err           err = open_visible(body, arena, &member);
	if (err) return err;
	fold_text(body->pass_id, out);
	for (; member; member = member->next) {
		buffer_byte(out, SEARCHABLE_SEPARATOR);
		fold_value(member, SIZE_MAX, out);
	}
	return out->failed ? ERR_NO_MEMORY : OK;
}
