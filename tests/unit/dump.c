/* Dumps: every table has one, any bytes give valid JSON without secrets, and the journal's end is
 * distinguished from damage. */
#include "store/dump.h"
#include "store/record.h"
#include "tests/unit/support.h"

#include "schemas/body.h"
#include "schemas/json.h"
#include "schemas/lines.h"
#include "store/account_row.h"
#include "store/idempotency.h"
#include "store/issuing.h"
#include "store/subscription.h"

#include <criterion/criterion.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct account_id account = {{'a', 1, 2, 3, 4, 5, 6, 7, 8, 9}};
static const struct uuid       uuid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static struct buffer           out;
static struct arena            arena;

static void end(void)
{
	buffer_free(&out);
	arena_free(&arena);
}

TestSuite(dump, .fini = end);

static const char *text_of(const struct buffer *buffer)
{
	static char text[1 << 16];
	snprintf(text, sizeof text, "%.*s", (int)buffer->size, (const char *)buffer->at);
	return text;
}

static bool is_json(struct span line)
{
	struct json *value;
	arena_reset(&arena);
	return json_parse(line, &arena, &value) == OK && value->kind == JSON_OBJECT;
}

static bool is_table(unsigned table)
{
	static const bool known[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = true,
#include "store/tables.def"
#undef T
	};
	return known[table];
}

/* Rows ------------------------------------------------------------------------------------------------------ */

Test(dump, shows_each_table_with_any_bytes)
{
	uint64_t state = chance_begin();
	uint8_t  bytes[ROW_BYTES_MAX];
	for (unsigned round = 0; round < 200; round++)
		for (unsigned table = 1; table < TABLE_END; table++) {
			if (!is_table(table)) continue;
			size_t key = chance_below(&state, 80), value = chance_below(&state, ROW_BYTES_MAX);
			for (size_t i = 0; i < sizeof bytes; i++)
				bytes[i] = (uint8_t)(chance_below(&state, 2) ? chance(&state) : i % 2);
			buffer_clear(&out);
			dump_key((enum table)table, span_of(bytes, key), &out);
			cr_assert(is_json(buffer_span(&out)), "table %u: %s", table, text_of(&out));
			buffer_clear(&out);
			dump_value((enum table)table, span_of(bytes, key), span_of(bytes, value), &out);
			cr_assert(is_json(buffer_span(&out)), "table %u: %s", table, text_of(&out));
		}
}

