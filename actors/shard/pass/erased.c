/* What an erased pass leaves in other tables, removed in steps: cards, then the texts of redemptions, then those of
 * notifications, which are found by going through all that the account made while the pass lived, then its places in
 * audiences, which are found by going through all of these, then its places in wallets.
 * State of its row of CLEANUP: what is at hand u8 | number of the next notification u32 | what was looked at last: the
 * redemption, entitlement 16 | id 16, or then the audience, 16 | 0. */
#include "actors/shard/pass/erase.h"

#include "schemas/bytes.h"
#include "actors/shard/card/card.h"
#include "store/audience.h"
#include "store/hot.h"
#include "store/meta.h"
#include "store/notification.h"
#include "store/redemption.h"
#include "store/registration.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"

enum part { CARDS, REDEMPTIONS, NOTIFICATIONS, AUDIENCES, PHONES, END };
enum { STATE_BYTES = 37, CARDS_MAX = BULK_WRITES_MAX / 4, TEXTS_MAX = BULK_WRITES_MAX / 3 };
enum { LOOK_BYTES = 128 }; /* of an audience: as much work as another row */
_Static_assert((int)STATE_BYTES <= (int)CLEANUP_STATE_MAX, "it fits");

struct at {
	enum part         part;
	uint32_t          number; /* of a notification */
	struct redemption redemption;
	struct uuid       audience;
};

static enum err state_read(const struct cleanup *row, struct at *at)
{
	*at = (struct at){.part = CARDS, .redemption = {.pass = cleanup_number(row)}};
	if (row->state_size == 0) return OK;
	if (row->state_size != STATE_BYTES || row->state[0] >= END) return ERR_DAMAGED;
	at->part = (enum part)row->state[0];
	at->number = get_be32(row->state + 1);
	memcpy(at->audience.b, row->state + 5, sizeof at->audience);
	memcpy(at->redemption.entitlement.b, row->state + 5, sizeof at->redemption.entitlement);
	memcpy(at->redemption.id.b, row->state + 21, sizeof at->redemption.id);
	return OK;
}

static void state_write(const struct at *at, struct cleanup *row)
{
	row->state_size = STATE_BYTES;
	row->state[0] = (uint8_t)at->part;
	put_be32(row->state + 1, at->number);
	memset(row->state + 5, 0, STATE_BYTES - 5);
	if (at->part == AUDIENCES) memcpy(row->state + 5, at->audience.b, sizeof at->audience);
	if (at->part != REDEMPTIONS) return;
	memcpy(row->state + 5, at->redemption.entitlement.b, sizeof at->redemption.entitlement);
	memcpy(row->state + 21, at->redemption.id.b, sizeof at->redemption.id);
}

