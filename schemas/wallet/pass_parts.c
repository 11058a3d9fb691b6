/* Reads a pass's JSON texts. */
#include "schemas/wallet/pass_parts.h"

static enum err read_object(struct span text, struct arena *arena, const struct json **object)
{
	struct json *json;
	*object = NULL;
	if (!text.size) return OK;
	enum err err = json_parse(text, arena, &json);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	*object = json;
	return json->kind == JSON_OBJECT ? OK : ERR_DAMAGED;
}

enum err pass_parts_read(const struct wallet_pass *pass, struct arena *arena, struct pass_parts *parts)
{
	const struct json *visible;
	*parts = (struct pass_parts){.pass = pass};
	enum err err = read_object(pass->visible, arena, &visible);
	if (!err) err = read_object(pass->appearance, arena, &parts->appearance);
	for (const struct json *value = err || !visible ? NULL : visible->child; value; value = value->next) {
		const struct template_field *field = template_field(pass->template, value->key);
		if (field) parts->values[field - pass->template->fields] = value;
	}
	return err;
}

static struct span first_of(struct span a, struct span b)
{
	return a.size ? a : b;
}

static struct span own(const struct pass_parts *parts, const char *key)
{
	const struct json *value = parts->appearance ? json_member(parts->appearance, key) : NULL;
	return value && value->kind == JSON_STRING ? value->text : span_of(NULL, 0);
}

struct span pass_parts_title(const struct pass_parts *parts)
{
	const struct template *template = parts->pass->template;
	struct span general = first_of(template->title, template->name);
	return first_of(own(parts, "title"), first_of(parts->pass->settings->logo_text, general));
}

struct span pass_parts_background(const struct pass_parts *parts)
{
	struct span colour = first_of(own(parts, "background_color"),
	                              parts->pass->template->background_color);
	return is_colour(colour) ? colour : span_of(NULL, 0);
}

struct span pass_parts_organization(const struct pass_parts *parts)
{
	return first_of(parts->pass->settings->organization, parts->pass->account_name);
}
