/* An image's way from its endpoint to the shard.
 *
 *   FETCH ─▶ egress ─▶ is it a PNG? ─▶ IMAGE_PUT, one part after the other ─▶ IMAGE_NAME ─▶ the answer to FETCH
 *
 * A permanent fault is reported as IMAGE_REFUSED, a temporary one as IMAGE_UNREACHABLE; the shard decides how often to retry.
 * The parts of an account's images follow at a pace (IMAGE_BYTES_PER_S): they are written in the records that the commands of
 * other accounts wait for. Of each image one part is sent at a time, and of few images at once, so that a slow disk writes
 * several parts in a record; the other images wait. */
#include "actors/timer/fetch.h"

#include "schemas/api/image.h"
#include "schemas/png.h"
#include "schemas/sha256.h"
#include "schemas/url.h"
#include "actors/rt/time.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
	TEXT_BYTES = 160,
	HANDED_MAX = 8,         /* images at once, */
	HANDED_ACCOUNT_MAX = 4, /* and of one account: as many parts may follow at once after a pause */
};

struct fetch {
	LIST_ENTRY(fetch) link;
	TAILQ_ENTRY(fetch) in_line; /* in state WAITING */
	enum { FETCHING, WAITING, HANDING } state;
	struct asked      asked;
	struct egress_job job;
	struct fetching  *of;
	uint64_t          call_id, epoch;
	struct account_id account;
	struct buffer     url, image;
	uint8_t           hash[SHA256_BYTES];
	struct png_size   size;
	size_t            put;    /* bytes handed over */
	mono_us           next;   /* the account's next part was due then, or is */
	mono_us           resume; /* when to go on; 0: the part before has no answer yet */
	bool              is_named;
};
LIST_HEAD(fetches, fetch);
TAILQ_HEAD(fetch_line, fetch);

struct fetching {
	struct fetches    all;
	struct fetch_line line;               /* images that wait for their turn */
	struct fetch     *handed[HANDED_MAX]; /* in progress, the longest first, which goes on first */
	unsigned          handed_count;
	mono_us           now; /* of this turn: what is ready together goes together */
	struct rpc       *rpc;
	struct egress    *egress;
	const struct address_rules *rules;
	uint32_t                   *in_hand; /* over all shards */
	struct frame_out            answer;  /* kept for its memory */
};

/* Ends ---------------------------------------------------------------------------------------------------- */

static void leave_hands(struct fetching *fetching, const struct fetch *fetch)
{
	unsigned i = 0;
	while (fetching->handed[i] != fetch)
		i++;
	for (fetching->handed_count--; i < fetching->handed_count; i++)
		fetching->handed[i] = fetching->handed[i + 1];
}

static void fetch_free(struct fetch *fetch)
{
	LIST_REMOVE(fetch, link);
	if (fetch->state == WAITING) TAILQ_REMOVE(&fetch->of->line, fetch, in_line);
	if (fetch->state == HANDING) leave_hands(fetch->of, fetch);
	--*fetch->of->in_hand;
	buffer_free(&fetch->url);
	buffer_free(&fetch->image);
	free(fetch);
}

/* A lost answer is not repeated: the shard is down, or asks again later. */
static void answer(struct fetching *fetching, uint64_t call_id, uint64_t epoch, enum err err,
                   const char *text)
{
	struct frame_out *out = &fetching->answer;
	frame_clear(out);
	frame_reply(out, call_id, err, 0, span_of(NULL, 0));
	msgpack_packer packer = frame_out_packer(out);
	if (text)
		pack_text(&packer, text);
	else
		msgpack_pack_nil(&packer);
	(void)!rpc_answer(fetching->rpc, out, epoch);
}

static void hand_over_next(struct fetching *fetching);

static void end(struct fetch *fetch, enum err err, const char *text)
{
	struct fetching *fetching = fetch->of;
	answer(fetching, fetch->call_id, fetch->epoch, err, text);
	fetch_free(fetch);
	hand_over_next(fetching);
}

