/* Who is issued next, which image is asked for, and who is told: the shard's memory of passes that are being issued. */
#include "actors/shard/issuance/issuance.h"
#include "store/issuing.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { PLACES = EGRESS_FETCHES_MAX / 4 };
static struct scratch          s;
static struct issuance         issuance;
static mono_us                 now = {1000000};
static const char             *why;
static const struct account_id a = {{'a'}}, b = {{'b'}};

static void begin(void)
{
	scratch_open(&s);
	cr_assert_eq(issuance_load(&issuance, s.view, PLACES), OK);
}

static void end(void)
{
	issuance_free(&issuance);
	cr_expect(issuance.pass_count == 0 && issuance.wait_count == 0 && issuance.asked_count == 0);
	for (int i = 0; i < FETCH_STATES; i++)
		cr_expect(TAILQ_EMPTY(&issuance.fetches[i]));
	scratch_close(&s);
}

TestSuite(issuance, .init = begin, .fini = end);

static void pass_ms(int64_t ms)
{
	now.v += ms * US_PER_MS;
}

static void seen(void)
{
	cr_assert_eq(issuance_saw(&issuance, &s.staged, now), OK);
	scratch_save(&s);
}

static void create(struct account_id account, uint32_t number)
{
	struct issuing row = {.begun = {1}, .logo = span_str("x")};
	must(!issuing_put(s.view, account, number, &row));
	seen();
}

static void leave(struct account_id account, uint32_t number)
{
	must(!issuing_del(s.view, account, number));
	seen();
}

static struct creating *next(void)
{
	return issuance_next(&issuance, now, &why);
}

/* Takes the next in hand, which has to be this one, and lets it want that image. */
static void want(struct account_id account, uint32_t number, const char *url)
{
	struct creating *pass = next();
	cr_assert(pass && pass->number == number && !memcmp(pass->account->id.b, account.b, 10));
	cr_assert_null(why);
	cr_assert_eq(issuance_want(&issuance, pass, "logo", span_str(url), now), OK);
}

static void wants_number(struct account_id account, uint32_t number)
{
	char url[16];
	snprintf(url, sizeof url, "%c%u", account.b[0], number);
	want(account, number, url);
}

/* The URL of the next that is asked for; "" when there is none. */
static const char *asked(uint64_t *id)
{
	static char   url[64];
	struct fetch *fetch = issuance_next_fetch(&issuance, now);
	snprintf(url, sizeof url, "%.*s", fetch ? (int)fetch->url_size : 0, fetch ? fetch->url : "");
	if (id) *id = fetch ? fetch->ask_id : 0;
	return url;
}

static bool wait_for(struct account_id account, uint32_t number, uint64_t call_id)
{
	const struct creation_wait wait = {.account = account, .number = number, .call_id = call_id};
	return issuance_wait(&issuance, &wait);
}

static uint64_t told(void)
{
	struct creation_wait *wait = issuance_next_told(&issuance, now);
	uint64_t              id = wait ? wait->call_id : 0;
	free(wait);
	return id;
}

Test(issuance, fetches_one_url_once_for_all_passes_of_an_account)
{
	uint64_t id;
	for (uint32_t i = 0; i < 3; i++)
		create(a, i);
	create(b, 0);
	want(a, 0, "u");
	want(b, 0, "u");
	want(a, 1, "u");
	want(a, 2, "u");
	cr_assert_str_eq(asked(&id), "u");
	cr_assert_str_eq(asked(NULL), "u", "the other account's");
	cr_assert_str_eq(asked(NULL), "");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	for (uint32_t i = 0; i < 3; i++) {
		struct creating *pass = next();
		cr_assert(pass && pass->number == i && !why);
		leave(a, i);
	}
	cr_expect_null(next());
}

Test(issuance, lets_accounts_take_turns_and_each_have_so_many_images)
{
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX + 2; i++)
		create(a, i);
	create(b, 0);
	wants_number(a, 0);
	wants_number(b, 0);
	for (uint32_t i = 1; i < FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, i);
	cr_expect_null(next(), "the account has all it may");
	leave(a, 3);
	wants_number(a, FETCHES_ACCOUNT_MAX);
	cr_expect_null(next());
}

