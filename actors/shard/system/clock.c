/* clock show | advance: how far service time is ahead of the wall. It is written down, so that time goes on from there after a
 * restart; it is only ever moved forward, and only where the operator allowed it (--test-clock). To set it to the same again
 * is harmless. */
#include "actors/shard/command.h"
#include "schemas/date.h"
#include "schemas/api/system.h"
#include "store/meta.h"

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
