/* What creation and PATCH share: a caller's `visible` and `appearance`, checked and laid over the body. */
#include "actors/shard/pass/pass.h"

static enum err blame_member(struct request *request, struct outcome *outcome, enum err err, const char *object,
			     struct span key)
{
	size_t prefix = strlen(object), size = prefix + 1 + key.size;
	char  *field = msgpack_zone_malloc(request->zone, size);
	if (!field) return ERR_NO_MEMORY;
	memcpy(field, object, prefix);
	field[prefix] = '.';
	if (key.size) memcpy(field + prefix + 1, key.at, key.size);
	return blame(outcome, err, span_of(field, size));
}

enum err pass_take_visible(struct request *request, struct outcome *outcome, const struct template *template,
			   const msgpack_object *arg, struct body *body)
{
	msgpack_object *merged = msgpack_zone_malloc(request->zone, sizeof *merged);
	struct span     key;
	enum err        err = OK;
	if (!merged) return ERR_NO_MEMORY;
	if (arg_present(arg)) {
		if ((err = visible_check(template, arg, &key))) return blame_member(request, outcome, err, "visible", key);
		if ((err = map_merge(body->visible, arg, false, request->zone, merged))) return err;
		body->visible = merged;
	}
	err = visible_check_required(template, body->visible, &key);
	return err ? blame_member(request, outcome, err, "visible", key) : OK;
}

enum err pass_take_appearance(struct request *request, struct outcome *outcome, const msgpack_object *arg,
			      struct body *body)
{
	msgpack_object *merged = msgpack_zone_malloc(request->zone, sizeof *merged);
	struct span     key;
	if (!merged) return ERR_NO_MEMORY;
	enum err err = appearance_check(arg, &key);
	if (err) return blame_member(request, outcome, err, "appearance", key);
	if ((err = map_merge(body->appearance, arg, false, request->zone, merged))) return err;
	if (merged->via.map.size == 0) merged->type = MSGPACK_OBJECT_NIL;
	body->appearance = merged;
	return OK;
}