Test(issuance, asks_for_so_many_at_once_and_for_new_ones_first)
{
	uint64_t id = 0, first = 0;
	for (uint8_t i = 0; i <= PLACES; i++) {
		struct account_id account = {{(uint8_t)(i + 1)}};
		create(account, 0);
		wants_number(account, 0);
	}
	for (unsigned i = 0; i < PLACES; i++) {
		cr_assert_str_neq(asked(&id), "");
		if (!first) first = id;
	}
	cr_expect_str_eq(asked(NULL), "");
	issuance_fetched(&issuance, first, ERR_IMAGE_UNREACHABLE, span_str("busy"), now);
	pass_ms(FETCH_REST_MS);
	cr_expect_str_eq(asked(&id), "A0", "the one that never was");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	cr_expect_str_neq(asked(&id), "", "again");
	cr_expect_str_eq(asked(NULL), "");
}

/* Accounts 1 to `count`, each with as many images as it may have, on a host of its own. */
static void many_want(uint8_t count)
{
	char url[32];
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		for (uint8_t n = 1; n <= count; n++) {
			struct account_id account = {{n}};
			create(account, i);
			snprintf(url, sizeof url, "https://%u.example/%u", n, i);
			want(account, i, url);
		}
}

static unsigned ask_all(uint64_t ids[PLACES])
{
	unsigned count = 0;
	while (count < PLACES && *asked(&ids[count]))
		count++;
	return count;
}

Test(issuance, leaves_a_place_for_the_next_account_however_many_hang)
{
	uint64_t ids[PLACES];
	char     url[32];
	for (uint8_t n = 1; n < 48; n++) { /* one after the other */
		struct account_id account = {{n}};
		for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX; i++) {
			create(account, i);
			snprintf(url, sizeof url, "https://%u.example/%u", n, i);
			want(account, i, url);
		}
		cr_expect_geq(ask_all(ids), n == 1 ? 2 : 1);
	}
	pass_ms(ISSUANCE_TRY_MS / 2);
	create(b, 0);
	want(b, 0, "https://b.example/");
	cr_expect_str_eq(asked(NULL), "https://b.example/");
}

Test(issuance, lets_no_time_run_while_an_image_waits_for_a_place)
{
	uint64_t ids[PLACES];
	many_want(PLACES);
	cr_expect_eq(ask_all(ids), PLACES, "one of each");
	create(b, 0);
	want(b, 0, "https://b.example/");
	cr_expect_str_eq(asked(NULL), "");
	pass_ms(ISSUANCE_TRY_MS);
	for (unsigned i = 0; i < PLACES; i++) {
		struct creating *pass = next();
		cr_assert(pass && why && pass->number == 0);
		leave(pass->account->id, 0);
	}
	cr_expect_null(next(), "what was never asked for has all its time");
}

Test(issuance, gives_accounts_whose_images_hang_half_of_the_places)
{
	uint64_t ids[PLACES];
	many_want(45);
	unsigned count = ask_all(ids);
	pass_ms(EGRESS_SLOW_MS + 1);
	for (unsigned i = 0; i < count; i++)
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("timeout"), now);
	count = ask_all(ids);
	cr_expect(count > PLACES / 4 && count <= PLACES / 2, "%u", count);
	pass_ms(EGRESS_SLOW_MS + 1);
	for (unsigned i = 0; i < count; i++)
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("busy"), now);
	for (unsigned i = 0; i < 4; i++) {
		create(b, i);
		wants_number(b, i);
	}
	(void)!ask_all(ids);
	cr_expect_leq(issuance.doubtful_count, PLACES / 2);
	cr_expect_gt(issuance.asked_count, issuance.doubtful_count);
}

/* Asks until the account may ask no more, and lets all of that hang until it fails. */
static unsigned hang_once(void)
{
	uint64_t ids[PLACES];
	unsigned count = ask_all(ids);
	pass_ms(EGRESS_ATTEMPT_MS);
	for (unsigned i = 0; i < count; i++)
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("timeout"), now);
	return count;
}

Test(issuance, puts_images_of_a_host_that_hung_behind_others_of_the_account)
{
	enum { DEAD = 3 * FETCHES_ACCOUNT_MAX };
	char url[32];
	for (uint32_t i = 0; i <= DEAD; i++)
		create(a, i);
	for (uint32_t i = 0; i < DEAD; i++) {
		snprintf(url, sizeof url, "https://dead.example/%u", i);
		if (i == FETCHES_ACCOUNT_MAX) cr_assert_eq(hang_once(), 2);
		want(a, i, url);
	}
	cr_expect_str_eq(asked(NULL), "https://dead.example/2", "nothing else is there to ask for");
	want(a, DEAD, "https://good.example/");
	cr_expect_str_eq(asked(NULL), "https://good.example/");
	cr_expect_eq(hang_once(), FETCHES_AGAIN_MAX - 2, "half of the places are left");
}

