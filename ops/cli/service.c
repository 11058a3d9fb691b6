/* The CLI's sessions: one with the supervisor, which knows the number of shards; then one with each shard that a command
 * needs, opened on first use. A shard that restarts is waited for a little. After that its calls end as for any client, with
 * SHARD_UNAVAILABLE. */
#include "ops/cli/service.h"
#include "actors/rpc/rpc.h"
#include "actors/rt/datadir.h"
#include "actors/rt/loop.h"
#include "actors/rt/time.h"
#include "ops/cli/interrupt.h"
#include "schemas/json.h"
#include "schemas/limits.h"

#include <stdlib.h>
#include <unistd.h>

/* Long enough for a host that stalls for some seconds. */
enum { SUPERVISOR_WAIT_MS = 5000, SHARD_WAIT_MS = 5000, TURN_MS = 50, PUMP_BUDGET = 64 };

struct service {
	struct datadir datadir;
	struct loop    loop;
	struct rpc    *supervisor;
	struct rpc    *shards[SHARDS_MAX];
	uint32_t       shard_count;
	struct buffer  status;
};

static void on_reply(void *user, const struct reply *reply)
{
	const struct waiting *waiting = user;

	waiting->on_part(waiting->user, waiting->shard, reply);
}

static enum err open_session(struct service *service, const char *endpoint, struct rpc **rpc)
{
	enum err err;

	if (*rpc) return OK;
	if ((err = rpc_open(rpc, endpoint, ROLE_CLI, (uint32_t)getpid(), on_reply)) ||
	    (err = loop_watch(&service->loop, rpc_fd(*rpc))) ||
	    (err = loop_watch(&service->loop, rpc_link_fd(*rpc))))
		rpc_close(rpc);
	return err;
}

/* Waits for any session. All are read then: what one that nobody waits for leaves unread would end every wait at once. */
static void rest(struct service *service, dur_us wait)
{
	loop_wait(&service->loop, wait);
	mono_us now = time_mono();
	if (service->supervisor) (void)rpc_pump(service->supervisor, now, PUMP_BUDGET);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		if (service->shards[i]) (void)rpc_pump(service->shards[i], now, PUMP_BUDGET);
}

/* Turns until all of `rpcs` are UP or time is out. */
static void await_sessions(struct service *service, struct rpc **rpcs, uint32_t count, int64_t wait_ms)
{
	mono_us now = time_mono(), end = mono_after(now, (dur_us){wait_ms * US_PER_MS});

	for (; now.v < end.v && !interrupt_came(); now = time_mono()) {
		bool more = false, all_up = true;
		for (uint32_t i = 0; i < count; i++) {
			more |= rpc_pump(rpcs[i], now, PUMP_BUDGET);
			rpc_flush(rpcs[i], now);
			all_up &= rpc_state(rpcs[i]) == RPC_UP;
		}
		if (all_up) return;
		rest(service, (dur_us){more ? 0 : TURN_MS * US_PER_MS});
	}
}

/* Turns until nothing is outstanding. It ends, because the session ends calls past their deadline. */
static void await_answers(struct service *service, struct rpc **rpcs, uint32_t count)
{
	for (;;) {
		mono_us  now = time_mono();
		bool     more = false;
		uint32_t outstanding = 0;

		for (uint32_t i = 0; i < count; i++) {
			rpc_flush(rpcs[i], now);
			more |= rpc_pump(rpcs[i], now, PUMP_BUDGET);
			outstanding += rpc_outstanding(rpcs[i]);
		}
		if (!outstanding) return;
		rest(service, (dur_us){more ? 0 : TURN_MS * US_PER_MS});
	}
}

static void call_one(struct rpc *rpc, const struct call_spec *request, struct waiting *waiting)
{
	int64_t     wait_ms = request->wait_ms ? request->wait_ms : CALL_DEADLINE_MS;
	mono_us     deadline = mono_after(time_mono(), (dur_us){wait_ms * US_PER_MS});
	struct call head = {
	    .message = request->message, .deadline = deadline, .idempotency = request->idempotency};
	msgpack_object nil = {.type = MSGPACK_OBJECT_NIL};
	msgpack_packer packer;
	enum err       err;

	if (request->account) {
		head.has_account = true;
		head.account = *request->account;
	}
	if ((err = rpc_begin(rpc, &head, waiting, &packer))) {
		struct reply refusal = {.err = err, .payload = &nil};
		waiting->on_part(waiting->user, waiting->shard, &refusal);
		return;
	}
	if (request->args.size)
		msgpack_pack_bin_body(&packer, request->args.at, request->args.size); /* packed already */
	else
		msgpack_pack_array(&packer, 0);
	rpc_commit(rpc);
}

