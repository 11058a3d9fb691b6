/* Passes and templates whose images must be fetched, and passes in wallets that were given new ones, as part of the writer's
 * turn: requests to the timer, their results, and the calls that wait. Nothing is tried, and no retry time runs, while the
 * issuer is down or paused or the disk is nearly full. The same holds under --no-deliveries: passes with images stay `creating`
 * until the service runs without that option. */
#include "actors/shard/engine/engine.h"

#include "actors/rt/log.h"
#include "actors/shard/pass/images.h"
#include "schemas/api/image.h"
#include "schemas/api/issuing.h"
#include "schemas/api/template.h"
#include "schemas/wallet/shape.h"
#include "store/image.h"
#include "store/pass_pictures.h"

#include <stdlib.h>

/* Own commands -------------------------------------------------------------------------------------------- */

static msgpack_object object_of(uint64_t number)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = number};
}

static enum err look(struct engine *engine, struct account_id account, uint32_t number,
                     struct outcome *outcome, enum err *answer)
{
	const msgpack_object args[ARGS_PASS_LOOK] = {object_of(number)};
	const struct call    call = {
	       .message = MSG_PASS_LOOK, .has_account = true, .account = account, .args = args};
	return engine_decide_own(engine, &call, outcome, answer);
}

static void count(struct engine *engine, bool failed, mono_us begun)
{
	struct issuance_counters *counters = &engine->facts.issuances;
	atomic_fetch_add_explicit(failed ? &counters->failed : &counters->issued, 1, memory_order_relaxed);
	if (begun.v) histogram_add(&counters->times, &scale_us, mono_since(engine->now, begun).v);
}

/* `error` NULL: all images are there. The write removes the pass from memory, through the observer. */
static enum err end_pass(struct engine *engine, struct creating *pass, const char *error)
{
	struct account_id account = pass->account->id;
	uint32_t          number = pass->number;
	mono_us           begun = pass->begun;
	msgpack_object    args[ARGS_PASS_ISSUE] = {object_of(number)};
	const struct call call = {
	    .message = MSG_PASS_ISSUE, .has_account = true, .account = account, .args = args};
	struct outcome outcome = {.payload = &engine->payload};
	enum err       answer;
	args[ARG_PASS_ISSUE_in_time] = (msgpack_object){.type = MSGPACK_OBJECT_BOOLEAN,
	                                                .via.boolean = pass->is_timed};
	if (error)
		args[ARG_PASS_ISSUE_error] = (msgpack_object){.type = MSGPACK_OBJECT_STR,
		                                              .via.str = {(uint32_t)strlen(error), error}};
	enum err err = engine_decide_own(engine, &call, &outcome, &answer);
	if (!err && answer) issuance_drop(&engine->issuance, pass); /* its row stays, for the next process */
	if (!err && !answer) count(engine, error != NULL, begun);
	return err;
}

/* Images that wallets show --------------------------------------------------------------------------------- */

/* How often it is looked whether new images have been reduced: at first, and of those that have waited long. */
enum { REDUCED_REST_S = 1, REDUCED_SLOW_S = 60, REDUCED_LONG_S = 600 };
/* An image of a template that was fetched so long ago is taken as shown when the shard starts. */
enum { RECENT_S = 3600 };

static unsigned bit_of(const char *image)
{
	return !strcmp(image, "logo")     ? SHAPE_OF_LOGO
	       : !strcmp(image, "banner") ? SHAPE_OF_BANNER
	                                  : SHAPE_OF_ICON;
}

static void leave_out(struct issuing *wanted, unsigned lacks)
{
	if (lacks & SHAPE_OF_LOGO) wanted->logo = span_of(NULL, 0);
	if (lacks & SHAPE_OF_BANNER) wanted->banner = span_of(NULL, 0);
	if (lacks & SHAPE_OF_ICON) wanted->icon = span_of(NULL, 0);
}

