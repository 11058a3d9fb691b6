/* schemas/template.h, its settings for wallets, and the values that it accepts in a pass: an accepted template file is accepted
 * again in its stored form, with the same meaning, and a pass of it has a pass.json. `file \n changes of visible`. */
#include "tests/fuzz/fuzz.h"

#include "schemas/body.h"
#include "schemas/wallet/pass_json.h"

static struct arena  arena;
static struct buffer text, packed, scratch;

static void check_same(const struct template *a, const struct template *b)
{
	must(span_equal(a->name, b->name) && a->loyalty == b->loyalty && a->qr == b->qr);
	must(a->has_min_balance == b->has_min_balance && a->min_balance == b->min_balance);
	must(span_equal(a->name_field, b->name_field) && a->field_count == b->field_count);
	for (unsigned i = 0; i < a->field_count; i++) {
		must(span_equal(a->fields[i].key, b->fields[i].key));
		must(a->fields[i].kind == b->fields[i].kind && a->fields[i].locked == b->fields[i].locked);
		must(a->fields[i].max_length == b->fields[i].max_length);
	}
	must(!template_fixed(a, b) && !template_fixed(b, a));
}

static void check_rules(const struct template *template)
{
	unsigned locked = 0;
	must(template->name.size && template->field_count <= TEMPLATE_FIELDS_MAX);
	must(!template->has_min_balance || template->min_balance <= 0);
	for (unsigned i = 0; i < template->field_count; i++) {
		const struct template_field *field = &template->fields[i];
		must(template_field(template, field->key) == field);
		must(field->kind < FIELD_KINDS && field->max_length >= 0);
		locked += field->locked;
	}
	must(locked == (template->loyalty != LOYALTY_NONE));
	must(!template->counter || template->counter->locked);
}

static void check_settings(const struct template *template, const struct wallet_settings *settings)
{
	bool placed[TEMPLATE_FIELDS_MAX] = {false};
	for (unsigned place = 0; place < WALLET_PLACES; place++)
		for (unsigned i = 0; i < settings->places[place].count; i++) {
			unsigned field = settings->places[place].of[i];
			must(field < template->field_count && !placed[field]);
			placed[field] = true;
		}
	must(settings->message_label.size && settings->style < WALLET_STYLES);
	must(settings->max_distance >= 0 && settings->max_distance <= WALLET_DISTANCE_MAX);
	for (unsigned i = 0; i < settings->link_count; i++)
		must(settings->links[i].label.size && is_web_url(settings->links[i].url));
}

/* Keys of fields are unique over the pass. */
static void check_keys(const struct json *style)
{
	static struct span keys[2 * WALLET_FIELDS_MAX];
	unsigned           count = 0;
	for (const struct json *place = style->child; place; place = place->next)
		for (const struct json *field = place->child; field; field = field->next) {
			const struct json *key = json_member(field, "key");
			must(key && count < 2 * WALLET_FIELDS_MAX && json_member(field, "value"));
			for (unsigned i = 0; i < count; i++)
				must(!span_equal(keys[i], key->text));
			keys[count++] = key->text;
		}
}

static void check_pass(const struct template *template, const struct wallet_settings *settings,
                       struct span visible)
{
	struct wallet_pass pass = {.template = template,
	                           .settings = settings,
	                           .account_name = span_str("Cafe"),
	                           .pass_type = span_str("pass.example"),
	                           .team = span_str("ABCDE12345"),
	                           .serial = span_str("K9ydpZdMjBaxniYsEXl2yg"),
	                           .service_url = span_str("https://passes.example/"),
	                           .auth = span_str("3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
	                           .pass_id = span_str("ada"),
	                           .visible = visible,
	                           .appearance = visible,
	                           .message = span_str("News"),
	                           .announces = WALLET_ANNOUNCES_FIELD};
	struct json       *json;
	buffer_clear(&text);
	enum err err = wallet_pass_json(&pass, &arena, &text);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(json_parse(buffer_span(&text), &arena, &json) == OK);
	const struct json *style = json_member(json, wallet_style_text(settings->style));
	must(style && json_member(json, "authenticationToken"));
	check_keys(style);
}

static void check_changes(const struct template *template, struct span changes)
{
	msgpack_unpacked unpacked;
	struct json     *tree;
	struct reason    reason;
	if (json_parse(changes, &arena, &tree) || tree->kind != JSON_OBJECT) return;
	msgpack_packer packer = buffer_packer(&packed);
	buffer_clear(&packed);
	json_pack_object(tree, &packer, &scratch);
	msgpack_unpacked_init(&unpacked);
	must(msgpack_unpack_next(&unpacked, (const char *)packed.at, packed.size, NULL) ==
	     MSGPACK_UNPACK_SUCCESS);
	(void)!appearance_check(&unpacked.data, &reason);
	(void)!visible_check(template, &unpacked.data, &unpacked.data, &reason);
	if (!visible_check(template, NULL, &unpacked.data, &reason)) {
		for (const struct json *member = tree->child; member; member = member->next) {
			const struct template_field *field = template_field(template, member->key);
			must(field && !field->locked);
		}
		(void)!visible_check_required(template, &unpacked.data, &reason);
	}
	msgpack_unpacked_destroy(&unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply  supply = {span_of(bytes, size)};
	const uint8_t *end = size ? memchr(bytes, '\n', size) : NULL;
	struct span    file = supply_bytes(&supply, end ? (size_t)(end - bytes) : size);
	struct json   *tree, *again;
	static struct template template, stored;
	static struct wallet_settings settings, again_settings;
	struct file_fault             fault;
	if (!json_parse(file, &arena, &tree) && !wallet_template_read(tree, &template, &settings, &fault)) {
		check_rules(&template);
		check_settings(&template, &settings);
		buffer_clear(&text);
		json_text(tree, &text);
		must(json_parse(buffer_span(&text), &arena, &again) == OK);
		must(wallet_template_read(again, &stored, &again_settings, &fault) == OK);
		check_same(&template, &stored);
		must(again_settings.style == settings.style && again_settings.barcode == settings.barcode);
		must(!memcmp(again_settings.places, settings.places, sizeof settings.places));
		(void)supply_byte(&supply);
		struct span changes = supply_rest(&supply);
		check_changes(&template, changes);
		check_pass(&template, &settings, changes);
	}
	arena_reset(&arena);
	return 0;
}