enum err service_call(struct service *service, const struct call_spec *request, service_part_fn on_part,
                      void *user)
{
	struct waiting waiting[SHARDS_MAX];
	uint32_t       first = 0, count = service->shard_count;
	char           endpoint[ENDPOINT_TEXT];
	enum err       err;

	if (request->account) {
		first = slot_shard(account_slot(*request->account), service->shard_count);
		count = 1;
	} else if (request->shard) {
		first = *request->shard;
		count = 1;
	}
	for (uint32_t i = first; i < first + count; i++) {
		datadir_shard_endpoint(&service->datadir, i, endpoint);
		if ((err = open_session(service, endpoint, &service->shards[i]))) return err;
	}
	await_sessions(service, service->shards + first, count,
	               request->wait_ms && request->wait_ms < SHARD_WAIT_MS ? request->wait_ms
	                                                                    : SHARD_WAIT_MS);
	for (uint32_t i = first; i < first + count; i++) {
		waiting[i] = (struct waiting){.on_part = on_part, .user = user, .shard = i};
		call_one(service->shards[i], request, &waiting[i]);
	}
	await_answers(service, service->shards + first, count);
	return OK;
}

/* ---- many calls at once ---- */

enum err service_connect(struct service *service, const struct account_id *account, uint32_t *shard)
{
	char     endpoint[ENDPOINT_TEXT];
	enum err err;

	*shard = slot_shard(account_slot(*account), service->shard_count);
	datadir_shard_endpoint(&service->datadir, *shard, endpoint);
	if ((err = open_session(service, endpoint, &service->shards[*shard]))) return err;
	await_sessions(service, service->shards + *shard, 1, SHARD_WAIT_MS);
	return OK;
}

uint64_t service_epoch(const struct service *service, uint32_t shard)
{
	return rpc_epoch(service->shards[shard]);
}

void service_begin(struct service *service, const struct call_spec *request, struct waiting *waiting)
{
	call_one(service->shards[waiting->shard], request, waiting);
}

void service_turn(struct service *service, uint32_t shard, dur_us wait)
{
	struct rpc *rpc = service->shards[shard];
	mono_us     now = time_mono();
	uint32_t    outstanding = rpc_outstanding(rpc);
	uint64_t    epoch = rpc_epoch(rpc);

	rpc_flush(rpc, now);
	/* The caller handles what has arrived first: there may be room for more calls. */
	if (rpc_pump(rpc, now, PUMP_BUDGET) || rpc_outstanding(rpc) != outstanding || rpc_epoch(rpc) != epoch)
		return;
	rest(service, wait);
}

/* ---- supervisor ---- */

static uint32_t shard_count_in(const msgpack_object *status)
{
	for (uint32_t i = 0; status->type == MSGPACK_OBJECT_MAP && i < status->via.map.size; i++) {
		const msgpack_object_kv *pair = &status->via.map.ptr[i];
		if (pair->key.type == MSGPACK_OBJECT_STR &&
		    pair->val.type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
		    span_is(span_of(pair->key.via.str.ptr, pair->key.via.str.size), "shard_count"))
			return pair->val.via.u64 <= SHARDS_MAX ? (uint32_t)pair->val.via.u64 : 0;
	}
	return 0;
}

static void on_status(void *user, uint32_t shard, const struct reply *reply)
{
	struct service *service = user;

	(void)shard;
	if (reply->err) return;
	buffer_clear(&service->status);
	if (json_render(reply->payload, &service->status)) return;
	service->shard_count = shard_count_in(reply->payload);
}

enum err service_call_supervisor(struct service *service, const struct call_spec *request,
                                 service_part_fn on_part, void *user)
{
	struct waiting waiting = {.on_part = on_part, .user = user};

	await_sessions(service, &service->supervisor, 1, SUPERVISOR_WAIT_MS);
	if (rpc_state(service->supervisor) != RPC_UP) return ERR_NOT_RUNNING;
	call_one(service->supervisor, request, &waiting);
	await_answers(service, &service->supervisor, 1);
	return OK;
}

enum err service_ask_again(struct service *service)
{
	struct call_spec request = {.message = MSG_STATUS};
	enum err         err = service_call_supervisor(service, &request, on_status, service);

	if (err) return err;
	return service->shard_count ? OK : ERR_NOT_RUNNING;
}

static enum err ask_supervisor(struct service *service)
{
	char     endpoint[ENDPOINT_TEXT];
	enum err err;

	datadir_supervisor_endpoint(&service->datadir, endpoint);
	if ((err = open_session(service, endpoint, &service->supervisor))) return err;
	return service_ask_again(service);
}

enum err service_open(const char *dir, struct service **service_p)
{
	struct service *service = calloc(1, sizeof *service);
	enum err        err;

	*service_p = NULL;
	if (!service) return ERR_NO_MEMORY;
	service->loop.epoll_fd = service->datadir.fd = service->datadir.run_fd = -1;
	err = datadir_open(dir, &service->datadir);
	if (err == ERR_NOT_FOUND) err = ERR_NOT_RUNNING; /* no service can run there */
	if (err || (err = loop_open(&service->loop)) || (err = ask_supervisor(service))) goto out;
	*service_p = service;
	service = NULL;
out:
	service_close(&service);
	return err;
}

void service_close(struct service **service_p)
{
	struct service *service = *service_p;

	*service_p = NULL;
	if (!service) return;
	rpc_close(&service->supervisor);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		rpc_close(&service->shards[i]);
	loop_close(&service->loop);
	datadir_close(&service->datadir);
	buffer_free(&service->status);
	free(service);
}

uint32_t service_shards(const struct service *service)
{
	return service->shard_count;
}

struct span service_status(const struct service *service)
{
	return buffer_span(&service->status);
}