/* Images that are there are reduced by the timer, where wallets show them. Are all of them? */
static enum err are_made(struct view *view, struct account_id account, const struct issuing *wanted,
                         bool *made)
{
	const struct span urls[] = {wanted->logo, wanted->banner, wanted->icon};
	enum err          err = OK;
	*made = true;
	for (unsigned i = 0; !err && *made && i < sizeof urls / sizeof *urls; i++)
		if (urls[i].size) err = shapes_are_made(view, account, urls[i], made);
	return err;
}

static void rest_until_made(struct engine *engine, struct creating *of)
{
	bool   is_long = ++of->looks > REDUCED_LONG_S / REDUCED_REST_S;
	dur_us rest = {(is_long ? REDUCED_SLOW_S : REDUCED_REST_S) * US_PER_SEC};
	issuance_rest(&engine->issuance, of, rest, engine->now);
}

/* Templates ----------------------------------------------------------------------------------------------- */

/* The write removes the template from memory, unless some images are still missing (`is_partly`). */
static enum err end_template(struct engine *engine, struct creating *template, bool is_partly)
{
	const msgpack_object args[ARGS_TEMPLATE_FETCHED] = {
	    object_of(template->number), {.type = MSGPACK_OBJECT_BOOLEAN, .via.boolean = is_partly}};
	const struct call call = {.message = MSG_TEMPLATE_FETCHED,
	                          .has_account = true,
	                          .account = template->account->id,
	                          .args = args};
	struct outcome    outcome = {.payload = &engine->payload};
	enum err          answer, err = engine_decide_own(engine, &call, &outcome, &answer);
	if (!err && answer && !is_partly)
		issuance_drop(&engine->issuance, template); /* its row stays, likewise */
	return err;
}

/* Logs a failure once an image. The client that stored the template was answered long ago. */
static void log_failure(struct creating *template, const char *image, const char *error)
{
	char id[TEMPLATE_ID_TEXT];
	template_id_text(template->account->id, template->number, id);
	if (!(template->logged & bit_of(image)))
		log_info("template_image", "template=%s reason=\"%s\"", id, error);
	template->logged |= bit_of(image);
}

/* A template is used without the images that cannot be fetched. They are retried, because templates live long and the fault
 * may be repaired. */
static enum err rest_template(struct engine *engine, struct creating *template)
{
	enum err err = OK;
	if (template->fetched) err = end_template(engine, template, true);
	template->fetched = 0;
	template->lacks = 0;
	issuance_rest(&engine->issuance, template, (dur_us){TEMPLATE_REST_S * US_PER_SEC}, engine->now);
	return err;
}

/* What is known of a template's images. */
struct template_look {
	struct missing missing;
	bool           made;
};

/* What came shortly before the shard was started again was perhaps not shown. */
static enum err note_recent(struct engine *engine, struct view *view, struct creating *template,
                            const struct issuing *row)
{
	const struct {
		struct span url;
		unsigned    bit;
	} all[] = {{row->logo, SHAPE_OF_LOGO}, {row->banner, SHAPE_OF_BANNER}, {row->icon, SHAPE_OF_ICON}};
	enum err err = OK;
	template->is_seen = true;
	for (unsigned i = 0; !err && i < sizeof all / sizeof *all; i++) {
		struct image image;
		if (!all[i].url.size || all[i].url.size > URL_BYTES_MAX) continue;
		err = image_of_url(view, template->account->id, all[i].url, &image);
		bool is_recent = !err && image.fetched.v >= row->begun.v &&
		                 engine->service_now.v - image.fetched.v < RECENT_S * US_PER_SEC;
		if (is_recent) template->fetched |= all[i].bit;
		if (err == ERR_NOT_FOUND) err = OK;
	}
	return err;
}

static enum err read_template(struct engine *engine, struct creating *template, struct template_look *look)
{
	struct issuing    row;
	struct account_id account = template->account->id;
	arena_reset(&engine->arena);
	struct view *view = store_view(engine->store, NULL, &engine->arena);
	enum err     err = template_images_get(view, account, template->number, &row);
	*look = (struct template_look){.made = true};
	if (!err && !template->is_seen) err = note_recent(engine, view, template, &row);
	if (err) return err;
	leave_out(&row, template->lacks | template->too_long);
	err = images_missing(view, account, &row, engine->service_now, &look->missing);
	return err || look->missing.image ? err : are_made(view, account, &row, &look->made);
}

