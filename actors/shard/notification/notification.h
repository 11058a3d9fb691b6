#pragma once
#include "actors/shard/command.h"
#include "store/notification.h"

/* What the commands on notifications share, and what others make one with. Errors: as view.h, and those named. */

/* Is this a message that may be sent: 1 to NOTIFICATION_CODE_POINTS_MAX code points? */
bool notification_message_is_good(struct span message);

/* Stages a notification to the holder of a pass, due at once. `message` is good. Point reads alone: it may come after
 * other writes of the command. */
must_check enum err notify_pass(struct request *request, uint32_t pass_number, struct span message);
