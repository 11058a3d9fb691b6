/* template put: makes a template, or replaces the one that the file names. Properties that passes depend on cannot change.
 * Images are fetched afterwards, like those of passes; the row of TEMPLATE_IMAGES, written in the same commit, lists them. */
#include "actors/shard/operator_file.h"

#include "schemas/api/template.h"
#include "store/image.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "actors/shard/template/style.h"
#include "actors/shard/wallet/google_class.h"
#include "actors/shard/wallet/pictures.h"
#include "actors/shard/wallet/touch.h"
#include "store/template_row.h"
#include "store/template_state.h"
#include "store/wallet_due.h"

/* Most images are fetched and reduced in this time. */
enum { IMAGES_S = 5 };

/* The number that the id in the file names; without an id, one past the last. */
static enum err choose_number(const struct request *request, const msgpack_object *id, uint32_t *number)
{
	*number = request->account->templates->count + 1;
	return id ? choose_template(request, id, number) : OK;
}

/* Checks that a new template fits. Deleted ones are counted only in an account that has made many. */
static enum err check_room(struct request *request, struct outcome *outcome)
{
	uint32_t made = request->account->templates->count, deleted;
	if (made < TEMPLATES_PER_ACCOUNT_MAX) return OK;
	enum err err = template_count_deleted(request->view, request->account->id, &deleted);
	if (err) return err;
	if (made - deleted >= TEMPLATES_PER_ACCOUNT_MAX)
		return refuse(outcome, REASON_OF_ALL(TEMPLATES_FULL, .most = TEMPLATES_PER_ACCOUNT_MAX));
	return made < TEMPLATES_MADE_MAX
	           ? OK
	           : refuse(outcome, REASON_OF_ALL(TEMPLATES_MADE, .most = TEMPLATES_MADE_MAX));
}

/* The same file again keeps its look: nothing that was made of the template has to be made again. */
static enum err store_template(struct request *request, uint32_t number, struct span text, wall_us touched)
{
	struct template_row file = {.text = {NULL, 0}};
	struct account_row  row = request->account->row;
	enum err            err = template_row_get(request->view, request->account->id, number, &file);
	if (err && err != ERR_NOT_FOUND) return err;
	bool is_same = span_equal(file.text, text);
	if (!is_same) {
		file.look = ++row.looks;
		file.changed = request->now;
	}
	file.text = text;
	err = template_row_put(request->view, request->account->id, number, &file);
	if (err || is_same) return err;
	if (number > request->account->templates->count) row.template_count = number;
	bool is_new = number > request->account->templates->count;
	err = account_row_put(request->view, request->account->id, &row);
	if (!err) err = google_class_due(request, number);
	return err || is_new ? err : wallet_touch_passes(request, number, touched);
}

struct read_file {
	struct template rules;
	struct wallet_settings wallet;
};

/* The template that is replaced; *before NULL: none. Refuses a change of what its passes depend on. */
static enum err find_before(struct request *request, uint32_t number, const struct read_file *file,
                            const struct template **before, struct outcome *outcome)
{
	*before = NULL;
	if (number > request->account->templates->count) return OK;
	enum err err = account_template(request->account, request->view, number, before);
	if (err) return err;
	outcome->message = template_fixed(*before, &file->rules);
	if (outcome->message) return ERR_RESOURCE_CONFLICT;
	return template_check_style(request, outcome, number, file->wallet.style);
}

/* The images that a template names; all of size 0: none. */
struct named {
	struct span urls[IMAGE_USES];
};

static struct named names_of(const struct template *rules, const struct wallet_settings *wallet)
{
	return (struct named){{rules->logo, rules->banner, wallet->icon}};
}

/* Those of the template that is replaced. */
static enum err names_before(struct request *request, uint32_t number, const struct template *before,
                             struct named *named)
{
	struct wallet_settings        room;
	const struct wallet_settings *wallet;
	*named = (struct named){0};
	if (!before) return OK;
	enum err err = account_template_wallet(request->account, request->view, number, &room, &wallet);
	if (!err) *named = names_of(before, wallet);
	return err;
}