/* A URL that is too long is given up. */
static enum err look_at_template(struct engine *engine, struct creating *template, const char *error)
{
	struct template_look  look;
	const struct missing *missing = &look.missing;
	enum err              err;
	if (error) {
		log_failure(template, template->image, error);
		template->lacks |= bit_of(template->image);
	} else if (template->image) {
		template->fetched |= bit_of(template->image);
	}
	template->image = NULL;
	while (!(err = read_template(engine, template, &look)) && missing->image &&
	       missing->url.size > URL_BYTES_MAX) {
		log_failure(template, missing->image, missing->too_long);
		template->too_long |= bit_of(missing->image);
	}
	if (err) {
		issuance_drop(&engine->issuance, template); /* its row, if any, stays, likewise */
		return engine_judge_error(engine, &(struct call){.message = MSG_TEMPLATE_FETCHED}, err);
	}
	if (missing->image)
		return issuance_want(&engine->issuance, template, missing->image, missing->url, engine->now);
	if (!look.made) {
		rest_until_made(engine, template);
		return OK;
	}
	return template->lacks ? rest_template(engine, template) : end_template(engine, template, false);
}

/* New pictures of issued passes --------------------------------------------------------------------------- */

/* The write removes it from memory, or with `failed` has it looked at once more. */
static enum err end_pictures(struct engine *engine, struct creating *pass, bool failed)
{
	const msgpack_object args[ARGS_PASS_PICTURED] = {
	    object_of(pass->number), {.type = MSGPACK_OBJECT_BOOLEAN, .via.boolean = failed}};
	const struct call call = {
	    .message = MSG_PASS_PICTURED, .has_account = true, .account = pass->account->id, .args = args};
	struct outcome outcome = {.payload = &engine->payload};
	enum err       answer, err = engine_decide_own(engine, &call, &outcome, &answer);
	if (!err && answer) issuance_drop(&engine->issuance, pass); /* its row stays, likewise */
	return err;
}

static enum err look_at_pictures(struct engine *engine, struct creating *pass, const char *error)
{
	struct missing       missing = {.image = NULL};
	struct pass_pictures row = {.is_given_up = false};
	bool                 made = true;
	if (error) pass->lacks |= bit_of(pass->image);
	arena_reset(&engine->arena);
	struct view *view = store_view(engine->store, NULL, &engine->arena);
	enum err     err = pass_pictures_get(view, pass->account->id, pass->number, &row);
	if (!err && row.is_given_up) {
		issuance_drop(&engine->issuance, pass);
		return OK;
	}
	struct issuing wanted = {.begun = row.begun, .logo = row.wanted[0], .banner = row.wanted[1]};
	leave_out(&wanted, pass->lacks);
	if (!err) err = images_missing(view, pass->account->id, &wanted, engine->service_now, &missing);
	if (!err) err = are_made(view, pass->account->id, &wanted, &made);
	if (err) {
		issuance_drop(&engine->issuance, pass); /* its row, if any, stays, likewise */
		return engine_judge_error(engine, &(struct call){.message = MSG_PASS_PICTURED}, err);
	}
	if (missing.image)
		return issuance_want(&engine->issuance, pass, missing.image, missing.url, engine->now);
	if (made) return end_pictures(engine, pass, pass->lacks != 0);
	rest_until_made(engine, pass);
	return OK;
}

/* Passes -------------------------------------------------------------------------------------------------- */

static enum err look_at(struct engine *engine, struct creating *pass, const char *error)
{
	struct issuing row;
	struct missing missing = {.image = NULL};
	if (pass->kind == CREATING_TEMPLATE) return look_at_template(engine, pass, error);
	if (pass->kind == CREATING_PICTURES) return look_at_pictures(engine, pass, error);
	if (error) return end_pass(engine, pass, error);
	arena_reset(&engine->arena);
	struct view *view = store_view(engine->store, NULL, &engine->arena);
	enum err     err = issuing_get(view, pass->account->id, pass->number, &row);
	if (!err) err = images_missing(view, pass->account->id, &row, engine->service_now, &missing);
	if (err) {
		issuance_drop(&engine->issuance, pass); /* its row, if any, stays for the next process */
		return engine_judge_error(engine, &(struct call){.message = MSG_PASS_ISSUE}, err);
	}
	if (!missing.image) return end_pass(engine, pass, NULL);
	if (missing.url.size > URL_BYTES_MAX) return end_pass(engine, pass, missing.too_long);
	return issuance_want(&engine->issuance, pass, missing.image, missing.url, engine->now);
}

