/* The codecs of rows: first any bytes as a stored value, then commands on hot rows compared with a model. An
 * accepted value is written again so that it reads the same, and the counts and bounds of a hot row match its
 * passes. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hot_model.h"
#include "tests/fuzz/wallet_rows.h"
#include "tests/unit/support.h"

#include "schemas/body.h"
#include "schemas/rule.h"
#include "store/account_row.h"
#include "store/audience.h"
#include "store/card.h"
#include "store/cleanup.h"
#include "store/delivery.h"
#include "store/entitlement.h"
#include "store/hot.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/reward.h"
#include "store/redemption.h"
#include "store/registration.h"
#include "store/reader_row.h"
#include "store/notification.h"
#include "store/rule.h"
#include "store/scan_row.h"
#include "store/subscription.h"
#include "store/tally.h"
#include "store/template_row.h"
#include "store/template_state.h"
#include "store/text.h"
#include "store/wallet_credential.h"
#include "store/wallet_due.h"
#include "store/pass_pictures.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"

static struct scratch          s;
static const struct account_id account = {{7, 1}};
static struct buffer           packed;

static void put(enum table table, struct row_key key, struct span value)
{
	must(!write_put(&s.staged, table, key_span(&key), value));
}

static void check_hot_row(struct span bytes)
{
	struct hot_at at;
	put(TABLE_HOT, key_u32(account, 0), bytes);
	for (uint32_t number = 0; number < HOT_PASSES; number += 13) {
		enum err err = hot_get(s.view, account, number, &at);
		must(err == OK || err == ERR_DAMAGED || err == ERR_NOT_FOUND);
		if (err) continue;
		must(hot_put(s.view, &at, &at.now) == OK);
		struct hot after = at.now;
		after.balance ^= 1;
		must(hot_put(s.view, &at, &after) == OK);
		must(hot_get(s.view, account, number, &at) == OK && at.now.balance == after.balance);
	}
	(void)!hot_add(s.view, account, HOT_PASSES - 1, &(struct hot){.status = 1});
}

static void check_tally(struct span bytes)
{
	struct tally tally, again;
	put(TABLE_TALLY, key_account(account), bytes);
	enum err err = tally_get(s.view, account, &tally);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(tally_put(s.view, account, &tally) == OK && tally_get(s.view, account, &again) == OK);
	must(!memcmp(&tally, &again, sizeof tally));
	struct hot from = {.status = 1}, to = {.flags = HOT_DELETED};
	(void)!tally_move(s.view, account, &from, &to);
}

static void check_ledger(struct span bytes)
{
	struct ledger_row row, again;
	put(TABLE_LEDGER, key_u64(account, 3), bytes);
	enum err err = ledger_get(s.view, account, 3, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	(void)ledger_what_text(row.what);
	uint32_t        number;
	struct scan_row scan;
	if (!scan_ledger_read(bytes, &number, &scan)) must(scan.pass == row.number);
	must(ledger_put(s.view, account, 3, &row) == OK && ledger_get(s.view, account, 3, &again) == OK);
	must(row.number == again.number && row.what == again.what && row.at.v == again.at.v);
	must(row.previous == again.previous && row.status == again.status && row.flags == again.flags);
	if (ledger_moves(row.what)) must(row.delta == again.delta && row.balance == again.balance);
}

static void check_account(struct span bytes)
{
	struct account_row row, again;
	put(TABLE_ACCOUNT, key_account(account), bytes);
	enum err err = account_row_get(s.view, account, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err || (err = account_row_put(s.view, account, &row)) == ERR_TOO_LARGE) return;
	must(err == OK && account_row_get(s.view, account, &again) == OK);
	must(row.suspended == again.suspended && row.rewards == again.rewards);
	must(row.wallets_off == again.wallets_off && row.looks == again.looks);
	if (row.looks) must(row.name_look == again.name_look && row.named.v == again.named.v);
	must(row.rate_limit == again.rate_limit && row.template_count == again.template_count);
	must(span_equal(row.name, again.name) && row.created.v == again.created.v);
}

static void check_subscription(struct span bytes)
{
	struct subscription row = {.active = false}, again;
	uint8_t             value[SUBSCRIPTION_BYTES_MAX];
	enum err            err = subscription_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	struct span written = span_of(value, subscription_write(&row, value));
	must(span_equal(written, bytes) && subscription_read(written, &again) == OK);
}

static void check_card(struct span bytes)
{
	struct card card = {.linked = false}, again;
	uint8_t     value[CARD_BYTES_MAX];
	(void)!card_code_read(bytes, &again);
	enum err err = card_read(bytes, &card);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	struct span written = span_of(value, card_write(&card, value));
	must(span_equal(written, bytes) && card_read(written, &again) == OK);
}

static void check_notification(struct span bytes)
{
	struct notification row, again;
	enum err            err = notification_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	buffer_clear(&packed);
	notification_write(&row, &packed);
	must(span_equal(buffer_span(&packed), bytes) &&
	     notification_read(buffer_span(&packed), &again) == OK);
}

/* Columns: each entry can be read or is damage, and one more entry fits exactly after the last. */
static void check_notices(struct span bytes)
{
	struct notification       row = {.message = span_of("m", 1)};
	struct notification_state state;
	if (bytes.size > ROW_BYTES_MAX) return;
	put(TABLE_NOTIFICATION_HOT, key_u32(account, 0), bytes);
	for (uint32_t number = 0; number < NOTICES; number += 9) {
		enum err err = notification_state_get(s.view, account, number, &state);
		must(err == OK || err == ERR_DAMAGED || err == ERR_NOT_FOUND);
	}
	(void)!notification_add(s.view, account, &row, (wall_us){1});
	(void)!notification_end(s.view, account, 0, NOTIFICATION_SENT, (wall_us){2});
	(void)!notification_end(s.view, account, 1, NOTIFICATION_CANCELLED, (wall_us){0});
}

