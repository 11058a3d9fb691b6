/* The writer's accounts in memory, and those lent to readers: after any write the account in memory equals
 * the tables at the requested moment. Each is compared with an account that is loaded again. */
#include "actors/shard/account/cache.h"
#include "actors/shard/account/parts.h"
#include "store/keys.h"
#include "store/ledger.h"
#include "store/rule.h"
#include "store/template_state.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ROUNDS = 400, RULES = 12, HOOKS = 9, KEYS = 8, TEMPLATES = 5 };

static struct scratch          s;
static struct account_cache    cache;
static struct account_row      row;
static struct view            *reader;
static struct arena            reader_arena;
static uint64_t                state;
static const struct account_id id = {{'b'}}, neighbour = {{'c'}};

/* Like the engine at the end of a handler: the writes are applied, then the cache is notified. */
static void save(void)
{
	for (unsigned i = 0; i < s.staged.count; i++)
		must(!db_apply(s.db, &s.staged.rows[i], false));
	account_on_writes(&cache, &s.staged, db_view(s.db, NULL, &s.arena));
	s.staged = writes_none(&s.arena);
	arena_reset(&s.arena);
	s.view = db_view(s.db, &s.staged, &s.arena);
}

static struct account *cached(struct account_id of)
{
	struct account *account;
	cr_assert_eq(account_cached(&cache, s.view, of, &account), OK);
	return account;
}

static void put_account(struct account_id of)
{
	cr_assert_eq(account_row_put(s.view, of, &row), OK);
}

static void put_template(uint32_t number, const char *name)
{
	struct row_key key = key_u32(id, number);
	char           text[200];
	snprintf(text, sizeof text,
	         "{\"name\":\"%s\",\"loyalty_type\":\"balance\",\"fields\":[{\"key\":\"points\",\"type\":"
	         "\"number\",\"locked\":true},{\"key\":\"\\u00e9%s\",\"type\":\"text\"}]}",
	         name, name);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(text)), OK);
	if (number <= row.template_count) return;
	row.template_count = number;
	put_account(id);
}

static void drop_template(uint32_t number)
{
	struct row_key key = key_u32(id, number);
	cr_assert_eq(write_del(&s.staged, TABLE_TEMPLATE, key_span(&key)), OK);
	cr_assert_eq(template_use_put(s.view, id, number, &(struct template_use){.state = TEMPLATE_DELETED}),
	             OK);
}

static void put_key(uint8_t tag, bool revoked)
{
	struct key_row key = {.id = {{tag}}, .hash = {tag, 7}, .created = {1}, .revoked = {revoked}};
	cr_assert_eq(key_row_put(s.view, id, &key), OK);
}

static void put_hook(uint8_t tag, bool active, uint32_t generation)
{
	char                url[60];
	struct subscription hook = {.id = {{tag}},
	                            .active = active,
	                            .generation = generation,
	                            .kind_count = 1,
	                            .kinds = {(uint8_t)(generation % EVENT_KINDS)}};
	snprintf(url, sizeof url, "https://h%u.example/%u", tag, generation);
	hook.url = span_str(url);
	cr_assert_eq(subscription_put(s.view, id, &hook), OK);
}

static void put_rule(uint8_t tag, bool active, enum event_kind event, int amount)
{
	struct buffer text = {0};
	struct rule   rule = {.name = span_str("a \"name\" \\"),
	                      .active = active,
	                      .event = event,
	                      .action_count = 1,
	                      .actions = {{.kind = RULE_ADD_BALANCE, .amount = amount}}};
	rule_text(&rule, &text);
	struct rule_row stored = {.id = {{tag}}, .created = {1}, .text = buffer_span(&text)};
	cr_assert_eq(rule_row_put(s.view, id, &stored), OK);
	buffer_free(&text);
}

static void begin(void)
{
	state = chance_begin();
	row = (struct account_row){.name = span_str("Shop"), .rewards = true};
	scratch_open(&s);
	put_account(id);
	put_account(neighbour);
	put_key(1, false);
	scratch_commit(&s);
	cr_assert_eq(db_reader_open(s.db, &reader_arena, &reader), OK);
}

static void end(void)
{
	account_forget_all(&cache);
	cr_expect_eq(account_bytes(), 0, "nothing parsed is left behind");
	cr_expect(cache.count == 0 && !cache.oldest && !cache.newest);
	db_reader_close(&reader);
	arena_free(&reader_arena);
	scratch_close(&s);
}

TestSuite(account_cache, .init = begin, .fini = end);

/* Comparing ----------------------------------------------------------------------------------------------- */

