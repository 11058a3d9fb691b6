/* Looking for passes whose creation was not answered.
 *
 * Passes are listed newest first, and everything after the newest one that an answer has told of is what came of the rows
 * without an answer (or of another client, which is told from ours by its id). So the list is read from its beginning as
 * far as that pass; an id found there belongs to the first row of unknown fate that has it. Reading the pass by its id
 * would not do: a pass of that id may have been there before, or be that of an earlier row of the same id. */
#include "ops/cli/import/settle.h"
#include "ops/cli/cli.h"
#include "ops/cli/import/flight_inside.h"
#include "schemas/api/pass.h"
#include "schemas/json.h"

#include <stdlib.h>

enum { PAGES_MAX = 1000, ZONE_BYTES = 64 << 10, TOKEN_BYTES_MAX = 64 };

struct search {
	struct flight *flight;
	struct arena   arena;
	struct span    newest;                /* its token: the end of its link, which no other pass has */
	struct span    ids[FLIGHT_ROWS_MAX];  /* by row, like the ring */
	bool           mine[FLIGHT_ROWS_MAX]; /* found */
	bool           met_newest, has_more, only_first;
	enum err       err;
	struct buffer  first; /* the account's newest pass now */
	uint8_t        token[TOKEN_BYTES_MAX];
};

/* Reads a pass as the interface shows it. */
static enum err read_pass(struct span text, struct arena *arena, struct span *id, struct span *token)
{
	const struct json *id_member, *link;
	struct json       *pass;
	enum err           err;

	arena_reset(arena);
	if ((err = json_parse(text, arena, &pass))) return err == ERR_NO_MEMORY ? err : ERR_MALFORMED;
	if (pass->kind != JSON_OBJECT) return ERR_MALFORMED;
	id_member = json_member(pass, "id");
	link = json_member(pass, "download_url");
	if (!id_member || !link || link->kind != JSON_STRING) return ERR_MALFORMED;
	*id = id_member->text;
	*token = link->text;
	for (size_t i = link->text.size; i-- > 0;) {
		if (link->text.at[i] != '/') continue;
		*token = span_of(link->text.at + i + 1, link->text.size - i - 1);
		break;
	}
	return token->size <= TOKEN_BYTES_MAX ? OK : ERR_MALFORMED;
}

static bool is_created(const struct row *row)
{
	return row->state == ROW_ENDED && !row->err;
}

/* The row that a pass newer than the newest known one is of. */
static void match(struct search *search, struct span id)
{
	struct flight *flight = search->flight;
	uint64_t       ours = flight->end;

	for (uint64_t n = flight->end; n-- > flight->first;) {
		const struct row *row = flight_row(flight, n);
		if (!span_equal(search->ids[n % FLIGHT_ROWS_MAX], id)) continue;
		if (is_created(row)) return; /* answered while others were not */
		if (row->state == ROW_UNKNOWN && !search->mine[n % FLIGHT_ROWS_MAX]) ours = n;
	}
	if (ours < flight->end) search->mine[ours % FLIGHT_ROWS_MAX] = true;
}

static enum err take_item(struct search *search, const msgpack_object *item)
{
	struct span text = span_of(item->via.bin.ptr, item->via.bin.size), id, token;
	enum err    err;

	if (item->type != MSGPACK_OBJECT_BIN) return ERR_MALFORMED;
	if (search->first.size == 0) buffer_append(&search->first, text.at, text.size);
	if (search->first.failed) return ERR_NO_MEMORY;
	if (search->only_first) return OK;
	if ((err = read_pass(text, &search->arena, &id, &token))) return err;
	search->met_newest = span_equal(token, search->newest);
	if (!search->met_newest) match(search, id);
	return OK;
}

static void on_part(void *user, uint32_t shard, const struct reply *reply)
{
	struct search              *search = user;
	const msgpack_object_array *items, *whole = &reply->payload->via.array;

	(void)shard;
	if (!search->err) search->err = reply->err;
	if (search->err) return;
	if (!(items = cli_items(reply->payload))) {
		search->err = ERR_MALFORMED;
		return;
	}
	for (uint32_t i = 0; i < items->size && !search->err && !search->met_newest; i++)
		search->err = take_item(search, &items->ptr[i]);
	if (items != whole) /* the last part: [items, total, has more] */
		search->has_more = whole->size == 3 && whole->ptr[2].type == MSGPACK_OBJECT_BOOLEAN &&
		                   whole->ptr[2].via.boolean;
}

