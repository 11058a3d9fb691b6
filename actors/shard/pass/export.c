/* pass export ACCOUNT PASS_ID: everything that is kept of a pass and its holder, in pages, so that neither side ever has all
 * of it in memory; then of the passes that had the id before it, the newest first. Answer: {"items": [{PART: value}, ...],
 * "next": bin, or nil behind the last page}. A page says where the next one begins, the pass's number with it: should the id be
 * another pass's by then, or be erased, there is none. */
#include "actors/shard/audience/member.h"
#include "actors/shard/card/card.h"
#include "actors/shard/entitlement/entitlement.h"
#include "actors/shard/notification/notification.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"
#include "actors/shard/scan/scan.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/pass_command.h"
#include "store/index.h"
#include "store/keys.h"
#include "store/registration.h"
#include "store/wallet_google.h"

enum part { PASS, HISTORY, ENTITLEMENTS, REDEMPTIONS, SCANS, NOTIFICATIONS, CARDS, AUDIENCES, WALLETS, END };
static const char *const names[END] = {"pass",          "history", "entitlements", "redemptions", "scans",
                                       "notifications", "cards",   "audiences",    "wallets"};
enum {
	PAGE_BYTES = 256 << 10,
	LOOKED_MAX = 20000, /* rows of others, on the way to those of the pass, */
	LOOK_BYTES = 32,    /* and so many bytes of audiences as one of them */
	HISTORY_ROWS = 4096,
	AT_NUMBER = 1, /* part u8 | number u32, big-endian | how far its part has come */
	AT_REST = 5,
	REST_BYTES = 32,
	PLACE_BYTES = AT_REST + REST_BYTES,
};

struct export
{
	struct request *request;
	struct hot_at   pass;
	struct body     body;
	enum part       part;
	uint8_t         rest[REST_BYTES]; /* of the part at hand: zeros where it begins */
	struct buffer   items;
	uint32_t        count;
	unsigned        looked;
	bool            ends; /* the part */

	struct memberships memberships;
};

static msgpack_packer item(struct export *page)
{
	msgpack_packer pk = buffer_packer(&page->items);
	page->count++;
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, names[page->part]);
	return pk;
}

static bool is_full(const struct export *page)
{
	size_t looked = page->looked + page->memberships.read_bytes / LOOK_BYTES;
	return page->items.size >= PAGE_BYTES || looked >= LOOKED_MAX;
}

static enum err put_pass(struct export *page)
{
	(void)item(page);
	page->ends = true;
	return pass_show(page->request, &page->pass, &page->items);
}

/* The rows are chained backward: of those that the pages before have left, the oldest are the last that the walk meets.
 * rest: the newest that was given u64. */
static enum err put_history(struct export *page)
{
	uint64_t          after = get_be64(page->rest), seqs[HISTORY_ROWS], count = 0;
	struct ledger_row row;
	enum err          err;
	for (uint64_t seq = page->pass.now.ledger_head; seq > after; seq = row.previous) {
		if ((err = ledger_get(page->request->view, page->pass.account, seq, &row))) return err;
		if (row.number != page->pass.number || row.previous >= seq) return ERR_DAMAGED;
		seqs[count++ % HISTORY_ROWS] = seq;
	}
	for (unsigned i = 0; i < HISTORY_ROWS && count && !is_full(page); i++) {
		uint64_t seq = seqs[--count % HISTORY_ROWS];
		if ((err = ledger_get(page->request->view, page->pass.account, seq, &row))) return err;
		msgpack_packer pk = item(page);
		pass_pack_event(&pk, &row);
		put_be64(page->rest, seq);
	}
	page->ends = count == 0;
	return OK;
}

