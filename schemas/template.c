/* The template file, read and judged. One reader serves the command line's input and what is stored. */
#include "schemas/template.h"

#include <strings.h>

static const char *const loyalty_texts[] = {"none", "balance", "stamps"};

static const char *const kind_texts[FIELD_KINDS] = {
#define T(NAME, text) [FIELD_##NAME] = text,
#include "schemas/template.def"
#undef T
};

const char *loyalty_text(enum loyalty loyalty)
{
	return loyalty_texts[loyalty];
}

const char *field_kind_text(enum field_kind kind)
{
	return kind_texts[kind];
}

bool is_colour(struct span text)
{
	if (text.size != 7 || text.at[0] != '#') return false;
	for (size_t i = 1; i < text.size; i++) {
		uint8_t c = text.at[i],
		        folded = c | 0x20; /* which would also make digits of control characters */
		if (!(c >= '0' && c <= '9') && !(folded >= 'a' && folded <= 'f')) return false;
	}
	return true;
}

bool is_web_url(struct span text)
{
	static const char *const schemes[] = {"https://", "http://"};
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] <= ' ' || text.at[i] == 0x7f) return false;
	for (unsigned i = 0; i < 2; i++) {
		size_t size = strlen(schemes[i]);
		if (text.size > size && !strncasecmp((const char *)text.at, schemes[i], size))
			return text.at[size] != '/' && text.at[size] != '?' && text.at[size] != '#';
	}
	return false;
}

const struct template_field *template_field(const struct template *template, struct span key)
{
	for (unsigned i = 0; i < template->field_count; i++)
		if (span_equal(template->fields[i].key, key)) return &template->fields[i];
	return NULL;
}

/* The readers below leave `*to` alone when the member is absent or null; false means: present, but wrong. */
static bool read_text(const struct json *object, const char *key, struct span *to)
{
	const struct json *value = json_member(object, key);
	if (!value || value->kind == JSON_NULL) return true;
	*to = value->text;
	return value->kind == JSON_STRING && value->text.size > 0;
}

static bool read_flag(const struct json *object, const char *key, bool *to)
{
	const struct json *value = json_member(object, key);
	if (!value || value->kind == JSON_NULL) return true;
	*to = value->kind == JSON_TRUE;
	return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
}

static bool read_choice(const struct json *object, const char *key, const char *const *texts, unsigned count,
                        unsigned *to)
{
	const struct json *value = json_member(object, key);
	if (!value || value->kind != JSON_STRING) return false;
	for (*to = 0; *to < count; ++*to)
		if (span_is(value->text, texts[*to])) return true;
	return false;
}

static bool read_integer(const struct json *object, const char *key, int64_t *to)
{
	const struct json *value = json_member(object, key);
	return !value || value->kind == JSON_NULL || json_integer(value, to);
}

static bool known_keys(const struct json *object, const char *const *keys)
{
	for (const struct json *member = object->child; member; member = member->next) {
		unsigned i = 0;
		while (keys[i] && !span_is(member->key, keys[i]))
			i++;
		if (!keys[i]) return false;
	}
	return true;
}

static bool read_field(const struct json *value, struct template_field *field)
{
	static const char *const keys[] = {"key", "label", "type", "required", "locked", "max_length", NULL};
	unsigned                 kind;
	*field = (struct template_field){.key = {NULL, 0}};
	if (value->kind != JSON_OBJECT || !known_keys(value, keys)) return false;
	if (!read_text(value, "key", &field->key) || !field->key.size || field->key.size > 100) return false;
	field->label = field->key;
	if (!read_text(value, "label", &field->label)) return false;
	if (!read_choice(value, "type", kind_texts, FIELD_KINDS, &kind)) return false;
	field->kind = (enum field_kind)kind;
	if (!read_flag(value, "required", &field->required) || !read_flag(value, "locked", &field->locked))
		return false;
	return read_integer(value, "max_length", &field->max_length) && field->max_length >= 0;
}

