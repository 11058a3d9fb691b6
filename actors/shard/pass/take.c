/* What creation and PATCH share: a caller's `visible` and `appearance`, checked and laid over the body. */
#include "actors/shard/pass/pass.h"

/* `changes` laid over the object whose text is *text; *members is what came of it. */
static enum err lay_over(struct request *request, const msgpack_object *changes, struct span *text,
                         msgpack_object *members)
{
	struct arena  *arena = view_arena(request->view);
	msgpack_object base;
	enum err       err = object_open(*text, arena, request->zone, &base);
	if (err || (err = map_merge(&base, changes, false, request->zone, members))) return err;
	return object_text_of(members, arena, text);
}

enum err pass_take_visible(struct request *request, struct outcome *outcome, const struct template *template,
                           const msgpack_object *changes, struct body *body)
{
	msgpack_object members;
	struct span    key;
	bool           creation = body->visible.size == 0;
	enum err       err = visible_check(template, changes, &key);
	if (err) return blame_member(request, outcome, err, "visible", key);
	if ((err = lay_over(request, changes, &body->visible, &members)) || !creation) return err;
	err = visible_check_required(template, &members, &key);
	return err ? blame_member(request, outcome, err, "visible", key) : OK;
}

enum err pass_check_appearance(struct request *request, struct outcome *outcome,
                               const msgpack_object *changes)
{
	struct span key;
	enum err    err = appearance_check(changes, &key);
	return err ? blame_member(request, outcome, err, "appearance", key) : OK;
}

enum err pass_take_appearance(struct request *request, const msgpack_object *changes, struct body *body)
{
	msgpack_object members;
	enum err       err = lay_over(request, changes, &body->appearance, &members);
	if (err) return err;
	if (members.via.map.size == 0) body->appearance = span_of(NULL, 0);
	return OK;
}

enum err pass_take_hidden(struct request *request, const msgpack_object *changes, struct body *body)
{
	msgpack_object members;
	return lay_over(request, changes, &body->hidden, &members);
}
