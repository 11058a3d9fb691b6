/* When the background removal takes its steps. While there is work, steps are CLEAN_STEP_MS apart. After a round without work
 * it rests for CLEAN_REST_MS, or until a command leaves rows to remove. A step also starts a journal segment early when the
 * snapshotter asks for one, so that segments with erased data can be recycled. */
#include "actors/shard/engine/engine.h"

enum { SEGMENT_AGAIN_MS = 5000 };

static enum err step(struct engine *engine)
{
	const struct call call = {.message = MSG_CLEAN};
	struct outcome    outcome = {.payload = &engine->payload};
	enum err          answer;
	return engine_decide_own(engine, &call, &outcome, &answer);
}

/* The snapshotter waits for the first record of a new segment. This step writes that record, even if nothing else is in it. */
static enum err begin_segment(struct engine *engine)
{
	struct cleaning *cleaning = &engine->cleaning;
	cleaning->segment_next = mono_after(engine->now, (dur_us){SEGMENT_AGAIN_MS * US_PER_MS});
	store_begin_segment(engine->store);
	cleaning->begins_segment = true;
	enum err err = step(engine);
	cleaning->begins_segment = false;
	return err;
}

enum err engine_clean(struct engine *engine)
{
	struct cleaning *cleaning = &engine->cleaning;
	bool             asked = snapshotter_wants_segment(engine->facts.snapshotter);
	if (store_room(engine->store) == DISK_FOR_NOTHING) return OK;
	if (asked && engine->now.v >= cleaning->segment_next.v) return begin_segment(engine);
	if (engine->now.v < cleaning->next.v) return OK;
	if (cleaning->part == CLEAN_END)
		*cleaning = (struct cleaning){.part = CLEAN_LEFT_OVER,
		                              .segment_next = cleaning->segment_next};
	enum err err = step(engine);
	bool     rests = cleaning->part == CLEAN_END && !cleaning->did;
	cleaning->next = mono_after(engine->now,
	                            (dur_us){(rests ? CLEAN_REST_MS : CLEAN_STEP_MS) * US_PER_MS});
	return err;
}
