/* Webhook subscriptions: checks of a new or changed one, its secret, and packing.
 *
 * Life of a secret: it is drawn here at creation and sealed at once. Only the response to the creation shows it, also when
 * that is repeated for its idempotency key. Later it is opened only to sign. The tables, the journal and backups have the
 * sealed form. */
#include "actors/shard/subscription/subscription.h"

#include "schemas/object_msgpack.h"
#include "schemas/json.h"
#include "schemas/url.h"
#include "schemas/webhook.h"

#include <openssl/crypto.h>

enum err subscription_find(struct request *request, const msgpack_object *id, struct subscription *row)
{
	enum err err = arg_uuid(id, &row->id);
	if (!err) err = subscription_get(request->view, request->account->id, row->id, row);
	return err == ERR_NOT_FOUND ? ERR_WEBHOOK_SUBSCRIPTION_NOT_FOUND : err;
}

/* Checks -------------------------------------------------------------------------------------------------- */

enum err subscription_take_url(const struct request *request, struct outcome *outcome,
                               const msgpack_object *url, struct subscription *row)
{
	struct reason reason = {.field = span_str("url"), .most = URL_BYTES_MAX};
	row->url = arg_span(url);
	if (url->type == MSGPACK_OBJECT_STR)
		reason.cause = url_fault(row->url, &request->facts->url_rules);
	else if (url->type == MSGPACK_OBJECT_BIN)
		reason.cause = row->url.size ? CAUSE_URL_TYPE
		                             : CAUSE_URL_LONG; /* a long string, or a long list */
	else
		reason.cause = CAUSE_URL_MISSING;
	return reason.cause ? refuse(outcome, &reason) : OK;
}

static bool add_kind(struct subscription *row, const struct json *item)
{
	enum event_kind kind;
	if (item->kind != JSON_STRING || !event_read(item->text, &kind)) return false;
	for (unsigned i = 0; i < row->kind_count; i++)
		if (row->kinds[i] == kind) return true;
	row->kinds[row->kind_count++] = (uint8_t)kind;
	return true;
}

enum err subscription_refuse_kinds(struct outcome *outcome, enum cause cause)
{
	static const char kinds[] = ""
#define E(name, text, subject, rules) ", " text
#include "schemas/events.def"
#undef E
	    ;
	return refuse(
	    outcome, &(struct reason){.cause = cause, .field = span_str("event_types"), .wanted = kinds + 2});
}

enum err subscription_take_kinds(struct request *request, struct outcome *outcome,
                                 const msgpack_object *kinds, struct subscription *row)
{
	struct json *list = NULL;
	enum err     err = ERR_INVALID_WEBHOOK_EVENT_TYPE;
	row->kind_count = 0;
	if (!arg_present(kinds)) return OK;
	if (kinds->type == MSGPACK_OBJECT_BIN)
		err = json_parse(arg_span(kinds), view_arena(request->view), &list);
	if (err == ERR_NO_MEMORY) return err;
	if (err || list->kind != JSON_ARRAY) return subscription_refuse_kinds(outcome, CAUSE_KINDS_TYPE);
	for (const struct json *item = list->child; item; item = item->next)
		if (!add_kind(row, item)) return subscription_refuse_kinds(outcome, CAUSE_KINDS_UNKNOWN);
	return OK;
}

enum err subscription_check_active(const struct account *account, struct outcome *outcome,
                                   const struct subscription *row)
{
	struct buffer normal = {0};
	unsigned      others = 0;
	enum err      err = url_normal(row->url, &normal);
	for (unsigned i = 0; !err && i < account->webhooks->count; i++) {
		const struct account_webhook *other = account->webhooks->of[i];
		if (uuid_same(other->id, row->id)) continue;
		others++;
		if (span_equal(other->url, buffer_span(&normal)))
			err = ERR_WEBHOOK_SUBSCRIPTION_DUPLICATE_URL;
	}
	buffer_free(&normal);
	if (err) return err;
	if (others < WEBHOOKS_ACTIVE_MAX) return OK;
	return refuse(outcome, REASON_OF_ALL(HOOKS_FULL, .most = WEBHOOKS_ACTIVE_MAX));
}

/* Its secret ---------------------------------------------------------------------------------------------- */

enum { CONTEXT_BYTES = sizeof(struct account_id) + sizeof(struct uuid) };

/* The context makes a sealed secret that is copied from another account or subscription fail to open. */
static struct span seal_context(const struct request *request, const struct subscription *row,
                                uint8_t context[CONTEXT_BYTES])
{
	memcpy(context, request->account->id.b, sizeof request->account->id.b);
	memcpy(context + sizeof request->account->id.b, row->id.b, sizeof row->id.b);
	return span_of(context, CONTEXT_BYTES);
}

enum err subscription_draw(struct request *request, struct subscription *row)
{
	uint8_t nonce[SECRET_NONCE_BYTES], secret[WEBHOOK_KEY_BYTES], context[CONTEXT_BYTES];
	row->id = uuid_draw(request);
	random_take(request->random, nonce, sizeof nonce);
	random_take(request->random, secret, sizeof secret);
	enum err err = secret_seal(request->facts->webhook_key, nonce, seal_context(request, row, context),
	                           span_of(secret, sizeof secret), row->secret);
	OPENSSL_cleanse(secret, sizeof secret);
	return err;
}

enum err subscription_secret(const struct request *request, const struct subscription *row,
                             uint8_t secret[WEBHOOK_KEY_BYTES])
{
	uint8_t  context[CONTEXT_BYTES];
	enum err err = secret_open(request->facts->webhook_key, seal_context(request, row, context),
	                           span_of(row->secret, sizeof row->secret), secret);
	return err == ERR_DAMAGED ? ERR_SEALED
	                          : err; /* the row's checksum is right, so the tables are not damaged */
}

/* Packing ------------------------------------------------------------------------------------------------- */

/* `secret`: NULL: without it. */
static void pack_members(const struct subscription *row, const char *secret, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
#include "schemas/objects/subscription.def"
}

void subscription_pack(const struct subscription *row, msgpack_packer *pk)
{
	pack_members(row, NULL, pk);
}

enum err subscription_pack_whole(const struct request *request, const struct subscription *row,
                                 msgpack_packer *pk)
{
	uint8_t  secret[WEBHOOK_KEY_BYTES];
	char     text[WEBHOOK_SECRET_TEXT];
	enum err err = subscription_secret(request, row, secret);
	if (err) return err;
	webhook_secret_write(secret, text);
	pack_members(row, text, pk);
	OPENSSL_cleanse(secret, sizeof secret);
	OPENSSL_cleanse(text, sizeof text);
	return OK;
}

enum err subscription_note(struct request *request, const struct subscription *row, enum recipe_what what,
                           struct outcome *outcome)
{
	uint8_t *detail = arena_take(view_arena(request->view), RECIPE_DETAIL_BYTES_MAX);
	if (!detail) return ERR_NO_MEMORY;
	outcome->recipe = (struct recipe){.what = (uint8_t)what, .detail = recipe_detail(row, detail)};
	return OK;
}

enum err subscription_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct subscription row;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err            err = recipe_subscription(recipe, &row);
	(void)request;
	if (!err) subscription_pack(&row, &pk);
	return err;
}

enum err subscription_and_secret_again(struct request *request, const struct recipe *recipe,
                                       struct outcome *outcome)
{
	struct subscription row;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err            err = recipe_subscription(recipe, &row);
	return err ? err : subscription_pack_whole(request, &row, &pk);
}
