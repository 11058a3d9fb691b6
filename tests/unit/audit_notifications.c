/* The audit of notifications and audiences: each rule, broken alone in an otherwise sound shop, is
 * reported. */
#include "tests/unit/audit_look.h"

#include "store/audience.h"
#include "store/notification.h"
#include "store/text.h"

TestSuite(audit_notifications, .init = make_shop, .fini = end);

enum { MADE = 70 };

static void add(uint32_t number)
{
	struct notification row = {
	    .id = {{1}}, .pass_number = number % PASSES, .created = {5}, .message = span_str("Hello")};
	must(!notification_add(s.view, account, &row, (wall_us){100 + (int64_t)number}));
	scratch_save(&s);
}

static void store(void)
{
	for (uint32_t number = 0; number < MADE; number++)
		add(number);
	must(!notification_end(s.view, account, 0, NOTIFICATION_SENT, (wall_us){100}));
	must(!notification_end(s.view, account, 1, NOTIFICATION_FAILED, (wall_us){0}));
	scratch_save(&s);
}

/* Changes a byte of a row of columns. */
static void patch_hot(uint32_t row, size_t offset, uint8_t byte)
{
	store();
	patch(TABLE_NOTIFICATION_HOT, key_u32(account, row), offset, &byte, 1);
}

static void break_state(void)
{
	patch_hot(0, 24 + 2, 4);
}
static void break_count(void)
{
	patch_hot(1, 0, 5);
}
static void break_earliest(void)
{
	patch_hot(0, 8, 99);
}
static void break_latest(void)
{
	patch_hot(1, 16, 0);
}
static void break_sent(void)
{
	patch_hot(0, 600 + 8 * 5, 1);
}
static void break_sent_early(void)
{
	patch_hot(0, 600, 99);
}
static void break_gap(void)
{
	store();
	del(TABLE_NOTIFICATION_HOT, key_u32(account, 0));
}
static void break_hot_form(void)
{
	store();
	put(TABLE_NOTIFICATION_HOT, key_u32(account, 1), span_str("x"));
}
static void break_tally(void)
{
	store();
	patch(TABLE_NOTIFICATION_TALLY, key_account(account), 4, "\1", 1);
}
static void break_no_tally(void)
{
	store();
	del(TABLE_NOTIFICATION_TALLY, key_account(account));
}
static void break_tally_form(void)
{
	put(TABLE_NOTIFICATION_TALLY, key_u32(account, 1), span_str("x"));
}
static void break_written(void)
{
	store();
	put(TABLE_NOTIFICATION, key_u32(account, 3), span_str("x"));
}
static void break_missing(void)
{
	store();
	del(TABLE_NOTIFICATION, key_u32(account, 3));
}
static void break_last(void)
{
	store();
	del(TABLE_NOTIFICATION, key_u32(account, MADE - 1));
}
static void rewrite(uint32_t pass_number, bool to_audience, int64_t created)
{
	struct buffer       value = {0};
	struct notification row = {.id = {{1}},
	                           .to_audience = to_audience,
	                           .pass_number = pass_number,
	                           .created = {created},
	                           .message = span_str("Hello")};
	store();
	notification_write(&row, &value);
	put(TABLE_NOTIFICATION, key_u32(account, 3), buffer_span(&value));
	buffer_free(&value);
}
static void break_cancelled(void)
{
	struct notification row;
	struct buffer       value = {0};
	store();
	must(!notification_get(s.view, account, 3, &row));
	notification_write(&row, &value);
	must(!notification_end(s.view, account, 3, NOTIFICATION_CANCELLED, (wall_us){0}));
	scratch_save(&s);
	put(TABLE_NOTIFICATION, key_u32(account, 3), buffer_span(&value));
	buffer_free(&value);
}
static void break_pass(void)
{
	rewrite(PASSES, false, 5);
}
static void break_audience(void)
{
	rewrite(0, true, 5);
}
static void break_created(void)
{
	rewrite(0, false, -1);
}
static void break_text(void)
{
	static const struct text_tables texts = {.blocks = TABLE_NOTIFICATION_TEXT};
	store();
	must(!text_put_in(s.view, texts, account, 40, span_str("hullo")));
	scratch_save(&s);
}
static void break_no_text(void)
{
	store();
	del(TABLE_NOTIFICATION_TEXT, key_u32(account, 1));
}
static void break_more_text(void)
{
	static const struct text_tables texts = {.blocks = TABLE_NOTIFICATION_TEXT};
	must(!text_put_in(s.view, texts, account, 40, span_str("hello")));
	scratch_save(&s);
}
static struct row_key due_key(uint64_t at, uint32_t number)
{
	struct row_key key = key_u64(account, at ^ UINT64_C(1) << 63);
	put_be32(key.bytes + key.size, number);
	key.size += 4;
	return key;
}
static void break_never_due(void)
{
	store();
	del(TABLE_NOTIFICATION_DUE, due_key(110, 10));
}
static void break_due(void)
{
	store();
	put(TABLE_NOTIFICATION_DUE, due_key(100, 0), span_of(NULL, 0));
}
static void break_due_otherwise(void)
{
	store();
	put(TABLE_NOTIFICATION_DUE, due_key(111, 10), span_of(NULL, 0));
}
static void break_due_nobody(void)
{
	put(TABLE_NOTIFICATION_DUE, due_key(1, 1), span_of(NULL, 0));
}
static void break_due_form(void)
{
	put(TABLE_NOTIFICATION_DUE, key_u32(account, 1), span_of(NULL, 0));
}
static void put_member(struct audience_member member, int64_t created, const char *name)
{
	struct audience row = {
	    .id = {{1}}, .created = {created}, .name = span_str(name), .count = 1, .members = &member};
	must(!audience_row_put(s.view, account, &row));
	scratch_save(&s);
}
static void put_audience(uint32_t pass, int64_t created, const char *name)
{
	put_member((struct audience_member){.pass = pass, .since = {3}}, created, name);
}
static void break_member_since(void)
{
	put_member((struct audience_member){.since = {-1}}, 5, "n");
}
static void break_members(void)
{
	put_audience(PASSES, 5, "n");
}
static void break_audience_time(void)
{
	put_audience(0, -1, "n");
}
static void break_name(void)
{
	put_audience(0, 1, "");
}
static void break_audience_form(void)
{
	put(TABLE_AUDIENCE, key_uuid(account, (struct uuid){{1}}), span_str("x"));
}
static void break_account(void)
{
	put(TABLE_NOTIFICATION_TALLY, key_account(nobody), span_str("x"));
}

