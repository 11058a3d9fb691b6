/* template put: makes a template, or replaces the one that the file names. Properties that passes depend on cannot change.
 * Images are fetched afterwards, like those of passes; the row of TEMPLATE_IMAGES, written in the same commit, lists them. */
#include "actors/shard/operator_file.h"

#include "schemas/api/template.h"
#include "store/image.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "actors/shard/template/style.h"
#include "store/template_row.h"
#include "store/template_state.h"

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

/* The same file again keeps its generation: nothing that was made of the template has to be made again. */
static enum err store_template(struct request *request, uint32_t number, struct span text)
{
	struct template_row file = {.generation = 0, .text = {NULL, 0}};
	enum err            err = template_row_get(request->view, request->account->id, number, &file);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!span_equal(file.text, text)) file.generation++;
	file.text = text;
	err = template_row_put(request->view, request->account->id, number, &file);
	if (err || number <= request->account->templates->count) return err;
	struct account_row row = request->account->row;
	row.template_count = number;
	return account_row_put(request->view, request->account->id, &row);
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

/* Adds references to its images, and removes those of the template that it replaces. `before`: NULL: none. */
static enum err count_images(struct request *request, const struct template *before,
                             const struct template *rules)
{
	struct span old[IMAGE_USES], now[IMAGE_USES] = {rules->logo, rules->banner};
	if (before) memcpy(old, (struct span[IMAGE_USES]){before->logo, before->banner}, sizeof old);
	return image_urls_move(request->view, request->account->id, before ? old : NULL, now);
}

/* An image that the template already had is not fetched again, unless it is missing or still to be fetched. */
static enum err is_wanted(struct request *request, struct span url, const struct template *before,
                          const struct issuing *waiting, bool *wanted)
{
	struct image image;
	*wanted = url.size > 0;
	if (!url.size || !before) return OK;
	if (!span_equal(url, before->logo) && !span_equal(url, before->banner)) return OK;
	if (span_equal(url, waiting->logo) || span_equal(url, waiting->banner)) return OK;
	enum err err = image_of_url(request->view, request->account->id, url, &image);
	*wanted = err == ERR_NOT_FOUND;
	return *wanted ? OK : err;
}

/* `before`: the template that is replaced; NULL: none. */
static enum err want_images(struct request *request, uint32_t number, const struct template *before,
                            const struct template *rules)
{
	struct account_id account = request->account->id;
	struct issuing    waiting = {.has_key = false}, row = {.begun = request->now};
	bool              wants_logo, wants_banner;
	enum err          err = template_images_get(request->view, account, number, &waiting);
	bool              has_row = !err;
	if (err && err != ERR_NOT_FOUND) return err;
	if ((err = is_wanted(request, rules->logo, before, &waiting, &wants_logo))) return err;
	if ((err = is_wanted(request, rules->banner, before, &waiting, &wants_banner))) return err;
	if (wants_logo) row.logo = rules->logo;
	if (wants_banner) row.banner = rules->banner;
	if (wants_logo || wants_banner) return template_images_put(request->view, account, number, &row);
	return has_row ? template_images_del(request->view, account, number) : OK;
}

enum err on_TEMPLATE_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object  *argument = &request->args[ARG_TEMPLATE_PUT_file];
	struct operator_file  *file;
	struct read_file       read;
	const struct template *before;
	uint32_t               number;
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
	if ((err = want_images(request, number, before, &read.rules))) return err;
	if ((err = count_images(request, before, &read.rules))) return err;
	if ((err = store_template(request, number, file->text))) return err;
	template_id_text(request->account->id, number, id);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "pass_template_id");
	pack_text(&pk, id);
	return OK;
}
