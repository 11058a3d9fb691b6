#pragma once
#include "actors/timer/egress_job.h"
#include "schemas/buffer.h"
#include "schemas/wallet/push.h"

#include <sys/queue.h>

/* Reports of one shard's pushes, on their way to it. They wait for each other a moment, since each call costs the shard a journal
 * record. What the shard did not receive or could not store is sent again. */
LIST_HEAD(sent_list, sent_reports);
struct push_reports {
	struct rpc      *rpc;
	struct sent_list sent;
	uint32_t         in_hand;   /* leases without an acknowledged report; the caller adds */
	uint32_t         reporting; /* calls in progress */
	mono_us          now, gathered_by, again_at;
	/* Not sent yet. Their room is there from the start. */
	struct buffer reports; /* at most one for each lease in hand */
	struct buffer gone, complaints;
};

/* `places`: the most leases in hand. Errors: ERR_NO_MEMORY; close it then, too. */
must_check enum err push_reports_open(struct push_reports *reports, struct rpc *rpc, uint32_t places);
void                push_reports_close(struct push_reports *reports);

/* Records for the next call; `now` of the last push_reports_send() counts. */
void push_reports_lease(struct push_reports *reports, const struct push_report *report);
void push_reports_gone(struct push_reports *reports, const struct push_gone *gone);
void push_reports_complain(struct push_reports *reports, const struct push_complaint *complaint);

/* Once a turn. Returns how long the loop may sleep at most. */
dur_us push_reports_send(struct push_reports *reports, mono_us now, bool at_once);