Test(dump, finds_tables_by_name_and_lists_them)
{
	struct buffer names = {0};
	dump_table_names(&names);
	for (unsigned table = 1; table < TABLE_END; table++) {
		if (!is_table(table)) continue;
		buffer_clear(&out);
		dump_key_parts((enum table)table, &out);
		cr_expect(out.size > 0, "table %u", table);
	}
	buffer_byte(&names, 0);
#define T(id, NAME, name, kind)                                                   \
	cr_expect_eq(dump_table_named(span_str(name)), TABLE_##NAME, "%s", name); \
	cr_expect_not_null(strstr((const char *)names.at, name), "%s is not listed", name);
#include "store/tables.def"
#undef T
	cr_expect_eq(dump_table_named(span_str("nonsense")), TABLE_END);
	buffer_free(&names);
}

/* 16 of these bytes are placed wherever a secret may be: neither they nor their digits may be shown. */
static uint8_t secret[64];

static void begin_secret(void)
{
	for (size_t i = 0; i < sizeof secret; i++)
		secret[i] = (uint8_t)(0xa0 + i % 16);
}

static void expect_hidden(enum table table, struct span key, struct span value)
{
	char digits[2 * 8 + 1];
	buffer_clear(&out);
	dump_key(table, key, &out);
	dump_value(table, key, value, &out);
	hex_text(secret, 8, digits);
	cr_expect_not_null(strstr(text_of(&out), "hidden_bytes"), "table %d: %s", table, text_of(&out));
	cr_expect_null(strstr(text_of(&out), "damaged"), "table %d: %s", table, text_of(&out));
	cr_expect_null(memmem(out.at, out.size, secret, 8), "table %d", table);
	cr_expect_null(strstr(text_of(&out), digits), "table %d: %s", table, text_of(&out));
}

/* The value that a command would write. */
static struct span staged(const struct scratch *s, enum table table, struct span key)
{
	const struct write *write = writes_find(&s->staged, table, key);
	cr_assert_not_null(write);
	return write->value;
}

Test(dump, hides_secrets, .init = begin_secret)
{
	static struct scratch s;
	struct key_row        api_key = {.id = uuid, .created = {1}};
	struct body body = {.pass_id = span_str("p"), .visible = span_str("{}"), .hidden = span_str("{}")};
	struct subscription hook = {
	    .id = uuid, .active = true, .generation = 1, .kind_count = 1, .url = span_str("https://x.test/")};
	struct issuing issuing = {.begun = {1}, .has_key = true, .logo = span_str("https://x.test/l.png")};
	struct row_key key = key_u32(account, 1);
	uint8_t        value[SUBSCRIPTION_BYTES_MAX], detail[RECIPE_DETAIL_BYTES_MAX];
	struct buffer  packed = {0};
	scratch_open(&s);
	memcpy(api_key.hash, secret, sizeof api_key.hash);
	memcpy(body.token, secret, sizeof body.token);
	memcpy(hook.secret, secret, sizeof hook.secret);
	memcpy(issuing.key, secret, sizeof issuing.key);
	body_pack(&body, &packed);
	expect_hidden(TABLE_BODY, key_span(&key), buffer_span(&packed));
	cr_assert_eq(issuing_put(s.view, account, 1, &issuing), OK);
	expect_hidden(TABLE_ISSUING, key_span(&key), staged(&s, TABLE_ISSUING, key_span(&key)));
	key = key_uuid(account, uuid);
	cr_assert_eq(key_row_put(s.view, account, &api_key), OK);
	expect_hidden(TABLE_KEY, key_span(&key), staged(&s, TABLE_KEY, key_span(&key)));
	expect_hidden(TABLE_SUBSCRIPTION, key_span(&key), span_of(value, subscription_write(&hook, value)));
	struct idempotency_row kept = {.at = {1}, .order = 7};
	kept.recipe = (struct recipe){.what = RECIPE_SUBSCRIPTION_AND_SECRET,
	                              .detail = recipe_detail(&hook, detail)};
	memcpy(kept.request, secret, sizeof kept.request);
	cr_assert_eq(idempotency_put(s.view, account, secret, &kept), OK);
	key = key_account(account);
	memcpy(key.bytes + key.size, secret, 32);
	key.size += 32;
	expect_hidden(TABLE_IDEMPOTENCY, key_span(&key), staged(&s, TABLE_IDEMPOTENCY, key_span(&key)));
	key = key_u64(account, 7);
	expect_hidden(TABLE_IDEMPOTENCY_ORDER, key_span(&key),
	              staged(&s, TABLE_IDEMPOTENCY_ORDER, key_span(&key)));
	buffer_free(&packed);
	scratch_close(&s);
}

/* Prefixes -------------------------------------------------------------------------------------------------- */

static const char *account_text(void)
{
	static char text[ACCOUNT_ID_TEXT];
	account_id_text(account, text);
	return text;
}

static void expect_prefix(enum table table, const char *rest, struct row_key want)
{
	struct row_key got;
	char           text[200];
	snprintf(text, sizeof text, "%s%s", account_text(), rest);
	cr_assert_eq(dump_prefix(table, span_str(text), &got), OK, "%s", text);
	cr_expect(span_equal(key_span(&got), key_span(&want)), "%s", text);
}

Test(dump, reads_prefixes_of_keys)
{
	struct row_key key = key_account(account), got;
	expect_prefix(TABLE_LEDGER, "", key);
	expect_prefix(TABLE_LEDGER, "/", key);
	expect_prefix(TABLE_LEDGER, "/17", key_u64(account, 17));
	expect_prefix(TABLE_BODY, "/4294967295", key_u32(account, UINT32_MAX));
	expect_prefix(TABLE_REWARD_VERSION, "/3/9", key_reward_version(account, 3, 9));
	expect_prefix(TABLE_CARD, "/5/01020304-0506-0708-090a-0b0c0d0e0f10", key_card(account, 5, uuid));
	expect_prefix(TABLE_REWARD_SLUG, "/free/coffee", key_reward_slug(account, span_str("free/coffee")));
	expect_prefix(TABLE_PASS_ID, "/gold-1", key_reward_slug(account, span_str("gold-1")));
	cr_expect_eq(dump_prefix(TABLE_META, span_str("app"), &got), OK);
	cr_expect(span_is(key_span(&got), "app"));
	cr_expect_eq(dump_prefix(TABLE_LEDGER, span_of(NULL, 0), &got), OK);
	cr_expect_eq(got.size, 0);
}

Test(dump, refuses_invalid_prefixes)
{
	static const struct {
		enum table  table;
		const char *rest;
	} bad[] = {{TABLE_ACCOUNT, "/1"},      {TABLE_LEDGER, "/x"},        {TABLE_LEDGER, "/-1"},
	           {TABLE_LEDGER, "/1/2"},     {TABLE_BODY, "/4294967296"}, {TABLE_BODY, "/1x"},
	           {TABLE_SUBSCRIPTION, "/1"}, {TABLE_IDEMPOTENCY, "/ab"},  {TABLE_DELIVERY, "//1"}};
	struct row_key got;
	char           text[100];
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "%s%s", account_text(), bad[i].rest);
		cr_expect_eq(dump_prefix(bad[i].table, span_str(text), &got), ERR_INVALID_INPUT, "%s", text);
	}
	cr_expect_eq(dump_prefix(TABLE_LEDGER, span_str("acc_short"), &got), ERR_INVALID_INPUT);
}

