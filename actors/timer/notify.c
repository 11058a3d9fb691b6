/* One NOTIFICATION_SEND at a time: with each heartbeat, and at once if the answer says that more is due. */
#include "actors/timer/notify.h"

#include "actors/timer/egress_job.h"
#include "schemas/api/notification.h"

#include <stddef.h>
#include <stdlib.h>

struct notify {
	struct asked asked;
	struct rpc  *rpc;
	bool         is_asking, more;
};

static void on_sent(struct asked *asked, const struct reply *reply)
{
	struct notify *notify = (struct notify *)((char *)asked - offsetof(struct notify, asked));
	notify->is_asking = false;
	notify->more = !reply->err && reply->payload->type == MSGPACK_OBJECT_BOOLEAN &&
	               reply->payload->via.boolean;
}

void notify_turn(struct notify *notify, mono_us now, bool beat)
{
	struct call    call = {.message = MSG_NOTIFICATION_SEND};
	msgpack_packer packer;
	if (notify->is_asking || !(beat || notify->more)) return;
	notify->more = false;
	call.deadline = mono_after(now, (dur_us){CALL_DEADLINE_MS * US_PER_MS});
	if (rpc_begin(notify->rpc, &call, &notify->asked, &packer))
		return; /* the next heartbeat tries again */
	msgpack_pack_array(&packer, ARGS_NOTIFICATION_SEND);
	rpc_commit(notify->rpc);
	notify->is_asking = true;
}

enum err notify_open(struct notify **out, struct rpc *rpc)
{
	struct notify *notify = calloc(1, sizeof *notify);
	*out = notify;
	if (!notify) return ERR_NO_MEMORY;
	notify->asked.on_reply = on_sent;
	notify->rpc = rpc;
	return OK;
}

void notify_close(struct notify **notify)
{
	free(*notify);
	*notify = NULL;
}
