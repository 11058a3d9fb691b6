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

/* The refusal of an unknown key names the template's keys, but not the counter, which cannot be written. */
static enum err refuse_visible(struct request *request, struct outcome       *outcome,
                               const struct template *template, struct reason reason)
{
	struct span known[TEMPLATE_FIELDS_MAX];
	char        hint[HINT_TEXT];
	unsigned    count = 0;
	for (unsigned i = 0; i < template->field_count; i++)
		if (!template->fields[i].locked) known[count++] = template->fields[i].key;
	if (reason.cause == CAUSE_VISIBLE_UNKNOWN) {
		hint_text(reason.field, known, count, hint);
		reason.wanted = hint;
	}
	return refuse_member(request, outcome, "visible", reason);
}

enum err pass_check_size(struct outcome *outcome, const struct body *body)
{
	if (body_size(body) <= PASS_STORED_BYTES_MAX) return OK;
	return refuse(outcome, REASON_OF_ALL(PASS_LARGE, .most = PASS_STORED_BYTES_MAX));
}

enum err pass_take_visible(struct request *request, struct outcome *outcome, const struct template *template,
                           const msgpack_object *changes, struct body *body)
{
	msgpack_object held, members;
	struct reason  reason;
	bool           creation = body->visible.size == 0;
	enum err       err = object_open(body->visible, view_arena(request->view), request->zone, &held);
	if (err) return err;
	if (visible_check(template, &held, changes, &reason))
		return refuse_visible(request, outcome, template, reason);
	if ((err = merge(request, &held, changes, &body->visible, &members)) || !creation) return err;
	err = visible_check_required(template, &members, &reason);
	return err ? refuse_visible(request, outcome, template, reason) : OK;
}

enum err pass_check_appearance(struct request *request, struct outcome *outcome,
                               const msgpack_object *changes)
{
	struct reason reason;
	enum err      err = appearance_check(changes, &reason);
	return err ? refuse_member(request, outcome, "appearance", reason) : OK;
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
