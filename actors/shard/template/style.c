/* Is a pass of the template installed? Its row counts them. */
#include "actors/shard/template/style.h"

#include "schemas/states.h"
#include "store/tally.h"
#include "store/template_state.h"

static enum err is_installed(struct request *request, uint32_t number, bool *found)
{
	struct template_use use;
	struct tally        tally;
	enum err            err = template_use_get(request->view, request->account->id, number, &use);
	if (err) return err;
	*found = use.installed;
	if (!use.is_from_before) return OK;
	err = tally_get(request->view, request->account->id,
	                &tally); /* then any installed pass may be of it */
	*found = tally.counts[PASS_ACTIVE];
	return err;
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
	return ERR_RESOURCE_CONFLICT;
}
