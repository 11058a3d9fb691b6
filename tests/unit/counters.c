/* Searching counters: finds the passes with a counter whose written form contains q. */
#include "actors/shard/pass/search.h"
#include "actors/shard/account/parts.h"
#include "store/keys.h"
#include "tests/unit/lists.h"

#include <inttypes.h>
#include <stdio.h>

enum { PASSES = 64 * 40 + 7, TEMPLATES = 3 };

static struct account account = {.id = {{'a'}}};
static int64_t        balances[PASSES];
static uint16_t       templates[PASSES];
static uint64_t       bits[PASSES / 64 + 1];

static void end_all(void)
{
	account_templates_free(&account.templates);
	end();
}

TestSuite(counters, .init = begin, .fini = end_all);

/* The second template has no counter. The account's longest counter has `width` characters. */
static void furnish(uint32_t width)
{
	static const char with[] = "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"fields\":[{\"key\":\"p\","
	                           "\"type\":\"number\",\"locked\":true}]}",
	                  without[] = "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}";
	struct tally tally = {.made = PASSES, .width = width};
	account_templates_free(&account.templates);
	account.templates = account_templates_new(TEMPLATES);
	for (uint32_t i = 1; i <= TEMPLATES; i++) {
		struct row_key key = key_u32(account.id, i);
		cr_assert_eq(
		    write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(i == 2 ? without : with)),
		    OK);
	}
	cr_assert_eq(tally_put(s.view, account.id, &tally), OK);
	scratch_save(&s);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
}

/* At most `width` characters. Many words belong to one template; some words include all templates. */
static void draw(uint32_t width)
{
	for (unsigned i = 0; i < PASSES; i++) {
		bool is_alike = i / 64 % 4 != 0;
		templates[i] = (uint16_t)(is_alike ? 1 + i / 64 % 3 : chance_below(&state, TEMPLATES + 2));
		do
			balances[i] = (int64_t)chance(&state) >> chance_below(&state, 64);
		while (balance_width(balances[i]) > width);
		if (chance_below(&state, 3) == 0) balances[i] = (int64_t)chance_below(&state, 120);
		if (balance_width(balances[i]) > width) balances[i] = 0;
	}
	for (unsigned i = 0; i < PASSES / 64 + 1; i++)
		bits[i] = chance_below(&state, 2) ? UINT64_MAX : chance(&state);
	bits[PASSES / 64] &= (UINT64_C(1) << PASSES % 64) - 1;
}

static bool should_hold(unsigned i, const char *q)
{
	char text[32];
	bool counts = templates[i] == 1 || templates[i] == 3;
	snprintf(text, sizeof text, "%" PRId64, balances[i]);
	return counts && bits[i / 64] >> i % 64 & 1 && strstr(text, q);
}

static void are_found(const char *q)
{
	struct request   request = {.account = &account, .view = reader};
	struct columns   columns = {.made = PASSES, .of = {.balance = balances, .template = templates}};
	struct selection selection = {.made = PASSES, .bits = bits};
	uint64_t        *found;
	cr_assert_eq(counters_search(&request, span_str(q), &columns, &selection, &found), OK);
	for (unsigned i = 0; i < PASSES; i++)
		cr_assert_eq(found[i / 64] >> i % 64 & 1, should_hold(i, q), "%s in %" PRId64 ", template %u",
		             q, balances[i], templates[i]);
}

Test(counters, find_written_digits)
{
	static const uint32_t widths[] = {1, 2, 5, 6, 7, 8, 20};
	static const char    *sought[] = {"0", "7", "66", "00", "100", "-", "-1", "-66", "1000000", "012"};
	for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
		furnish(widths[i]);
		for (unsigned k = 0; k < sizeof sought / sizeof *sought; k++) {
			draw(widths[i]);
			are_found(sought[k]);
		}
		for (unsigned turn = 0; turn < 60; turn++) {
			char     text[32];
			unsigned from;
			draw(widths[i]);
			int size = snprintf(text, sizeof text, "%" PRId64, balances[turn]);
			from = chance_below(&state, (unsigned)size);
			text[from + 1 + chance_below(&state, (unsigned)size - from)] = 0;
			are_found(text + from);
		}
		db_reader_end(reader);
	}
}

/* Rows of templates without passes are not read: here they would be damage. */
Test(counters, are_found_by_the_templates_of_passes)
{
	enum { MANY = 500 };
	furnish(8);
	account_templates_free(&account.templates);
	account.templates = account_templates_new(MANY);
	for (unsigned i = 0; i < PASSES; i++) {
		balances[i] = 7;
		templates[i] = (uint16_t)(i < 10 ? 2 : i == PASSES - 1 ? 3 : 1);
		bits[i / 64] = i / 64 == PASSES / 64 ? (UINT64_C(1) << PASSES % 64) - 1 : UINT64_MAX;
	}
	are_found("7");
	db_reader_end(reader);
}

Test(counters, of_an_account_without_templates_match_nothing)
{
	furnish(8);
	draw(8);
	struct request   request = {.account = &account, .view = reader};
	struct columns   columns = {.made = PASSES, .of = {.balance = balances, .template = templates}};
	struct selection selection = {.made = PASSES, .bits = bits};
	uint64_t        *found;
	account_templates_free(&account.templates);
	account.templates = account_templates_new(0);
	cr_assert_eq(counters_search(&request, span_str("1"), &columns, &selection, &found), OK);
	for (unsigned i = 0; i < PASSES / 64; i++)
		cr_expect_eq(found[i], 0);
}