Test(dump, shows_keys_as_prefixes_are_written)
{
	struct row_key key = key_pass_id(account, span_str("gold \"1\""), 7);
	char           want[120];
	snprintf(want, sizeof want, "{\"account\":\"%s\",\"pass_id\":\"gold \\\"1\\\"\",\"pass\":7}",
	         account_text());
	dump_key(TABLE_PASS_ID, key_span(&key), &out);
	cr_expect_str_eq(text_of(&out), want);
}

/* The journal and the tables of a place ----------------------------------------------------------------------- */

enum { RECORDS = 12 };
static const char segment_1[] = "journal/00000000000000000001.seg";

struct printed {
	struct buffer all;
	unsigned      count, records, damaged, unfinished, stop_after; /* stop_after 0: never */
};

static bool take_line(void *user, struct span line)
{
	struct printed *lines = user;
	cr_assert(line.size && line.at[line.size - 1] == '\n');
	cr_assert(is_json(span_of(line.at, line.size - 1)), "%.*s", (int)line.size, (const char *)line.at);
	buffer_append(&lines->all, line.at, line.size);
	lines->count++;
	lines->records += !memcmp(line.at, "{\"seq\"", 6);
	if (memcmp(line.at, "{\"seq\"", 6)) { /* about a place and not inside a record */
		lines->damaged += memmem(line.at, line.size, "\"damaged\"", 9) != NULL;
		lines->unfinished += memmem(line.at, line.size, "\"unfinished\"", 12) != NULL;
	}
	return lines->count != lines->stop_after;
}

