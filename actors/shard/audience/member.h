#pragma once
#include "actors/shard/command.h"
#include "store/audience.h"

/* Looks up many times whether a pass is a member of an audience: the last few answers are kept. Range reads. */
enum { MEMBERSHIPS_KEPT = 64 };

struct membership {
	struct uuid audience;
	bool        is_member;
	wall_us     since;
};

struct memberships {
	uint32_t          pass;
	unsigned          count, next;
	size_t            read_bytes; /* of members, so far: the cost of the answers */
	struct membership kept[MEMBERSHIPS_KEPT];
};

/* Is the pass in that audience? One that does not exist has no members. Errors: as view.h. */
must_check enum err membership_of(struct request *request, struct memberships *memberships,
                                  struct uuid audience, struct membership *membership);