/* Handing over -------------------------------------------------------------------------------------------- */

static enum err begin_call(struct fetch *fetch, enum message message, msgpack_packer *packer)
{
	struct call call = {.message = message,
	                    .deadline = mono_after(time_mono(), (dur_us){CALL_DEADLINE_MS * US_PER_MS}),
	                    .has_account = true,
	                    .account = fetch->account};
	return rpc_begin(fetch->of->rpc, &call, &fetch->asked, packer);
}

/* When the account's next part may be sent. */
static mono_us next_part_at(const struct fetching *fetching, const struct account_id *account)
{
	mono_us at = {1};
	for (unsigned i = 0; i < fetching->handed_count; i++) {
		const struct fetch *fetch = fetching->handed[i];
		if (account_same(fetch->account, *account) && fetch->next.v > at.v) at = fetch->next;
	}
	return at;
}

static dur_us pace_of(size_t size)
{
	return (dur_us){(int64_t)size * US_PER_SEC / IMAGE_BYTES_PER_S};
}

/* What was not used of the pace lately may be used now, within bounds: on a slow disk one part of each image fits into a record. */
static mono_us begin_pace(const struct fetch *fetch)
{
	int64_t lately = fetch->of->now.v - (HANDED_ACCOUNT_MAX - 1) * pace_of(IMAGE_PART_BYTES).v;
	mono_us next = next_part_at(fetch->of, &fetch->account);
	return next.v > lately ? next : (mono_us){lately};
}

static enum err put_part(struct fetch *fetch)
{
	msgpack_packer packer;
	size_t         left = fetch->image.size - fetch->put;
	size_t         size = left < IMAGE_PART_BYTES ? left : IMAGE_PART_BYTES;
	enum err       err = begin_call(fetch, MSG_IMAGE_PUT, &packer);
	if (err) return err;
	msgpack_pack_array(&packer, ARGS_IMAGE_PUT);
	pack_bin(&packer, span_of(fetch->hash, sizeof fetch->hash));
	msgpack_pack_uint64(&packer, fetch->put / IMAGE_PART_BYTES);
	pack_bin(&packer, span_of(fetch->image.at + fetch->put, size));
	rpc_commit(fetch->of->rpc);
	fetch->put += size;
	fetch->next = mono_after(begin_pace(fetch), pace_of(size));
	return OK;
}

static enum err name(struct fetch *fetch)
{
	msgpack_packer packer;
	enum err       err = begin_call(fetch, MSG_IMAGE_NAME, &packer);
	if (err) return err;
	msgpack_pack_array(&packer, ARGS_IMAGE_NAME);
	pack_str(&packer, buffer_span(&fetch->url));
	pack_bin(&packer, span_of(fetch->hash, sizeof fetch->hash));
	msgpack_pack_uint64(&packer, fetch->image.size);
	msgpack_pack_uint32(&packer, fetch->size.width);
	msgpack_pack_uint32(&packer, fetch->size.height);
	rpc_commit(fetch->of->rpc);
	fetch->is_named = true;
	return OK;
}

static void hand_over(struct fetch *fetch, enum err err)
{
	if (!err && fetch->is_named) {
		end(fetch, OK, NULL);
		return;
	}
	if (!err) err = fetch->put < fetch->image.size ? put_part(fetch) : name(fetch);
	if (err == ERR_OVERLOADED || err == ERR_STORAGE_FULL)
		end(fetch, ERR_OVERLOADED, NULL); /* not the image's fault: its time must not run */
	else if (err)
		end(fetch, ERR_IMAGE_UNREACHABLE, "it could not be stored");
}

static void on_stored(struct asked *asked, const struct reply *reply)
{
	struct fetch *fetch = (struct fetch *)((char *)asked - offsetof(struct fetch, asked));
	if (reply->err || fetch->is_named)
		hand_over(fetch, reply->err);
	else
		fetch->resume = next_part_at(fetch->of, &fetch->account);
}