static enum err read_page(struct search *search, uint64_t offset, uint32_t limit)
{
	struct flight *flight = search->flight;
	struct request request = {.message = MSG_PASS_LIST, .account = &flight->account};
	struct buffer  args = {0};
	msgpack_packer packer = buffer_packer(&args);
	enum err       err;

	msgpack_pack_array(&packer, ARGS_PASS_LIST);
	for (unsigned i = 0; i < ARGS_PASS_LIST; i++) {
		if (i == ARG_PASS_LIST_limit)
			msgpack_pack_uint32(&packer, limit);
		else if (i == ARG_PASS_LIST_offset)
			msgpack_pack_uint64(&packer, offset);
		else if (i == ARG_PASS_LIST_include_deleted)
			msgpack_pack_true(&packer);
		else
			msgpack_pack_nil(&packer);
	}
	request.args = buffer_span(&args);
	search->has_more = false;
	err = args.failed ? ERR_NO_MEMORY : service_call(flight->service, &request, on_part, search);
	buffer_free(&args);
	return err ? err : search->err;
}

/* The ids of the rows under way, as they were packed. */
static enum err read_ids(struct search *search, msgpack_zone *zone)
{
	struct flight *flight = search->flight;

	for (uint64_t n = flight->first; n < flight->end; n++) {
		const struct row *row = flight_row(flight, n);
		msgpack_object    args;
		size_t            at = 0;
		if (row->args.size == 0) continue; /* it could not be read */
		if (msgpack_unpack((const char *)row->args.at, row->args.size, &at, zone, &args) !=
		    MSGPACK_UNPACK_SUCCESS)
			return ERR_NO_MEMORY;
		search->ids[n % FLIGHT_ROWS_MAX] = arg_span(&args.via.array.ptr[ARG_PASS_CREATE_pass_id]);
	}
	return OK;
}

static enum err read_newest(struct search *search)
{
	struct span id, token;
	enum err    err;

	if (search->flight->newest.size == 0) return OK;
	if ((err = read_pass(buffer_span(&search->flight->newest), &search->arena, &id, &token))) return err;
	memcpy(search->token, token.at, token.size);
	search->newest = span_of(search->token, token.size);
	return OK;
}

static void keep_first(struct search *search)
{
	struct buffer before = search->flight->newest;

	search->flight->newest = search->first;
	search->first = before;
}

static void search_free(struct search *search)
{
	if (!search) return;
	arena_free(&search->arena);
	buffer_free(&search->first);
	free(search);
}

/* A row found is created; one that is not there may be sent again, unless it was refused as being there already: then
 * that was another's pass. */
static void apply(struct search *search)
{
	struct flight *flight = search->flight;

	for (uint64_t n = flight->first; n < flight->end; n++) {
		struct row *row = flight_row(flight, n);
		if (row->state != ROW_UNKNOWN) continue;
		flight->unknown--;
		row->state = ROW_READY;
		if (search->mine[n % FLIGHT_ROWS_MAX])
			flight_end_row(flight, row, OK);
		else if (row->err == ERR_RESOURCE_CONFLICT)
			flight_end_row(flight, row, row->err);
		else
			row_blame(row, ERR_SHARD_UNAVAILABLE, span_of("", 0), span_of("", 0));
	}
}

enum err settle(struct flight *flight)
{
	struct search *search = calloc(1, sizeof *search);
	msgpack_zone  *zone = msgpack_zone_new(ZONE_BYTES);
	enum err       err = search && zone ? OK : ERR_NO_MEMORY;

	if (err) goto out;
	search->flight = flight;
	if ((err = read_newest(search)) || (err = read_ids(search, zone))) goto out;
	search->has_more = true;
	for (uint64_t page = 0; page < PAGES_MAX && search->has_more && !search->met_newest; page++)
		if ((err = read_page(search, page * PAGE_LIMIT_MAX, PAGE_LIMIT_MAX))) goto out;
	apply(search);
	keep_first(search); /* all up to there has been told from whom it is */
out:
	search_free(search);
	if (zone) msgpack_zone_free(zone);
	return err;
}

enum err settle_begin(struct flight *flight)
{
	struct search *search = calloc(1, sizeof *search);
	enum err       err;

	if (!search) return ERR_NO_MEMORY;
	search->flight = flight;
	search->only_first = true;
	err = read_page(search, 0, 1);
	keep_first(search);
	search_free(search);
	return err;
}
