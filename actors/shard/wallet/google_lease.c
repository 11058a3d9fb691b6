/* GOOGLE_LEASE: the timer asks which passes in Google's wallet, and which classes, have changed. It gets the right to update them,
 * with what they are to show, the message that is to be sent, and the service accounts to do it with. */
#include "actors/shard/delivery/delivery.h"
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/work.h"
#include "actors/rt/log.h"
#include "schemas/api/google.h"
#include "schemas/wallet/google_job.h"
#include "store/meta.h"
#include "store/notification.h"
#include "store/wallet_message.h"

#include <stdio.h>

struct google_batch {
	struct buffer       credentials, jobs;
	unsigned            credential_count, job_count, taken_count, done_count;
	uint64_t            numbers[GOOGLE_JOBS_MAX]; /* of the credentials, by index */
	struct account_id   owners[GOOGLE_JOBS_MAX];
	struct wallet_work *taken[GOOGLE_JOBS_MAX];
	struct wallet_due   done[GOOGLE_JOBS_MAX]; /* rows of what is not to be written */
};

/* One pass, or the class of a template, on its way into the answer. */
struct google_job {
	struct account          *account;
	struct wallet_google     row;
	struct wallet_credential credential;
	struct draft             draft;
	struct google_pass       google;
	struct span              message;
	struct uuid              message_id;
	uint32_t                 notification;
	bool                     may_notify;
	struct buffer class, object, said;
};

static unsigned index_of(struct google_batch *batch, const struct wallet_credential *row)
{
	msgpack_packer pk = buffer_packer(&batch->credentials);
	for (unsigned i = 0; i < batch->credential_count; i++)
		if (batch->numbers[i] == row->number && account_same(batch->owners[i], row->account))
			return i;
	msgpack_pack_array(&pk, GOOGLE_CREDENTIAL_ITEMS);
	pack_bin(&pk, span_of(row->account.b, sizeof row->account.b));
	msgpack_pack_uint64(&pk, row->number);
	msgpack_pack_uint32(&pk, row->generation);
	pack_int(&pk, row->put.v);
	pack_bin(&pk, row->owner);
	pack_bin(&pk, row->token_uri);
	pack_bin(&pk, row->sealed);
	row->rest_s || row->last_error.size ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	batch->numbers[batch->credential_count] = row->number;
	batch->owners[batch->credential_count] = row->account;
	return batch->credential_count++;
}

/* The message that the pass shows and Google has not been sent. It may come with a notice three times a day. */
static enum err find_message(struct request *request, struct google_job *job)
{
	struct wallet_message row = {.pass_number = job->row.pass_number};
	struct notification   notification;
	if (job->row.state != WALLET_GOOGLE_SAVED) return OK;
	enum err err = wallet_message_get(request->view, job->account->id, &row);
	if (err || row.notification + 1 == job->row.message) return err == ERR_NOT_FOUND ? OK : err;
	err = notification_get(request->view, job->account->id, row.notification, &notification);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	job->message = notification.message;
	job->message_id = notification.id;
	job->notification = row.notification;
	job->may_notify = job->row.notices[0].v == 0 || job->row.notices[0].v <= request->now.v - US_PER_DAY;
	return OK;
}

/* Members of the message's JSON object; what it comes with is added by the timer. */
static void write_message(struct google_job *job)
{
	char id[UUID_TEXT];
	if (!job->message.size) return;
	uuid_text(job->message_id, id);
	buffer_text(&job->said, "\"id\":");
	json_quote(span_str(id), &job->said);
	buffer_text(&job->said, ",\"header\":");
	json_quote(job->draft.shown.account_name, &job->said);
	buffer_text(&job->said, ",\"body\":");
	json_quote(job->message, &job->said);
}

