/* A phone takes a pass, and gives it up. The first phone makes the pass active. When the last one is gone, the pass is removed
 * a minute later, unless one has come back: phones give up a pass and take it again by themselves. What a phone takes is the
 * package that it downloaded before. If the pass has changed lately, it is pushed to. */
#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/new_pictures.h"
#include "actors/shard/wallet/phone.h"
#include "actors/shard/wallet/held.h"

#include "schemas/api/phone.h"
#include "schemas/api/push.h"
#include "store/cleanup.h"
#include "store/image_shape.h"
#include "store/ledger.h"
#include "store/tally.h"

/* How long a holder may take from the download to the registration. A longer time would push more to phones that take many passes
 * again. */
enum { TAKEN_WITHIN_S = 3600, ROWS_LOOKED_MAX = 32, NOTED_AGAIN_S = 60 };

static struct registration named(const struct hot_at *pass, struct span device_id, uint64_t credential)
{
	struct registration row = {.pass_number = pass->number, .credential = credential};
	registration_device(device_id, row.device);
	return row;
}

static bool is_same(const struct registration *a, const struct registration *b)
{
	return a->credential == b->credential && !memcmp(a->device, b->device, DEVICE_BYTES);
}

/* Does `row` go before `than`, to make room for a phone with this push token? */
static bool goes_before(const struct registration *row, const struct registration *than,
                        struct span push_token)
{
	bool has = span_equal(row->push_token, push_token), other = span_equal(than->push_token, push_token);
	return has != other ? has : row->since.v < than->since.v;
}

/* The phones of a pass before this command. */
struct phones {
	unsigned            count;
	bool                has_it;     /* the phone that asks */
	bool                is_reached; /* it has it with the same push token */
	struct registration oldest;     /* the one that makes room */
};