static void begin_place(struct test_dir *test_dir)
{
	struct store       *store;
	struct store_report report;
	test_dir_make(test_dir);
	cr_assert_eq(shop_open(test_dir, true, &store, &report), OK);
	for (unsigned i = 0; i < RECORDS; i++) {
		struct row_key key = key_u64(account, i + 1);
		shop_save(store, TABLE_DELIVERY_END, key_span(&key), filler(i, 100));
	}
	struct row_key key = key_u32(account, 1);
	struct buffer  value = {0};
	buffer_append(&value, "\1\0\0\0\0\0\0\0\0\0\0\0\0", 13); /* a template whose text is none */
	buffer_append(&value, filler(99, 3 * PART_BYTES).at, 3 * PART_BYTES);
	shop_save(store, TABLE_TEMPLATE, key_span(&key), buffer_span(&value));
	buffer_free(&value);
	store_close(&store);
}

/* A dump that has shown damage says so in the end. */
static void expect_end(enum err err, const struct printed *lines, const char *why)
{
	bool shown = memmem(lines->all.at, lines->all.size, "\"damaged\"", 9);
	cr_expect_eq(err, shown ? ERR_DAMAGED : OK, "%s", text_of(&lines->all));
	cr_expect_eq(strstr(why, "Damage is shown in ") != NULL, shown, "%s", why);
}

static struct printed journal_of(const struct test_dir *test_dir, uint64_t from)
{
	struct printed lines = {.count = 0};
	char           why[VERSION_TEXT] = "";
	struct dump_to to = {take_line, &lines, why};
	expect_end(dump_journal(test_dir->fd, from, &to), &lines, why);
	return lines;
}

/* Where the last record begins. */
static size_t last_record(const struct test_dir *test_dir)
{
	uint8_t *bytes;
	size_t   size = file_read(test_dir, segment_1, &bytes), found = 0;
	for (size_t at = 4096; at < size; at += 4096)
		if (!memcmp(bytes + at, "STRC", 4)) found = at;
	free(bytes);
	return found;
}

Test(dump, shows_a_journal)
{
	struct test_dir test_dir;
	begin_place(&test_dir);
	struct printed lines = journal_of(&test_dir, 0);
	cr_expect_eq(lines.count, lines.records);
	cr_expect(lines.records >= RECORDS + 2, "%u", lines.records); /* and the epoch's */
	struct printed later = journal_of(&test_dir, lines.records - 2);
	cr_expect_eq(later.count, 3);
	struct printed few = {.stop_after = 2};
	struct dump_to to = {take_line, &few};
	cr_expect_eq(dump_journal(test_dir.fd, 0, &to), OK);
	cr_expect_eq(few.count, 2);
	buffer_free(&lines.all), buffer_free(&later.all), buffer_free(&few.all);
	test_dir_remove(&test_dir);
}

Test(dump, distinguishes_a_torn_end_from_damage)
{
	struct test_dir test_dir;
	begin_place(&test_dir);
	size_t last = last_record(&test_dir);
	file_flip(&test_dir, segment_1, last + 100, 1);
	struct printed torn = journal_of(&test_dir, 0);
	cr_expect_eq(torn.unfinished, 1);
	cr_expect_eq(torn.damaged, 0);
	file_flip(&test_dir, segment_1, last + 100, 1);
	file_flip(&test_dir, segment_1, 2 * 4096 + 90, 1);
	struct printed damaged = journal_of(&test_dir, 0);
	cr_expect_eq(damaged.damaged, 1);
	cr_expect_eq(damaged.unfinished, 0);
	cr_expect_eq(damaged.records, torn.records);
	file_flip(&test_dir, segment_1, 2 * 4096 + 90, 1);
	file_write(&test_dir, segment_1, 2 * 4096, span_of((uint8_t[4096]){0}, 4096));
	struct printed lost = journal_of(&test_dir, 0);
	cr_expect_eq(lost.damaged, 1, "%s", text_of(&lost.all));
	buffer_free(&torn.all), buffer_free(&damaged.all), buffer_free(&lost.all);
	test_dir_remove(&test_dir);
}

