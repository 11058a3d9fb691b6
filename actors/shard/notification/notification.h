#pragma once
#include "actors/shard/pass/select.h"
#include "store/notification.h"

/* What the commands on notifications share, and what others make one with. Errors: as view.h, and those named. */

/* Which notifications a list is about; the selection has `scheduled` for its `updated` where the order asks for it. Selecting drops states from
 * the filter that leave nothing out. */
struct notification_filter {
	unsigned    statuses;     /* a bit a status; 0: any */
	wall_us     scheduled[2]; /* from inclusive, to exclusive */
	struct span q;            /* folded; size 0: none */
	bool        keep_scheduled;
};
must_check enum err select_notifications(struct request *request, struct notification_filter *filter,
                                         struct selection *selection);

/* One as lists show it, appended to `out`. */
must_check enum err notification_show(struct request *request, uint32_t number, struct buffer *out);

/* Is this a message that may be sent: 1 to NOTIFICATION_CODE_POINTS_MAX code points? */
bool notification_message_is_good(struct span message);

/* Stages a notification to the holder of a pass, due at once. `message` is good. Point reads alone: it may come after
 * other writes of the command. */
must_check enum err notify_pass(struct request *request, uint32_t pass_number, struct span message);
