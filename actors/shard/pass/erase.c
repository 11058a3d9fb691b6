/* pass erase ACCOUNT PASS_ID: removes everything of a pass that is its holder's. The pass stays as a number with its random id,
 * the history of its counter and its scans.
 *
 * One command is one step, and its answer says whether there is more to do; the command line sends it again. Each of the first
 * steps erases one pass of that id: the live one, then those that were deleted before. From that commit on no list, search or
 * page shows the holder. Further steps remove what the pass has in other tables; the shard also takes them by itself
 * (system/clean.c), in case the command is not sent again. `bound` excludes a pass that is created under the id meanwhile. */
#include "actors/shard/pass/erase.h"

#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/changed.h"
#include "schemas/api/pass_command.h"
#include "schemas/sha256.h"
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/new_pictures.h"
#include "store/image_use.h"
#include "store/index.h"
#include "store/keys.h"
#include "store/meta.h"
#include "store/tally.h"

/* The newest pass of that id with a number below `bound`. A range read. Errors: ERR_NOT_FOUND. */
static enum err find_below(struct request *request, struct span pass_id, uint32_t bound, struct hot_at *pass)
{
	struct account_id account = request->account->id;
	uint32_t          number;
	enum err          err = index_find_below(request->view, account, pass_id, bound, &number);
	if (err) return err;
	err = hot_get(request->view, account, number, pass);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

/* The row that replaces an erased id. It holds a keyed hash: without the master key a guessed id cannot be compared with it. */
static struct cleanup known_id(const struct request *request, struct span pass_id)
{
	struct account_id account = request->account->id;
	uint8_t           hash[SHA256_BYTES];
	struct span       pieces[] = {span_of(request->facts->erased_key, SECRET_KEY_BYTES),
	                              span_of(account.b, sizeof account.b), pass_id};
	sha256_of(pieces, sizeof pieces / sizeof *pieces, hash);
	return cleanup_of(account, CLEANUP_ERASED_ID, span_of(hash, sizeof hash));
}

/* For ERASED_ID_KEPT_DAYS the command answers that the id was erased, instead of that it is unknown. */
static enum err note_id(struct request *request, struct span pass_id)
{
	struct cleanup row = known_id(request, pass_id);
	row.from.v = request->now.v + ERASED_ID_KEPT_DAYS * US_PER_DAY;
	return cleanup_put(request->view, &row);
}

static enum err check_known(struct request *request, struct span pass_id)
{
	struct cleanup row = known_id(request, pass_id);
	enum err       err = cleanup_get(request->view, &row);
	if (!err && row.from.v <= request->now.v) err = ERR_NOT_FOUND;
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* Also deletes a live pass. A deleted pass keeps the time of its deletion. */
static enum err mark(struct request *request, const struct hot_at *pass)
{
	struct hot        after = pass->now;
	struct ledger_row row = {.what = LEDGER_ERASED};
	bool              is_living = !(after.flags & HOT_DELETED);
	after.status = PASS_DEACTIVATED;
	after.flags |= HOT_DELETED | HOT_ERASED;
	if (is_living) return pass_change(request, pass, after, row);
	row.number = pass->number;
	row.status = after.status;
	row.flags = after.flags;
	row.previous = pass->now.ledger_head;
	enum err err = pass_ledger(request, &row, &after.ledger_head);
	return err ? err : hot_put(request->view, pass, &after);
}

/* Removes all that the pass is found by or shows, in one commit. */
static enum err forget(struct request *request, const struct hot_at *pass)
{
	const struct template *template;
	struct account_id    account = pass->account;
	struct body          before, after = {.visible = span_str("{}"), .hidden = span_str("{}")};
	struct cleanup       rest = cleanup_of_number(account, CLEANUP_PASS, pass->number);
	struct wallet_ending ending;
	char                 id[UUID_TEXT];
	enum err             err = pass_template(request, &pass->now, &template);
	if (err || (err = pass_body(request, pass, &before))) return err;
	if ((err = wallet_look_ends(request, pass, &ending))) return err;
	uuid_text(uuid_draw(request), id);
	after.pass_id = span_str(id);
	random_take(request->random, after.token, sizeof after.token);
	rest.from = request->now;
	struct index_change change = {.account = account,
	                              .number = pass->number,
	                              .name_field = template->name_field,
	                              .before = &before,
	                              .after = &after};
	if ((err = index_put(request->view, &change))) return err;
	if ((err = image_uses_move(request->view, account, before.appearance, after.appearance))) return err;
	if ((err = pictures_forget(request, pass))) return err;
	if ((err = pass_body_put(request, account, pass->number, &after))) return err;
	if ((err = mark(request, pass)) || (err = wallet_ended(request, pass, &ending))) return err;
	if ((err = google_pass_erased(request, pass, before.token))) return err;
	if ((err = wallet_pass_erased(request, pass, before.token, &ending))) return err;
	if ((err = cleanup_put(request->view, &rest))) return err;
	if ((err = note_id(request, before.pass_id))) return err;
	return erased_put(request->view, request->now);
}

/* The next step of an erasure in the account. *more: there was one. */
static enum err go_on(struct request *request, bool *more)
{
	struct cleanup row = {.account = request->account->id, .kind = CLEANUP_PASS};
	enum err       err = cleanup_from(request->view, &row);
	*more = !err && row.kind == CLEANUP_PASS && account_same(row.account, request->account->id);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return *more ? cleanup_step(request, &row) : OK;
}

enum err on_PASS_ERASE(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           pass_id = arg_span(&args[ARG_PASS_ERASE_pass_id]);
	struct hot_at         pass;
	struct tally          tally;
	bool                  more = true;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	if (!pass_id_is_valid(pass_id)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = tally_get(request->view, request->account->id, &tally);
	if (err) return err;
	uint32_t bound = (uint32_t)arg_integer(&args[ARG_PASS_ERASE_bound], tally.made);
	err = find_below(request, pass_id, bound, &pass);
	if (!err && !(pass.now.flags & HOT_ERASED)) {
		err = forget(request, &pass);
	} else if (!err || err == ERR_NOT_FOUND) {
		err = err ? check_known(request, pass_id) : OK;
		if (!err) err = go_on(request, &more);
	}
	msgpack_pack_map(&pk, 2);
	pack_switch(&pk, "more", more);
	pack_count(&pk, "bound", bound);
	return err;
}
