/* The small commands of the shard as a whole. */
#include "actors/shard/command.h"
#include "schemas/api/system.h"
#include "schemas/date.h"
#include "store/meta.h"

/* AUTH: nothing beyond what the engine has checked already: the key, the account's state. The frontend sends
 * it before it returns the error of a request that it does not pass on. */
enum err on_AUTH(struct request *request, struct outcome *outcome)
{
	(void)request, (void)outcome;
	return OK;
}

/* HEARTBEAT of the timer: that it came is what counts, and the engine has noted it. */
enum err on_HEARTBEAT(struct request *request, struct outcome *outcome)
{
	(void)request, (void)outcome;
	return OK;
}

/* issuer pause | resume: while paused, creations answer PASS_PROVIDER_UNAVAILABLE and store nothing. */
enum err on_ISSUER_SET(struct request *request, struct outcome *outcome)
{
	bool paused = arg_boolean(&request->args[ARG_ISSUER_SET_paused], false);
	(void)outcome;
	return issuer_paused_put(request->view, paused);
}

/* clock show | advance: how far service time is ahead of the wall. It is written down, so that time goes on from there after a
 * restart; it is only ever moved forward, and only where the operator allowed it (--test-clock). To set it to the same again
 * is harmless. */
static void pack_clock(struct request *request, int64_t offset, wall_us now, struct buffer *out)
{
	char           text[RFC3339_TEXT];
	msgpack_packer pk = buffer_packer(out);
	rfc3339_text(now, text);
	msgpack_pack_map(&pk, 3);
	pack_text(&pk, "now");
	pack_text(&pk, text);
	pack_text(&pk, "offset");
	pack_int(&pk, offset);
	pack_switch(&pk, "test_clock", request->facts->test_clock);
}

enum err on_CLOCK_SHOW(struct request *request, struct outcome *outcome)
{
	pack_clock(request, atomic_load(&request->facts->clock_offset), request->now, outcome->payload);
	return OK;
}

enum err on_CLOCK_SET(struct request *request, struct outcome *outcome)
{
	int64_t before = atomic_load(&request->facts->clock_offset);
	int64_t offset = arg_integer(&request->args[ARG_CLOCK_SET_offset], 0);
	if (!request->facts->test_clock) return ERR_TEST_CLOCK_OFF;
	if (offset < before) return refuse(outcome, REASON(CLOCK_BACK, "offset"));
	pack_clock(request, offset, (wall_us){request->now.v + offset - before}, outcome->payload);
	return clock_offset_put(request->view, offset);
}