static void check_audience(struct span bytes)
{
	static struct audience_member members[ROW_BYTES_MAX];
	struct audience               row, again;
	wall_us                       since;
	enum err                      err = audience_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err || row.count > ROW_BYTES_MAX) return;
	audience_members(&row, members);
	for (uint32_t i = 0; i < row.count; i++) {
		must(i == 0 || members[i - 1].pass < members[i].pass);
		must(audience_has(&row, members[i].pass, &since) && since.v == members[i].since.v);
	}
	row.members = members;
	buffer_clear(&packed);
	audience_write(&row, &packed);
	must(audience_read(buffer_span(&packed), &again) == OK && again.count == row.count);
	must(span_equal(again.stored, row.stored));
}

static void check_issuing(struct span bytes)
{
	struct issuing row, again;
	enum err       err = issuing_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(issuing_put(s.view, account, 1, &row) == OK && issuing_get(s.view, account, 1, &again) == OK);
	must(again.begun.v == row.begun.v && again.has_key == row.has_key);
	must(span_equal(again.logo, row.logo) == (row.logo.size <= URL_BYTES_MAX + 1));
}

static void check_image(struct span bytes)
{
	static const struct span url = {(const uint8_t *)"u", 1};
	struct image             image, again;
	enum err                 err = image_read(bytes, &image);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(image_url_put(s.view, account, url, &image) == OK);
	must(image_of_url(s.view, account, url, &again) == OK && again.size == image.size);
	must(image_parts(&image) >= 1 && image_parts(&image) <= IMAGE_PARTS_MAX);
	must(image_bytes(s.view, account, &image, &packed) == ERR_NOT_FOUND);
}

