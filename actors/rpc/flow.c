/* Receipts for bytes. The callee's sums come with each of its frames. Ours go with our frames, or alone once enough bytes are
 * unacknowledged. */
#include "actors/rpc/flow.h"

#include "schemas/limits.h"

void flow_sent(struct flow *flow, size_t size)
{
	flow->sent += size;
	flow->reported = flow->taken;
	flow->is_asked = false;
}

bool flow_take(struct flow *flow, const struct frame *frame, size_t size)
{
	if (frame->taken > flow->sent) return false;
	flow->taken += size;
	if (frame->taken > flow->received_there) flow->received_there = frame->taken;
	flow->is_asked |= frame->kind == FRAME_REPLIES && frame->count == 0;
	return true;
}

bool flow_is_due(const struct flow *flow)
{
	return flow->is_asked || flow->taken - flow->reported >= RECEIPT_EVERY_BYTES;
}

size_t flow_on_its_way(const struct flow *flow)
{
	return (size_t)(flow->sent - flow->received_there);
}
