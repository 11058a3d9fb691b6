/* pass event: every event in every state with every flag, compared with a second implementation of the rules;
 * the result is in the pass, the counts and the ledger. */
#include "actors/shard/account/parts.h"
#include "actors/shard/pass/pass.h"

#include "schemas/api/pass.h"
#include "store/keys.h"
#include "store/tally.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { NUMBER = 3, NOW = 7000, LEDGER_BEFORE = 40 };

static struct scratch     s;
static struct account     account = {.id = {{1, 2, 3}}};
static struct shard_facts facts = {.public_url = "https://example"};
static msgpack_zone       zone;
static struct buffer      payload;
static struct outcome     outcome;

static void begin(void)
{
	struct row_key key = key_u32(account.id, 1);
	scratch_open(&s);
	cr_assert(msgpack_zone_init(&zone, 8192));
	account.templates = account_templates_new(1);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key),
	                       span_str("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}")),
	             OK);
	scratch_save(&s);
}

static void end(void)
{
	msgpack_zone_destroy(&zone);
	buffer_free(&payload);
	account_templates_free(&account.templates);
	scratch_close(&s);
}

TestSuite(event, .init = begin, .fini = end);

/* Four passes; ours is the last. All tables of the account are complete. */
static void furnish(uint8_t status, uint8_t flags)
{
	struct hot pass = {
	    .status = status, .flags = flags, .template = 1, .updated = {5}, .ledger_head = LEDGER_BEFORE};
	struct body    body = {.pass_id = span_str("p"), .visible = span_str("{}"), .hidden = span_str("{}")};
	struct row_key id = key_pass_id(account.id, body.pass_id, NUMBER),
	               number = key_u32(account.id, NUMBER);
	struct row_key first = key_u32(account.id, 0);
	struct tally   tally = {.made = NUMBER + 1};
	struct buffer  bytes = {0};
	tally.counts[hot_count(&pass)] = NUMBER + 1;
	body_pack(&body, &bytes);
	cr_assert_eq(write_del(&s.staged, TABLE_HOT, key_span(&first)), OK);
	scratch_save(&s);
	for (uint32_t i = 0; i <= NUMBER; i++)
		cr_assert_eq(hot_add(s.view, account.id, i, &pass), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_PASS_ID, key_span(&id), span_of(NULL, 0)), OK);
	cr_assert_eq(write_put(&s.staged, TABLE_BODY, key_span(&number), buffer_span(&bytes)), OK);
	cr_assert_eq(tally_put(s.view, account.id, &tally), OK);
	scratch_save(&s);
	buffer_free(&bytes);
}

static enum err happen(const char *event, bool block)
{
	msgpack_object args[ARGS_PASS_EVENT] = {{.type = MSGPACK_OBJECT_NIL}};
	struct call    call = {.message = MSG_PASS_EVENT, .args = args};
	struct request request = {.call = &call,
	                          .args = args,
	                          .view = s.view,
	                          .account = &account,
	                          .now = {NOW},
	                          .facts = &facts,
	                          .zone = &zone,
	                          .ends.ledger = LEDGER_BEFORE + 2};
	args[ARG_PASS_EVENT_pass_id] = value_text("p");
	args[ARG_PASS_EVENT_event] = value_text(event);
	if (block) args[ARG_PASS_EVENT_block_reinstall] = value_boolean(true);
	buffer_clear(&payload);
	outcome = (struct outcome){.payload = &payload};
	enum err err = handler_of(MSG_PASS_EVENT)(&request, &outcome);
	msgpack_zone_clear(&zone);
	return err;
}

/* The rules
 * -------------------------------------------------------------------------------------------------- */

struct want {
	enum err         err;
	const char      *field;
	enum ledger_what what;
	uint8_t          status, flags;
};

static const char *const events[] = {"installed", "uninstalled", "unblocked", "deactivated",
                                     "deleted",   "Installed",   ""};
enum { EVENTS = sizeof events / sizeof *events, KNOWN_EVENTS = 4 };

