/* Rewards: rows read as they were written, and rows that the program does not write are damage; the terms of
 * requests; slugs among thousands of one name. */
#include "actors/shard/reward/reward.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct scratch     s;
static struct account     account = {.id = {{'b'}}}, before = {.id = {{'a'}}}, after = {.id = {{'c'}}};
static struct random_pool randomness;
static struct buffer      payload;
static struct outcome     outcome;
static struct request     request;

static void begin(void)
{
	scratch_open(&s);
	outcome = (struct outcome){.payload = &payload};
	request = (struct request){.view = s.view,
	                           .account = &account,
	                           .random = &randomness,
	                           .zone = msgpack_zone_new(4096),
	                           .now = {1700000000123456}};
}

static void end(void)
{
	msgpack_zone_free(request.zone);
	scratch_close(&s);
}

TestSuite(reward, .init = begin, .fini = end);

static struct reward some(uint32_t family, const char *slug)
{
	return (struct reward){.family = family,
	                       .status = REWARD_ARCHIVED,
	                       .version = 0x01020304,
	                       .created = {5},
	                       .updated = {6},
	                       .assigned = 7,
	                       .assigned_newest = 3,
	                       .family_id = {{8}},
	                       .slug = span_str(slug)};
}

static struct reward_version some_terms(void)
{
	return (struct reward_version){.family = 3,
	                               .version = 4,
	                               .id = {{1}},
	                               .family_id = {{2}},
	                               .status = REWARD_ARCHIVED,
	                               .kind = REWARD_CUSTOM,
	                               .repeat_assignment = true,
	                               .redemption_allowance = 5,
	                               .assignment_limit = 6,
	                               .expiration = EXPIRATION_RELATIVE_WINDOW,
	                               .window_seconds = 7,
	                               .created = {8},
	                               .made = {9},
	                               .slug = span_str("slug"),
	                               .name = span_str("name"),
	                               .description = span_str("about")};
}

static void expect_same_terms(const struct reward_version *a, const struct reward_version *b)
{
	cr_expect(uuid_same(a->id, b->id) && uuid_same(a->family_id, b->family_id));
	cr_expect(a->family == b->family && a->version == b->version && a->status == b->status);
	cr_expect(a->kind == b->kind && a->repeat_assignment == b->repeat_assignment);
	cr_expect(a->redemption_allowance == b->redemption_allowance &&
	          a->assignment_limit == b->assignment_limit);
	cr_expect(a->expiration == b->expiration && a->window_seconds == b->window_seconds &&
	          a->fixed_end.v == b->fixed_end.v);
	cr_expect(a->created.v == b->created.v && a->made.v == b->made.v);
	cr_expect(span_equal(a->slug, b->slug) && span_equal(a->name, b->name) &&
	          span_equal(a->description, b->description));
}

/* Rows --------------------------------------------------------------------------------------------------- */

