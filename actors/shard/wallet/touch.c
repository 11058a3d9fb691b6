/* wallet touch, and the steps in which the passes that are touched become due. Passes on phones and at Google are walked by their numbers, and
 * the row keeps the number from which the next step goes on. */
#include "actors/shard/wallet/touch.h"

#include "actors/shard/account/account.h"
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/push.h"
#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/hot.h"
#include "store/registration.h"
#include "store/template_row.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"

_Static_assert(2 * (int)TOUCH_STEP_MAX + 1 <= (int)BULK_WRITES_MAX,
               "a step writes two rows for each pass and its own");

enum err wallet_touch_passes(struct request *request, uint32_t template, wall_us due)
{
	struct wallet_due row = {
	    .account = request->account->id, .kind = WALLET_DUE_TOUCH, .number = template, .due = due};
	return wallet_kinds_here(request) ? wallet_due_put(request->view, &row) : OK;
}

/* Steps ----------------------------------------------------------------------------------------------------- */

/* What looks at passes that show something else uses up of the allowance of those that are touched: this part. */
enum { LOOKS_OF_ONE = 8 };

/* Passes in wallets, in order. */
enum { LOOKED_MAX = 256 /* rows of passes that are offered or were deleted, too */ };
struct walked {
	unsigned count;
	uint32_t next; /* the pass with which the next step begins; 0: there is none */
	struct {
		uint32_t number;
		bool     has_phone, is_saved; /* in Apple's wallet, in Google's */
	} of[TOUCH_STEP_MAX + 1];             /* with the one where the next step goes on */
};

/* Adds a pass in its place, if it is among the first. */
static void add(struct walked *walked, unsigned count_max, uint32_t number, bool has_phone)
{
	unsigned at = walked->count;
	while (at && walked->of[at - 1].number > number)
		at--;
	if (at && walked->of[at - 1].number == number)
		at--;
	else if (at > count_max)
		return;
	else {
		unsigned last = walked->count > count_max ? count_max : walked->count;
		memmove(&walked->of[at + 1], &walked->of[at], (last - at) * sizeof walked->of[0]);
		walked->of[at].number = number;
		walked->of[at].has_phone = walked->of[at].is_saved = false;
		walked->count = last + 1;
	}
	walked->of[at].has_phone |= has_phone;
	walked->of[at].is_saved |= !has_phone;
}

/* Is it full, and the number beyond the last of it? */
static bool is_beyond(const struct walked *walked, unsigned count_max, uint32_t number)
{
	return walked->count > count_max && number > walked->of[count_max].number;
}

/* What is behind the rows that were looked at is for the next step. */
static void cut(struct walked *walked, uint32_t number)
{
	while (walked->count && walked->of[walked->count - 1].number >= number)
		walked->count--;
	walked->next = number;
}

