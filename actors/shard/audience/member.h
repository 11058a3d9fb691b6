#pragma once
#include "actors/shard/command.h"
#include "store/audience.h"

/* Which audiences a pass is a member of, asked again and again: the answers of the last few are kept. Range reads. */
enum { MEMBERSHIPS_KEPT = 64 };

struct membership {
	struct uuid audience;
	bool        is_member;
	wall_us     since;
};

struct memberships {
	uint32_t          pass;
	unsigned          count, next;
	size_t            read_bytes; /* of members, so far: what the answers cost */
	struct membership kept[MEMBERSHIPS_KEPT];
};

/* Is the pass in that audience? One that does not exist has no members. Errors: as view.h. */
must_check enum err membership_of(struct request *request, struct memberships *memberships,
                                  struct uuid audience, struct membership *membership);
