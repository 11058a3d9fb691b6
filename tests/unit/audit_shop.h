/* A shop of two accounts in its own database, made with the codecs of the handlers: passes with events and
 * deltas, one of them deleted, one with a body of several parts; two idempotency keys and two rows of an
 * import. Criterion runs each test in its own process, so these can be static. */
#pragma once
#include "tests/unit/support.h"

#include "schemas/body.h"
#include "schemas/bytes.h"
#include "store/account_row.h"
#include "store/hot.h"
#include "store/idempotency.h"
#include "store/index.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { PASSES = 45, DELTAS = 3, LARGE_PASS = 7, DELETED_PASS = 4, ISSUED = 2, DEACTIVATED = 5 };

static struct scratch          s;
static const struct account_id account = {{'a', 'c'}}, other = {{'b'}}, nobody = {{'n'}};
static uint64_t                ledger_seq;

static const char template_text[] =
    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"x\",\"fields\":["
    "{\"key\":\"x\",\"label\":\"X\",\"type\":\"text\"},"
    "{\"key\":\"points\",\"label\":\"Points\",\"type\":\"number\",\"locked\":true}]}";

/* Making ------------------------------------------------------------------------------------------------- */

static inline void put(enum table table, struct row_key key, struct span value)
{
	must(!write_put(&s.staged, table, key_span(&key), value));
	scratch_save(&s);
}

static inline void del(enum table table, struct row_key key)
{
	must(!write_del(&s.staged, table, key_span(&key)));
	scratch_save(&s);
}

static inline void patch(enum table table, struct row_key key, size_t offset, const void *bytes, size_t size)
{
	must(!write_patch(&s.staged, table, key_span(&key), (uint16_t)offset, span_of(bytes, size)));
	scratch_save(&s);
}

static inline void put_account(struct account_id id, uint32_t templates)
{
	struct account_row row = {
	    .webhooks = true, .template_count = templates, .created = {1}, .name = span_str("Shop")};
	struct key_row key = {.id = {{id.b[0], 9}}, .created = {1}};
	must(!account_row_put(s.view, id, &row));
	must(!key_row_put(s.view, id, &key));
	scratch_save(&s);
	for (uint32_t number = 1; number <= templates; number++)
		put(TABLE_TEMPLATE, key_u32(id, number), span_str(template_text));
}

static inline void put_event(struct ledger_row row, struct hot *hot)
{
	row.status = hot->status;
	row.flags = hot->flags;
	row.previous = hot->ledger_head;
	row.balance = hot->balance;
	row.at = hot->updated;
	must(!ledger_put(s.view, account, ++ledger_seq, &row));
	scratch_save(&s);
	hot->ledger_head = ledger_seq;
}

/* Updates the index rows of a pass for a change of its body to `after`. */
static inline void put_index(uint32_t number, const struct body *after)
{
	struct row_key      key = key_u32(account, number);
	struct span         value;
	struct body         before;
	struct index_change change = {
	    .account = account, .number = number, .name_field = span_str("x"), .after = after};
	bool is_there = !view_get(s.view, TABLE_BODY, key_span(&key), &value);
	if (is_there && !body_open(value, &before)) change.before = &before;
	must(!index_put(s.view, &change));
	scratch_save(&s);
}

static inline void put_body(uint32_t number, const char *pass_id, size_t size)
{
	char         *visible = malloc(size + 16);
	struct buffer bytes = {0};
	must(visible);
	int         n = snprintf(visible, size + 16, "{\"x\":\"%0*d\"}", (int)size, 0);
	struct body body = {
	    .pass_id = span_str(pass_id), .visible = span_of(visible, (size_t)n), .hidden = span_str("{}")};
	put_index(number, &body);
	body_pack(&body, &bytes);
	put(TABLE_BODY, key_u32(account, number), buffer_span(&bytes));
	buffer_free(&bytes);
	free(visible);
}

static inline const char *id_of(uint32_t number)
{
	static char text[32];
	if (number == LARGE_PASS) number = DELETED_PASS; /* it has the deleted pass's id */
	snprintf(text, sizeof text, "pass-%u", number);
	return text;
}

static inline void put_pass(uint32_t number)
{
	struct hot    hot = {.template = 1, .status = 0, .created = {number + 1}, .updated = {number + 1}};
	struct hot_at at;
	put_event((struct ledger_row){.number = number, .what = LEDGER_CREATED}, &hot);
	hot.status = ISSUED;
	put_event((struct ledger_row){.number = number, .what = LEDGER_ISSUED}, &hot);
	must(!hot_add(s.view, account, number, &hot));
	scratch_save(&s);
	for (int64_t i = 1; i <= DELTAS; i++) {
		must(!hot_get(s.view, account, number, &at));
		hot.balance += 10 * i;
		hot.updated.v += 100;
		put_event((struct ledger_row){.number = number, .what = LEDGER_LOYALTY, .delta = 10 * i},
		          &hot);
		must(!hot_get(s.view, account, number, &at));
		must(!hot_put(s.view, &at, &hot));
		scratch_save(&s);
	}
	put_body(number, id_of(number), number == LARGE_PASS ? 5000 : 20);
}

static inline void delete_pass(uint32_t number)
{
	struct hot_at at;
	must(!hot_get(s.view, account, number, &at));
	struct hot after = at.now;
	after.status = DEACTIVATED;
	after.flags |= HOT_DELETED;
	put_event((struct ledger_row){.number = number, .what = LEDGER_DELETED}, &after);
	must(!hot_get(s.view, account, number, &at));
	must(!hot_put(s.view, &at, &after));
	scratch_save(&s);
}

/* Idempotency key `n` after `base`, which created pass `number` at time 10 * n. */
static inline void put_idempotency(uint64_t base, uint8_t n, uint32_t number)
{
	uint8_t                key[32] = {base ? n + 128 : n};
	struct idempotency_row row = {.recipe = {.what = RECIPE_PASS, .number = number}};
	row.order = base + n;
	row.at.v = 10 * n;
	must(!idempotency_put(s.view, account, key, &row));
	scratch_save(&s);
}

static inline void make_shop(void)
{
	struct tally tally = {
	    .made = PASSES, .counts = {[ISSUED] = PASSES - 1, [HOT_COUNT_DELETED] = 1}, .width = 2};
	uint8_t     paused = 1;
	struct span paused_key = span_str("issuer_paused");
	scratch_open(&s);
	ledger_seq = 0;
	put_account(account, 2);
	put_account(other, 0);
	for (uint32_t number = 0; number < PASSES; number++)
		put_pass(number);
	delete_pass(DELETED_PASS);
	put_idempotency(0, 3, DELETED_PASS);
	put_idempotency(0, 5, PASSES - 1);
	put_idempotency(IDEMPOTENCY_IMPORTS, 2, 1);
	put_idempotency(IDEMPOTENCY_IMPORTS, 4, 2);
	must(!tally_put(s.view, account, &tally));
	must(!write_put(&s.staged, TABLE_META, paused_key, span_of(&paused, 1)));
	scratch_commit(&s);
}

static inline void end(void)
{
	scratch_close(&s);
}
