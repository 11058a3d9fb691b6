/* Looks for an installed pass of a template. The copy of the statuses says where active ones are; each of them is asked for
 * its template until one is found. */
#include "actors/shard/template/style.h"

#include "schemas/states.h"
#include "store/status.h"
#include "store/tally.h"
#include "store/template_state.h"

enum { MASK_BITS = 64 };

static enum err look_at(struct request *request, uint32_t number, uint32_t pass, bool *found)
{
	struct hot_at at;
	enum err      err = hot_get(request->view, request->account->id, pass, &at);
	if (!err) *found = at.now.template == number;
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

static enum err look_in_row(struct request *request, uint32_t number, uint32_t row, bool *found)
{
	const uint8_t *statuses;
	enum err       err = status_row_get(request->view, request->account->id, row, &statuses);
	for (uint32_t at = 0; !err && !*found && at < STATUS_PASSES; at += MASK_BITS) {
		uint64_t mask = status_mask(statuses + at, 1 << PASS_ACTIVE);
		for (; !err && !*found && mask; mask &= mask - 1) {
			uint32_t pass = row * STATUS_PASSES + at + (uint32_t)__builtin_ctzll(mask);
			err = look_at(request, number, pass, found);
		}
	}
	return err;
}

static enum err is_installed(struct request *request, uint32_t number, bool *found)
{
	struct template_use use;
	struct tally        tally;
	enum err            err = template_use_get(request->view, request->account->id, number, &use);
	*found = false;
	if (err || !use.passes) return err;
	if ((err = tally_get(request->view, request->account->id, &tally))) return err;
	if (!tally.counts[PASS_ACTIVE]) return OK;
	uint32_t rows = (tally.made + STATUS_PASSES - 1) / STATUS_PASSES;
	for (uint32_t row = 0; !err && !*found && row < rows; row++)
		err = look_in_row(request, number, row, found);
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