static unsigned count_handed(const struct fetching *fetching, const struct account_id *account)
{
	unsigned count = 0;
	for (unsigned i = 0; i < fetching->handed_count; i++)
		count += account_same(fetching->handed[i]->account, *account);
	return count;
}

/* Of the accounts with the fewest images in progress the first image in line; NULL: there is none. */
static struct fetch *next_in_line(struct fetching *fetching)
{
	struct fetch *fetch, *found = NULL;
	unsigned      fewest = HANDED_ACCOUNT_MAX;
	TAILQ_FOREACH(fetch, &fetching->line, in_line)
	{
		unsigned handed = count_handed(fetching, &fetch->account);
		if (handed >= fewest) continue;
		fewest = handed;
		found = fetch;
	}
	return found;
}

static void hand_over_next(struct fetching *fetching)
{
	struct fetch *fetch = fetching->handed_count < HANDED_MAX ? next_in_line(fetching) : NULL;
	if (!fetch) return;
	TAILQ_REMOVE(&fetching->line, fetch, in_line);
	fetch->state = HANDING;
	fetch->resume = next_part_at(fetching, &fetch->account);
	fetching->handed[fetching->handed_count++] = fetch;
	if (fetch->resume.v > fetching->now.v) return; /* fetching_turn() goes on */
	fetch->resume.v = 0;
	hand_over(fetch, OK);
}

/* An image that ends makes way for the next one: so the places are looked at until nothing more goes on. */
dur_us fetching_turn(struct fetching *fetching, mono_us now)
{
	dur_us   wait = {INT64_MAX};
	unsigned i = 0;
	fetching->now = now;
	while (i < fetching->handed_count) {
		struct fetch *fetch = fetching->handed[i];
		dur_us        left = {INT64_MAX};
		if (fetch->resume.v) {
			fetch->resume = next_part_at(fetching,
			                             &fetch->account); /* one before it may have gone on */
			left = mono_since(fetch->resume, now);
		}
		if (left.v > 0) {
			if (left.v < wait.v) wait = left;
			i++;
			continue;
		}
		fetch->resume.v = 0;
		hand_over(fetch, OK); /* if it ends, another one has its place */
	}
	return wait;
}

/* Judging ------------------------------------------------------------------------------------------------- */

static enum err judge_status(int status, char text[TEXT_BYTES])
{
	if (status >= 200 && status <= 299) return OK;
	snprintf(text, TEXT_BYTES, "its URL answered with status %d", status);
	bool may_pass = status >= 500 || status == 408 || status == 425 || status == 429;
	return may_pass ? ERR_IMAGE_UNREACHABLE : ERR_IMAGE_REFUSED;
}

static enum err judge_error(const struct egress_outcome *outcome, char text[TEXT_BYTES])
{
	enum attempt_error error = outcome->error;
	if (error == ATTEMPT_TOO_LARGE) {
		snprintf(text, TEXT_BYTES, "it is larger than %d bytes", IMAGE_BYTES_MAX);
		return ERR_IMAGE_REFUSED;
	}
	if (error == ATTEMPT_ADDRESS_REFUSED) {
		snprintf(text, TEXT_BYTES, "its URL leads to an address that is not public");
		return ERR_IMAGE_REFUSED;
	}
	snprintf(text, TEXT_BYTES, "it could not be fetched (%s%s%s)", attempt_word(error),
	         outcome->detail ? "; " : "", attempt_detail_text(outcome->detail));
	return error == ATTEMPT_NOT_STARTED ? ERR_OVERLOADED : ERR_IMAGE_UNREACHABLE;
}

