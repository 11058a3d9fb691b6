#pragma once
#include "schemas/limits.h"
#include "store/delivery.h"

/* Summary of a shard's deliveries, in a reader's view. */
struct backlog {
	uint64_t waiting, leased; /* wanted deliveries only; at most DELIVERIES_COUNTED_MAX rows are read */
	uint64_t due;             /* of the waiting ones */
	int64_t  oldest_due_seconds; /* 0: nothing is due */
	unsigned worst_count;
	struct backlog_lane {
		struct account_id account;
		struct uuid       subscription;
		uint64_t          retries; /* waiting after a failed attempt */
		uint8_t           error;   /* of the last one seen, as in struct delivery */
		uint16_t          status;
		uint8_t           detail;
	} worst[FAILING_MAX]; /* subscriptions with most retries, most first */
};

/* `now`: service time. Errors: as view.h. */
must_check enum err backlog_count(struct view *view, wall_us now, struct backlog *backlog);

/* Packs the backlog as members of a map (object_msgpack.h). Errors: as view.h. */
must_check enum err backlog_pack(struct view *view, const struct backlog *backlog, msgpack_packer *pk,
                                 size_t map);
