#pragma once
#include "schemas/frame.h"

/* Bytes of CALLS and REPLIES that have gone each way since the WELCOME, and what the two sides know of each other's. Zeroed is
 * a session that has just begun. */
struct flow {
	uint64_t sent, received_there; /* ours, and what the callee has received of it */
	uint64_t taken, told;          /* the callee's, and what it has been told of it */
	bool     is_asked;             /* it wants to be told at once */
};

/* A frame of ours has left, which said flow->taken. */
void flow_sent(struct flow *flow, size_t size);

/* A frame of the session has come. false: it claims more than was sent. */
must_check bool flow_take(struct flow *flow, const struct frame *frame, size_t size);

/* Is the callee to be told what was taken, though there may be nothing else to say? */
bool flow_is_due(const struct flow *flow);

/* Bytes that the callee has not received, as far as is known. */
size_t flow_on_its_way(const struct flow *flow);
