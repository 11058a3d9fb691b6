/* What an attempt sends: the pass or scan as it is now, signed with the subscription's secret and the time of the attempt.
 * Small ones are rendered when they are leased (lease.c). DELIVERY_RENDER renders the others on a reader thread, after their
 * lease is durable. The answer leaves out leases that are no longer valid. If the pass, scan or subscription is gone, there is
 * nothing to send. */
#include "actors/rt/time.h"
#include "actors/shard/delivery/delivery.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/pass.h"
#include "actors/shard/scan/scan.h"
#include "actors/shard/subscription/subscription.h"
#include "schemas/date.h"
#include "schemas/api/delivery.h"
#include "schemas/webhook.h"

#include <openssl/crypto.h>

#define EVENT_PREFIX "evt_"
enum { EVENT_ID_TEXT = sizeof EVENT_PREFIX - 1 + UUID_TEXT };

static void event_id_text(struct uuid event, char text[EVENT_ID_TEXT])
{
	memcpy(text, EVENT_PREFIX, sizeof EVENT_PREFIX - 1);
	uuid_text(event, text + sizeof EVENT_PREFIX - 1);
}

static enum err put_data(struct request *request, const struct delivery *row, struct buffer *out)
{
	struct hot_at   pass;
	struct scan_row scan;
	enum err        err;
	if (event_subject(row->kind) == EVENT_OF_SCAN) {
		err = scan_row_get(request->view, row->account, row->subject, &scan);
		return err ? err : scan_json(request, &scan, SCAN_PLAINLY, out);
	}
	err = hot_get(request->view, row->account, row->subject, &pass);
	return err ? err : pass_json(request, &pass, out);
}

/* {"id","type","created_at","data"} */
static enum err put_envelope(struct request *request, const struct delivery *row, const char *id,
                             struct buffer *out)
{
	char date[RFC3339_TEXT];
	rfc3339_text(row->fact, date);
	buffer_text(out, "{\"id\":\"");
	buffer_text(out, id);
	buffer_text(out, "\",\"type\":\"");
	buffer_text(out, event_text(row->kind));
	buffer_text(out, "\",\"created_at\":\"");
	buffer_text(out, date);
	buffer_text(out, "\",\"data\":");
	enum err err = put_data(request, row, out);
	buffer_byte(out, '}');
	return err;
}

static enum err sign(struct request *request, const struct subscription *subscription,
                     const struct webhook *webhook, char signature[WEBHOOK_SIGNATURE_TEXT])
{
	uint8_t  secret[WEBHOOK_KEY_BYTES];
	enum err err = subscription_secret(request, subscription, secret);
	if (!err) webhook_sign(webhook, secret, signature);
	OPENSSL_cleanse(secret, sizeof secret);
	return err;
}

/* [lease, url, id, seconds, signature, body]; [lease] if there is nothing to send; [lease, error] if it cannot be sent. */
static void pack_void(const uint8_t *lease, msgpack_packer *pk)
{
	msgpack_pack_array(pk, 1);
	pack_bin(pk, span_of(lease, LEASE_BYTES));
}

static void pack_failure(const uint8_t *lease, msgpack_packer *pk)
{
	msgpack_pack_array(pk, 2);
	pack_bin(pk, span_of(lease, LEASE_BYTES));
	msgpack_pack_uint8(pk, ATTEMPT_INTERNAL);
}

enum err delivery_render(struct request *request, const uint8_t *lease, const struct delivery *row,
                         msgpack_packer *pk)
{
	struct subscription subscription;
	struct buffer       body = {0};
	char                id[EVENT_ID_TEXT], signature[WEBHOOK_SIGNATURE_TEXT];
	enum err err = subscription_get(request->view, row->account, row->subscription, &subscription);
	if (err) return err;
	event_id_text(row->event, id);
	if ((err = put_envelope(request, row, id, &body))) goto out;
	struct webhook webhook = {span_str(id), time_wall(), buffer_span(&body)};
	if ((err = sign(request, &subscription, &webhook, signature))) goto out;
	if (body.failed) err = ERR_NO_MEMORY;
	if (err) goto out;
	msgpack_pack_array(pk, 6);
	pack_bin(pk, span_of(lease, LEASE_BYTES));
	pack_str(pk, subscription.url);
	pack_text(pk, id);
	pack_int(pk, webhook_seconds(webhook.sent_at));
	pack_text(pk, signature);
	pack_bin(pk, buffer_span(&body));
out:
	buffer_free(&body);
	return err;
}

/* The account of the current lease. Consecutive leases often have the same one. */
static enum err enter_account(struct request *request, struct account_id id)
{
	if (request->account && account_same(request->account->id, id)) return OK;
	account_free(&request->account);
	enum err err = account_at(request->view, request->lent, id, &request->account);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err render(struct request *request, const uint8_t *bytes, struct list_out *list)
{
	struct lease lease;
	bool         wanted;
	lease_read(bytes, &lease);
	struct delivery row = {.account = lease.account,
	                       .subscription = lease.subscription,
	                       .zone = ZONE_LEASED,
	                       .due = lease.due,
	                       .event = lease.event};
	enum err        err = delivery_get(request->view, &row);
	if (err == ERR_NOT_FOUND || (!err && row.token != lease.token)) return OK;
	if (err || (err = enter_account(request, lease.account))) return err;
	if ((err = delivery_is_wanted(request->view, request->account, &row, &wanted))) return err;
	msgpack_packer pk = buffer_packer(list_item(list));
	if (!wanted) {
		pack_void(bytes, &pk);
		return OK;
	}
	err = delivery_render(request, bytes, &row, &pk);
	if (err != ERR_SEALED) return err;
	pack_failure(bytes, &pk); /* counts as an attempt: a retry would not bring the secret back */
	return OK;
}

enum err on_DELIVERY_RENDER(struct request *request, struct outcome *outcome)
{
	struct list_out list;
	struct span     leases = arg_span(&request->args[ARG_DELIVERY_RENDER_leases]);
	size_t          count = leases.size / LEASE_BYTES;
	enum err        err = leases.size % LEASE_BYTES ? ERR_MALFORMED : OK;
	list_begin(&list, outcome);
	for (size_t i = 0; i < count && !err; i++)
		err = render(request, leases.at + i * LEASE_BYTES, &list);
	if (!err) err = list_end(&list, count, false);
	list_drop(&list);
	return err;
}
