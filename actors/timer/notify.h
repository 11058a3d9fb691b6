#pragma once
#include "actors/rpc/rpc.h"

/* Notifications of one shard: calls it repeatedly to send what is due. No state is kept. */
struct notify;

/* Errors: ERR_NO_MEMORY. */
must_check enum err notify_open(struct notify **notify, struct rpc *rpc);
void                notify_close(struct notify **notify);

/* Once a turn, before rpc_flush(). `beat`: a heartbeat is due. */
void notify_turn(struct notify *notify, mono_us now, bool beat);
