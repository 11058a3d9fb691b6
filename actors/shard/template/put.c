/* template put: makes a template, or replaces the one that the file names. What its passes depend on stays. */
#include "actors/shard/command.h"

#include "schemas/body.h"
#include "store/keys.h"

/* The file as JSON text again, without its own id: that is the row's key. */
static void file_text(const msgpack_object *file, struct buffer *out)
{
	buffer_byte(out, '{');
	for (uint32_t i = 0; i < file->via.map.size; i++) {
		const msgpack_object_kv *member = &file->via.map.ptr[i];
		if (span_is(object_text(&member->key), "pass_template_id")) continue;
		if (out->size > 1) buffer_byte(out, ',');
		json_quote(object_text(&member->key), out);
		buffer_byte(out, ':');
		if (member->val.type == MSGPACK_OBJECT_STR)
			json_quote(object_text(&member->val), out);
		else if (member->val.type == MSGPACK_OBJECT_NIL)
			buffer_text(out, "null");
		else
			buffer_append(out, object_text(&member->val).at, object_text(&member->val).size);
	}
	buffer_byte(out, '}');
}

/* The number the file's own id names; one past the last when it has none. */
static enum err choose_number(const struct request *request, const msgpack_object *file, uint32_t *number)
{
	struct account_id owner;
	*number = request->account->template_count + 1;
	for (uint32_t i = 0; i < file->via.map.size; i++) {
		const msgpack_object_kv *member = &file->via.map.ptr[i];
		if (!span_is(object_text(&member->key), "pass_template_id")) continue;
		if (!template_id_read(object_text(&member->val), &owner, number))
			return ERR_PASS_TEMPLATE_NOT_FOUND;
		if (memcmp(owner.b, request->account->id.b, sizeof owner.b)) return ERR_UNAUTHORIZED;
		if (*number == 0 || *number > request->account->template_count)
			return ERR_PASS_TEMPLATE_NOT_FOUND;
	}
	return OK;
}

static enum err store_template(struct request *request, uint32_t number, struct span text)
{
	struct row_key key = key_u32(request->account->id, number);
	enum err       err = write_put(view_writes(request->view), TABLE_TEMPLATE, key_span(&key), text);
	if (err || number <= request->account->template_count) return err;
	struct account_row row = request->account->row;
	row.template_count = number;
	return account_row_put(request->view, request->account->id, &row);
}

static enum err read_rules(const struct request *request, const struct json *json, struct template *rules,
                           struct outcome *outcome)
{
	struct template_fault *fault = arena_take(view_arena(request->view), sizeof *fault);
	if (!fault) return ERR_NO_MEMORY;
	if (!template_read(json, rules, fault)) return OK;
	outcome->message = fault->message;
	return blame(outcome, ERR_INVALID_INPUT, span_str(fault->field));
}

enum err on_TEMPLATE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *file = &request->args[ARG_TEMPLATE_PUT_file];
	struct buffer         text = {0};
	struct template rules;
	struct json   *json;
	uint32_t       number;
	char           id[TEMPLATE_ID_TEXT];
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = choose_number(request, file, &number);
	if (err) return blame(outcome, err, span_str("pass_template_id"));
	if (number > TEMPLATES_PER_ACCOUNT_MAX) return ERR_RESOURCE_CONFLICT;
	file_text(file, &text);
	if (text.failed) err = ERR_NO_MEMORY;
	if (!err) err = json_parse(buffer_span(&text), view_arena(request->view), &json);
	if (!err) err = read_rules(request, json, &rules, outcome);
	if (!err && number <= request->account->template_count &&
	    (outcome->message = template_fixed(&request->account->templates[number - 1]->rules, &rules)))
		err = ERR_RESOURCE_CONFLICT;
	if (!err) err = store_template(request, number, buffer_span(&text));
	buffer_free(&text);
	if (err) return err;
	template_id_text(request->account->id, number, id);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "pass_template_id");
	pack_text(&pk, id);
	return OK;
}
