/* Checks the terms of a reward that a client gives, and fills in defaults. The types and ranges of arguments have been
 * checked by schemas/api/reward.def, but not those of the members of `expiration`. */
#include "actors/shard/reward/reward.h"

#include "schemas/body.h"
#include "schemas/date.h"
#include "schemas/api/reward.h"
#include "schemas/fold.h"
#include "schemas/json.h"

/* The index of each term, counted from the first. */
#define TERM(name) TERM_##name = ARG_REWARD_CREATE_##name - ARG_REWARD_CREATE_name
enum {
	TERM(name),
	TERM(kind),
	TERM(description),
	TERM(repeat_assignment),
	TERM(redemption_allowance),
	TERM(assignment_limit),
	TERM(expiration)
};
_Static_assert((int)ARG_REWARD_CREATE_expiration == (int)ARG_REWARD_CREATE_name + (int)TERM_expiration &&
                   (int)ARG_REWARD_PUT_expiration == (int)ARG_REWARD_PUT_name + (int)TERM_expiration &&
                   (int)ARG_REWARD_RESTORE_expiration == (int)ARG_REWARD_RESTORE_name + (int)TERM_expiration,
               "the terms stand together, in one order");

/* The members of `expiration`; NULL: absent or null. */
struct members {
	const msgpack_object *kind, *window_seconds, *fixed_end;
};

static const struct span names[] = {
    {(const uint8_t *)"kind", 4}, {(const uint8_t *)"window_seconds", 14}, {(const uint8_t *)"fixed_end", 9}};

static enum err refuse_unknown(struct request *request, struct outcome *outcome, struct span key)
{
	char hint[HINT_TEXT];
	hint_text(key, names, sizeof names / sizeof *names, hint);
	return refuse_member(request, outcome, "expiration",
	                     *REASON_OF_ALL(EXPIRATION_UNKNOWN, .field = key, .wanted = hint));
}

static enum err sort_members(struct request *request, struct outcome *outcome, const msgpack_object *map,
                             struct members *members)
{
	*members = (struct members){.kind = NULL};
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		struct span            key = object_text(&map->via.map.ptr[i].key);
		const msgpack_object  *value = &map->via.map.ptr[i].val;
		const msgpack_object **place = span_is(key, "kind")             ? &members->kind
		                               : span_is(key, "window_seconds") ? &members->window_seconds
		                               : span_is(key, "fixed_end")      ? &members->fixed_end
		                                                                : NULL;
		if (!place) return refuse_unknown(request, outcome, key);
		if (value->type != MSGPACK_OBJECT_NIL) *place = value;
	}
	return OK;
}

static bool read_window(const msgpack_object *value, uint64_t *seconds)
{
	struct json number = {.kind = JSON_NUMBER, .text = object_text(value)};
	int64_t     integer;
	bool digit = value->type == MSGPACK_OBJECT_BIN && number.text.size && number.text.at[0] >= '0' &&
	             number.text.at[0] <= '9';
	if (!digit || !json_integer(&number, &integer)) return false;
	*seconds = (uint64_t)integer;
	return integer >= 1 && integer <= REWARD_WINDOW_SECONDS_MAX;
}

/* Each of the two times must be present exactly with its kind. */
static enum err take_expiration(struct request *request, struct outcome *outcome, const msgpack_object *map,
                                struct reward_version *row)
{
	struct members members;
	enum err       err = sort_members(request, outcome, map, &members);
	if (err) return err;
	if (!members.kind || members.kind->type != MSGPACK_OBJECT_STR ||
	    !expiration_kind_read(object_text(members.kind), &row->expiration))
		return refuse_member(
		    request, outcome, "expiration",
		    *REASON(WANTED, "kind", .wanted = "one of none, relative_window, fixed_end"));
	bool window = row->expiration == EXPIRATION_RELATIVE_WINDOW,
	     end = row->expiration == EXPIRATION_FIXED_END;
	if (window != (members.window_seconds != NULL) ||
	    (window && !read_window(members.window_seconds, &row->window_seconds))) {
		struct reason reason = *REASON(EXPIRATION_WINDOW, "window_seconds", .least = 1,
		                               .most = REWARD_WINDOW_SECONDS_MAX);
		if (members.window_seconds)
			reason.cause = window ? CAUSE_EXPIRATION_BAD_WINDOW : CAUSE_EXPIRATION_NO_WINDOW;
		return refuse_member(request, outcome, "expiration", reason);
	}
	if (end != (members.fixed_end != NULL) ||
	    (end && (members.fixed_end->type != MSGPACK_OBJECT_STR ||
	             !rfc3339_read(object_text(members.fixed_end), &row->fixed_end)))) {
		struct reason reason = *REASON(EXPIRATION_END, "fixed_end", .wanted = WANTED_TIME);
		bool          is_text = members.fixed_end && members.fixed_end->type == MSGPACK_OBJECT_STR;
		if (is_text) reason.wanted = rfc3339_wanted(object_text(members.fixed_end));
		if (members.fixed_end) reason.cause = end ? CAUSE_WANTED : CAUSE_EXPIRATION_NO_END;
		return refuse_member(request, outcome, "expiration", reason);
	}
	return OK;
}

enum err reward_take(struct request *request, struct outcome *outcome, const msgpack_object *terms,
                     struct reward_version *row)
{
	*row = (struct reward_version){
	    .name = arg_span(&terms[TERM_name]),
	    .description = arg_span(&terms[TERM_description]),
	    .repeat_assignment = arg_boolean(&terms[TERM_repeat_assignment], false),
	    .redemption_allowance = (uint32_t)arg_integer(&terms[TERM_redemption_allowance], 1),
	    .assignment_limit = (uint64_t)arg_integer(&terms[TERM_assignment_limit], 0),
	};
	if (row->redemption_allowance == 0) row->redemption_allowance = 1;
	if (!arg_present(&terms[TERM_name]))
		return refuse(outcome, REASON(MISSING, "name", .wanted = "a string"));
	if (row->name.size == 0) return refuse(outcome, REASON(EMPTY, "name"));
	if (utf8_length(row->name) > REWARD_NAME_POINTS_MAX)
		return refuse(outcome, REASON(TOO_LONG, "name", .most = REWARD_NAME_POINTS_MAX,
		                              .wanted = "characters"));
	if (!reward_kind_read(arg_span(&terms[TERM_kind]), &row->kind))
		return refuse(outcome, REASON(WANTED, "kind", .wanted = "one of gift, discount, custom"));
	if (utf8_length(row->description) > REWARD_DESCRIPTION_POINTS_MAX)
		return refuse(outcome, REASON(TOO_LONG, "description", .most = REWARD_DESCRIPTION_POINTS_MAX,
		                              .wanted = "characters"));
	if (!arg_present(&terms[TERM_expiration]))
		return refuse(outcome, REASON(MISSING, "expiration", .wanted = "an object"));
	return take_expiration(request, outcome, &terms[TERM_expiration], row);
}

enum err reward_check_slug(struct outcome *outcome, const msgpack_object *slug, struct span path)
{
	bool same = slug->type == MSGPACK_OBJECT_STR && span_equal(arg_span(slug), path);
	if (same || !arg_present(slug)) return OK;
	return refuse(outcome, REASON(SLUG_FIXED, "slug"));
}