static void check_shapes(struct span bytes)
{
	struct shape_verdict verdict, again;
	struct shape_due     due, found;
	struct image         image = {.size = 1, .hash = {1}};
	uint32_t             count;
	unsigned             roles;
	struct row_key       key = key_account(account);
	enum err             err = shape_verdict_read(bytes, &verdict);
	must(err == OK || err == ERR_DAMAGED);
	memset(key.bytes + key.size, bytes.size & 1, IMAGE_HASH_BYTES);
	key.size += IMAGE_HASH_BYTES;
	if (!err) {
		must(shapes_want(s.view, account, &image, SHAPE_ROLES_ALL) == OK);
		must(shapes_end(s.view, account, image.hash, &verdict) == OK);
		must(shape_verdict_get(s.view, account, image.hash, &again) == OK);
		must(again.made == verdict.made && again.fault == verdict.fault);
		err = shape_due_get(s.view, account, image.hash, &due);
		must(err == ERR_NOT_FOUND || (!err && !(due.wanted & verdict.made)));
	}
	err = shape_due_read(key_span(&key), bytes, &found);
	must(err == OK || err == ERR_DAMAGED);
	err = image_use_read(bytes, &count, &roles);
	must(err == OK || err == ERR_DAMAGED);
	if (!err) must(count && roles <= SHAPE_ROLES_ALL);
}

static void check_rule(struct span bytes)
{
	static struct arena  arena;
	static struct buffer text, again;
	struct rule_row      row;
	struct rule          rule;
	struct file_fault    wrong;
	struct json         *json;
	enum err             err = rule_row_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	arena_reset(&arena);
	if (err || json_parse(row.text, &arena, &json) || rule_read(json, &rule, &wrong)) return;
	buffer_clear(&text);
	buffer_clear(&again);
	rule_text(&rule, &text);
	must(json_parse(buffer_span(&text), &arena, &json) == OK && rule_read(json, &rule, &wrong) == OK);
	rule_text(&rule, &again);
	must(span_equal(buffer_span(&text), buffer_span(&again)));
	must(rule.action_count >= 1 && rule.action_count <= RULE_OWN_ACTIONS_MAX);
}

/* A row of each of the three tables with their own form. */
static void check_reward(struct span bytes)
{
	static uint8_t        value[REWARD_VERSION_BYTES_MAX];
	struct reward         row;
	struct reward_version terms;
	struct reward_tally   tally, again;
	if (reward_read(bytes, &row) == OK)
		must(span_equal(span_of(value, reward_write(&row, value)), bytes));
	if (reward_version_read(bytes, &terms) == OK)
		must(span_equal(span_of(value, reward_version_write(&terms, value)), bytes));
	if (reward_tally_read(bytes, &tally)) return;
	must(reward_tally_put(s.view, account, &tally) == OK);
	must(reward_tally_get(s.view, account, &again) == OK && !memcmp(&tally, &again, sizeof tally));
}

static void check_entitlement(struct span bytes)
{
	struct entitlement row = {.pass = 1};
	uint8_t            value[ENTITLEMENT_BYTES];
	enum err           err = entitlement_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	entitlement_write(&row, value);
	must(span_equal(span_of(value, sizeof value), bytes));
	must(!entitlement_is_available(&row, row.expires) || !row.expires.v);
}

static void check_redemption(struct span bytes)
{
	struct redemption row = {.pass = 1}, again = {.pass = 1};
	enum err          err = redemption_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(redemption_put(s.view, account, &row) == OK && redemption_get(s.view, account, &again) == OK);
	must(again.amount == row.amount && again.remaining == row.remaining);
	must(span_equal(again.context, row.context) && span_equal(again.note, row.note));
}

