#pragma once
#include "schemas/frame.h"

/* Bytes of CALLS and REPLIES in each direction since the WELCOME, and what each side knows of the other's. Zeroed: a new
 * session. */
struct flow {
	uint64_t sent, received_there; /* ours, and what the callee received of it */
	uint64_t taken, reported;      /* received from the callee, and reported to it */
	bool     is_asked;             /* the callee wants a receipt at once */
};

/* A frame of ours was sent, with flow->taken in it. */
void flow_sent(struct flow *flow, size_t size);

/* A frame of the session arrived. False: it claims more than was sent. */
must_check bool flow_take(struct flow *flow, const struct frame *frame, size_t size);

/* Must a receipt be sent, even without anything else to send? */
bool flow_is_due(const struct flow *flow);

/* Bytes that the callee has not confirmed. */
size_t flow_on_its_way(const struct flow *flow);
