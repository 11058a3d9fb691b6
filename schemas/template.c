/* Parses and checks the template file. One reader serves the command line's input and stored templates. */
#include "schemas/template.h"

#include <stdio.h>
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
		uint8_t c = text.at[i], folded = c | 0x20; /* also makes digits of control characters */
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

/* A short text, shown to people. */
static bool read_shown(const struct json *object, const char *key, struct span *to)
{
	return file_text(object, key, to) && to->size <= TEMPLATE_TEXT_BYTES_MAX;
}

static const char unknown[] = "A template has no such member here";

/* ---- fields ---- */

/* Begins with a comma and a blank. */
static const char types[] = ""
#define T(NAME, text) ", " text
#include "schemas/template.def"
#undef T
    ;

static bool read_field(const struct json *value, const char *in, struct template_field *field,
                       struct file_fault *fault)
{
	static const char *const keys[] = {"key", "label", "type", "required", "locked", "max_length", NULL};
	unsigned                 kind;
	*field = (struct template_field){.key = {NULL, 0}};
	if (value->kind != JSON_OBJECT) return file_wrong_whole(fault, in, "A field is a JSON object.");
	if (!file_knows(value, keys, in, unknown, fault)) return false;
	if (!file_text(value, "key", &field->key) || !field->key.size ||
	    field->key.size > TEMPLATE_KEY_BYTES_MAX)
		return file_wrong(fault, in, "key", "A field has a key, a string of 1 to 100 bytes.");
	field->label = field->key;
	if (!read_shown(value, "label", &field->label))
		return file_wrong(fault, in, "label", "A label is a string of 1 to 200 bytes.");
	if (!file_choice(value, "type", kind_texts, FIELD_KINDS, &kind))
		return file_must(fault, in, "type", "one of ", types + 2);
	field->kind = (enum field_kind)kind;
	if (!file_flag(value, "required", &field->required))
		return file_must(fault, in, "required", "true or false", NULL);
	if (!file_flag(value, "locked", &field->locked))
		return file_must(fault, in, "locked", "true or false", NULL);
	if (!file_integer(value, "max_length", &field->max_length) || field->max_length < 0)
		return file_wrong(fault, in, "max_length",
		                  "A max_length is a whole number from 0 to 9223372036854775807.");
	return true;
}

/* Exactly one locked field, the balance's, with loyalty; none without. */
static bool take_counter(struct template *template, const struct template_field *field, const char *in,
                         struct file_fault *fault)
{
	if (template->loyalty == LOYALTY_NONE)
		return file_wrong(fault, in, "locked",
		                  "A template whose loyalty_type is none has no locked field.");
	if (template->counter)
		return file_wrong(fault, in, "locked",
		                  "Another field is locked already: there is one counter.");
	template->counter = field;
	return true;
}

static bool read_fields(const struct json *file, struct template *template, struct file_fault *fault)
{
	const struct json *list = json_member(file, "fields");
	char               in[24];
	if (!list || list->kind != JSON_ARRAY)
		return file_wrong_whole(fault, "fields", "A template has fields, a JSON array.");
	_Static_assert(TEMPLATE_FIELDS_MAX == 64, "the sentence has the number");
	if (list->count > TEMPLATE_FIELDS_MAX)
		return file_wrong_whole(fault, "fields", "A template has at most 64 fields.");
	for (const struct json *value = list->child; value; value = value->next) {
		struct template_field *field = &template->fields[template->field_count];
		snprintf(in, sizeof in, "fields[%u]", template->field_count);
		if (!read_field(value, in, field, fault)) return false;
		if (template_field(template, field->key))
			return file_wrong(fault, in, "key", "Another field has this key already.");
		template->field_count++;
		if (field->locked && !take_counter(template, field, in, fault)) return false;
	}
	if (template->counter || template->loyalty == LOYALTY_NONE) return true;
	return file_wrong_whole(fault, "fields",
	                        "A template with loyalty has one locked field, which shows the counter.");
}

/* ---- the rest ---- */

