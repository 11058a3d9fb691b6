/* clock show | advance: how far service time is ahead of the wall. It is written down, so that time goes on from there after a
 * restart; it is only ever moved forward, and only where the operator allowed it (--test-clock). To set it to the same again
 * is harmless, so that after a failure of one shard the operator repeats the command. */
#include "actors/shard/system/clock.h"

#include "actors/shard/command.h"
#include "schemas/bytes.h"
#include "schemas/date.h"

static const struct span key = {(const uint8_t *)"clock_offset", 12};

enum err clock_offset_get(struct view *view, int64_t *offset)
{
	struct span value;
	enum err    err = view_get(view, TABLE_META, key, &value);
	*offset = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (value.size != 8) return ERR_DAMAGED;
	*offset = (int64_t)get_le64(value.at);
	return OK;
}

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
	uint8_t value[8];
	if (!request->facts->test_clock) return ERR_TEST_CLOCK_OFF;
	if (offset < before) return blame(outcome, ERR_INVALID_INPUT, span_str("offset"));
	put_le64(value, (uint64_t)offset);
	pack_clock(request, offset, (wall_us){request->now.v + offset - before}, outcome->payload);
	return write_put(view_writes(request->view), TABLE_META, key, span_of(value, sizeof value));
}
