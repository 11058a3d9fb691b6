/* Properties of the engine's answers: each check reads one kind of answer like the process that receives
 * it. */
#include "tests/fuzz/checks.h"

#include "http/card.h"
#include "schemas/delivery.h"
#include "schemas/json.h"

static struct arena arena;

void check_page(const struct ask *ask, const struct reply *reply)
{
	const struct card_reader reader = {.link = span_str("token")};
	struct pass_view         shown;
	struct buffer            html = {0};
	struct card_hashes       hashes;
	if (reply->err) return;
	must(ask->token_account == ask->account);
	must(pass_view_open(reply->payload, &shown) == OK);
	must(card_render(&shown, &reader, &arena, &html, &hashes) == OK);
	buffer_free(&html);
	arena_reset(&arena);
}

static void check_items(const msgpack_object_array *items)
{
	enum { BODY = 5, ITEMS = BODY + 1 };
	for (uint32_t i = 0; i < items->size; i++) {
		const msgpack_object_array *item = &items->ptr[i].via.array;
		struct json                *body;
		must(item->size == 1 || item->size == ITEMS);
		if (item->size == 1) continue;
		must(json_parse(arg_span(&item->ptr[BODY]), &arena, &body) == OK);
		must(json_member(body, "id") && json_member(body, "data")->kind == JSON_OBJECT);
		arena_reset(&arena);
	}
}

void check_leases(const struct reply *reply)
{
	if (reply->err) return;
	const msgpack_object_array *answer = &reply->payload->via.array;
	must(reply->payload->type == MSGPACK_OBJECT_ARRAY && answer->size == 3);
	struct span leases = arg_span(&answer->ptr[0]);
	must(answer->ptr[0].type == MSGPACK_OBJECT_BIN && leases.size % LEASE_BYTES == 0);
	must(leases.size <= LEASES_PER_CALL_MAX * LEASE_BYTES);
	must(answer->ptr[1].via.array.size <= leases.size / LEASE_BYTES);
	check_items(&answer->ptr[1].via.array);
	ask_note_leases(leases);
}

void check_rendered(const struct reply *reply)
{
	if (!reply->err) check_items(&reply->payload->via.array.ptr[0].via.array);
}

void check_queue(struct delivery_queue *queue, struct view *view, mono_us now)
{
	static struct delivery_queue fresh;
	must(queue_load(&fresh, view, queue->leases_max, now) == OK);
	must(queue_leases(&fresh) == queue_leases(queue));
	for (unsigned i = 0; i < LANE_BUCKETS; i++) {
		const struct lane *lane;
		LIST_FOREACH(lane, &fresh.lanes[i], in_bucket)
		{
			struct lane *own = queue_lane(queue, lane->account, lane->subscription);
			must(own && own->due.v == lane->due.v && own->leased == lane->leased);
		}
		LIST_FOREACH(lane, &queue->lanes[i], in_bucket)
		{
			bool idle = lane->due.v == NO_DUE && !lane->leased;
			must(idle || queue_lane(&fresh, lane->account, lane->subscription));
		}
	}
	queue_free(&fresh);
}
