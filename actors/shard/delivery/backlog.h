#pragma once
#include "schemas/limits.h"
#include "store/delivery.h"

/* What a shard's deliveries come to, as of a reader's view. */
struct backlog {
	uint64_t waiting, leased; /* of those that are wanted; at most DELIVERIES_COUNTED_MAX are looked at */
	uint64_t due;             /* of those that wait */
	int64_t  oldest_due_seconds; /* 0: nothing is due */
	unsigned worst_count;
	struct backlog_lane {
		struct account_id account;
		struct uuid       subscription;
		uint64_t          retries; /* that wait after an attempt that failed */
		uint8_t           error;   /* of the last that was seen, as in struct delivery */
		uint16_t          status;
		uint8_t           detail;
	} worst[FAILING_MAX]; /* the subscriptions with the most, the most first */
};

/* `now`: service time. Errors: as view.h. */
must_check enum err backlog_count(struct view *view, wall_us now, struct backlog *backlog);

/* Packs it as members of a map, BACKLOG_MEMBERS of them. Errors: as view.h. */
enum { BACKLOG_MEMBERS = 5 };
must_check enum err backlog_pack(struct view *view, const struct backlog *backlog, msgpack_packer *packer);