Test(reward, rows_are_found_by_family_and_by_slug)
{
	struct reward row = some(9, "coffee"), got;
	cr_assert_eq(reward_put(s.view, account.id, &row), OK);
	cr_assert_eq(reward_slug_put(s.view, account.id, &row), OK);
	cr_assert_eq(reward_by_slug(s.view, account.id, row.slug, &got), OK, "before they are saved too");
	scratch_save(&s);
	cr_assert_eq(reward_by_slug(s.view, account.id, row.slug, &got), OK);
	cr_expect(got.family == 9 && got.status == REWARD_ARCHIVED && got.version == 0x01020304);
	cr_expect(got.created.v == 5 && got.updated.v == 6 && got.assigned == 7 && got.family_id.b[0] == 8);
	cr_expect_eq(got.assigned_newest, 3);
	cr_expect(span_is(got.slug, "coffee"));
	cr_expect_eq(reward_by_slug(s.view, account.id, span_str("coffe"), &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_by_slug(s.view, account.id, span_str("coffee_"), &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_by_slug(s.view, account.id, span_of(NULL, 0), &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_by_slug(s.view, account.id, filler(1, 400), &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_by_slug(s.view, before.id, row.slug, &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_find(&request, span_str("x"), &got), ERR_RESOURCE_NOT_FOUND);
	cr_assert_eq(reward_del(s.view, account.id, &row), OK);
	scratch_save(&s);
	cr_expect_eq(reward_by_slug(s.view, account.id, row.slug, &got), ERR_NOT_FOUND);
	cr_expect_eq(reward_get(s.view, account.id, 9, &got), ERR_NOT_FOUND);
}

Test(reward, rows_are_listed_in_order_of_creation_and_by_account)
{
	static const uint32_t families[] = {1, 2, 255, 256, 65536, UINT32_MAX};
	struct reward         got = {.family = 0};
	for (size_t i = 0; i < 6; i++) {
		struct reward row = some(families[i], "x");
		cr_assert_eq(reward_put(s.view, account.id, &row), OK);
		cr_assert_eq(reward_put(s.view, before.id, &row), OK);
		cr_assert_eq(reward_put(s.view, after.id, &row), OK);
		scratch_save(&s);
	}
	for (size_t i = 0; i < 6; i++) {
		cr_assert_eq(reward_next(s.view, account.id, &got), OK);
		cr_expect_eq(got.family, families[i]);
	}
	cr_expect_eq(reward_next(s.view, account.id, &got), ERR_NOT_FOUND);
	got.family = 0;
	cr_expect_eq(reward_next(s.view, (struct account_id){{'z'}}, &got), ERR_NOT_FOUND);
}

/* The formats, byte for byte. */
Test(reward, rows_are_as_they_are_described)
{
	uint8_t               value[REWARD_VERSION_BYTES_MAX];
	struct reward         row = some(9, "ab");
	struct reward_version terms = some_terms();
	static const uint8_t  head[] = {1, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0,
	                                0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 8};
	static const uint8_t  terms_head[] = {1, 1, 2, 1, 1, 4, 4, 0, 5, 0, 0, 0, 6, 0, 0,
	                                      0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8, 0,
	                                      0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1};
	cr_assert_eq(reward_write(&row, value), 58);
	cr_expect_arr_eq(value, head, sizeof head);
	cr_expect(value[56] == 'a' && value[57] == 'b');
	cr_assert_eq(reward_version_write(&terms, value), 76 + 4 + 4 + 5);
	cr_expect_arr_eq(value, terms_head, sizeof terms_head);
	cr_expect(value[60] == 2 && !memcmp(value + 76, "slugnameabout", 13));
}

Test(reward, versions_read_as_they_were_put)
{
	struct reward_version row = some_terms(), got;
	struct reward         newest = {.family = 3, .version = 4};
	struct buffer         room = {0};
	for (unsigned kind = 0; kind < EXPIRATION_KINDS; kind++) {
		row.expiration = (enum expiration_kind)kind;
		row.window_seconds = kind == EXPIRATION_RELATIVE_WINDOW ? 70 : 0;
		row.fixed_end.v = kind == EXPIRATION_FIXED_END ? -8 : 0;
		row.description = filler(3, kind * REWARD_DESCRIPTION_BYTES_MAX / 2);
		row.name = filler(4, 1 + kind * (REWARD_NAME_BYTES_MAX - 1) / 2);
		cr_assert_eq(reward_version_put(s.view, account.id, &row), OK);
		scratch_save(&s);
		cr_assert_eq(reward_version_get(s.view, account.id, 3, 4, &got), OK);
		expect_same_terms(&got, &row);
		cr_assert_eq(reward_version_in(s.view, account.id, &newest, &room, &got), OK);
		expect_same_terms(&got, &row);
	}
	cr_expect_eq(reward_version_get(s.view, account.id, 3, 3, &got), ERR_NOT_FOUND);
	newest.version = 3;
	cr_expect_eq(reward_version_in(s.view, account.id, &newest, &room, &got), ERR_DAMAGED);
	newest.version = 5;
	cr_expect_eq(reward_version_in(s.view, account.id, &newest, &room, &got), ERR_DAMAGED);
	buffer_free(&room);
}

struct wrong {
	size_t  at;
	uint8_t byte;
};

Test(reward, invalid_rows_are_damage)
{
	static const struct wrong rows[] = {{0, 2}, {1, 1}, {2, 1}, {3, 1}};
	uint8_t                   value[REWARD_BYTES_MAX + 1] = {0};
	struct reward             row = some(1, "ab"), got;
	size_t                    size = reward_write(&row, value);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t kept = value[rows[i].at];
		value[rows[i].at] = rows[i].byte;
		cr_expect_eq(reward_read(span_of(value, size), &got), ERR_DAMAGED, "row %zu", i);
		value[rows[i].at] = kept;
	}
	for (size_t cut = 0; cut <= 56; cut++)
		cr_expect_eq(reward_read(span_of(value, cut), &got), ERR_DAMAGED, "%zu bytes", cut);
	cr_expect_eq(reward_read(span_of(value, REWARD_BYTES_MAX), &got), OK);
	cr_expect_eq(reward_read(span_of(value, REWARD_BYTES_MAX + 1), &got), ERR_DAMAGED);
	value[32] = 8;
	cr_expect_eq(reward_read(span_of(value, size), &got), ERR_DAMAGED, "more of the newest than of all");
	value[32] = 0;
	memset(value + 4, 0, 4);
	cr_expect_eq(reward_read(span_of(value, size), &got), ERR_DAMAGED, "no version");
}

Test(reward, invalid_versions_are_damage)
{
	static const struct wrong rows[] = {{0, 0}, {0, 2},  {1, 2},  {2, 3}, {3, 2}, {4, 3}, {4, 0},
	                                    {5, 0}, {5, 81}, {5, 10}, {6, 0}, {7, 4}, {8, 0}, {20, 0}};
	static uint8_t            value[REWARD_VERSION_BYTES_MAX + 1];
	struct reward_version     row = some_terms(), got;
	size_t                    size = reward_version_write(&row, value);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t kept = value[rows[i].at];
		value[rows[i].at] = rows[i].byte;
		cr_expect_eq(reward_version_read(span_of(value, size), &got), ERR_DAMAGED, "row %zu", i);
		value[rows[i].at] = kept;
	}
	for (size_t cut = 0; cut < 76 + 8; cut++)
		cr_expect_eq(reward_version_read(span_of(value, cut), &got), ERR_DAMAGED, "%zu bytes", cut);
	cr_expect_eq(reward_version_read(span_of(value, 76 + 8), &got), OK);
	cr_expect_eq(reward_version_read(span_of(value, 84 + REWARD_DESCRIPTION_BYTES_MAX), &got), OK);
	cr_expect_eq(reward_version_read(span_of(value, 85 + REWARD_DESCRIPTION_BYTES_MAX), &got),
	             ERR_DAMAGED);
}

Test(reward, absent_counts_are_zeros)
{
	struct reward_tally tally = {1, 2, 3, 4, 5, 6}, got;
	uint8_t             value[REWARD_TALLY_BYTES] = {0};
	cr_assert_eq(reward_tally_get(s.view, account.id, &got), OK);
	cr_expect(!memcmp(&got, &(struct reward_tally){0}, sizeof got));
	cr_assert_eq(reward_tally_put(s.view, account.id, &tally), OK);
	scratch_save(&s);
	cr_assert_eq(reward_tally_get(s.view, account.id, &got), OK);
	cr_expect(!memcmp(&got, &tally, sizeof got));
	cr_expect_eq(reward_tally_read(span_of(value, sizeof value - 1), &got), ERR_DAMAGED);
}

/* Terms -------------------------------------------------------------------------------------------------- */

/* The terms of a body, {name, kind, ...} in order, from pieces of JSON: NULL is nil, "..." a string. */
enum { NAME, KIND, ABOUT, REPEAT, ALLOWANCE, LIMIT, EXPIRATION, TERMS };

static msgpack_object json_object(const char *text)
{
	if (!text) return value_nil();
	return *text == '"' ? value_text(text + 1) : value_bin(text, strlen(text));
}

static enum err take_expiration(const char *kind, const char *window, const char *end,
                                struct reward_version *row)
{
	msgpack_object_kv members[3] = {{value_text("kind"), json_object(kind)},
	                                {value_text("window_seconds"), json_object(window)},
	                                {value_text("fixed_end"), json_object(end)}};
	msgpack_object    terms[TERMS] = {[NAME] = value_text("N"),
	                                  [KIND] = value_text("gift"),
	                                  [EXPIRATION] = {.type = MSGPACK_OBJECT_MAP, .via.map = {3, members}}};
	outcome.field = span_of(NULL, 0);
	return reward_take(&request, &outcome, terms, row);
}

Test(reward, each_expiration_has_exactly_the_members_of_its_kind)
{
	static const struct {
		const char *kind, *window, *end, *blamed; /* NULL: valid */
	} rows[] = {
	    {"\"none", NULL, NULL, NULL},
	    {"\"none", "1", NULL, "expiration.window_seconds"},
	    {"\"none", NULL, "\"2030-01-01T00:00:00Z", "expiration.fixed_end"},
	    {"\"relative_window", "1", NULL, NULL},
	    {"\"relative_window", "3155760000", NULL, NULL},
	    {"\"relative_window", "3155760001", NULL, "expiration.window_seconds"},
	    {"\"relative_window", NULL, NULL, "expiration.window_seconds"},
	    {"\"relative_window", "0", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "-1", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "1.0", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "1e2", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "\"1", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "true", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "[1]", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "99999999999999999999", NULL, "expiration.window_seconds"},
	    {"\"relative_window", "1", "\"2030-01-01T00:00:00Z", "expiration.fixed_end"},
	    {"\"fixed_end", NULL, "\"2030-01-01T00:00:00Z", NULL},
	    {"\"fixed_end", NULL, "\"2001-01-01T00:00:00.5+14:00", NULL},
	    {"\"fixed_end", NULL, NULL, "expiration.fixed_end"},
	    {"\"fixed_end", NULL, "1900000000", "expiration.fixed_end"},
	    {"\"fixed_end", NULL, "\"2030-01-01", "expiration.fixed_end"},
	    {"\"fixed_end", NULL, "\"2030-02-29T00:00:00Z", "expiration.fixed_end"},
	    {"\"fixed_end", "1", "\"2030-01-01T00:00:00Z", "expiration.window_seconds"},
	    {NULL, NULL, NULL, "expiration.kind"},
	    {NULL, "1", NULL, "expiration.kind"},
	    {"\"", NULL, NULL, "expiration.kind"},
	    {"\"None", NULL, NULL, "expiration.kind"},
	    {"none", NULL, NULL, "expiration.kind"},
	};
	struct reward_version row;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum err err = take_expiration(rows[i].kind, rows[i].window, rows[i].end, &row);
		cr_expect_eq(err, rows[i].blamed ? ERR_INVALID_INPUT : OK, "row %zu", i);
		if (rows[i].blamed) cr_expect(span_is(outcome.field, rows[i].blamed), "row %zu", i);
	}
	cr_assert_eq(take_expiration("\"relative_window", "60", NULL, &row), OK);
	cr_expect(row.expiration == EXPIRATION_RELATIVE_WINDOW && row.window_seconds == 60 &&
	          !row.fixed_end.v);
	cr_assert_eq(take_expiration("\"fixed_end", NULL, "\"1970-01-01T00:00:01Z", &row), OK);
	cr_expect(row.expiration == EXPIRATION_FIXED_END && row.fixed_end.v == 1000000 &&
	          !row.window_seconds);
}

Test(reward, omitted_terms_have_defaults)
{
	struct reward_version row;
	cr_assert_eq(take_expiration("\"none", NULL, NULL, &row), OK);
	cr_expect(span_is(row.name, "N") && row.kind == REWARD_GIFT && row.description.size == 0);
	cr_expect(!row.repeat_assignment && row.redemption_allowance == 1 && row.assignment_limit == 0);
}

/* Slugs -------------------------------------------------------------------------------------------------- */

static uint32_t families;

static void take_slug(struct span slug)
{
	struct reward row = some(++families, "x");
	row.slug = slug;
	cr_assert_eq(reward_put(s.view, account.id, &row), OK);
	cr_assert_eq(reward_slug_put(s.view, account.id, &row), OK);
	scratch_save(&s);
}

static void expect_drawn(const char *want)
{
	struct slug slug;
	cr_assert_eq(reward_draw_slug(&request, span_str("A b"), &slug), OK);
	cr_expect(span_is(slug_span(&slug), want), "%.*s instead of %s", (int)slug.size, (const char *)slug.b,
	          want);
}

Test(reward, a_slug_is_found_among_thousands_of_one_name)
{
	struct reward row;
	char          text[32];
	expect_drawn("a_b");
	take_slug(span_str("a_b"));
	for (unsigned number = 2; number <= REWARDS_MAX; number++) {
		snprintf(text, sizeof text, "a_b_%u", number);
		if (number < 40 || number % 500 == 0) expect_drawn(text);
		take_slug(span_str(text));
	}
	expect_drawn("a_b_5001");
	cr_assert_eq(reward_by_slug(s.view, account.id, span_str("a_b_7"), &row), OK);
	cr_assert_eq(reward_del(s.view, account.id, &row), OK);
	scratch_save(&s);
	expect_drawn("a_b_7");
}

/* Slugs chosen to be in the way of the search do not slow it down. */
Test(reward, a_slug_is_found_between_those_that_were_chosen)
{
	char text[32];
	take_slug(span_str("a_b"));
	for (unsigned number = 2; number <= 16; number++) {
		snprintf(text, sizeof text, "a_b_%u", number);
		take_slug(span_str(text));
	}
	for (uint32_t number = 32; number; number *= 2) {
		snprintf(text, sizeof text, "a_b_%u", number);
		take_slug(span_str(text));
	}
	struct slug   slug;
	struct reward row;
	for (unsigned i = 0; i < 200; i++) {
		cr_assert_eq(reward_draw_slug(&request, span_str("A b"), &slug), OK);
		cr_assert_eq(reward_by_slug(s.view, account.id, slug_span(&slug), &row), ERR_NOT_FOUND);
		take_slug(slug_span(&slug));
	}
}