static void same_templates(const struct account *got, const struct account *want, struct view *view)
{
	const struct template *a, *b;
	uint32_t               first, want_first;
	cr_assert_eq(got->templates->count, want->templates->count);
	cr_assert_eq(account_first_template(got, view, &first),
	             account_first_template(want, view, &want_first));
	cr_assert_eq(first, want_first);
	for (uint32_t i = 1; i <= want->templates->count; i++) {
		enum err err = account_template(want, view, i, &b);
		cr_assert(err == OK || err == ERR_NOT_FOUND);
		cr_assert_eq(account_template(got, view, i, &a), err);
		if (err) continue;
		cr_assert(span_equal(a->name, b->name) && a->loyalty == b->loyalty, "template %u", i);
		cr_assert(a->counter == &a->fields[0] && a->field_count == b->field_count);
		cr_assert(span_equal(a->fields[1].key, b->fields[1].key));
		cr_assert(span_equal(a->fields[1].label, b->fields[1].label));
	}
}

static void same_webhooks(const struct account_webhooks *got, const struct account_webhooks *want)
{
	cr_assert(got->count == want->count && got->stored->count == want->stored->count);
	for (unsigned i = 0; i < want->count; i++) {
		const struct account_webhook *a = got->of[i], *b = want->of[i];
		cr_assert(uuid_same(a->id, b->id) && a->generation == b->generation && a->kinds == b->kinds &&
		          span_equal(a->url, b->url));
	}
	cr_assert(!memcmp(got->stored->of, want->stored->of, got->stored->count * sizeof(struct uuid)));
}

static void same_keys(const struct account_keys *got, const struct account_keys *want)
{
	cr_assert_eq(got->count, want->count);
	for (unsigned i = 0; i < want->count; i++) {
		bool found = false;
		for (unsigned j = 0; j < got->count; j++)
			found |= !memcmp(&got->of[j], &want->of[i], sizeof want->of[i]);
		cr_assert(found, "key %u", i);
	}
}

static void same_rules(const struct account_rules *got, const struct account_rules *want)
{
	cr_assert(got->count == want->count && got->bytes == want->bytes);
	cr_assert(!memcmp(got->begin, want->begin, sizeof want->begin));
	cr_assert(!memcmp(got->order, want->order, want->begin[EVENT_KINDS]));
	for (unsigned i = 0; i < want->count; i++) {
		struct account_rule *a = got->of[i], *b = want->of[i];
		cr_assert(!account_rule_read(a) && !account_rule_read(b));
		cr_assert(uuid_same(a->id, b->id) && span_equal(a->text, b->text));
		cr_assert(a->active == b->rule.active && a->event == b->rule.event, "its head");
		cr_assert_eq(a->rule.actions[0].amount, b->rule.actions[0].amount);
	}
}

/* Compares `got` with an account loaded from the tables of `view`. */
static void same(struct account *got, struct view *view, bool is_writer)
{
	struct account *want;
	cr_assert_eq(account_load(view, got->id, &want), OK);
	cr_assert(got->row.rewards == want->row.rewards && got->row.webhooks == want->row.webhooks &&
	          got->row.rate_limit == want->row.rate_limit &&
	          got->row.template_count == want->row.template_count &&
	          span_equal(got->row.name, want->row.name));
	same_templates(got, want, view);
	same_webhooks(got->webhooks, want->webhooks);
	if (is_writer) {
		cr_assert(!account_load_rules(view, got) && !account_load_rules(view, want));
		same_keys(got->keys, want->keys);
		same_rules(got->rules, want->rules);
	}
	account_free(&want);
}

/* Changes ------------------------------------------------------------------------------------------------- */

static void drop_row(enum table table, uint8_t tag)
{
	struct row_key key = key_uuid(id, (struct uuid){{tag}});
	cr_assert_eq(write_del(&s.staged, table, key_span(&key)), OK);
}

static unsigned below(unsigned bound)
{
	return chance_below(&state, bound);
}

/* Changes an existing one, removes it, or adds another. */
static void change_template(const char *name)
{
	static bool is_gone[TEMPLATES + 1];
	uint32_t    number = 1 + below(row.template_count < TEMPLATES ? row.template_count + 1 : TEMPLATES);
	if (is_gone[number]) return;
	is_gone[number] = number <= row.template_count && below(20) == 0;
	if (is_gone[number])
		drop_template(number);
	else
		put_template(number, name);
}