static void pack_fetch(struct engine *engine, const struct fetch *fetch)
{
	struct call head = {.id = fetch->ask_id,
	                    .message = MSG_FETCH,
	                    .deadline = fetch->due,
	                    .has_account = true,
	                    .account = fetch->account->id};
	frame_call(&engine->to_timer, &head);
	msgpack_packer pk = frame_out_packer(&engine->to_timer);
	msgpack_pack_array(&pk, ARGS_FETCH);
	pack_str(&pk, span_of(fetch->url, fetch->url_size));
}

/* Waiting calls ------------------------------------------------------------------------------------------- */

bool engine_let_wait(struct engine *engine, const struct session *session, const struct call *call,
                     const struct outcome *outcome)
{
	const struct creation_wait wait = {.account = call->account,
	                                   .number = outcome->recipe.number,
	                                   .peer = session->peer,
	                                   .call_id = call->id,
	                                   .has_key_id = call->has_key_id,
	                                   .key_id = call->key_id,
	                                   .flags = outcome->flags & REPLY_REPLAYED};
	bool                       nothing_comes = engine->facts.no_deliveries;
	return session->role == ROLE_HTTP && !nothing_comes && issuance_wait(&engine->issuance, &wait);
}

static enum err answer_wait(struct engine *engine, const struct creation_wait *wait)
{
	struct session *session = session_find(&engine->sessions, &wait->peer);
	struct outcome  outcome = {.payload = &engine->payload};
	struct call     call = {.id = wait->call_id, .has_key_id = wait->has_key_id, .key_id = wait->key_id};
	enum err        answer;
	if (!session) return OK;
	enum err err = look(engine, wait->account, wait->number, &outcome, &answer);
	outcome.flags |= wait->flags;
	if (!answer && !session_fits(session, WINDOW_READ, outcome.payload->size)) answer = ERR_OVERLOADED;
	if (!err) engine_answer(engine, session, &call, answer, &outcome);
	return err;
}

/* Answers as many as there is room for: each answer is as large as its pass. */
static enum err answer_waits(struct engine *engine)
{
	struct creation_wait *wait;
	enum err              err = OK;
	while (!err && engine_has_room(engine) &&
	       (wait = issuance_next_ended(&engine->issuance, engine->now))) {
		err = answer_wait(engine, wait);
		free(wait);
	}
	return err;
}

/* The turn ------------------------------------------------------------------------------------------------ */

/* May images be requested now? A nearly full disk cannot store an image, and no image may be given up for that. */
static bool is_running(const struct engine *engine)
{
	return !engine->facts.no_deliveries && engine_can_issue(engine) &&
	       store_room(engine->store) == DISK_FOR_ALL;
}

enum err engine_issue(struct engine *engine, bool *more)
{
	struct issuance *issuance = &engine->issuance;
	struct creating *pass;
	struct fetch    *fetch;
	const char      *error;
	unsigned         looked = 0;
	enum err         err = answer_waits(engine); /* before passes are issued too late for their calls */
	bool             was_running = engine->is_issuing;
	if ((engine->is_issuing = is_running(engine))) {
		if (!was_running) issuance_resume(issuance, engine->now);
		while (!err && looked < ISSUING_A_TURN && engine_has_room(engine) &&
		       (pass = issuance_next(issuance, engine->now, &error))) {
			err = look_at(engine, pass, error);
			looked++;
		}
		while (!err && (fetch = issuance_next_fetch(issuance, engine->now)))
			pack_fetch(engine, fetch);
	}
	if (!err) err = answer_waits(engine);
	if (looked == ISSUING_A_TURN || issuance->ended) *more = true;
	return err;
}