static enum err render(struct request *request, struct google_job *job)
{
	struct request own = *request;
	own.account = job->account;
	enum err err = pass_body(&own, &job->draft.pass, &job->draft.body);
	if (!err && job->draft.pass.now.flags & HOT_ERASED) {
		memcpy(job->draft.body.token, job->row.token, sizeof job->row.token);
		job->draft.body.pass_id = span_of("", 0);
	}
	if (!err) err = draft_show(&own, &job->draft);
	if (!err) err = find_message(request, job);
	if (err) return err;
	job->google = (struct google_pass){.pass = &job->draft.shown,
	                                   .issuer = job->credential.name,
	                                   .account = job->account->id,
	                                   .template_number = job->draft.pass.now.template,
	                                   .public_url = request->facts->public_url,
	                                   .is_update = true};
	if ((err = google_class_json(&job->google, view_arena(request->view), &job->class))) return err;
	write_message(job);
	return google_object_json(&job->google, view_arena(request->view), &job->object);
}

static enum err pack_job(struct request *request, struct google_batch *batch, struct push_lease *lease,
                         struct google_job *job)
{
	uint8_t bytes[PUSH_LEASE_BYTES];
	char    class_id[GOOGLE_ID_TEXT] = "", object_id[GOOGLE_ID_TEXT] = "";
	bool    is_wanted = job->row.state == WALLET_GOOGLE_WANTED && pass_may_be_put(&job->draft.pass.now);
	/* Of an erased pass a blank object is made: an old link to save brings its texts only where there is none. */
	bool makes = is_wanted || job->draft.pass.now.flags & HOT_ERASED;
	random_take(request->random, &lease->token, sizeof lease->token);
	push_lease_write(lease, bytes);
	if (job->google.pass)
		google_class_id(&job->google, class_id);
	else
		snprintf(class_id, sizeof class_id, "%.*s", (int)job->credential.name.size,
		         (const char *)job->credential.name.at);
	if (job->object.size) google_object_id(&job->google, object_id);
	unsigned       index = index_of(batch, &job->credential);
	msgpack_packer pk = buffer_packer(&batch->jobs);
	msgpack_pack_array(&pk, GOOGLE_JOB_ITEMS);
	pack_bin(&pk, span_of(bytes, sizeof bytes));
	msgpack_pack_unsigned_int(&pk, index);
	pack_bin(&pk, span_str(job->google.pass ? google_kind(&job->google) : "generic"));
	pack_bin(&pk, span_str(class_id));
	pack_bin(&pk, buffer_span(&job->class));
	pack_bin(&pk, span_str(object_id));
	pack_bin(&pk, buffer_span(&job->object));
	pack_bin(&pk, buffer_span(&job->said));
	msgpack_pack_uint32(&pk, job->notification);
	job->may_notify ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	makes ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	if (batch->jobs.failed || batch->credentials.failed || job->said.failed) return ERR_NO_MEMORY;
	batch->job_count++;
	return OK;
}

static enum err lease_job(struct request *request, struct google_batch *batch, struct wallet_work *work,
                          struct google_job *job)
{
	wall_us           changed;
	struct push_lease lease = {.account = work->account,
	                           .pass_number = work->number,
	                           .head = work->kind == WALLET_DUE_CLASS ? job->credential.number
	                                                                  : job->draft.pass.now.ledger_head,
	                           .since = work->due,
	                           .leased = request->mono};
	enum err err = account_template_look(job->account, request->view, job->google.template_number,
	                                     &lease.look, &changed);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if ((err = pack_job(request, batch, &lease, job))) return err;
	work->issuer = job->row.issuer;
	work->was_wanted = job->row.state == WALLET_GOOGLE_WANTED;
	work_lease(request->work, work, lease.token, request->now, request->mono);
	return OK;
}

/* Not now: the account's Google wallet is off, its service account is missing, or rests. */
static enum err put_off(struct request *request, struct wallet_work *work,
                        const struct wallet_credential *row)
{
	wall_us at = {request->now.v + WORK_HELD_S * US_PER_SEC};
	if (row && wallet_credential_rests(row, request->now)) at = row->rests_until;
	return work_again(request->work, work->account, work->kind, work->number, at);
}

