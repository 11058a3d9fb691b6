/* pass export: requests one page after the other and prints each at once, so that no pass is too large. Items arrive as maps
 * of one member, whose key is their part. All items of a part come together, and parts in the order of `parts`; an item of the
 * first part begins an earlier pass of the same id. */
#include "ops/cli/taken.h"
#include "schemas/api/pass_command.h"
#include "schemas/json.h"

#include <string.h>

static const char *const parts[] = {"pass",          "history", "entitlements", "redemptions", "scans",
                                    "notifications", "cards",   "audiences",    "wallets"};
/* A service without wallets shows no part of them. */
enum { PARTS = sizeof parts / sizeof *parts, WALLETS = PARTS - 1, AFTER_MAX = 64 };

struct export
{
	struct cli *cli;
	unsigned    part;    /* the current one; PARTS: all are printed */
	unsigned    count;   /* of its items */
	unsigned    earlier; /* passes that had the id before, so far */
	uint8_t     after[AFTER_MAX];
	size_t      after_size; /* 0: the first page; later: the last one has arrived */
};

static void begin_list(const struct export *export, struct buffer *out)
{
	buffer_byte(out, ',');
	json_quote(span_str(parts[export->part]), out);
	buffer_text(out, ":[");
}

/* Ends the current part and begins the next one: the pass is a single object, all other parts are lists. That of wallets begins
 * with its first item. */
static void next_part(struct export *export, struct buffer *out)
{
	if (export->part && (export->part != WALLETS || export->count)) buffer_byte(out, ']');
	if (++export->part == PARTS) return;
	export->count = 0;
	if (export->part != WALLETS) begin_list(export, out);
}

static void end_parts(struct export *export)
{
	while (export->part < PARTS)
		next_part(export, &export->cli->out);
}

/* The passes that had the id before come behind all parts of the first, as the last of its members. */
static void begin_earlier(struct export *export)
{
	struct buffer *out = &export->cli->out;
	end_parts(export);
	buffer_text(out, export->earlier++ ? "},{\"pass\":" : ",\"earlier\":[{\"pass\":");
	export->part = export->count = 0;
}

static void print_item(struct export *export, const msgpack_object *item)
{
	struct buffer *out = &export->cli->out;

	if ((export->part || export->count) && msgpack_member(item, parts[0])) begin_earlier(export);
	for (; export->part < PARTS; next_part(export, out)) {
		const msgpack_object *value = msgpack_member(item, parts[export->part]);
		if (!value) continue;
		if (export->part == WALLETS && !export->count) begin_list(export, out);
		if (export->count++) buffer_byte(out, ',');
		if (json_render(value, out)) cli_fail(export->cli, ERR_MALFORMED, NULL);
		return;
	}
	cli_fail(export->cli, ERR_MALFORMED, NULL);
}

static void on_page(void *user, uint32_t shard, const struct reply *reply)
{
	struct export *export = user;
	const msgpack_object *items, *next;

	(void)shard;
	export->after_size = 0;
	if (!cli_part_ok(export->cli, reply)) return;
	items = msgpack_member(reply->payload, "items");
	next = msgpack_member(reply->payload, "next");
	if (!items || items->type != MSGPACK_OBJECT_ARRAY || !next) {
		cli_fail(export->cli, ERR_MALFORMED, NULL);
		return;
	}
	for (uint32_t i = 0; i < items->via.array.size; i++)
		print_item(export, &items->via.array.ptr[i]);
	if (next->type != MSGPACK_OBJECT_BIN || next->via.bin.size > AFTER_MAX) return;
	export->after_size = next->via.bin.size;
	memcpy(export->after, next->via.bin.ptr, export->after_size);
}

enum outcome pass_export(struct cli *cli)
{
	struct export export = {.cli = cli};
	struct taken taken;
	enum outcome outcome = taken_read(cli, MSG_PASS_EXPORT, &taken);

	if (outcome == DONE) {
		buffer_text(&cli->out, "{\"pass\":");
		outcome = taken_call(cli, &taken, on_page, &export);
	}
	while (outcome == DONE && export.after_size && (outcome = cli_print(cli)) == DONE) {
		taken_bin(&taken, ARG_PASS_EXPORT_after, span_of(export.after, export.after_size));
		outcome = taken_call(cli, &taken, on_page, &export);
	}
	taken_free(&taken);
	if (outcome != DONE) return outcome;
	end_parts(&export);
	buffer_text(&cli->out, export.earlier ? "}]}" : "}");
	return DONE;
}
