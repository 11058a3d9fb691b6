/* pass event: every event in every state with every flag, compared with a second implementation of the rules;
 * the result is in the pass, the counts and the ledger. */
#include "schemas/api/pass_command.h"
#include "tests/unit/one_pass.h"

TestSuite(event, .init = begin_pass, .fini = end_pass);

static enum err happen(const char *event, bool block)
{
	msgpack_object args[ARGS_PASS_EVENT] = {{.type = MSGPACK_OBJECT_NIL}};
	args[ARG_PASS_EVENT_pass_id] = value_text("p");
	args[ARG_PASS_EVENT_event] = value_text(event);
	if (block) args[ARG_PASS_EVENT_block_reinstall] = value_boolean(true);
	return command(MSG_PASS_EVENT, args);
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
	furnish((struct hot){.status = status, .flags = flags, .template = WITHOUT_COUNTER});
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
	furnish((struct hot){.status = PASS_ACTIVE, .template = WITHOUT_COUNTER});
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
	furnish((struct hot){.status = PASS_ACTIVE, .template = WITHOUT_COUNTER});
	account.id.b[9] = 1;
	cr_expect_eq(happen("uninstalled", false), ERR_RESOURCE_NOT_FOUND);
	account.id.b[9] = 0;
	cr_expect_eq(happen("uninstalled", false), OK);
}