static void change_something(void)
{
	char    name[20];
	uint8_t hook = (uint8_t)(1 + below(HOOKS)), rule = (uint8_t)(1 + below(RULES));
	snprintf(name, sizeof name, "n%u", below(1000));
	switch (below(8)) {
	case 0: change_template(name); break;
	case 1: put_key((uint8_t)(1 + below(KEYS)), below(2)); break;
	case 2: put_hook(hook, below(2), 1 + below(50)); break;
	case 3: drop_row(TABLE_SUBSCRIPTION, hook); break;
	case 4:
		put_rule(rule, below(2), (enum event_kind)below(EVENT_SCAN_CREATED + 1), 1 + (int)below(50));
		break;
	case 5: drop_row(TABLE_RULE, rule); break;
	case 6:
		row.rate_limit = below(100);
		row.webhooks = below(2);
		put_account(id);
		break;
	default: put_hook(hook, true, 1 + below(50)); put_hook((uint8_t)(1 + below(HOOKS)), false, 3);
	}
}

Test(account_cache, follows_whatever_is_written)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		same(cached(id), s.view, true);
		struct account *other = cached(neighbour);
		change_something();
		save();
		cr_assert_eq(cached(neighbour), other, "another account is not changed");
		if (below(10) == 0) account_forget(&cache, id);
		if (below(5) == 0) scratch_commit(&s);
	}
	same(cached(id), s.view, true);
}

Test(account_cache, changes_one_part_and_shares_the_others)
{
	put_template(1, "one");
	put_template(2, "two");
	put_hook(1, true, 1);
	put_hook(2, true, 1);
	put_rule(1, true, EVENT_PASS_CREATED, 1);
	put_rule(2, true, EVENT_PASS_CREATED, 2);
	save();
	const struct template *one, *two, *again;
	struct account        *before = account_share(cached(id)), *after;
	cr_assert(!account_load_rules(s.view, before) && !account_template(before, s.view, 1, &one) &&
	          !account_template(before, s.view, 2, &two));
	put_hook(2, false, 2);
	save();
	after = cached(id);
	cr_expect(after != before && after->templates == before->templates && after->keys == before->keys &&
	          after->rules == before->rules);
	cr_expect(after->webhooks->of[0] == before->webhooks->of[0] &&
	          after->webhooks->stored == before->webhooks->stored);
	put_template(2, "new");
	put_rule(2, false, EVENT_PASS_CREATED, 2);
	save();
	after = cached(id);
	cr_assert_eq(account_template(after, s.view, 1, &again), OK);
	cr_expect_eq(again, one, "it is not parsed again");
	cr_assert_eq(account_template(after, s.view, 2, &again), OK);
	cr_expect(again != two && span_is(again->name, "new") && span_is(two->name, "two"));
	cr_expect(after->rules->of[0] == before->rules->of[0] && after->rules->of[1] != before->rules->of[1]);
	cr_expect(before->rules->of[1]->active && !after->rules->of[1]->active);
	account_free(&before);
}

Test(account_cache, writes_of_a_failed_command_change_nothing)
{
	put_template(1, "one");
	save();
	struct account *before = cached(id);
	put_template(1, "never");
	put_hook(1, true, 1);
	s.staged = writes_none(&s.arena); /* the handler failed */
	arena_reset(&s.arena);
	cr_expect_eq(cached(id), before);
	same(before, s.view, true);
}

Test(account_cache, reads_a_template_when_it_is_first_asked_for)
{
	put_template(1, "one");
	put_template(2, "two");
	struct row_key key = key_u32(id, 2);
	cr_assert_eq(write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str("not JSON")), OK);
	save();
	const struct template *template;
	struct account *account = cached(id);
	cr_expect_eq(account_bytes(), 0);
	cr_expect_eq(account_template(account, s.view, 1, &template), OK);
	cr_expect_gt(account_bytes(), 0);
	cr_expect_eq(account_template(account, s.view, 2, &template), ERR_DAMAGED);
	cr_expect_eq(account_template(account, s.view, 2, &template), ERR_DAMAGED, "and again");
}

Test(account_cache, knows_which_templates_were_deleted_and_which_is_the_oldest)
{
	const struct template *template;
	uint32_t first;
	cr_expect_eq(account_first_template(cached(id), s.view, &first), ERR_NOT_FOUND);
	put_template(1, "one");
	put_template(2, "two");
	put_template(3, "three");
	save();
	struct account *before = account_share(cached(id));
	cr_expect(!account_first_template(before, s.view, &first) && first == 1);
	cr_assert_eq(account_template(before, s.view, 1, &template), OK);
	drop_template(1);
	save();
	cr_expect_eq(account_template(cached(id), s.view, 1, &template), ERR_NOT_FOUND);
	cr_expect(!account_first_template(cached(id), s.view, &first) && first == 2);
	cr_expect_eq(account_template(before, s.view, 1, &template), OK, "the borrower's copy is unchanged");
	put_template(3, "another");
	save();
	cr_expect_eq(cached(id)->templates->first, 2, "it was cached before");
	drop_template(3);
	drop_template(2);
	save();
	cr_expect_eq(account_first_template(cached(id), s.view, &first), ERR_NOT_FOUND);
	account_forget(&cache, id);
	for (uint32_t number = 1; number <= 3; number++)
		cr_expect_eq(account_template(cached(id), s.view, number, &template), ERR_NOT_FOUND);
	put_template(4, "four");
	save();
	cr_expect(!account_first_template(cached(id), s.view, &first) && first == 4);
	account_free(&before);
}

