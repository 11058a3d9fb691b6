/* schemas/template.h and the values that it accepts in a pass: an accepted template file is accepted again in
 * its stored form, with the same meaning. `file \n changes of visible`. */
#include "tests/fuzz/fuzz.h"

#include "schemas/body.h"
#include "schemas/template.h"

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
	struct template template, stored;
	struct file_fault fault;
	if (!json_parse(file, &arena, &tree) && !template_read(tree, &template, &fault)) {
		check_rules(&template);
		buffer_clear(&text);
		json_text(tree, &text);
		must(json_parse(buffer_span(&text), &arena, &again) == OK);
		must(template_read(again, &stored, &fault) == OK);
		check_same(&template, &stored);
		(void)supply_byte(&supply);
		check_changes(&template, supply_rest(&supply));
	}
	arena_reset(&arena);
	return 0;
}