/* A range read. */
static enum err look(struct request *request, const struct registration *asks, struct phones *phones)
{
	struct registration row = {.pass_number = asks->pass_number};
	struct account_id   account = request->account->id;
	enum err            err = registration_first(request->view, account, &row);
	*phones = (struct phones){.count = 0};
	for (; !err; err = registration_next(request->view, account, &row)) {
		if (!phones->count || goes_before(&row, &phones->oldest, asks->push_token))
			phones->oldest = row;
		if (is_same(&row, asks)) {
			phones->has_it = true;
			phones->is_reached = span_equal(row.push_token, asks->push_token);
		}
		phones->count++;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* A phone may take a pass that has ended, once more, but not for ever. */
static enum err limit_ended(struct request *request, const struct hot_at *pass)
{
	struct cleanup phones = cleanup_of_number(pass->account, CLEANUP_REGISTRATIONS, pass->number);
	enum err       err = cleanup_get(request->view, &phones);
	if (err != ERR_NOT_FOUND) return err;
	if ((err = phone_pass_ended(request, pass, &phones.from))) return err;
	phones.from = wallet_ended_until(phones.from);
	return cleanup_put(request->view, &phones);
}

/* What the registration makes of the pass. */
static enum err note(struct request *request, const struct hot_at *pass, bool is_first)
{
	enum err err = OK;
	switch ((enum pass_status)pass->now.status) {
	case PASS_ACTIVE: err = phone_removal_cancel(request, pass); break;
	case PASS_ISSUED:
	case PASS_REMOVED: err = phone_pass_installed(request, pass); break;
	default: return limit_ended(request, pass);
	}
	return err ? err : tally_installed(request->view, pass->account, WALLET_APPLE, is_first);
}

/* Changes later than this may be unknown to the phone that takes the pass now. Pushes to its former push token were perhaps lost, and
 * since the removal of a pass no phone was pushed to. */
static wall_us unknown_from(const struct request *request, const struct hot_at *pass, bool is_known)
{
	const wall_us from = {request->now.v - TAKEN_WITHIN_S * US_PER_SEC}, created = pass->now.created;
	bool          is_of_all = is_known || pass->now.status == PASS_REMOVED;
	return is_of_all || from.v < created.v ? created : from;
}

/* A message to a pass that no wallet had is not shown. */
static bool is_shown(const struct ledger_row *row)
{
	switch (row->what) {
	case LEDGER_INSTALLED:
	case LEDGER_UNINSTALLED: return false;
	case LEDGER_MESSAGE: return row->status == PASS_ACTIVE;
	default: return !ledger_moves(row->what) || row->delta;
	}
}

/* Has it changed, perhaps after its package was downloaded? Point reads. */
static enum err has_changed_lately(struct request *request, const struct hot_at *pass,
                                   const struct phones *phones, bool *changed)
{
	struct ledger_row row = {.previous = pass->now.ledger_head};
	wall_us           begin = unknown_from(request, pass, phones->has_it), shown;
	uint32_t          look;
	unsigned          looked = 0;
	bool              is_removed = pass->now.status == PASS_REMOVED;
	enum err          err = OK;
	for (*changed = false; !err && !*changed && row.previous; looked++) {
		err = ledger_get(request->view, pass->account, row.previous, &row);
		if (err || row.at.v <= begin.v || row.what == LEDGER_ISSUED) break;
		*changed = is_shown(&row) || looked == ROWS_LOOKED_MAX;
		if (!is_removed || row.what != LEDGER_UNINSTALLED) continue;
		/* Its last phone went earlier, perhaps because a push did not reach it. */
		int64_t gone = row.at.v - TAKEN_WITHIN_S * US_PER_SEC;
		if (gone > begin.v) begin.v = gone;
		is_removed = false;
	}
	if (!err)
		err = account_template_look(request->account, request->view, pass->now.template, &look,
		                            &shown);
	*changed |= !err && shown.v > begin.v;
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

/* A push that waits for its next try, or is under way without this phone, begins again. */
static enum err push_again(struct request *request, const struct hot_at *pass)
{
	struct wallet_due due = {.account = pass->account, .kind = WALLET_DUE_PUSH, .number = pass->number};
	enum err          err = wallet_due_get(request->view, &due);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err) due.flags = WALLET_DUE_IS_BULK; /* many phones may take their passes at once */
	if (err || work_is_leased(request->work, due.account, due.kind, due.number))
		due.since = request->now; /* the other phones have it */
	due.due = request->now;
	due.tries = 0;
	return wallet_due_put(request->view, &due);
}

/* Another phone has taken a pass that is active. Its tag of another pass may be newer than what it lacks, so the pass gets an event
 * of its own, by which the list names it; one a minute, since a phone may come with many device ids. */
static enum err note_another(struct request *request, const struct hot_at *pass)
{
	struct ledger_row newest;
	if (pass->now.status != PASS_ACTIVE) return OK;
	enum err err = ledger_get(request->view, pass->account, pass->now.ledger_head, &newest);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	bool is_noted = newest.what == LEDGER_INSTALLED &&
	                newest.at.v > request->now.v - NOTED_AGAIN_S * US_PER_SEC;
	if (is_noted) return OK;
	return pass_change(request, pass, pass->now, (struct ledger_row){.what = LEDGER_INSTALLED});
}

static enum err push_what_changed(struct request *request, const struct hot_at *pass,
                                  const struct phones *phones)
{
	bool     changed;
	enum err err = has_changed_lately(request, pass, phones, &changed);
	if (err || !changed) return err;
	if (!phones->has_it && (err = note_another(request, pass))) return err;
	return push_again(request, pass);
}

/* Answers whether the registration is new. */
enum err on_WALLET_REGISTER(struct request *request, struct outcome *outcome)
{
	const msgpack_object    *args = request->args;
	struct hot_at            pass;
	struct phones            phones;
	bool                     are_due; /* images that its package has lacked, perhaps */
	struct wallet_credential credential;
	msgpack_packer           pk = buffer_packer(outcome->payload);
	if (!wallet_is_on(&request->account->row, WALLET_APPLE)) return ERR_UNAUTHENTICATED;
	enum err err = phone_pass(request, &args[ARG_WALLET_REGISTER_token], &pass);
	if (!err) err = phone_credential(request, arg_span(&args[ARG_WALLET_REGISTER_type]), &credential);
	if (!err) err = phone_may_have(request, &pass);
	if (err) return err;
	struct registration row = named(&pass, arg_span(&args[ARG_WALLET_REGISTER_device]),
	                                credential.number);
	row.push_token = arg_span(&args[ARG_WALLET_REGISTER_push_token]);
	row.since = wallet_real_time(request);
	if ((err = look(request, &row, &phones))) return err;
	if ((err = shapes_are_due(request->view, pass.account, &are_due))) return err;
	bool is_full = !phones.has_it && phones.count >= REGISTRATIONS_PER_PASS_MAX;
	if (is_full) err = registration_del(request->view, pass.account, &phones.oldest);
	if (!err)
		err = phones.has_it ? registration_renew(request->view, pass.account, &row)
		                    : registration_put(request->view, pass.account, &row);
	if (!err) err = note(request, &pass, !phones.count);
	if (!err && are_due) err = pictures_await(request, &pass);
	if (!err && !phones.is_reached) err = push_what_changed(request, &pass, &phones);
	/* A push may wait because no credential served a phone of the pass: one may serve this one. */
	if (!err && !phones.has_it)
		err = held_wake(request->work, pass.account, WALLET_DUE_PUSH, pass.number, request->now);
	phones.has_it ? msgpack_pack_false(&pk) : msgpack_pack_true(&pk);
	return err;
}

/* Answers nothing: giving up a pass that the phone has not is as good. */
enum err on_WALLET_UNREGISTER(struct request *request, struct outcome *outcome)
{
	const msgpack_object    *args = request->args;
	struct span              type = arg_span(&args[ARG_WALLET_UNREGISTER_type]);
	struct hot_at            pass;
	struct phones            phones;
	struct wallet_credential credential;
	(void)outcome;
	enum err err = phone_pass(request, &args[ARG_WALLET_UNREGISTER_token], &pass);
	if (err) return err;
	struct registration row = named(&pass, arg_span(&args[ARG_WALLET_UNREGISTER_device]),
	                                wallet_number(type));
	if ((err = look(request, &row, &phones))) return err;
	/* Without a credential any more, those who have it may still give it up. */
	if (!phones.has_it) return phone_credential(request, type, &credential);
	return phone_gives_up(request, &pass, &row, phones.count == 1);
}

/* The shard itself, when the minute is over. Something may have happened in between. */
enum err on_WALLET_REMOVE(struct request *request, struct outcome *outcome)
{
	uint32_t          number = (uint32_t)arg_integer(&request->args[ARG_WALLET_REMOVE_number], 0);
	struct wallet_due due = {
	    .account = request->account->id, .kind = WALLET_DUE_REMOVAL, .number = number};
	struct hot_at pass;
	enum err      err = wallet_due_get(request->view, &due);
	(void)outcome;
	if (err || due.due.v > request->now.v) return err == ERR_NOT_FOUND ? OK : err;
	err = hot_get(request->view, due.account, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return pass.now.flags & HOT_BY_WALLET ? phone_pass_removed(request, &pass) : ERR_DAMAGED;
}
