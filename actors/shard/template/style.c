/* Is a pass of the template installed? Its row counts those that are active. A pass that has ended is shown as void by the phones that
 * still have it, in the style in which they have it. */
#include "actors/shard/template/style.h"

#include "schemas/states.h"
#include "store/cleanup.h"
#include "store/registration.h"
#include "store/tally.h"
#include "store/template_state.h"

enum { LOOKED_MAX = 10000 };

/* Has a phone that pass, which has ended, and is it of the template? */
static enum err is_on_phone(struct request *request, uint32_t pass_number, uint32_t template, bool *found)
{
	struct account_id   account = request->account->id;
	struct registration phone = {.pass_number = pass_number};
	struct hot_at       pass;
	enum err            err = hot_get(request->view, account, pass_number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (pass.now.template != template) return OK;
	err = registration_first(request->view, account, &phone);
	*found = !err;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Passes that have ended and that phones may still have are waiting for the removal of their phones. If they are very many, one is
 * taken to be of the template. */
static enum err is_ended_on_phone(struct request *request, uint32_t template, bool *found)
{
	struct cleanup row = {.account = request->account->id, .kind = CLEANUP_REGISTRATIONS};
	unsigned       looked = 0;
	enum err       err = cleanup_from(request->view, &row);
	for (; !err && !*found; err = cleanup_next(request->view, &row)) {
		if (row.kind != CLEANUP_REGISTRATIONS || !account_same(row.account, request->account->id))
			return OK;
		*found = looked++ == LOOKED_MAX;
		if (!*found && (err = is_on_phone(request, cleanup_number(&row), template, found)))
			return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err is_installed(struct request *request, uint32_t number, bool *found)
{
	struct template_use use;
	struct tally        tally;
	enum err            err = template_use_get(request->view, request->account->id, number, &use);
	if (!err) err = tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	/* Of a row from before wallets any installed pass may be. */
	*found = use.is_from_before ? tally.counts[PASS_ACTIVE] : use.installed;
	if (*found || !tally.registrations) return OK;
	return is_ended_on_phone(request, number, found);
}

enum err template_check_style(struct request *request, struct outcome *outcome, uint32_t number,
                              enum wallet_style style)
{
	struct wallet_settings        room;
	const struct wallet_settings *before;
	bool                          is_fixed;
	enum err err = account_template_wallet(request->account, request->view, number, &room, &before);
	if (err || before->style == style) return err;
	if ((err = is_installed(request, number, &is_fixed)) || !is_fixed) return err;
	outcome->message = "A template's wallet.style is fixed while a pass of it is installed.";
	return blame(outcome, ERR_RESOURCE_CONFLICT, span_str("wallet.style"));
}