static bool names(const struct named *named, struct span url)
{
	bool found = false;
	for (unsigned i = 0; i < IMAGE_USES; i++)
		found |= span_equal(named->urls[i], url);
	return found;
}

/* An image that the template already had is not fetched again, unless it is missing or still to be fetched. */
static enum err is_wanted(struct request *request, struct span url, const struct named *before,
                          const struct issuing *waiting, bool *wanted)
{
	const struct named waits = {{waiting->logo, waiting->banner, waiting->icon}};
	struct image       image;
	*wanted = url.size > 0;
	if (!url.size || !names(before, url) || names(&waits, url)) return OK;
	enum err err = image_of_url(request->view, request->account->id, url, &image);
	*wanted = err == ERR_NOT_FOUND;
	return *wanted ? OK : err;
}

static enum err want_images(struct request *request, uint32_t number, const struct named *before,
                            const struct named *now, bool *any)
{
	struct account_id account = request->account->id;
	struct issuing    waiting = {.has_key = false}, row = {.begun = request->now};
	struct span      *wanted[IMAGE_USES] = {&row.logo, &row.banner, &row.icon};
	enum err          err = template_images_get(request->view, account, number, &waiting);
	bool              has_row = !err;
	*any = false;
	if (err && err != ERR_NOT_FOUND) return err;
	for (unsigned i = 0; i < IMAGE_USES; i++) {
		bool wants;
		if ((err = is_wanted(request, now->urls[i], before, &waiting, &wants))) return err;
		if (wants) *wanted[i] = now->urls[i];
		*any |= wants;
	}
	if (*any) return template_images_put(request->view, account, number, &row);
	return has_row ? template_images_del(request->view, account, number) : OK;
}

/* Fetches its images, and counts them in place of those of the template that it replaces; `before` NULL: none. */
static enum err take_images(struct request *request, uint32_t number, const struct template *before,
                            const struct read_file *read, bool *fetches)
{
	struct named old, now = names_of(&read->rules, &read->wallet);
	enum err     err = names_before(request, number, before, &old);
	if (!err) err = want_images(request, number, &old, &now, fetches);
	return err ? err
	           : image_urls_move(request->view, request->account->id, before ? old.urls : NULL, now.urls);
}

/* When its phones are pushed to: at once; or when its new images are there, but not much later. */
static enum err choose_touch(struct request *request, bool fetches, wall_us *touched)
{
	bool     wanted = false;
	enum err err = fetches ? pictures_are_wanted(request, &wanted) : OK;
	touched->v = request->now.v + (wanted ? IMAGES_S * US_PER_SEC : 0);
	return err;
}

enum err on_TEMPLATE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object  *argument = &request->args[ARG_TEMPLATE_PUT_file];
	struct operator_file  *file;
	struct read_file       read;
	const struct template *before;
	uint32_t               number;
	bool                   fetches;
	wall_us                touched;
	char                   id[TEMPLATE_ID_TEXT];
	msgpack_packer         pk = buffer_packer(outcome->payload);
	enum err               err = operator_file_take(request, argument, "pass_template_id", &file);
	if (err) return err;
	if ((err = choose_number(request, file->id, &number)))
		return blame_id(outcome, err, "pass_template_id", CAUSE_TEMPLATE_UNKNOWN, arg_span(file->id));
	if (!file->id && (err = check_room(request, outcome))) return err;
	if (wallet_template_read(file->json, &read.rules, &read.wallet, &file->fault))
		return operator_file_blame(outcome, file);
	if ((err = find_before(request, number, &read, &before, outcome))) return err;
	if ((err = take_images(request, number, before, &read, &fetches))) return err;
	if ((err = choose_touch(request, fetches, &touched))) return err;
	if ((err = store_template(request, number, file->text, touched))) return err;
	template_id_text(request->account->id, number, id);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "pass_template_id");
	pack_text(&pk, id);
	return OK;
}