static void check_scans(struct span bytes)
{
	struct scan_row   row, again;
	struct scan_tally tally, counted;
	if (bytes.size > ROW_BYTES_MAX) return;
	put(TABLE_SCAN, key_u32(account, 0), bytes);
	must(scan_tally_read(bytes, &tally) == OK || (bytes.size != 40 && bytes.size != 48));
	for (uint32_t number = 0; number < SCAN_ROW_SCANS; number += 9) {
		enum err err = scan_row_get(s.view, account, number, &row);
		must(err == OK || err == ERR_DAMAGED || err == ERR_NOT_FOUND);
		if (err) continue;
		(void)scan_rows_mask(bytes, row.verdict + 1);
		(void)scan_rows_end_blank(bytes);
		tally = (struct scan_tally){.counts = {9, 9, 9, 9}};
		must(scan_tally_put(s.view, account, &tally) == OK);
		err = scan_row_delete(s.view, account, number);
		must(err == OK || err == ERR_DAMAGED);
		if (err) continue;
		must(scan_row_get(s.view, account, number, &again) == OK && again.deleted);
		must(again.pass == row.pass && !again.reader && again.verdict == row.verdict);
		must(scan_tally_get(s.view, account, &counted) == OK);
		must(counted.counts[row.verdict] == 8 && counted.counts[SCAN_COUNT_DELETED] == 1);
	}
	struct account_ends ends = {.scans = 3};
	row = (struct scan_row){.pass = 1};
	must(scan_tally_put(s.view, account, &(struct scan_tally){.made = 3}) == OK);
	must(scan_row_add(s.view, account, &ends, &row) == OK);
	(void)!scan_gather(s.view, account, &ends);
}

static void check_reader(struct span bytes)
{
	struct reader_row row = {.id = span_str("door")}, again;
	enum err          err = reader_row_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	must((err = reader_name_read(bytes, &row)) == OK || err == ERR_DAMAGED);
	if (err) return;
	must(reader_row_put(s.view, account, &row) == OK);
	must(reader_row_find(s.view, account, row.id, &again) == OK && again.number == row.number);
	must(reader_row_get(s.view, account, row.number, &again) == OK && again.scans == row.scans);
	must(again.named == row.named && again.named_at.v == row.named_at.v);
	must(span_equal(again.id, row.id) && span_equal(again.name, row.name));
}

static void check_template(struct span bytes)
{
	struct template_row row, again;
	enum err            err = template_row_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(template_row_put(s.view, account, 1, &row) == OK);
	must(template_row_get(s.view, account, 1, &again) == OK);
	must(span_equal(again.text, row.text));
	must(again.look == row.look && again.changed.v == row.changed.v);
}

static void check_template_state(struct span bytes)
{
	struct template_use use, again;
	enum err            err = template_use_read(bytes, &use);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(template_use_put(s.view, account, 1, &use) == OK);
	must(template_use_get(s.view, account, 1, &again) == OK);
	must(again.state == use.state && again.passes == use.passes && again.installed == use.installed);
}

#define CHECK_OF_WALLETS(name)                           \
	static void check_##name(struct span bytes)      \
	{                                                \
		wallet_check_##name(&s, account, bytes); \
	}
CHECK_OF_WALLETS(registration)
CHECK_OF_WALLETS(message)
CHECK_OF_WALLETS(google)
CHECK_OF_WALLETS(pictures)
CHECK_OF_WALLETS(class)

static void check_wallet_due(struct span bytes)
{
	wallet_check_due(&s, bytes);
}

static void check_body(struct span bytes)
{
	struct body    body, read;
	msgpack_object map;
	msgpack_zone  *zone;
	enum err       err = body_open(bytes, &body);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	buffer_clear(&packed);
	body_pack(&body, &packed);
	must(span_equal(buffer_span(&packed), bytes) && body_open(buffer_span(&packed), &read) == OK);
	must((zone = msgpack_zone_new(1024)));
	err = object_open(body.hidden, &s.arena, zone, &map);
	must(err == OK || err == ERR_DAMAGED);
	msgpack_zone_free(zone);
}

static void check_delivery(struct span bytes)
{
	struct supply   supply = {bytes};
	struct span     key = supply_bytes(&supply, 51); /* of a row: its key has so many */
	struct delivery row, again;
	enum err        err = delivery_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(delivery_put(s.view, &row) == OK && delivery_get(s.view, &again) == OK);
	must(again.subject == row.subject && again.generation == row.generation);
	must(again.fact.v == row.fact.v && again.token == row.token && again.instance == row.instance);
	must(again.attempts == row.attempts && again.status == row.status && again.error == row.error);
}

