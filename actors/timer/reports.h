#pragma once
#include "actors/timer/egress_job.h"
#include "schemas/buffer.h"

#include <sys/queue.h>

/* Reports of one shard's work on their way to it: of deliveries, of pushes, of work at Google. They wait for each other a moment,
 * since each call costs the shard a journal record. What the shard did not receive or could not store is sent again. Not shared
 * between threads.
 *
 * A call has records of one or more streams, each an argument of bytes. Stream 0 has the reports that end leases; the others,
 * what was noticed meanwhile. */
enum { REPORT_STREAMS_MAX = 3 };

struct report_kind {
	enum message message;
	unsigned     streams;
	struct {
		size_t   bytes;  /* of a record */
		uint32_t a_call; /* records in one call at most */
	} of[REPORT_STREAMS_MAX];
	unsigned calls_max;    /* in progress at a time */
	uint32_t gathered_max; /* so many reports are sent without a wait */
	dur_us   gather;       /* the longest wait of a report for others */
	dur_us   again;        /* how long nothing is sent after a failure */
};

LIST_HEAD(sent_list, sent_records);
struct reports {
	const struct report_kind *kind;
	struct rpc               *rpc;
	struct sent_list          sent;
	struct buffer of[REPORT_STREAMS_MAX]; /* not sent yet; their room is there from the start */
	uint32_t      in_hand;                /* leases without an acknowledged report; the caller adds */
	uint32_t      calling, unconfirmed;   /* calls in progress, and reports in them */
	mono_us       now, gathered_by, again_at;
};

/* `rooms`: of each stream, the most records that wait. Stream 0 needs one for each lease in hand. Errors: ERR_NO_MEMORY; close it
 * then, too. */
must_check enum err reports_open(struct reports *reports, const struct report_kind *kind, struct rpc *rpc,
                                 const uint32_t rooms[]);
void                reports_close(struct reports *reports);

/* A record for the next call, behind the others of its stream, or in front of them. One without room is dropped. `now` of the
 * last reports_send() counts. */
void reports_add(struct reports *reports, unsigned stream, const void *record, bool in_front);
/* Reports that no call has taken yet. */
uint32_t reports_waiting(const struct reports *reports);

/* Once a turn. `at_once`: without a wait for others. Returns how long the loop may sleep at most. */
dur_us reports_send(struct reports *reports, mono_us now, bool at_once);