Test(account_cache, has_a_limit_of_active_webhooks_and_fills_a_free_place)
{
	for (uint8_t tag = 1; tag <= WEBHOOKS_ACTIVE_MAX + 2; tag++)
		put_hook(tag, true, tag);
	save();
	cr_expect_eq(cached(id)->webhooks->count, WEBHOOKS_ACTIVE_MAX);
	put_hook(1, false, 2);
	save();
	same(cached(id), s.view, true);
	cr_expect_eq(cached(id)->webhooks->of[WEBHOOKS_ACTIVE_MAX - 1]->id.b[0], WEBHOOKS_ACTIVE_MAX + 1);
}

Test(account_cache, evicts_the_least_recently_used)
{
	struct account_id of = {{'x'}};
	for (unsigned i = 0; i <= ACCOUNT_CACHE_MAX; i++) {
		of.b[8] = (uint8_t)(i >> 8);
		of.b[9] = (uint8_t)i;
		put_account(of);
		if (i % 1000 == 0 || i == ACCOUNT_CACHE_MAX) save();
	}
	struct account *kept = cached(id);
	for (unsigned i = 0; i < ACCOUNT_CACHE_MAX; i++) {
		of.b[8] = (uint8_t)(i >> 8);
		of.b[9] = (uint8_t)i;
		cached(of);
		if (i == 0) cr_assert_eq(cached(id), kept);
		cr_assert_leq(cache.count, ACCOUNT_CACHE_MAX);
	}
	of.b[8] = of.b[9] = 0;
	cr_expect_not_null(account_ends(&cache, id));
	cr_expect_null(account_ends(&cache, of), "the first was evicted");
}

/* Readers -------------------------------------------------------------------------------------------------- */

static void expect_at(const struct lent *lent)
{
	struct account *got;
	cr_assert_eq(account_at(reader, lent, id, &got), OK);
	same(got, reader, false);
	account_free(&got);
}

/* Jobs borrow an account and start some commits later. Meanwhile it is changed, and sometimes evicted. */
Test(account_cache, a_reader_has_the_account_of_its_own_view)
{
	struct lent lent[3] = {{.count = 0}};
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = below(4); i; i--) {
			cached(id);
			change_something();
			save();
			if (below(12) == 0) account_forget(&cache, id);
		}
		scratch_commit(&s);
		struct lent *mine = &lent[round % 3];
		lent_free(mine);
		lent_add(mine, cached(id));
		cr_assert_eq(db_reader_begin(reader), OK);
		change_something();
		save();
		for (unsigned i = 0; i < 3; i++)
			expect_at(&lent[i]);
		scratch_commit(&s);
		for (unsigned i = 0; i < 3; i++)
			expect_at(&lent[i]);
		db_reader_end(reader);
		arena_reset(&reader_arena);
	}
	for (unsigned i = 0; i < 3; i++)
		lent_free(&lent[i]);
}

Test(account_cache, a_reader_shares_parsed_parts_of_the_writer)
{
	const struct template *mine, *theirs;
	struct lent            lent = {.count = 0};
	struct account        *got;
	put_template(1, "one");
	save();
	scratch_commit(&s);
	cr_assert_eq(account_template(cached(id), s.view, 1, &mine), OK);
	lent_add(&lent, cached(id));
	put_hook(1, true, 1);
	save();
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(account_at(reader, &lent, id, &got), OK);
	cr_expect(got == cached(id) && got != lent.of[0]);
	cr_assert_eq(account_template(got, reader, 1, &theirs), OK);
	cr_expect_eq(mine, theirs);
	account_free(&got);
	lent_free(&lent);
	cr_expect_eq(account_at(reader, &lent, (struct account_id){{'z'}}, &got), ERR_NOT_FOUND);
	db_reader_end(reader);
}

Test(account_cache, knows_the_last_ledger_row)
{
	struct ledger_row entry = {.what = LEDGER_CREATED};
	cr_assert_eq(ledger_put(s.view, id, 41, &entry), OK);
	scratch_save(&s);
	cached(id);
	cr_expect_eq(account_ends(&cache, id)->ledger, 41);
	cr_expect_null(account_ends(&cache, neighbour));
}