static const struct breakage breakages[] = {
    B(state, "table notification_hot, " ACCOUNT "number 2 is in no known state"),
    B(count, "row 1: its head is wrong"),
    B(earliest, "row 0: its head is wrong"),
    B(latest, "row 1: its head is wrong"),
    B(sent, "number 5 was sent at an impossible time"),
    B(sent_early, "number 0 was sent at an impossible time"),
    B(gap, "a row of a wrong form or place"),
    B(hot_form, "table notification_hot, " ACCOUNT "a row of a wrong form or place"),
    B(tally, "table notification_tally, " ACCOUNT "its counts are wrong"),
    B(no_tally, "its counts are wrong"),
    B(tally_form, "table notification_tally, " ACCOUNT "a row of a wrong form"),
    B(written, "table notification, " ACCOUNT "number 3: missing before, or unreadable"),
    B(missing, "number 4: missing before, or unreadable"),
    B(last, "69 of them, but columns of 70"),
    B(cancelled, "table notification, " ACCOUNT "number 3 is cancelled, and has a message"),
    B(pass, "number 3 is for nobody"),
    B(audience, "number 3 is for nobody"),
    B(created, "number 3 was created at an impossible time"),
    B(text, "table notification_text, " ACCOUNT "number 40: another text than its message's"),
    B(no_text, "number 32: another text than its message's"),
    B(more_text, "1 rows instead of 0"),
    B(never_due, "table notification_due, " ACCOUNT "number 10 is scheduled and never due"),
    B(due, "number 0 is due, and not scheduled so"),
    B(due_otherwise, "number 10 is due, and not scheduled so"),
    B(due_nobody, "number 1 is due, and not scheduled so"),
    B(due_form, "table notification_due, " ACCOUNT "a row of a wrong form"),
    B(members, "table audience, " ACCOUNT "a pass that does not exist, or an impossible time"),
    B(member_since, "table audience, " ACCOUNT "a pass that does not exist, or an impossible time"),
    B(audience_time, "an impossible time or name"),
    B(name, "an impossible time or name"),
    B(audience_form, "table audience, " ACCOUNT "a row of a wrong form"),
    B(account, NOBODY "rows of an account that does not exist"),
};

Test(audit_notifications, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_notifications, finds_no_fault_in_sound_notifications)
{
	static char         text[3000];
	struct notification row = {.id = {{1}}, .to_audience = true, .audience = {{4}}, .created = {5}};
	memset(text, 'x', sizeof text);
	row.message = span_of(text, sizeof text);
	store();
	must(!notification_add(s.view, account, &row, (wall_us){-7}));
	scratch_save(&s);
	must(!notification_end(s.view, account, 4, NOTIFICATION_CANCELLED, (wall_us){0}));
	must(!notification_end(s.view, account, MADE, NOTIFICATION_CANCELLED, (wall_us){0}));
	put_audience(PASSES - 1, 5, "n");
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}

/* Rows with texts so long that they are stored in parts, which are joined for each message. The memory of one
 * row must suffice. */
Test(audit_notifications, needs_the_memory_of_one_row)
{
	static char     text[900];
	struct arena    arena = {0};
	struct progress progress = {.done = 0};
	struct view    *reader;
	memset(text, 'x', sizeof text);
	for (uint32_t number = 0; number < MADE; number++) {
		struct notification row = {
		    .id = {{1}}, .created = {5}, .message = span_of(text, sizeof text)};
		must(!notification_add(s.view, account, &row, (wall_us){100}));
		scratch_save(&s);
	}
	scratch_commit(&s);
	faults = (struct faults){.count = 0};
	must(arena_take(&arena, 1) && !db_reader_open(s.db, &arena, &reader) && !db_reader_begin(reader));
	const struct arena_block *block = arena.blocks;
	cr_assert_eq(audit_tables(reader, &audit, &faults, &progress), OK);
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_expect_eq(arena.blocks, block);
	db_reader_end(reader);
	db_reader_close(&reader);
	arena_free(&arena);
}