/* rest: the uuid of the last. */
static enum err put_entitlements(struct export *page)
{
	struct request       *request = page->request;
	struct entitlement    row = {.pass = page->pass.number};
	struct reward_version terms = {.family = 0};
	struct buffer         room = {0};
	enum err              err = OK;
	memcpy(row.id.b, page->rest, sizeof row.id);
	while (!is_full(page) && !(err = entitlement_next(request->view, page->pass.account, &row))) {
		struct reward reward = {.family = row.family, .version = row.version};
		bool          same = terms.family == row.family && terms.version == row.version;
		if (!same) err = reward_version_in(request->view, page->pass.account, &reward, &room, &terms);
		if (err) break;
		msgpack_packer pk = item(page);
		entitlement_pack(&row, &terms, page->body.pass_id, request->now, &pk);
		memcpy(page->rest, row.id.b, sizeof row.id);
	}
	buffer_free(&room);
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

/* rest: the uuids of the last, its entitlement's first. */
static enum err put_redemptions(struct export *page)
{
	struct redemption row = {.pass = page->pass.number};
	struct buffer     room = {0};
	enum err          err = OK;
	memcpy(row.entitlement.b, page->rest, sizeof row.entitlement);
	memcpy(row.id.b, page->rest + sizeof row.entitlement, sizeof row.id);
	while (!is_full(page) &&
	       !(err = redemption_next(page->request->view, page->pass.account, &room, &row))) {
		msgpack_packer pk = item(page);
		pack_Redemption(&pk, &row);
		memcpy(page->rest, row.entitlement.b, sizeof row.entitlement);
		memcpy(page->rest + sizeof row.entitlement, row.id.b, sizeof row.id);
	}
	buffer_free(&room);
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

static enum err put_scans_of_row(struct export *page, struct span row)
{
	enum err err = OK;
	for (uint64_t mask = scan_rows_mask(row, (1u << SCAN_VERDICTS) - 1); !err && mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		if (scan_rows_pass(row, i) != page->pass.number) continue;
		struct scan_row scan = scan_rows_member(row, i);
		(void)item(page);
		err = scan_show(page->request, &scan, SCAN_SPACED, &page->items);
	}
	return err;
}

/* The rows with the scans that were made while the pass existed; their ids have milliseconds. */
static enum err find_rows(struct export *page, uint32_t *first, uint32_t *end)
{
	struct view      *view = page->request->view;
	const struct hot *pass = &page->pass.now;
	struct scan_tally tally;
	enum err          err = scan_tally_whole(view, page->pass.account, &tally);
	if (err) return err;
	*first = *end = tally.made;
	err = scan_row_first(view, page->pass.account, tally.made, (wall_us){pass->created.v - US_PER_MS},
	                     first);
	if (!err && pass->flags & HOT_DELETED)
		err = scan_row_first(view, page->pass.account, tally.made,
		                     (wall_us){pass->updated.v + US_PER_MS}, end);
	*first /= SCAN_ROW_SCANS;
	*end = (*end + SCAN_ROW_SCANS - 1) / SCAN_ROW_SCANS;
	return err;
}

/* rest: the next row u32, plus one. */
static enum err put_scans(struct export *page)
{
	struct view *view = page->request->view;
	uint32_t     number, end;
	enum err     err = find_rows(page, &number, &end);
	if (get_be32(page->rest)) number = get_be32(page->rest) - 1;
	for (; !err && !is_full(page); page->looked++) {
		if (number >= end) err = ERR_NOT_FOUND;
		if (err) break;
		struct span row;
		if ((err = scan_rows_get(view, page->pass.account, number, &row))) break;
		if (!(err = put_scans_of_row(page, row))) number++;
	}
	put_be32(page->rest, number + 1);
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

/* A message to an audience has reached those who were in it, and there, when it was sent. Of the members that an audience has
 * now it is known since when they are; those that it had before are nowhere. */
static enum err has_reached(struct export *page, uint32_t number, const struct notification *row, bool *has)
{
	const struct hot         *pass = &page->pass.now;
	struct notification_state state;
	struct membership         membership;
	enum err err = membership_of(page->request, &page->memberships, row->audience, &membership);
	*has = false;
	if (err || !membership.is_member) return err;
	err = notification_state_get(page->request->view, page->pass.account, number, &state);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*has = state.status == NOTIFICATION_SENT && state.sent.v >= membership.since.v &&
	       !(pass->flags & HOT_DELETED && state.sent.v > pass->updated.v);
	return OK;
}

/* A cancelled one is nowhere any more. */
static enum err is_kept(struct export *page, uint32_t number, bool *is)
{
	struct notification_state state;
	enum err err = notification_state_get(page->request->view, page->pass.account, number, &state);
	*is = !err && state.status != NOTIFICATION_CANCELLED;
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

/* rest: the number of the next u32, of all that the account made while there was the pass; 0: not looked for yet. */
static enum err put_notifications(struct export *page)
{
	struct view        *view = page->request->view;
	uint32_t            number = get_be32(page->rest);
	struct notification row;
	enum err            err = OK;
	if (number == 0) err = notification_since(view, page->pass.account, page->pass.now.created, &number);
	for (; !err && !is_full(page); page->looked++) {
		if ((err = notification_get(view, page->pass.account, number, &row))) break;
		bool is_meant = !row.to_audience && row.pass_number == page->pass.number;
		if (is_meant && (err = is_kept(page, number, &is_meant))) break;
		if (row.to_audience && (err = has_reached(page, number, &row, &is_meant))) break;
		if (is_meant) {
			(void)item(page);
			err = notification_show(page->request, number, &page->items);
		}
		number += !err;
	}
	put_be32(page->rest, number);
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

/* The newest first. rest: the uuid of the last. */
static enum err put_cards(struct export *page)
{
	struct view *view = page->request->view;
	struct card  card = {.pass_number = page->pass.number};
	enum err     err;
	memcpy(card.id.b, page->rest, sizeof card.id);
	if (uuid_same(card.id, (struct uuid){0}))
		err = card_newest(view, page->pass.account, page->pass.number, &card);
	else
		err = card_before(view, page->pass.account, &card);
	while (!err) {
		msgpack_packer pk = item(page);
		card_pack(&card, page->body.pass_id, &pk);
		memcpy(page->rest, card.id.b, sizeof card.id);
		if (is_full(page)) return OK;
		err = card_older(view, page->pass.account, &card);
	}
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

static void pack_audience(const struct audience *row, wall_us since, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(id, UUID, row->id);
	MEMBER_ALWAYS(name, STRING, row->name);
	MEMBER_ALWAYS(member_since, TIME, since);
}

/* rest: the uuid of the last that was looked at, of all of the account. */
static enum err put_audiences(struct export *page)
{
	struct audience row;
	struct buffer   room = {0};
	enum err        err = OK;
	wall_us         since;
	memcpy(row.id.b, page->rest, sizeof row.id);
	while (!is_full(page) &&
	       !(err = audience_next(page->request->view, page->pass.account, &room, &row))) {
		memcpy(page->rest, row.id.b, sizeof row.id);
		page->looked += 1 + (unsigned)(row.stored.size / LOOK_BYTES);
		if (!audience_has(&row, page->pass.number, &since)) continue;
		msgpack_packer pk = item(page);
		pack_audience(&row, since, &pk);
	}
	buffer_free(&room);
	page->ends = err == ERR_NOT_FOUND;
	return page->ends ? OK : err;
}

/* The pass type or issuer; NULL size: its credential was removed. */
static enum err name_of(struct export *page, enum wallet_kind kind, uint64_t number, struct span *name)
{
	struct wallet_credential row;
	enum err err = wallet_credential_of(page->request->view, page->pass.account, kind, number, &row);
	*name = err ? span_of(NULL, 0) : row.name;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Neither the hash of the device nor the push token: with these one could wake the phone. */
static enum err put_registration(struct export *page, const struct registration *row)
{
	struct span    name;
	enum err       err = name_of(page, WALLET_APPLE, row->credential, &name);
	msgpack_packer packer = item(page), *pk = &packer;
	size_t         map = map_begin(pk);
	MEMBER_ALWAYS(platform, STRING, wallet_kind_text(WALLET_APPLE));
	MEMBER_NULLABLE(pass_type_id, STRING, name.size, name);
	MEMBER_ALWAYS(since, TIME, row->since);
	return err;
}

static const char *google_state_text(const struct wallet_google *row)
{
	if (row->state == WALLET_GOOGLE_SAVED) return "saved";
	return row->state == WALLET_GOOGLE_GONE ? "gone" : "offered"; /* the holder has got a link */
}

static enum err put_google(struct export *page, const struct wallet_google *row)
{
	struct span    name;
	enum err       err = name_of(page, WALLET_GOOGLE, row->issuer, &name);
	msgpack_packer packer = item(page), *pk = &packer;
	size_t         map = map_begin(pk);
	unsigned       first = 0;
	MEMBER_ALWAYS(platform, STRING, wallet_kind_text(WALLET_GOOGLE));
	MEMBER_NULLABLE(issuer_id, STRING, name.size, name);
	MEMBER_ALWAYS(state, STRING, google_state_text(row));
	map_key(pk, map, "notices");
	while (first < WALLET_GOOGLE_NOTICES && !row->notices[first].v)
		first++;
	msgpack_pack_array(pk, WALLET_GOOGLE_NOTICES - first);
	for (unsigned i = first; i < WALLET_GOOGLE_NOTICES; i++)
		pack_TIME(pk, row->notices[i]);
	return err;
}

/* Phones with the pass, which are few, and what Google has said of it. */
static enum err put_wallets(struct export *page)
{
	struct view         *view = page->request->view;
	struct registration  phone = {.pass_number = page->pass.number};
	struct wallet_google saved = {.pass_number = page->pass.number};
	enum err             err = registration_first(view, page->pass.account, &phone);
	for (; !err; err = registration_next(view, page->pass.account, &phone))
		if ((err = put_registration(page, &phone))) return err;
	if (err == ERR_NOT_FOUND) err = wallet_google_row_get(view, page->pass.account, &saved);
	page->ends = true;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return put_google(page, &saved);
}

static enum err (*const put_part[END])(struct export *page) = {
    put_pass,          put_history, put_entitlements, put_redemptions, put_scans,
    put_notifications, put_cards,   put_audiences,    put_wallets};

/* The pass, and where the page begins. Errors: ERR_RESOURCE_NOT_FOUND. */
static enum err begin(struct export *page)
{
	const msgpack_object *args = page->request->args, *after = &args[ARG_PASS_EXPORT_after];
	struct span           place = arg_span(after), pass_id = arg_span(&args[ARG_PASS_EXPORT_pass_id]);
	enum err              err;
	if (!arg_present(after)) {
		err = pass_find(page->request, pass_id, true, &page->pass);
		return err ? err : pass_body(page->request, &page->pass, &page->body);
	}
	if (place.size != PLACE_BYTES || place.at[0] >= END) return ERR_INVALID_INPUT;
	page->part = (enum part)place.at[0];
	memcpy(page->rest, place.at + AT_REST, REST_BYTES);
	err = hot_get(page->request->view, page->request->account->id, get_be32(place.at + AT_NUMBER),
	              &page->pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	if ((err = pass_body(page->request, &page->pass, &page->body))) return err;
	return span_equal(page->body.pass_id, pass_id) ? OK : ERR_RESOURCE_NOT_FOUND;
}

static void end(const struct export *page, struct outcome *outcome)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	uint8_t        place[PLACE_BYTES] = {(uint8_t)page->part};
	put_be32(place + AT_NUMBER, page->pass.number);
	memcpy(place + AT_REST, page->rest, REST_BYTES);
	msgpack_pack_map(&pk, 2);
	pack_text(&pk, "next");
	if (page->part == END)
		msgpack_pack_nil(&pk);
	else
		pack_bin(&pk, span_of(place, sizeof place));
	pack_text(&pk, "items");
	msgpack_pack_array(&pk, page->count);
	buffer_append(outcome->payload, page->items.at, page->items.size);
}

/* The pass that had the id before this one. Errors: ERR_NOT_FOUND. */
static enum err go_to_earlier(struct export *page)
{
	struct account_id account = page->pass.account;
	uint32_t          number;
	enum err err = index_find_below(page->request->view, account, page->body.pass_id, page->pass.number,
	                                &number);
	if (err) return err;
	if ((err = hot_get(page->request->view, account, number, &page->pass)) ||
	    (err = pass_body(page->request, &page->pass, &page->body)))
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	page->memberships = (struct memberships){.pass = number, .read_bytes = page->memberships.read_bytes};
	page->part = PASS;
	return OK;
}

static enum err put_parts(struct export *page)
{
	enum err err = OK;
	while (!err && page->part < END && !is_full(page)) {
		page->ends = false;
		err = put_part[page->part](page);
		if (err || !page->ends) continue;
		page->part++;
		memset(page->rest, 0, sizeof page->rest);
		if (page->part == END && (err = go_to_earlier(page)) == ERR_NOT_FOUND) return OK;
	}
	return err;
}

enum err on_PASS_EXPORT(struct request *request, struct outcome *outcome)
{
	struct export page = {.request = request};
	enum err err = begin(&page);
	page.memberships.pass = page.pass.number;
	if (!err) err = put_parts(&page);
	if (!err && page.items.failed) err = ERR_NO_MEMORY;
	if (!err) end(&page, outcome);
	buffer_free(&page.items);
	return err;
}
