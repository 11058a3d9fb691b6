#pragma once
#include "actors/ask/ask.h"

/* Notifications of one shard: it is told again and again to send what is due. Nothing is held here. */
struct notify;

/* Errors: ERR_NO_MEMORY. */
must_check enum err notify_open(struct notify **notify, struct ask *ask);
void                notify_close(struct notify **notify);

/* Once a turn, before ask_flush(). `beat`: a heartbeat is due. */
void notify_turn(struct notify *notify, mono_us now, bool beat);