/* There is nothing to write. */
static void drop_row(struct google_batch *batch, const struct wallet_work *work)
{
	batch->done[batch->done_count++] = (struct wallet_due){
	    .account = work->account, .kind = work->kind, .number = work->number};
}

/* What a template makes: a class without passes. Errors: ERR_NOT_FOUND: the template was deleted. */
static enum err render_class(struct request *request, uint32_t number, struct google_job *job)
{
	const struct template *template;
	const struct wallet_settings *settings;
	if (!number || number > job->account->templates->count) return ERR_NOT_FOUND;
	enum err err = account_usable_template(job->account, request->view, number, &template);
	if (!err)
		err = account_template_wallet(job->account, request->view, number, &job->draft.room,
		                              &settings);
	if (err) return err;
	job->draft.shown = (struct wallet_pass){
	    .template = template, .settings = settings, .account_name = job->account->row.name};
	job->google = (struct google_pass){.pass = &job->draft.shown,
	                                   .issuer = job->credential.name,
	                                   .account = job->account->id,
	                                   .template_number = number,
	                                   .public_url = request->facts->public_url,
	                                   .is_update = true};
	return google_class_json(&job->google, view_arena(request->view), &job->class);
}

static enum err take_class(struct request *request, struct google_batch *batch, struct wallet_work *work,
                           struct google_job *job)
{
	enum err err = ERR_NOT_FOUND; /* when it is switched on, all classes are due */
	if (wallet_is_on(&job->account->row, WALLET_GOOGLE))
		err = wallet_credential_now(request->view, work->account, WALLET_GOOGLE, &job->credential);
	if (!err && wallet_credential_rests(&job->credential, request->now))
		return put_off(request, work, &job->credential);
	if (!err) err = render_class(request, work->number, job);
	if (err == ERR_NOT_FOUND) {
		drop_row(batch, work);
		return OK;
	}
	return err ? err : lease_job(request, batch, work, job);
}

static enum err take_one(struct request *request, struct google_batch *batch, struct wallet_work *work,
                         struct google_job *job)
{
	enum err err = delivery_account(request, work->account, &job->account);
	if (!err && !job->account) err = ERR_DAMAGED;
	if (!err && work->kind == WALLET_DUE_CLASS) return take_class(request, batch, work, job);
	job->row.pass_number = work->number;
	if (!err) err = wallet_google_row_get(request->view, work->account, &job->row);
	if (err && err != ERR_NOT_FOUND) return err;
	static const uint8_t none[sizeof job->row.token];
	bool                 is_erased = memcmp(job->row.token, none, sizeof none) != 0;
	if (err || (job->row.state == WALLET_GOOGLE_GONE && !is_erased)) {
		drop_row(batch, work);
		return OK;
	}
	if (!wallet_is_on(&job->account->row, WALLET_GOOGLE)) return put_off(request, work, NULL);
	err = wallet_credential_of(request->view, work->account, WALLET_GOOGLE, job->row.issuer,
	                           &job->credential);
	if (err == ERR_NOT_FOUND) return put_off(request, work, NULL);
	if (!err && wallet_credential_rests(&job->credential, request->now))
		return put_off(request, work, &job->credential);
	if (!err) err = hot_get(request->view, work->account, work->number, &job->draft.pass);
	if (!err) err = render(request, job);
	return err ? err : lease_job(request, batch, work, job);
}

static void free_job(struct google_job *job)
{
	buffer_free(&job->class);
	buffer_free(&job->object);
	buffer_free(&job->said);
}

/* `wallet check` wants to know whether Google takes a class of the account's: that of its oldest template. Without one, whether it
 * takes the service account. Range reads. */
static enum err try_class(struct request *request, struct google_batch *batch, struct google_job *job)
{
	struct wallet_probe *probe = &request->work->probes[WORK_GOOGLE];
	uint32_t             number;
	struct push_lease    lease = {
	       .account = probe->account, .pass_number = PROBE_PASS, .leased = request->mono};
	enum err err = delivery_account(request, probe->account, &job->account);
	if (!err && !job->account) err = ERR_NOT_FOUND;
	if (!err) err = wallet_credential_now(request->view, probe->account, WALLET_GOOGLE, &job->credential);
	if (err) return err;
	err = account_first_template(job->account, request->view, &number);
	if (!err) err = render_class(request, number, job);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err) job->google.pass = NULL;
	if ((err = pack_job(request, batch, &lease, job))) return err;
	probe_lease(probe, &job->credential, lease.token);
	return OK;
}