static struct want rule(unsigned event, bool block, uint8_t status, uint8_t flags)
{
	bool        blocked = flags & HOT_REINSTALL_BLOCKED;
	struct want want = {.err = ERR_RESOURCE_CONFLICT, .status = status, .flags = flags};
	if (flags & HOT_DELETED) return (struct want){.err = ERR_RESOURCE_NOT_FOUND};
	if (event >= KNOWN_EVENTS) return (struct want){.err = ERR_INVALID_INPUT, .field = "event"};
	if (event == 0 && (status == PASS_ISSUED || (status == PASS_REMOVED && !blocked)))
		want = (struct want){OK, NULL, LEDGER_INSTALLED, PASS_ACTIVE, flags};
	if (event == 1 && status == PASS_ACTIVE)
		want = (struct want){OK, NULL, LEDGER_UNINSTALLED, PASS_REMOVED,
		                     block ? flags | HOT_REINSTALL_BLOCKED : flags};
	if (event == 2 && status == PASS_REMOVED && blocked)
		want = (struct want){OK, NULL, LEDGER_UNBLOCKED, PASS_REMOVED, 0};
	if (event == 3 && status != PASS_DEACTIVATED)
		want = (struct want){OK, NULL, LEDGER_DEACTIVATED, PASS_DEACTIVATED, flags};
	if (!want.err && block && event != 1)
		return (struct want){.err = ERR_INVALID_INPUT, .field = "block_reinstall"};
	return want;
}

static void expect_change(const struct hot *before, const struct want *want, const char *what)
{
	struct hot_at     at;
	struct ledger_row row;
	struct tally      tally;
	uint64_t          seq = LEDGER_BEFORE + 3;
	cr_assert_eq(hot_get(s.view, account.id, NUMBER, &at), OK);
	cr_expect(at.now.status == want->status && at.now.flags == want->flags, "%s", what);
	cr_expect(at.now.updated.v == NOW && at.now.ledger_head == seq, "%s", what);
	cr_expect(at.now.balance == before->balance && at.now.created.v == before->created.v);
	cr_assert_eq(ledger_get(s.view, account.id, seq, &row), OK);
	cr_expect(row.number == NUMBER && row.what == want->what && row.at.v == NOW, "%s", what);
	cr_expect(row.status == want->status && row.flags == want->flags && row.previous == LEDGER_BEFORE,
	          "%s", what);
	cr_assert_eq(tally_get(s.view, account.id, &tally), OK);
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++) {
		unsigned had = i == hot_count(before) ? NUMBER + 1 : 0;
		cr_expect_eq(tally.counts[i], had - (i == hot_count(before)) + (i == hot_count(&at.now)),
		             "%s", what);
	}
	cr_expect_eq(tally.made, NUMBER + 1);
	for (uint32_t i = 0; i < NUMBER; i++) {
		cr_assert_eq(hot_get(s.view, account.id, i, &at), OK);
		cr_expect(at.now.status == before->status && at.now.updated.v == 5,
		          "%s: another pass changed", what);
	}
}

static void expect_rule(unsigned event, bool block, uint8_t status, uint8_t flags)
{
	char        what[100];
	struct hot  before = {.status = status, .flags = flags};
	struct want want = rule(event, block, status, flags);
	snprintf(what, sizeof what, "%s%s from %s, flags %u", events[event], block ? " block" : "",
	         pass_status_text(status), flags);
	furnish(status, flags);
	enum err got = happen(events[event], block);
	cr_expect_eq(got, want.err, "%s: %s instead of %s", what, err_code(got), err_code(want.err));
	if (got) cr_expect(span_is(outcome.field, want.field ? want.field : ""), "%s", what);
	if (!got && !want.err) expect_change(&before, &want, what);
	s.staged = writes_none(&s.arena); /* dropped, or about to be rebuilt */
}

Test(event, follows_the_rules_from_every_state)
{
	for (unsigned event = 0; event < EVENTS; event++)
		for (uint8_t status = 0; status < PASS_STATUSES; status++)
			for (uint8_t flags = 0; flags < 4 * 2; flags++)
				expect_rule(event, flags & 4, status, flags & 3);
}

Test(event, returns_the_changed_pass)
{
	furnish(PASS_ACTIVE, 0);
	cr_assert_eq(happen("uninstalled", true), OK);
	cr_assert_not(payload.failed);
	cr_expect(memmem(payload.at, payload.size, "\"status\":\"removed\"", 18));
	cr_expect(memmem(payload.at, payload.size, "\"reinstall_blocked\":true", 24));
	scratch_commit(&s);
	cr_assert_eq(happen("installed", false), ERR_RESOURCE_CONFLICT);
	cr_assert_eq(happen("unblocked", false), OK);
	cr_expect(memmem(payload.at, payload.size, "\"reinstall_blocked\":false", 25));
}

Test(event, refuses_an_unknown_pass)
{
	furnish(PASS_ACTIVE, 0);
	account.id.b[9] = 1;
	cr_expect_eq(happen("uninstalled", false), ERR_RESOURCE_NOT_FOUND);
	account.id.b[9] = 0;
	cr_expect_eq(happen("uninstalled", false), OK);
}