static enum err walk(struct request *request, uint32_t from, unsigned count_max, struct walked *walked)
{
	const struct account_id account = request->account->id;
	struct registration     phone = {.pass_number = from};
	struct wallet_google    saved = {.pass_number = from};
	enum err                err = registration_from(request->view, account, &phone);
	for (; !err && !is_beyond(walked, count_max, phone.pass_number);
	     err = registration_account_next(request->view, account, &phone))
		add(walked, count_max, phone.pass_number, true);
	if (err && err != ERR_NOT_FOUND) return err;
	err = wallet_google_row_from(request->view, account, &saved);
	for (unsigned looked = 0; !err && !is_beyond(walked, count_max, saved.pass_number); looked++) {
		if (looked == LOOKED_MAX) {
			cut(walked, saved.pass_number);
			break;
		}
		if (saved.state == WALLET_GOOGLE_SAVED) add(walked, count_max, saved.pass_number, false);
		err = wallet_google_row_next(request->view, account, &saved);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	if (walked->count > count_max) walked->next = walked->of[count_max].number;
	return OK;
}

static enum err put_due(struct request *request, uint32_t number, enum wallet_due_kind kind)
{
	const struct wallet_due due = {.account = request->account->id,
	                               .kind = kind,
	                               .number = number,
	                               .due = request->now,
	                               .flags = WALLET_DUE_IS_BULK};
	return wallet_due_put_change(request, &due);
}

static enum err push(struct request *request, uint32_t template, const struct walked *walked, unsigned i,
                     unsigned *pushed)
{
	uint32_t      number = walked->of[i].number;
	struct hot_at pass;
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	bool is_of_phones = template == WALLET_EVERY_PHONE;
	bool is_of_all = is_of_phones || template == WALLET_EVERY_TEMPLATE;
	bool is_meant = pass.now.status == PASS_ACTIVE ||
	                (is_of_phones && pass.now.status == PASS_DEACTIVATED);
	if (!is_meant || (!is_of_all && pass.now.template != template)) return OK;
	++*pushed;
	if (walked->of[i].has_phone) err = put_due(request, number, WALLET_DUE_PUSH);
	bool is_updated = walked->of[i].is_saved && !is_of_phones;
	return !err && is_updated ? put_due(request, number, WALLET_DUE_GOOGLE) : err;
}

enum err on_WALLET_TOUCH_STEP(struct request *request, struct outcome *outcome)
{
	struct walked     walked = {.count = 0};
	unsigned          count_max = (unsigned)arg_integer(&request->args[ARG_WALLET_TOUCH_STEP_count], 1);
	struct wallet_due row = {
	    .account = request->account->id,
	    .kind = WALLET_DUE_TOUCH,
	    .number = (uint32_t)arg_integer(&request->args[ARG_WALLET_TOUCH_STEP_number], 0)};
	enum err err = wallet_due_get(request->view, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = walk(request, row.position, count_max, &walked);
	unsigned count = walked.count > count_max ? count_max : walked.count, pushed = 0;
	for (unsigned i = 0; !err && i < count; i++)
		err = push(request, row.number, &walked, i, &pushed);
	if (err) return err;
	outcome->pushed = pushed + (count - pushed) / LOOKS_OF_ONE;
	row.position = walked.next;
	return row.position ? wallet_due_put(request->view, &row) : wallet_due_del(request->view, &row);
}

/* wallet touch ---------------------------------------------------------------------------------------------- */

static enum err touch_pass(struct request *request, struct span pass_id)
{
	struct hot_at pass;
	enum err      err = pass_find(request, pass_id, false, &pass);
	if (err || pass_is_dead(&pass.now)) return err;
	return pass_change(request, &pass, pass.now,
	                   (struct ledger_row){.what = LEDGER_EDITED, .field = LEDGER_SHOWS_NOTHING});
}

enum err wallet_touch_template(struct request *request, uint32_t number)
{
	struct template_row file;
	struct account_row  row = request->account->row;
	enum err            err = template_row_get(request->view, request->account->id, number, &file);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	file.look = ++row.looks;
	file.changed = request->now;
	err = template_row_put(request->view, request->account->id, number, &file);
	if (!err) err = account_row_put(request->view, request->account->id, &row);
	return err ? err : wallet_touch_passes(request, number, request->now);
}

static enum err touch_all(struct request *request)
{
	struct account_row row = request->account->row;
	row.name_look = ++row.looks;
	row.named = request->now;
	enum err err = account_row_put(request->view, request->account->id, &row);
	return err ? err : wallet_touch_passes(request, WALLET_EVERY_TEMPLATE, request->now);
}

/* Templates of other accounts are none of this one's. */
static enum err choose(const struct request *request, const msgpack_object *arg, uint32_t *number)
{
	enum err err = choose_template(request, arg, number);
	return err == ERR_UNAUTHORIZED ? ERR_PASS_TEMPLATE_NOT_FOUND : err;
}

enum err on_WALLET_TOUCH(struct request *request, struct outcome *outcome)
{
	const msgpack_object *pass_id = &request->args[ARG_WALLET_TOUCH_pass_id],
	                     *template_id = &request->args[ARG_WALLET_TOUCH_pass_template_id];
	msgpack_packer pk = buffer_packer(outcome->payload);
	uint32_t       number;
	enum err       err = OK;
	msgpack_pack_nil(&pk);
	if (arg_present(pass_id)) return touch_pass(request, arg_span(pass_id));
	if (!arg_present(template_id)) return touch_all(request);
	err = choose(request, template_id, &number);
	return err ? err : wallet_touch_template(request, number);
}

/* How many passes phones have, of those that WALLET_TOUCH names. */
struct wanted {
	bool has_template, has_pass;
	uint32_t template, pass;
};

static enum err take_wanted(struct request *request, struct wanted *wanted)
{
	const msgpack_object *pass_id = &request->args[ARG_WALLET_INSTALLED_pass_id],
	                     *template_id = &request->args[ARG_WALLET_INSTALLED_pass_template_id];
	struct hot_at pass;
	enum err      err = OK;
	*wanted = (struct wanted){.has_pass = arg_present(pass_id), .has_template = arg_present(template_id)};
	if (wanted->has_pass) {
		err = pass_find(request, arg_span(pass_id), false, &pass);
		if (!err) wanted->pass = pass.number;
	} else if (wanted->has_template) {
		err = choose(request, template_id, &wanted->template);
	}
	return err;
}

static bool is_wanted(const struct wanted *wanted, const struct hot_at *pass)
{
	if (pass->now.status != PASS_ACTIVE) return false;
	if (wanted->has_pass) return pass->number == wanted->pass;
	return !wanted->has_template || pass->now.template == wanted->template;
}

/* Those that are saved at Google and on no phone. */
static enum err count_saved_alone(struct request *request, const struct wanted *wanted, uint64_t *count)
{
	const struct account_id account = request->account->id;
	struct wallet_google    row = {.pass_number = 0};
	enum err                err = wallet_google_row_from(request->view, account, &row);
	for (; !err; err = wallet_google_row_next(request->view, account, &row)) {
		struct registration phone = {.pass_number = row.pass_number};
		struct hot_at       pass;
		if (row.state != WALLET_GOOGLE_SAVED) continue;
		if ((err = hot_get(request->view, account, row.pass_number, &pass))) break;
		enum err found = registration_first(request->view, account, &phone);
		if (found && found != ERR_NOT_FOUND) return found;
		*count += found && is_wanted(wanted, &pass);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_WALLET_INSTALLED(struct request *request, struct outcome *outcome)
{
	const struct account_id account = request->account->id;
	struct wanted           wanted;
	struct registration     row = {.pass_number = 0};
	struct hot_at           pass = {.number = UINT32_MAX};
	uint64_t                count = 0;
	msgpack_packer          pk = buffer_packer(outcome->payload);
	enum err                err = take_wanted(request, &wanted);
	if (err) return err;
	row.pass_number = wanted.pass;
	err = registration_from(request->view, account, &row);
	for (; !err; err = registration_account_next(request->view, account, &row)) {
		if (row.pass_number == pass.number) continue;
		if (wanted.has_pass && row.pass_number != wanted.pass) break;
		if ((err = hot_get(request->view, account, row.pass_number, &pass)))
			return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		count += is_wanted(&wanted, &pass);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	if ((err = count_saved_alone(request, &wanted, &count))) return err;
	msgpack_pack_map(&pk, 1);
	pack_count(&pk, "passes", count);
	return OK;
}
