/* POST /v1/passes/{id}/rewards/assign, and assignments by other commands. */
#include "actors/shard/entitlement/entitlement.h"

#include "actors/shard/pass/pass.h"
#include "schemas/api/entitlement.h"
#include "store/expiry.h"
#include "store/reward.h"

/* Writes for one replaced entitlement: its row, OPEN, EXPIRY. Writes for the assignment itself and for rules that act in the
 * same command: some 12 an action. Recent scans may be gathered, too. */
enum { WRITES_REPLACED = 2 + EXPIRY_LEVELS, WRITES_ELSE = 40 + 16 * RULE_ACTIONS_MAX + SCAN_GATHER_WRITES };
_Static_assert(REPLACED_AT_ONCE_MAX *WRITES_REPLACED + 2 * WRITES_ELSE <= STAGED_WRITES_MAX,
               "a rule may replace as many");

/* The entitlements that will be replaced. */
struct leaving {
	struct entitlement *rows; /* REPLACED_AT_ONCE_MAX of them, in the view's arena */
	unsigned            count;
};

/* Reading ahead ------------------------------------------------------------------------------------------- */

static enum err add_open(struct request *request, struct assignment *plan, struct buffer *found,
                         uint32_t family)
{
	struct entitlement_open row = {.pass = plan->pass, .family = family};
	enum err                err;
	while (
	    !(err = entitlement_open_next_alike(request->view, request->account->id, request->now, &row))) {
		buffer_append(found, &row, sizeof row);
		if (++plan->open_count > REPLACED_AT_ONCE_MAX)
			break; /* one more shows that they are too many */
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err keep_open(struct request *request, struct assignment *plan, const struct buffer *found)
{
	void *kept = arena_take(view_arena(request->view), found->size + 1);
	if (!kept || found->failed) return ERR_NO_MEMORY;
	if (found->size) memcpy(kept, found->at, found->size);
	plan->open = kept;
	return OK;
}

enum err entitlement_plan(struct request *request, uint32_t pass, struct span slug, bool replace,
                          struct assignment *plan)
{
	struct reward reward;
	struct buffer found = {0};
	*plan = (struct assignment){.pass = pass, .slug = slug, .replace = replace};
	if (!replace) return OK;
	enum err err = reward_by_slug(request->view, request->account->id, slug, &reward);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = add_open(request, plan, &found, reward.family);
	if (!err) err = keep_open(request, plan, &found);
	buffer_free(&found);
	return err;
}

/* Checks -------------------------------------------------------------------------------------------------- */

static enum err refuse_to(struct assigned *made, enum cause cause)
{
	made->refused = cause;
	return cause_err(cause);
}

/* Reads the reward and the version to assign, and makes the checks that need nothing else. */
static enum err check_reward(struct request *request, const struct assignment *plan, struct reward *reward,
                             struct assigned *made)
{
	struct reward_version *version = &made->terms;
	struct account_id      account = request->account->id;
	enum err               err = reward_by_slug(request->view, account, plan->slug, reward);
	if (err) return err == ERR_NOT_FOUND ? refuse_to(made, CAUSE_REWARD_UNKNOWN) : err;
	if (reward->status == REWARD_ARCHIVED) return refuse_to(made, CAUSE_REWARD_ARCHIVED);
	err = reward_version_get(request->view, account, reward->family, reward->version, version);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (version->expiration == EXPIRATION_FIXED_END && request->now.v >= version->fixed_end.v)
		return ERR_REWARD_FIXED_END_PASSED;
	if (version->assignment_limit && reward->assigned >= version->assignment_limit)
		return ERR_REWARD_ASSIGNMENT_LIMIT_REACHED;
	return OK;
}

static enum err add_leaving(struct request *request, struct leaving *leaving,
                            const struct entitlement_open *open)
{
	struct entitlement *row = &leaving->rows[leaving->count];
	if (leaving->count == REPLACED_AT_ONCE_MAX) return ERR_RESOURCE_CONFLICT;
	enum err err = entitlement_get(request->view, request->account->id, open->pass, open->id, row);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	/* The same command may have redeemed or replaced it already. */
	if (entitlement_is_available(row, request->now)) leaving->count++;
	return OK;
}

/* Finds the entitlements to replace: those from before the command, and those that the command has assigned itself. */
static enum err find_leaving(struct request *request, const struct assignment *plan, uint32_t family,
                             struct leaving *leaving)
{
	struct entitlement_open staged = {.pass = plan->pass};
	unsigned                at = 0;
	enum err                err = OK;
	*leaving = (struct leaving){.count = 0};
	/* A command cannot make them fewer: an assignment that would replace some of them is refused like this one. */
	if (plan->open_count > REPLACED_AT_ONCE_MAX) return ERR_RESOURCE_CONFLICT;
	leaving->rows = arena_take(view_arena(request->view), REPLACED_AT_ONCE_MAX * sizeof *leaving->rows);
	if (!leaving->rows) return ERR_NO_MEMORY;
	for (unsigned i = 0; !err && i < plan->open_count; i++)
		err = add_leaving(request, leaving, &plan->open[i]);
	while (!err && !(err = entitlement_open_staged(request->view, request->account->id, &at, &staged)))
		if (staged.family == family) err = add_leaving(request, leaving, &staged);
	if (err && err != ERR_NOT_FOUND) return err;
	unsigned staged_count = view_writes(request->view)->count;
	bool     fits = staged_count + leaving->count * WRITES_REPLACED + WRITES_ELSE <= STAGED_WRITES_MAX;
	return fits ? OK : ERR_RESOURCE_CONFLICT;
}

/* Checks whether the pass may have the reward, or have it again. */
static enum err check_repeat(struct request *request, const struct assignment *plan, uint32_t family,
                             struct assigned *made, struct leaving *leaving)
{
	uint32_t held;
	if (made->terms.repeat_assignment) {
		enum err err = plan->replace ? find_leaving(request, plan, family, leaving) : OK;
		return err == ERR_RESOURCE_CONFLICT ? refuse_to(made, CAUSE_REPLACES_MANY) : err;
	}
	enum err err = entitlement_held(request->view, request->account->id, plan->pass, family, &held);
	if (err) return err;
	return held ? refuse_to(made, CAUSE_REWARD_HELD) : OK;
}

/* Writing ------------------------------------------------------------------------------------------------- */

static wall_us end_of(const struct reward_version *version, wall_us now)
{
	switch (version->expiration) {
	case EXPIRATION_FIXED_END: return version->fixed_end;
	case EXPIRATION_RELATIVE_WINDOW:
		return (wall_us){now.v + (int64_t)version->window_seconds * US_PER_SEC};
	default: return (wall_us){0};
	}
}

static enum err replace_all(struct request *request, const struct leaving *leaving)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < leaving->count; i++) {
		struct entitlement after = leaving->rows[i];
		after.state = ENTITLEMENT_REPLACED;
		after.updated = request->now;
		err = entitlement_change(request->view, request->account->id, &leaving->rows[i], &after);
	}
	return err;
}