static enum err judge(struct fetch *fetch, const struct egress_outcome *outcome, char text[TEXT_BYTES])
{
	enum err err = outcome->error ? judge_error(outcome, text) : judge_status(outcome->status, text);
	if (err) return err;
	const struct span body = outcome->body;
	const char       *fault = png_fault(body, &fetch->size);
	if (fault) {
		snprintf(text, TEXT_BYTES, "%s", fault);
		return ERR_IMAGE_REFUSED;
	}
	buffer_append(&fetch->image, body.at, body.size);
	sha256_of(&body, 1, fetch->hash);
	snprintf(text, TEXT_BYTES, "there was no memory for it");
	return fetch->image.failed ? ERR_IMAGE_UNREACHABLE : OK;
}

static void on_done(struct egress_job *job, const struct egress_outcome *outcome)
{
	struct fetch *fetch = (struct fetch *)((char *)job - offsetof(struct fetch, job));
	char          text[TEXT_BYTES];
	enum err      err = judge(fetch, outcome, text);
	if (err) {
		end(fetch, err, text);
		return;
	}
	fetch->state = WAITING;
	TAILQ_INSERT_TAIL(&fetch->of->line, fetch, in_line);
	hand_over_next(fetch->of);
}

/* Beginning ----------------------------------------------------------------------------------------------- */

static struct fetch *fetch_new(struct fetching *fetching, const struct call *call, uint64_t epoch)
{
	struct fetch *fetch = calloc(1, sizeof *fetch);
	struct span   url = arg_span(&call->args[ARG_FETCH_url]);
	if (!fetch) return NULL;
	*fetch = (struct fetch){.asked = {on_stored},
	                        .job = {on_done},
	                        .of = fetching,
	                        .call_id = call->id,
	                        .epoch = epoch,
	                        .account = call->account};
	buffer_append(&fetch->url, url.at, url.size);
	LIST_INSERT_HEAD(&fetching->all, fetch, link);
	++*fetching->in_hand;
	return fetch;
}

void fetching_begin(struct fetching *fetching, const struct call *call, uint64_t epoch, mono_us now)
{
	static const char *const headers[] = {"Accept: image/png"};
	bool                     is_full = *fetching->in_hand >= EGRESS_FETCHES_MAX;
	fetching->now = now;
	struct fetch *fetch = is_full ? NULL : fetch_new(fetching, call, epoch);
	if (!fetch) {
		answer(fetching, call->id, epoch, ERR_OVERLOADED, NULL);
		return;
	}
	struct egress_request request = {.owner = fetch->account,
	                                 .url = buffer_span(&fetch->url),
	                                 .headers = headers,
	                                 .header_count = 1,
	                                 .is_fetch = true,
	                                 .time = {EGRESS_IMAGE_MS * US_PER_MS},
	                                 .user = &fetch->job};
	enum err              err = url_check_image(request.url, fetching->rules);
	if (!err) err = egress_start(fetching->egress, &request, now);
	if (err == ERR_INVALID_WEBHOOK_URL)
		end(fetch, ERR_IMAGE_REFUSED, "its URL is not http or https, or not of a public host");
	else if (err)
		end(fetch, ERR_OVERLOADED, NULL);
}

enum err fetching_open(struct fetching **opened, struct rpc *rpc, struct egress *egress,
                       const struct address_rules *rules, uint32_t *in_hand)
{
	struct fetching *fetching = *opened = calloc(1, sizeof *fetching);
	if (!fetching) return ERR_NO_MEMORY;
	fetching->rpc = rpc;
	fetching->egress = egress;
	fetching->rules = rules;
	fetching->in_hand = in_hand;
	TAILQ_INIT(&fetching->line);
	return OK;
}

void fetching_close(struct fetching **closed)
{
	struct fetching *fetching = *closed;
	*closed = NULL;
	if (!fetching) return;
	while (!LIST_EMPTY(&fetching->all))
		fetch_free(LIST_FIRST(&fetching->all));
	buffer_free(&fetching->answer.bytes);
	free(fetching);
}