static void check_delivery_end(struct span bytes)
{
	struct row_key      key = key_u64(account, 3);
	struct delivery_end row, again;
	enum err            err = delivery_end_read(key_span(&key), bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	must(delivery_end_put(s.view, &row) == OK);
	const struct write *write = writes_find(&s.staged, TABLE_DELIVERY_END, key_span(&key));
	must(write && delivery_end_read(key_span(&key), write->value, &again) == OK);
	must(again.outcome == row.outcome && again.ended.v == row.ended.v);
	must(again.was.subject == row.was.subject && again.was.attempts == row.was.attempts);
}

static void check_idempotency(struct span bytes)
{
	static const uint8_t     key[32] = {1};
	struct idempotency_row   row, again;
	struct idempotency_order order;
	struct subscription      hook;
	struct scan_row          scan;
	enum err                 err = idempotency_order_read(bytes, &order);
	must(err == OK || err == ERR_DAMAGED);
	err = idempotency_row_read(bytes, &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	(void)!recipe_subscription(&row.recipe, &hook);
	(void)!recipe_scan(&row.recipe, &scan);
	if (row.recipe.detail.size > RECIPE_DETAIL_BYTES_MAX) return;
	must(idempotency_put(s.view, account, key, &row) == OK);
	must(idempotency_get(s.view, account, key, &again) == OK);
	must(again.order == row.order && again.at.v == row.at.v && again.recipe.what == row.recipe.what);
	must(again.recipe.flags == row.recipe.flags && again.recipe.number == row.recipe.number);
	must(span_equal(again.recipe.detail, row.recipe.detail));
}

static void check_texts(struct span bytes)
{
	struct text_row texts;
	size_t          size = 0;
	enum err        err = text_row_read(bytes, &texts);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	for (unsigned i = 0; i < TEXT_PASSES; i++)
		size += texts.of[i].size;
	must(size == texts.all.size);
}

static void check_cleanup(struct span bytes)
{
	struct supply  supply = {bytes};
	size_t         key_size = supply_byte(&supply) % 64;
	struct span    key = supply_bytes(&supply, key_size);
	struct cleanup row, again;
	enum err       err = cleanup_read(key, supply_rest(&supply), &row);
	must(err == OK || err == ERR_DAMAGED);
	if (err) return;
	again = row;
	must(cleanup_put(s.view, &row) == OK && cleanup_get(s.view, &again) == OK);
	must(again.from.v == row.from.v && again.state_size == row.state_size);
	must(!memcmp(again.state, row.state, row.state_size));
}

static void check_commands(struct span bytes)
{
	hot_model_check(s.view, account, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* clang-format off */
	static void (*const checks[])(struct span bytes) = {
	    check_hot_row, check_tally, check_ledger, check_account, check_body,
	    check_commands, check_subscription, check_issuing, check_image, check_card,
	    check_rule, check_reward, check_entitlement, check_redemption, check_scans,
	    check_reader, check_notification, check_notices, check_audience, check_template_state,
	    check_delivery, check_delivery_end, check_idempotency, check_texts, check_cleanup,
	    wallet_check_credential, check_template, check_shapes, check_registration, check_wallet_due,
	    check_message, check_google, check_pictures, check_class,
	};
	/* clang-format on */
	struct supply supply = {span_of(bytes, size)};
	unsigned      which = supply_byte(&supply) % (sizeof checks / sizeof *checks);
	if (!s.db) scratch_open(&s);
	if (supply.left.size <= ROW_BYTES_MAX || which > 3) checks[which](supply_rest(&supply));
	s.staged = writes_none(&s.arena);
	arena_reset(&s.arena);
	return 0;
}
