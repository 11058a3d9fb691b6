/* Compares two versions of a pass's visible data. */
#include "schemas/wallet/edited.h"

#include "schemas/json.h"

static enum err read_object(struct span text, struct arena *arena, struct json **object)
{
	*object = NULL;
	if (!text.size) return OK;
	enum err err = json_parse(text, arena, object);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	return (*object)->kind == JSON_OBJECT ? OK : ERR_DAMAGED;
}

/* Fields are texts, numbers, booleans and null. */
static bool is_same(const struct json *before, const struct json *after)
{
	bool is_none = !before || before->kind == JSON_NULL,
	     will_be_none = !after || after->kind == JSON_NULL;
	if (is_none || will_be_none) return is_none && will_be_none;
	if (before->kind != after->kind) return false;
	if (before->kind != JSON_STRING && before->kind != JSON_NUMBER) return true; /* true or false */
	return span_equal(before->text, after->text);
}

static const struct json *value_of(const struct json *object, struct span key)
{
	for (const struct json *value = object ? object->child : NULL; value; value = value->next)
		if (span_equal(value->key, key)) return value;
	return NULL;
}

enum err wallet_edited_field(const struct wallet_edit *edit, struct arena *arena, uint8_t *field)
{
	const struct template *template = edit->template;
	struct json *was, *is;
	enum err     err = read_object(edit->before, arena, &was);
	*field = 0;
	if (!err) err = read_object(edit->after, arena, &is);
	for (unsigned i = 0; !err && i < template->field_count; i++) {
		struct span key = template->fields[i].key;
		bool        is_counter = &template->fields[i] == template->counter;
		if (is_counter || !edit->settings->changes[i].size) continue;
		if (is_same(value_of(was, key), value_of(is, key))) continue;
		*field = (uint8_t)(i + 1);
		return OK;
	}
	return err;
}