static bool read_fields(const struct json *file, struct template *template)
{
	const struct json *list = json_member(file, "fields");
	if (!list || list->kind != JSON_ARRAY || list->count > TEMPLATE_FIELDS_MAX) return false;
	for (const struct json *value = list->child; value; value = value->next) {
		struct template_field *field = &template->fields[template->field_count];
		if (!read_field(value, field) || template_field(template, field->key)) return false;
		template->field_count++;
		if (!field->locked) continue;
		if (template->counter) return false; /* one counter */
		template->counter = field;
	}
	return (template->counter != NULL) == (template->loyalty != LOYALTY_NONE);
}

static bool read_appearance(const struct json *file)
{
	const struct json       *value = json_member(file, "appearance");
	struct span              colour = {NULL, 0}, logo = {NULL, 0}, banner = {NULL, 0}, title = {NULL, 0};
	static const char *const keys[] = {"background_color", "logo", "banner", "title", NULL};
	if (!value || value->kind == JSON_NULL) return true;
	if (value->kind != JSON_OBJECT || !known_keys(value, keys)) return false;
	return read_text(value, "background_color", &colour) && (!colour.size || is_colour(colour)) &&
	       read_text(value, "logo", &logo) && (!logo.size || is_web_url(logo)) &&
	       read_text(value, "banner", &banner) && (!banner.size || is_web_url(banner)) &&
	       read_text(value, "title", &title);
}

static bool read_name_field(const struct json *file, struct template *template)
{
	if (!read_text(file, "name_field", &template->name_field)) return false;
	if (!template->name_field.size) return true;
	const struct template_field *field = template_field(template, template->name_field);
	return field && !field->locked;
}

static bool read_min_balance(const struct json *file, struct template *template)
{
	const struct json *value = json_member(file, "min_balance");
	template->has_min_balance = value && value->kind != JSON_NULL;
	if (!template->has_min_balance) return true;
	return template->loyalty != LOYALTY_NONE && json_integer(value, &template->min_balance) &&
	       template->min_balance <= 0; /* counters start at 0 */
}

enum err template_read(const struct json *file, struct template *template, const char **field)
{
	static const char *const keys[] = {
	    "pass_template_id", "name",       "loyalty_type", "qr", "name_field",
	    "fields",           "appearance", "min_balance",  NULL};
	unsigned loyalty;
	*template = (struct template){.name = {NULL, 0}};
	*field = "file";
	if (file->kind != JSON_OBJECT || !known_keys(file, keys)) return ERR_INVALID_INPUT;
	*field = "name";
	if (!read_text(file, "name", &template->name) || !template->name.size) return ERR_INVALID_INPUT;
	*field = "loyalty_type";
	if (!read_choice(file, "loyalty_type", loyalty_texts, 3, &loyalty)) return ERR_INVALID_INPUT;
	template->loyalty = (enum loyalty)loyalty;
	*field = "qr";
	if (!read_flag(file, "qr", &template->qr)) return ERR_INVALID_INPUT;
	*field = "fields";
	if (!read_fields(file, template)) return ERR_INVALID_INPUT;
	*field = "name_field";
	if (!read_name_field(file, template)) return ERR_INVALID_INPUT;
	*field = "appearance";
	if (!read_appearance(file)) return ERR_INVALID_INPUT;
	*field = "min_balance";
	return read_min_balance(file, template) ? OK : ERR_INVALID_INPUT;
}

const char *template_fixed(const struct template *before, const struct template *after)
{
	if (before->loyalty != after->loyalty) return "A template's loyalty_type is fixed for good.";
	if (before->qr != after->qr) return "A template's qr is fixed for good.";
	if (!span_equal(before->name_field, after->name_field))
		return "A template's name_field is fixed for good.";
	if (before->counter && !span_equal(before->counter->key, after->counter->key))
		return "The key of a template's locked field is fixed for good.";
	return NULL;
}