enum err entitlement_assign(struct request *request, const struct hot_at *pass, const struct assignment *plan,
                            enum entitlement_source source, struct assigned *made)
{
	struct account_id      account = request->account->id;
	struct leaving         leaving = {.count = 0};
	struct reward          reward;
	struct reward_version *version = &made->terms;
	must(pass->number == plan->pass);
	enum err err = refuse_to(made, entitlement_check_pass(&pass->now));
	if (err || (err = check_reward(request, plan, &reward, made))) return err;
	if ((err = check_repeat(request, plan, reward.family, made, &leaving))) return err;
	made->row = (struct entitlement){.pass = pass->number,
	                                 .id = uuid_draw(request),
	                                 .state = ENTITLEMENT_OPEN,
	                                 .source = (uint8_t)source,
	                                 .family = reward.family,
	                                 .version = reward.version,
	                                 .allowance = version->redemption_allowance,
	                                 .remaining = version->redemption_allowance,
	                                 .expires = end_of(version, request->now),
	                                 .created = request->now,
	                                 .updated = request->now};
	reward.assigned++;
	reward.assigned_newest++;
	if ((err = replace_all(request, &leaving))) return err;
	if ((err = reward_put(request->view, account, &reward))) return err;
	return entitlement_add(request->view, account, &made->row);
}

enum err on_ENTITLEMENT_ASSIGN(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           pass_id = arg_span(&args[ARG_ENTITLEMENT_ASSIGN_pass_id]);
	struct span           slug = arg_span(&args[ARG_ENTITLEMENT_ASSIGN_slug]);
	bool                  replace = arg_boolean(&args[ARG_ENTITLEMENT_ASSIGN_replace], false);
	struct hot_at         pass;
	struct assignment     plan;
	struct assigned       made;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err              err = pass_find(request, pass_id, false, &pass);
	if (err || (err = entitlement_plan(request, pass.number, slug, replace, &plan))) return err;
	if ((err = entitlement_assign(request, &pass, &plan, SOURCE_MANUAL, &made))) {
		struct reason reason = {.cause = made.refused, .most = REPLACED_AT_ONCE_MAX};
		if (made.refused == CAUSE_REWARD_UNKNOWN) return refuse_missing(outcome, made.refused, slug);
		return made.refused ? refuse(outcome, &reason) : err;
	}
	uint8_t *detail = arena_take(view_arena(request->view), sizeof made.row.id.b);
	if (!detail) return ERR_NO_MEMORY;
	memcpy(detail, made.row.id.b, sizeof made.row.id.b);
	outcome->recipe = (struct recipe){.what = RECIPE_ENTITLEMENT,
	                                  .number = pass.number,
	                                  .detail = span_of(detail, sizeof made.row.id.b)};
	entitlement_pack(&made.row, &made.terms, pass_id, request->now, &pk);
	return OK;
}