static enum err clean_cards(struct view *view, const struct cleanup *row, struct at *at)
{
	struct card cards[CARDS_MAX];
	unsigned    count = 0;
	enum err    err = card_newest(view, row->account, cleanup_number(row), &cards[0]);
	while (!err && ++count < CARDS_MAX) {
		cards[count] = cards[count - 1];
		err = card_older(view, row->account, &cards[count]);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	if (err) at->part = REDEMPTIONS;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = card_del(view, row->account, &cards[i]);
	return err;
}

static enum err clean_redemptions(struct view *view, const struct cleanup *row, const struct hot_at *pass,
                                  struct at *at)
{
	struct redemption found[TEXTS_MAX];
	struct buffer     room = {0};
	unsigned          count = 0, looked = 0;
	enum err          err = OK;
	while (count < TEXTS_MAX && looked++ < CLEAN_LOOKED_MAX &&
	       !(err = redemption_next(view, row->account, &room, &at->redemption))) {
		if (!at->redemption.context.size && !at->redemption.note.size) continue;
		at->redemption.context = at->redemption.note = span_of("", 0);
		found[count++] = at->redemption;
	}
	buffer_free(&room);
	if (err == ERR_NOT_FOUND) {
		at->part = NOTIFICATIONS;
		err = notification_since(view, row->account, pass->now.created, &at->number);
	}
	for (unsigned i = 0; !err && i < count; i++)
		err = redemption_put(view, row->account, &found[i]);
	return err;
}

static enum err clean_notifications(struct view *view, const struct cleanup *row, const struct hot_at *pass,
                                    struct at *at)
{
	struct notification found;
	unsigned            count = 0, looked = 0;
	enum err            err = OK;
	for (; count < TEXTS_MAX && looked < CLEAN_LOOKED_MAX; looked++, at->number++) {
		err = notification_get(view, row->account, at->number, &found);
		if (err == ERR_NOT_FOUND || (!err && found.created.v > pass->now.updated.v)) {
			at->part = AUDIENCES;
			at->audience = (struct uuid){{0}};
			return OK;
		}
		if (err) return err;
		if (found.to_audience || found.pass_number != pass->number || !found.message.size) continue;
		if ((err = notification_blank(view, row->account, at->number))) return err;
		count++;
	}
	return OK;
}

static enum err clean_audiences(struct view *view, const struct cleanup *row, const struct hot_at *pass,
                                struct at *at)
{
	struct audience found = {.id = at->audience};
	struct buffer   room = {0};
	size_t          looked = 0;
	wall_us         since;
	enum err        err = OK;
	while (looked < CLEAN_LOOKED_MAX && !(err = audience_next(view, row->account, &room, &found))) {
		at->audience = found.id;
		looked += 1 + found.stored.size / LOOK_BYTES;
		if (!audience_has(&found, pass->number, &since)) continue;
		err = audience_row_leave(view, row->account, &found, pass->number);
		break; /* what follows is read from the tables, before the next step's writes */
	}
	buffer_free(&room);
	if (err == ERR_NOT_FOUND) at->part = PHONES;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Phones that are still to get the pass without its texts go later, with a row that has its token. */
static enum err leave_phones(struct view *view, const struct cleanup *row, bool *done)
{
	struct cleanup phones = cleanup_of_number(row->account, CLEANUP_REGISTRATIONS, cleanup_number(row));
	enum err       err = cleanup_get(view, &phones);
	if (err && err != ERR_NOT_FOUND) return err;
	*done = !err && phones.state_size;
	return *done ? OK : registrations_clean(view, row, done);
}

static enum err clean_phones(struct view *view, const struct cleanup *row, struct at *at)
{
	struct wallet_google saved = {.pass_number = cleanup_number(row)};
	bool                 done;
	enum err             err = wallet_google_row_get(view, row->account, &saved);
	if (err && err != ERR_NOT_FOUND) return err;
	struct wallet_due due = {
	    .account = row->account, .kind = WALLET_DUE_GOOGLE, .number = saved.pass_number};
	bool     is_at_google = !err;
	enum err waits = wallet_due_get(view, &due);
	if (waits && waits != ERR_NOT_FOUND) return waits;
	if ((err = leave_phones(view, row, &done)) || !done) return err;
	at->part = END;
	/* While Google is still to blank its object, the report of that deletes the row. */
	return is_at_google && waits ? wallet_google_row_del(view, row->account, saved.pass_number) : OK;
}

enum err pass_erased_clean(struct request *request, struct cleanup *row, bool *done)
{
	struct view  *view = request->view;
	struct hot_at pass;
	struct at     at;
	enum err      err = row->subject_size == 4 ? state_read(row, &at) : ERR_DAMAGED;
	if (!err) err = hot_get(view, row->account, cleanup_number(row), &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	switch (at.part) {
	case CARDS: err = clean_cards(view, row, &at); break;
	case REDEMPTIONS: err = clean_redemptions(view, row, &pass, &at); break;
	case NOTIFICATIONS: err = clean_notifications(view, row, &pass, &at); break;
	case AUDIENCES: err = clean_audiences(view, row, &pass, &at); break;
	case PHONES: err = clean_phones(view, row, &at); break;
	case END: break;
	}
	*done = at.part == END;
	state_write(&at, row);
	return err ? err : erased_put(view, request->now);
}

enum err pass_phones_clean(struct request *request, struct cleanup *row, bool *done)
{
	enum err err = registrations_clean(request->view, row, done);
	return !err && row->state_size ? erased_put(request->view, request->now) : err;
}