static enum err add_probe(struct request *request, struct google_batch *batch)
{
	struct google_job job = {.account = NULL};
	enum err          err = try_class(request, batch, &job);
	free_job(&job);
	if (err == ERR_NOT_FOUND || err == ERR_DAMAGED) {
		request->work->probes[WORK_GOOGLE].state = PROBE_NONE;
		return OK;
	}
	return err;
}

static enum err fill(struct request *request, unsigned count, struct google_batch *batch)
{
	struct wallet_work *work = NULL;
	enum err            err = OK;
	if (request->work->probes[WORK_GOOGLE].state == PROBE_WAITS && !(err = add_probe(request, batch)))
		count--;
	while (!err && batch->taken_count < count && batch->jobs.size < HANDED_BODY_BYTES &&
	       (work = work_turn(request->work, WORK_GOOGLE))) {
		struct google_job job = {.account = NULL};
		batch->taken[batch->taken_count++] = work;
		err = take_one(request, batch, work, &job);
		/* One pass that cannot be read does not hold up the others. */
		if (err == ERR_DAMAGED) {
			log_warn("wallet-pass-damaged", "number=%u", work->number);
			err = put_off(request, work, NULL);
		}
		free_job(&job);
	}
	for (unsigned i = 0; !err && i < batch->done_count; i++)
		err = wallet_due_del(request->view, &batch->done[i]);
	return err;
}

/* Without a service account on this server, Google is not asked for anything. */
static enum err find_keys(struct request *request, bool *is_here, bool *lacks)
{
	struct span keys;
	*is_here = wallet_kinds_here(request) & WALLET_BIT(WALLET_GOOGLE);
	*lacks = false;
	if (!*is_here) return OK;
	enum err err = google_keys_get(request->view, &keys);
	*lacks = err == ERR_NOT_FOUND;
	request->work->has_google_keys = !err;
	return *lacks ? OK : err;
}

enum err on_GOOGLE_LEASE(struct request *request, struct outcome *outcome)
{
	struct google_batch batch = {.job_count = 0};
	unsigned            count = (unsigned)arg_integer(&request->args[ARG_GOOGLE_LEASE_count], 0);
	mono_us             last = {request->call->deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err            err = OK;
	if (count) /* 0: the timer is stopping and withdraws its poll */
		err = work_meet(request->work, WORK_GOOGLE,
		                (uint64_t)arg_integer(&request->args[ARG_GOOGLE_LEASE_instance], 0),
		                request->now, request->mono);
	bool is_here = false, lacks_keys = false;
	if (!err && count) err = find_keys(request, &is_here, &lacks_keys);
	if (!err && count) err = fill(request, count, &batch);
	bool is_empty = count && !batch.job_count && !batch.done_count && !lacks_keys;
	for (unsigned i = 0; err && i < batch.taken_count; i++)
		(void)!work_again(request->work, batch.taken[i]->account, batch.taken[i]->kind,
		                  batch.taken[i]->number, request->now);
	msgpack_pack_array(&pk, GOOGLE_ANSWER_ITEMS);
	msgpack_pack_array(&pk, batch.credential_count);
	buffer_append(outcome->payload, batch.credentials.at, batch.credentials.size);
	msgpack_pack_array(&pk, batch.job_count);
	buffer_append(outcome->payload, batch.jobs.at, batch.jobs.size);
	is_here ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	buffer_free(&batch.credentials);
	buffer_free(&batch.jobs);
	if (!err && outcome->payload->failed) err = ERR_NO_MEMORY;
	return !err && is_empty && request->mono.v < last.v ? ERR_PARKED : err;
}
