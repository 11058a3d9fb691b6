/* wallet touch, and the steps in which the passes that are touched become due. Registrations are walked by the passes' numbers, and
 * the row keeps the number from which the next step goes on. */
#include "actors/shard/wallet/touch.h"

#include "actors/shard/account/account.h"
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/hot.h"
#include "store/registration.h"
#include "store/template_row.h"
#include "store/wallet_due.h"

_Static_assert((int)TOUCH_STEP_MAX + 1 <= (int)BULK_WRITES_MAX,
               "a step writes a row for each pass and its own");

enum err wallet_touch_passes(struct request *request, uint32_t template)
{
	struct wallet_due row = {.account = request->account->id,
	                         .kind = WALLET_DUE_TOUCH,
	                         .number = template,
	                         .due = request->now};
	return wallet_kinds_here(request) & WALLET_BIT(WALLET_APPLE) ? wallet_due_put(request->view, &row)
	                                                             : OK;
}

/* Steps ----------------------------------------------------------------------------------------------------- */

/* Passes that phones have, in order. */
struct walked {
	unsigned count;
	uint32_t numbers[TOUCH_STEP_MAX];
	uint32_t next; /* where the next step goes on; 0: there are no more */
};

static enum err walk(struct request *request, uint32_t from, unsigned count_max, struct walked *walked)
{
	struct registration row = {.pass_number = from};
	enum err            err = registration_from(request->view, request->account->id, &row);
	for (; !err; err = registration_account_next(request->view, request->account->id, &row)) {
		if (walked->count && walked->numbers[walked->count - 1] == row.pass_number) continue;
		if (walked->count == count_max) {
			walked->next = row.pass_number;
			return OK;
		}
		walked->numbers[walked->count++] = row.pass_number;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err push(struct request *request, uint32_t template, uint32_t number)
{
	struct wallet_due row = {.account = request->account->id, .kind = WALLET_DUE_PUSH, .number = number};
	struct hot_at     pass;
	enum err          err = hot_get(request->view, row.account, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (pass.now.status != PASS_ACTIVE) return OK;
	if (template != WALLET_EVERY_TEMPLATE && pass.now.template != template) return OK;
	err = wallet_due_get(request->view, &row); /* one that waits covers this change, too */
	if (err != ERR_NOT_FOUND) return err;
	row.due = row.since = request->now;
	row.flags = WALLET_DUE_IS_BULK;
	return wallet_due_put(request->view, &row);
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
	for (unsigned i = 0; !err && i < walked.count; i++)
		err = push(request, row.number, walked.numbers[i]);
	if (err) return err;
	outcome->pushed = walked.count;
	row.position = walked.next;
	return walked.next ? wallet_due_put(request->view, &row) : wallet_due_del(request->view, &row);
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

static enum err touch_template(struct request *request, uint32_t number)
{
	struct template_row file;
	struct account_row  row = request->account->row;
	enum err            err = template_row_get(request->view, request->account->id, number, &file);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	file.look = ++row.looks;
	file.changed = request->now;
	err = template_row_put(request->view, request->account->id, number, &file);
	if (!err) err = account_row_put(request->view, request->account->id, &row);
	return err ? err : wallet_touch_passes(request, number);
}

static enum err touch_all(struct request *request)
{
	struct account_row row = request->account->row;
	row.name_look = ++row.looks;
	row.named = request->now;
	enum err err = account_row_put(request->view, request->account->id, &row);
	return err ? err : wallet_touch_passes(request, WALLET_EVERY_TEMPLATE);
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
	return err ? err : touch_template(request, number);
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
	msgpack_pack_map(&pk, 1);
	pack_count(&pk, "passes", count);
	return OK;
}
