/* What creation and PATCH share: a caller's `visible` and `appearance`, checked and laid over the body. */
#include "actors/shard/pass/pass.h"

/* `changes` laid over `base`; *members is what came of it, *text its text. */
static enum err merge(struct request *request, const msgpack_object *base, const msgpack_object *changes,
                      struct span *text, msgpack_object *members)
{
	enum err err = map_merge(base, changes, false, request->zone, members);
	return err ? err : object_text_of(members, view_arena(request->view), text);
}

/* The same over the object whose text is *text. */
static enum err lay_over(struct request *request, const msgpack_object *changes, struct span *text,
                         msgpack_object *members)
{
	msgpack_object base;
	enum err       err = object_open(*text, view_arena(request->view), request->zone, &base);
	return err ? err : merge(request, &base, changes, text, members);
}

enum err pass_take_visible(struct request *request, struct outcome *outcome, const struct template *template,
                           const msgpack_object *changes, struct body *body)
{
	msgpack_object held, members;
	struct span    key;
	bool           creation = body->visible.size == 0;
	enum err       err = object_open(body->visible, view_arena(request->view), request->zone, &held);
	if (err) return err;
	if ((err = visible_check(template, &held, changes, &key)))
		return blame_member(request, outcome, err, "visible", key);
	if ((err = merge(request, &held, changes, &body->visible, &members)) || !creation) return err;
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
