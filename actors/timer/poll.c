/* A long poll of a shard: the question, its answer, its withdrawal. */
#include "actors/timer/poll.h"

#include "schemas/api/delivery.h"
#include "schemas/api/google.h"
#include "schemas/api/push.h"
#include "schemas/limits.h"

#include <stddef.h>

enum { POLL_ARGS = ARGS_DELIVERY_LEASE };
_Static_assert((int)POLL_ARGS == (int)ARGS_WALLET_LEASE && (int)POLL_ARGS == (int)ARGS_GOOGLE_LEASE,
               "every poll has the same arguments");

static void on_answered(struct asked *asked, const struct reply *reply)
{
	struct poll *poll = (struct poll *)((char *)asked - offsetof(struct poll, asked));
	poll->is_waiting = false;
	if (reply->err)
		poll->ask_at = mono_after(poll->now, (dur_us){POLL_AGAIN_MS * US_PER_MS});
	else
		poll->on_answer(poll, reply->payload);
}

/* The withdrawn poll gets its own answer. */
static void on_withdrawn(struct asked *asked, const struct reply *reply)
{
	(void)asked, (void)reply;
}

static void ask_for(struct poll *poll, uint32_t count, struct asked *asked)
{
	msgpack_packer packer;
	struct call    call = {.message = poll->message,
	                       .deadline = mono_after(poll->now, (dur_us){LEASE_ASK_MS * US_PER_MS})};
	if (rpc_begin(poll->rpc, &call, asked, &packer)) return;
	msgpack_pack_array(&packer, POLL_ARGS);
	pack_int(&packer, (int64_t)poll->instance);
	msgpack_pack_uint32(&packer, count);
	rpc_commit(poll->rpc);
	poll->is_withdrawn = count == 0;
	poll->is_waiting = true;
}

void poll_turn(struct poll *poll, mono_us now, uint32_t room)
{
	poll->now = now;
	poll->asked.on_reply = on_answered;
	poll->withdrawal.on_reply = on_withdrawn;
	if (poll->is_stopping) {
		if (poll->is_waiting && !poll->is_withdrawn) ask_for(poll, 0, &poll->withdrawal);
	} else if (room && !poll->is_waiting && now.v >= poll->ask_at.v) {
		poll->asked_for = room < poll->count_max ? room : poll->count_max;
		ask_for(poll, poll->asked_for, &poll->asked);
	}
}

void poll_stop(struct poll *poll)
{
	poll->is_stopping = true;
}