/* The manifest of a snapshot as of a record in that segment. */
static void write_snapshot(const struct test_dir *test_dir, uint64_t segment)
{
	struct shard_dir at = shop_place(test_dir, false);
	struct snapshot  made = {.at = {.seq = 5, .segment = segment}, .shard = at.shard};
	struct buffer    text = {0};
	char             name[SNAPSHOT_NAME], path[64];
	memcpy(made.lineage, at.lineage, sizeof made.lineage);
	snapshot_manifest_write(&made, &text);
	snapshot_name(made.at.seq, name);
	snprintf(path, sizeof path, "snapshots/%s", name);
	(void)!mkdirat(test_dir->fd, "snapshots", 0700);
	cr_assert_eq(mkdirat(test_dir->fd, path, 0700), 0);
	snprintf(path, sizeof path, "snapshots/%s/manifest", name);
	file_write(test_dir, path, 0, buffer_span(&text));
	buffer_free(&text);
}

Test(dump, misses_a_first_segment_that_no_snapshot_replaces)
{
	struct test_dir     test_dir;
	struct store       *store;
	struct store_report report;
	begin_place(&test_dir);
	cr_assert_eq(shop_open(&test_dir, false, &store, &report), OK);
	for (unsigned i = 0; i <= SEGMENT_BYTES / 4 / RECORD_ALIGN; i++) {
		struct row_key key = key_u64(account, RECORDS + 1 + i);
		shop_save(store, TABLE_DELIVERY_END, key_span(&key), filler(1, 100));
	}
	store_close(&store);
	cr_assert_eq(shop_open(&test_dir, false, &store, &report), OK); /* begins segment 2 */
	struct row_key key = key_u64(account, RECORDS);
	shop_save(store, TABLE_DELIVERY_END, key_span(&key), filler(2, 100));
	store_close(&store);
	struct printed whole = journal_of(&test_dir, 0);
	cr_assert_eq(unlinkat(test_dir.fd, segment_1, 0), 0);
	struct printed rest = journal_of(&test_dir, 0);
	cr_expect_eq(whole.damaged, 0);
	cr_expect_eq(rest.damaged, 1);
	cr_expect_not_null(
	    strstr(text_of(&rest.all), "{\"segment\":1,\"damaged\":\"missing, and no snapshot"));
	cr_expect(rest.records >= 2 && rest.records < whole.records, "%u of %u", rest.records, whole.records);
	write_snapshot(&test_dir, 2);
	struct printed joined = journal_of(&test_dir, 0);
	cr_expect_eq(joined.damaged, 0);
	cr_expect_eq(joined.records, rest.records);
	buffer_free(&whole.all), buffer_free(&rest.all), buffer_free(&joined.all);
	test_dir_remove(&test_dir);
}

Test(dump, shows_a_table)
{
	struct test_dir test_dir;
	struct row_key  prefix = {.size = 0};
	begin_place(&test_dir);
	struct printed lines = {.count = 0}, one = {.count = 0}, whole = {.count = 0};
	char           why[VERSION_TEXT] = "";
	struct dump_to to = {take_line, &lines, why}, to_one = {take_line, &one},
	               to_whole = {take_line, &whole};
	expect_end(dump_table(test_dir.fd, TABLE_DELIVERY_END, key_span(&prefix), &to), &lines, why);
	cr_expect_str_eq(why, "Damage is shown in 12 lines, as \"damaged\"."); /* those rows are fillers */
	cr_expect_eq(lines.count, RECORDS);
	prefix = key_u64(account, 3);
	expect_end(dump_table(test_dir.fd, TABLE_DELIVERY_END, key_span(&prefix), &to_one), &one, why);
	cr_expect_eq(one.count, 1);
	prefix = key_account(account);
	cr_assert_eq(dump_table(test_dir.fd, TABLE_TEMPLATE, key_span(&prefix), &to_whole), OK);
	cr_expect_eq(whole.count, 1);
	cr_expect(whole.all.size > 2 * 3 * PART_BYTES, "%zu", whole.all.size); /* in hexadecimal digits */
	cr_expect_eq(whole.damaged, 0);
	buffer_free(&lines.all), buffer_free(&one.all), buffer_free(&whole.all);
	test_dir_remove(&test_dir);
}
