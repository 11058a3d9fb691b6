/* Pictures that passes in wallets are given, and PASS_PICTURED, by which the shard notes that they are there.
 *
 *   PATCH ─▶ row of PASS_PICTURES ─▶ fetched as images of new passes are ─▶ PASS_PICTURED ─▶ phones are pushed to */
#include "actors/shard/wallet/new_pictures.h"

#include "actors/shard/wallet/pictures.h"
#include "schemas/api/issuing.h"
#include "store/image_use.h"
#include "store/pass_pictures.h"

_Static_assert((int)PICTURES == (int)PAGE_IMAGES && (int)PAGE_IMAGE_LOGO == 0, "a logo, and a banner");

/* Stages the row in place of the one before. `row` or `before` NULL: none. Kept URLs are counted. */
static enum err replace(struct request *request, uint32_t number, const struct pass_pictures *before,
                        const struct pass_pictures *row)
{
	const struct account_id account = request->account->id;
	struct span             old[IMAGE_USES] = {{NULL, 0}}, now[IMAGE_USES] = {{NULL, 0}};
	for (unsigned i = 0; i < PICTURES; i++) {
		if (before) old[i] = before->kept[i];
		if (row) now[i] = row->kept[i];
	}
	enum err err = image_urls_move(request->view, account, before ? old : NULL, row ? now : NULL);
	if (err) return err;
	return row ? pass_pictures_put(request->view, account, number, row)
	           : pass_pictures_del(request->view, account, number);
}

static enum err is_there(struct request *request, struct span url, bool *there)
{
	struct image image;
	*there = false;
	if (!url.size) return OK;
	enum err err = image_of_url(request->view, request->account->id, url, &image);
	*there = !err;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* One picture: the URLs before and after the change, and what was kept for it before. */
struct picture_change {
	struct span old, new, former;
};

/* Is the image there, and is it reduced? */
struct state {
	bool is_there, is_ready;
};

static enum err look(struct request *request, struct span url, struct state *state)
{
	*state = (struct state){.is_there = false};
	enum err err = is_there(request, url, &state->is_there);
	if (err || !state->is_there) return err;
	return shapes_are_made(request->view, request->account->id, url, &state->is_ready);
}

/* What the row says of it. *fetches: it is to be fetched, not only to be reduced. */
static enum err keep(struct request *request, const struct picture_change *change, struct span *wanted,
                     struct span *kept, bool *fetches)
{
	struct state new, old = {.is_there = false};
	enum err err = look(request, change->new, &new);
	if (!err) err = look(request, change->old, &old);
	bool wants = !err && !new.is_ready && change->new.size && change->new.size <= URL_BYTES_MAX;
	*wanted = wants ? change->new : span_of(NULL, 0);
	*kept = !wants ? span_of(NULL, 0) : old.is_there ? change->old : change->former;
	*fetches |= wants && !new.is_there;
	return err;
}

enum err pictures_change(struct request *request, const struct hot_at *pass, const struct template *template,
                         const struct body *before, const struct body *after)
{
	struct pass_pictures former = {.is_given_up = false}, row = {.begun = request->now};
	struct span          old[PAGE_IMAGES], new[PAGE_IMAGES];
	bool                 wanted, is_new = false, fetches = false;
	enum err             err = pass_pictures_get(request->view, pass->account, pass->number, &former);
	bool                 has_former = !err;
	if (err && err != ERR_NOT_FOUND) return err;
	if ((err = pictures_are_wanted(request, &wanted))) return err;
	if (!wanted) return has_former ? replace(request, pass->number, &former, NULL) : OK;
	if ((err = pass_image_urls(request, template, before, old))) return err;
	if ((err = pass_image_urls(request, template, after, new))) return err;
	for (unsigned i = 0; !err && i < PAGE_IMAGES; i++) {
		is_new |= !span_equal(old[i], new[i]);
		const struct picture_change change = {old[i], new[i], former.kept[i]};
		err = keep(request, &change, &row.wanted[i], &row.kept[i], &fetches);
	}
	if (err || !is_new) return err;
	if (!fetches) row.begun.v = 0; /* nothing that is there is fetched again */
	bool wants = row.wanted[0].size || row.wanted[1].size;
	if (!wants && !has_former) return OK;
	return replace(request, pass->number, has_former ? &former : NULL, wants ? &row : NULL);
}

enum err pictures_await(struct request *request, const struct hot_at *pass)
{
	struct pass_pictures former, row = {.begun = {0}}; /* nothing that is there is fetched again */
	const struct template *template;
	struct body body;
	struct span urls[PAGE_IMAGES];
	bool        waits = false;
	enum err    err = pass_pictures_get(request->view, pass->account, pass->number, &former);
	bool        has_former = !err;
	if (err && err != ERR_NOT_FOUND) return err;
	if (has_former) row = former;
	if (row.is_given_up) return OK; /* the former pictures stay until the next change */
	err = account_template(request->account, request->view, pass->now.template, &template);
	if (!err) err = pass_body(request, pass, &body);
	if (!err) err = pass_image_urls(request, template, &body, urls);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	for (unsigned i = 0; !err && i < PAGE_IMAGES; i++) {
		struct state state;
		if ((err = look(request, urls[i], &state)) || !state.is_there || state.is_ready) continue;
		waits |= !row.wanted[i].size;
		row.wanted[i] = urls[i];
	}
	return err || !waits ? err : replace(request, pass->number, has_former ? &former : NULL, &row);
}

enum err pictures_forget(struct request *request, const struct hot_at *pass)
{
	struct pass_pictures row;
	enum err             err = pass_pictures_get(request->view, pass->account, pass->number, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return replace(request, pass->number, &row, NULL);
}

/* The images are there, or could not be fetched: then the former ones stay until the next change. */
enum err on_PASS_PICTURED(struct request *request, struct outcome *outcome)
{
	uint32_t             number = (uint32_t)arg_integer(&request->args[ARG_PASS_PICTURED_number], 0);
	bool                 failed = arg_boolean(&request->args[ARG_PASS_PICTURED_failed], false);
	struct pass_pictures row;
	struct hot_at        pass;
	(void)outcome;
	enum err err = pass_pictures_get(request->view, request->account->id, number, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	row.is_given_up = true;
	if (failed) return pass_pictures_put(request->view, request->account->id, number, &row);
	err = hot_get(request->view, request->account->id, number, &pass);
	if (!err) err = replace(request, number, &row, NULL);
	if (err || pass_is_dead(&pass.now)) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return pass_change(request, &pass, pass.now,
	                   (struct ledger_row){.what = LEDGER_EDITED, .field = LEDGER_SHOWS_NOTHING});
}
