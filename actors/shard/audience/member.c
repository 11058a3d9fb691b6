/* An audience's row may have 10,000 members, and an account may send to the same audience every day. So the last
 * MEMBERSHIPS_KEPT answers are kept, and an audience among them is not read again. */
#include "actors/shard/audience/member.h"

#include "store/keys.h"

static enum err look_up(struct request *request, struct memberships *memberships,
                        struct membership *membership)
{
	struct row_key  key = key_uuid(request->account->id, membership->audience);
	struct buffer   room = {0};
	struct view_row found;
	struct audience row;
	enum err        err = view_parted_from(request->view, TABLE_AUDIENCE, key_span(&key), &room, &found);
	if (!err && !span_equal(found.key, key_span(&key))) err = ERR_NOT_FOUND;
	if (!err && !(err = audience_read(found.value, &row))) {
		membership->is_member = audience_has(&row, memberships->pass, &membership->since);
		memberships->read_bytes += row.stored.size;
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err membership_of(struct request *request, struct memberships *memberships, struct uuid audience,
                       struct membership *membership)
{
	for (unsigned i = 0; i < memberships->count; i++)
		if (uuid_same(memberships->kept[i].audience, audience)) {
			*membership = memberships->kept[i];
			return OK;
		}
	*membership = (struct membership){.audience = audience};
	enum err err = look_up(request, memberships, membership);
	if (err) return err;
	memberships->kept[memberships->next] = *membership;
	memberships->next = (memberships->next + 1) % MEMBERSHIPS_KEPT;
	if (memberships->count < MEMBERSHIPS_KEPT) memberships->count++;
	return OK;
}