static bool read_appearance(const struct json *file, struct template *template, struct file_fault *fault)
{
	static const char *const keys[] = {"background_color", "logo", "banner", "title", NULL};
	const struct json       *value = json_member(file, "appearance");
	struct span              text[4] = {{NULL, 0}};
	const char              *in = "appearance";
	if (!value || value->kind == JSON_NULL) return true;
	if (value->kind != JSON_OBJECT) return file_wrong_whole(fault, in, "An appearance is a JSON object.");
	if (!file_knows(value, keys, in, unknown, fault)) return false;
	for (unsigned i = 0; keys[i]; i++)
		if (!file_text(value, keys[i], &text[i]))
			return file_must(fault, in, keys[i], "a string that is not empty", NULL);
	if (text[0].size && !is_colour(text[0]))
		return file_wrong(fault, in, keys[0], "A colour is #rrggbb.");
	for (unsigned i = 1; i < 3; i++)
		if (text[i].size && !is_web_url(text[i]))
			return file_wrong(fault, in, keys[i], "An image is an http or https URL.");
	if (text[3].size > TEMPLATE_TEXT_BYTES_MAX)
		return file_wrong(fault, in, keys[3], "A title is a string of 1 to 200 bytes.");
	template->background_color = text[0];
	template->logo = text[1];
	template->banner = text[2];
	template->title = text[3];
	return true;
}

static bool read_name_field(const struct json *file, struct template *template, struct file_fault *fault)
{
	const char *what = "name_field";
	if (!file_text(file, what, &template->name_field))
		return file_wrong_whole(fault, what, "A name_field is the key of a field.");
	if (!template->name_field.size) return true;
	const struct template_field *field = template_field(template, template->name_field);
	if (!field) return file_wrong_whole(fault, what, "No field has the key that name_field names.");
	if (field->locked) return file_wrong_whole(fault, what, "The counter cannot be the name_field.");
	return true;
}

static bool read_min_balance(const struct json *file, struct template *template, struct file_fault *fault)
{
	const char        *what = "min_balance";
	const struct json *value = json_member(file, what);
	template->has_min_balance = file_has(file, what);
	if (!template->has_min_balance) return true;
	if (template->loyalty == LOYALTY_NONE)
		return file_wrong_whole(
		    fault, what, "A template whose loyalty_type is none has no balance, nor a least one.");
	if (!json_integer(value, &template->min_balance) || template->min_balance > 0)
		return file_wrong_whole(fault, what,
		                        "A min_balance is a whole number, 0 or less: counters start at 0.");
	return true;
}

static bool read_head(const struct json *file, struct template *template, struct file_fault *fault)
{
	static const char *const keys[] = {"pass_template_id", "name",   "loyalty_type", "qr",
	                                   "name_field",       "fields", "appearance",   "min_balance",
	                                   "wallet",           NULL};
	unsigned                 loyalty;
	if (file->kind != JSON_OBJECT) return file_wrong_whole(fault, "file", "A template is a JSON object.");
	if (!file_knows(file, keys, "", unknown, fault)) return false;
	if (!read_shown(file, "name", &template->name) || !template->name.size)
		return file_wrong_whole(fault, "name", "A template has a name, a string of 1 to 200 bytes.");
	if (!file_choice(file, "loyalty_type", loyalty_texts, 3, &loyalty))
		return file_wrong_whole(fault, "loyalty_type", "A loyalty_type is none, balance or stamps.");
	template->loyalty = (enum loyalty)loyalty;
	if (!file_flag(file, "qr", &template->qr)) return file_must(fault, "", "qr", "true or false", NULL);
	return true;
}

enum err template_read(const struct json *file, struct template *template, struct file_fault *fault)
{
	*template = (struct template){.name = {NULL, 0}};
	bool good = read_head(file, template, fault) && read_fields(file, template, fault) &&
	            read_name_field(file, template, fault) && read_appearance(file, template, fault) &&
	            read_min_balance(file, template, fault);
	return good ? OK : ERR_INVALID_INPUT;
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
