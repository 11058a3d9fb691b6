#pragma once
#include "actors/shard/pass/select.h"
#include "store/notification.h"

/* Shared by the commands on notifications, and used by others to create one. Errors: as view.h, and those named. */

/* The notifications of a list. If the order needs it, the selection has `scheduled` in its `updated`. Selecting removes states
 * from the filter that exclude nothing. */
struct notification_filter {
	unsigned    statuses;     /* a bit a status; 0: any */
	wall_us     scheduled[2]; /* from inclusive, to exclusive */
	struct span q;            /* folded; size 0: none */
	bool        keep_scheduled;
};
must_check enum err select_notifications(struct request *request, struct notification_filter *filter,
                                         struct selection *selection);

/* Appends one to `out` as lists show it. */
must_check enum err notification_show(struct request *request, uint32_t number, struct buffer *out);

/* Is this a valid message: 1 to NOTIFICATION_CODE_POINTS_MAX code points? */
bool notification_message_is_good(struct span message);

/* Of one to a pass that was added by this command and is due: if the pass is in a wallet, which shows it, it is sent with the
 * command. Else it is sent as ever. */
must_check enum err notification_show_at_once(struct request *request, const struct notification *row,
                                              uint32_t number);

/* Stages a notification to the holder of a pass, due at once. `message` must be valid. Point reads only: allowed after other
 * writes of the command. */
must_check enum err notify_pass(struct request *request, uint32_t pass_number, struct span message);