Test(issuance, forgets_that_a_host_hung_when_it_answers)
{
	uint64_t id;
	create(a, 0);
	want(a, 0, "https://dead.example/0");
	hang_once();
	pass_ms(FETCH_REST_MS);
	cr_expect_str_eq(asked(&id), "https://dead.example/0");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	cr_expect_not_null(next());
	leave(a, 0);
	create(a, 1);
	create(a, 2);
	want(a, 1, "https://dead.example/1");
	want(a, 2, "https://good.example/");
	cr_expect_str_eq(asked(&id), "https://dead.example/1");
}

Test(issuance, gives_each_image_its_time)
{
	uint64_t id;
	create(a, 7);
	want(a, 7, "logo");
	cr_assert_str_eq(asked(&id), "logo");
	pass_ms(ISSUANCE_TRY_MS - 1);
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	want(a, 7, "banner");
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_null(next(), "the banner was not asked for yet");
	cr_assert_str_eq(asked(&id), "banner");
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_not_null(next());
}

Test(issuance, fails_at_once_what_is_refused)
{
	uint64_t id;
	create(a, 7);
	want(a, 7, "u");
	asked(&id);
	issuance_fetched(&issuance, id, ERR_IMAGE_REFUSED, span_str("it is not a PNG"), now);
	struct creating *pass = next();
	cr_assert(pass && pass->number == 7);
	cr_expect_str_eq(why, "logo: it is not a PNG");
	leave(a, 7);
}

Test(issuance, tries_again_what_may_pass_and_fails_it_in_the_end)
{
	unsigned tries = 0;
	create(a, 7);
	want(a, 7, "u");
	mono_us begun = now;
	while (!next()) {
		uint64_t id;
		if (*asked(&id)) {
			tries++;
			issuance_fetched(&issuance, id, ERR_IMAGE_UNREACHABLE, span_str("status 503"), now);
		}
		pass_ms(100);
	}
	cr_expect_str_eq(why, "logo: status 503");
	cr_expect_eq(now.v - begun.v, ISSUANCE_TRY_MS * US_PER_MS);
	cr_expect_eq(tries, ISSUANCE_TRY_MS / FETCH_REST_MS);
	leave(a, 7);
	cr_expect_str_eq(asked(NULL), "", "nobody wants it");
}

Test(issuance, fails_what_never_answers_and_asks_again_what_was_lost)
{
	create(a, 7);
	want(a, 7, "u");
	cr_expect_str_eq(asked(NULL), "u");
	pass_ms(FETCH_ANSWER_MS);
	cr_expect_str_eq(asked(NULL), "");
	pass_ms(FETCH_REST_MS);
	cr_expect_str_eq(asked(NULL), "u");
	pass_ms(ISSUANCE_TRY_MS);
	cr_assert_not_null(next());
	cr_expect_str_eq(why, "logo: it did not come in time");
	leave(a, 7);
}

Test(issuance, counts_no_time_in_which_nothing_could_be_tried)
{
	create(a, 7);
	want(a, 7, "u");
	cr_expect_str_eq(asked(NULL), "u");
	pass_ms(ISSUANCE_TRY_MS);
	issuance_resume(&issuance, now);
	cr_expect_null(next());
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_not_null(next());
}

Test(issuance, counts_no_time_of_a_fetch_for_which_there_was_no_room)
{
	uint64_t id;
	create(a, 7);
	want(a, 7, "u");
	pass_ms(2 * ISSUANCE_TRY_MS);
	cr_expect_null(next(), "it was never asked for");
	for (unsigned i = 0; i < 2 * ISSUANCE_TRY_MS / FETCH_REST_MS; i++) {
		cr_assert_str_eq(asked(&id), "u");
		issuance_fetched(&issuance, id, ERR_OVERLOADED, span_str(""), now);
		cr_assert_null(next());
		pass_ms(FETCH_REST_MS);
	}
	cr_assert_str_eq(asked(&id), "u");
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_not_null(next());
}

Test(issuance, asks_another_timer_again)
{
	uint64_t old, id;
	create(a, 7);
	want(a, 7, "u");
	asked(&old);
	issuance_forget_asked(&issuance);
	cr_expect_str_eq(asked(&id), "u");
	issuance_fetched(&issuance, old, ERR_IMAGE_REFUSED, span_str("late"), now);
	cr_expect_null(next(), "the old one's word says nothing");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	cr_expect_not_null(next());
}

