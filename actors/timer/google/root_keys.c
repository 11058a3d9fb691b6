/* Fetching and handing over. What a shard refuses is offered again a while later. */
#include "actors/timer/google/root_keys.h"

#include "schemas/api/google.h"
#include "schemas/limits.h"

#include <stddef.h>

enum { FRESH_S = 6 * 3600, AGAIN_S = 30 };

static mono_us in(const struct root_keys *keys, int64_t seconds)
{
	return mono_after(keys->now, (dur_us){seconds * US_PER_SEC});
}

static void on_named(struct asked *asked, const struct reply *reply)
{
	struct root_keys *keys = (struct root_keys *)((char *)asked - offsetof(struct root_keys, naming));
	keys->is_naming = false;
	keys->name_at = in(keys, AGAIN_S);
	if (reply->err && reply->err != ERR_INVALID_REQUEST) return;
	buffer_clear(&keys->text);
	if (reply->err) /* these are none */
		keys->fetch_at = keys->name_at;
	else
		keys->has_named = true;
}

static void on_fetched(struct egress_job *job, const struct egress_outcome *outcome)
{
	struct root_keys *keys = (struct root_keys *)((char *)job - offsetof(struct root_keys, fetching));
	bool              good = !outcome->error && outcome->status == 200 && outcome->body.size &&
	            outcome->body.size <= GOOGLE_KEYS_BYTES_MAX;
	keys->is_fetching = false;
	keys->fetch_at = in(keys, good ? FRESH_S : AGAIN_S);
	if (!good) return;
	buffer_clear(&keys->text);
	buffer_append(&keys->text, outcome->body.at, outcome->body.size);
}

static void hand_over(struct root_keys *keys)
{
	struct call    call = {.message = MSG_WALLET_GOOGLE_KEYS,
	                       .deadline = mono_after(keys->now, (dur_us){CALL_DEADLINE_MS * US_PER_MS})};
	msgpack_packer packer;
	if (!keys->text.size || keys->text.failed || keys->is_naming || keys->now.v < keys->name_at.v) return;
	if (rpc_begin(keys->rpc, &call, &keys->naming, &packer)) return;
	msgpack_pack_array(&packer, ARGS_WALLET_GOOGLE_KEYS);
	pack_bin(&packer, buffer_span(&keys->text));
	rpc_commit(keys->rpc);
	keys->is_naming = true;
}

static void fetch(struct root_keys *keys)
{
	static const char *const headers[] = {"Accept: application/json"};
	struct egress_request    request = {.url = span_str(keys->url),
	                                    .headers = headers,
	                                    .header_count = 1,
	                                    .is_fetch = true,
	                                    .user = &keys->fetching};
	if (!keys->is_wanted || keys->is_fetching || keys->now.v < keys->fetch_at.v) return;
	keys->is_fetching = !egress_start(keys->egress, &request, keys->now);
	if (!keys->is_fetching) keys->fetch_at = in(keys, AGAIN_S);
}

void root_keys_turn(struct root_keys *keys, mono_us now)
{
	keys->now = now;
	hand_over(keys);
	fetch(keys);
}

void root_keys_open(struct root_keys *keys, struct rpc *rpc, struct egress *egress, const char *url)
{
	*keys = (struct root_keys){.rpc = rpc, .egress = egress, .url = url};
	keys->fetching.on_done = on_fetched;
	keys->naming.on_reply = on_named;
}

void root_keys_close(struct root_keys *keys)
{
	buffer_free(&keys->text);
}