Test(issuance, tells_those_who_wait_when_the_pass_leaves_or_their_time_is_up)
{
	create(a, 1);
	create(a, 2);
	cr_expect(wait_for(a, 1, 11) && wait_for(a, 1, 12) && wait_for(a, 2, 21));
	cr_expect_eq(told(), 0);
	leave(a, 1);
	cr_expect_eq(told() + told(), 11 + 12);
	cr_expect_eq(told(), 0);
	pass_ms(ISSUANCE_WAIT_MS - 1);
	cr_expect_eq(told(), 0);
	pass_ms(1);
	cr_expect_eq(told(), 21);
	cr_expect_not(wait_for(a, 2, 22), "its time is over");
	cr_expect_not(wait_for(a, 1, 13), "it is gone");
}

Test(issuance, bounds_those_who_wait)
{
	uint32_t accounts = CREATION_WAITS_MAX / CREATION_WAITS_ACCOUNT_MAX;
	for (uint8_t i = 0; i <= accounts; i++) {
		struct account_id account = {{i, 1}};
		create(account, 0);
		for (unsigned n = 0; n < CREATION_WAITS_ACCOUNT_MAX && i < accounts; n++)
			cr_assert(wait_for(account, 0, 1));
		cr_expect_not(wait_for(account, 0, 1));
	}
}

Test(issuance, begins_with_what_the_table_has_and_lets_nobody_wait_for_it)
{
	create(b, 2);
	create(a, 9);
	create(a, 4);
	scratch_commit(&s);
	issuance_free(&issuance);
	issuance = (struct issuance){.told = NULL};
	cr_assert_eq(issuance_load(&issuance, s.view, PLACES), OK);
	cr_expect_eq(issuance.pass_count, 3);
	cr_expect_not(wait_for(a, 4, 1));
	want(a, 4, "u");
	want(b, 2, "u");
	want(a, 9, "v");
}

/* Whatever happens in whatever order, nothing is lost: in the end every pass has left. */
Test(issuance, loses_nothing_by_chance)
{
	enum { ACCOUNTS = 5, NUMBERS = 40, STEPS = 20000 };
	uint64_t chances = chance_begin(), ids[64] = {0};
	bool     there[ACCOUNTS][NUMBERS] = {{false}};
	for (unsigned step = 0; step < STEPS; step++) {
		struct account_id account = {{(uint8_t)(1 + chance_below(&chances, ACCOUNTS))}};
		uint32_t          number = chance_below(&chances, NUMBERS);
		bool             *is_there = &there[account.b[0] - 1][number];
		struct creating  *pass;
		char              url[8];
		switch (chance_below(&chances, 6)) {
		case 0:
			create(account, number);
			*is_there = true;
			(void)!wait_for(account, number, 1);
			break;
		case 1:
			if (*is_there) leave(account, number);
			*is_there = false;
			break;
		case 2:
			if (!(pass = next())) break;
			account = pass->account->id;
			number = pass->number;
			snprintf(url, sizeof url, "%u", chance_below(&chances, 9));
			if (!why && chance_below(&chances, 2)) {
				must(!issuance_want(&issuance, pass, "logo", span_str(url), now));
			} else {
				leave(account, number);
				there[account.b[0] - 1][number] = false;
			}
			break;
		case 3: asked(&ids[chance_below(&chances, 64)]); break;
		case 4:
			issuance_fetched(
			    &issuance, ids[chance_below(&chances, 64)],
			    (enum err[]){OK, ERR_IMAGE_REFUSED, ERR_IO}[chance_below(&chances, 3)],
			    span_str("why"), now);
			break;
		default: pass_ms(chance_below(&chances, 500)); told();
		}
	}
	unsigned left = 0;
	for (unsigned i = 0; i < ACCOUNTS * NUMBERS; i++)
		left += there[i / NUMBERS][i % NUMBERS];
	cr_expect_eq(issuance.pass_count, left);
	for (unsigned i = 0; i < 10000 && left; i++) {
		struct creating *pass;
		uint64_t         id;
		if (*asked(&id)) issuance_fetched(&issuance, id, OK, span_str(""), now);
		if ((pass = next())) {
			leave(pass->account->id, pass->number);
			left--;
		}
		pass_ms(100);
	}
	cr_expect(left == 0 && issuance.pass_count == 0, "%u are left", left);
}
