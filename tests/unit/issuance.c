/* The shard's memory of passes being issued: one fetch for each URL, the end of an issuance, and the waiting
 * requests. */
#include "tests/unit/creations.h"

TestSuite(issuance, .init = begin, .fini = end);

static bool wait_for(struct account_id account, uint32_t number, uint64_t call_id)
{
	const struct creation_wait wait = {.account = account, .number = number, .call_id = call_id};
	return issuance_wait(&issuance, &wait);
}

static uint64_t told(void)
{
	struct creation_wait *wait = issuance_next_ended(&issuance, now);
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
	cr_assert_str_eq(asked(NULL), "u", "it belongs to the other account");
	cr_assert_str_eq(asked(NULL), "");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	for (uint32_t i = 0; i < 3; i++) {
		struct creating *pass = next();
		cr_assert(pass && pass->number == i && !why);
		leave(a, i);
	}
	cr_expect_null(next());
}

Test(issuance, gives_each_image_its_own_time_limit)
{
	uint64_t id;
	create(a, 7);
	want(a, 7, "logo");
	cr_assert_str_eq(asked(&id), "logo");
	pass_ms(ISSUANCE_TRY_MS - 1);
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	want(a, 7, "banner");
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_null(next(), "the banner was not requested yet");
	cr_assert_str_eq(asked(&id), "banner");
	pass_ms(ISSUANCE_TRY_MS);
	cr_expect_not_null(next());
}

Test(issuance, fails_refused_images_at_once)
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

Test(issuance, retries_temporary_failures_and_fails_in_the_end)
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
	cr_expect_str_eq(asked(NULL), "", "no pass waits for it");
}

Test(issuance, fails_images_that_never_answer_and_repeats_lost_fetches)
{
	create(a, 7);
	want(a, 7, "u");
	cr_expect_str_eq(asked(NULL), "u");
	pass_ms(FETCH_ANSWER_MS);
	cr_expect_str_eq(asked(NULL), "");
	pass_ms(FETCH_REST_MS);
	cr_expect_null(next(), "the pass still has time");
	cr_expect_str_eq(asked(NULL), "u");
	pass_ms(ISSUANCE_TRY_MS);
	cr_assert_not_null(next());
	cr_expect_str_eq(why, "logo: it did not come in time");
	leave(a, 7);
}

static void put_template(uint32_t number)
{
	struct issuing row = {.begun = {1}, .logo = span_str("x")};
	must(!template_images_put(s.view, a, number, &row));
	seen();
}

Test(issuance, retries_a_templates_images_after_a_pause)
{
	uint64_t id;
	create(a, 1);
	put_template(1);
	struct creating *pass = next(), *template = next();
	cr_assert(pass && template && pass != template && template->kind == CREATING_TEMPLATE);
	cr_expect_eq(issuance.pass_count, 1, "a template is no pass");
	cr_assert_eq(issuance_want(&issuance, template, "logo", span_str("u"), now), OK);
	cr_assert_str_eq(asked(&id), "u");
	issuance_fetched(&issuance, id, ERR_IMAGE_REFUSED, span_str("no"), now);
	cr_assert_eq(next(), template);
	cr_expect_str_eq(why, "logo: no");
	issuance_rest(&issuance, template, (dur_us){TEMPLATE_REST_S * US_PER_SEC}, now);
	pass_ms(TEMPLATE_REST_S * 1000 - 1);
	cr_expect_null(next());
	pass_ms(1);
	cr_assert_eq(next(), template);
	cr_expect_null(why);
	issuance_rest(&issuance, template, (dur_us){TEMPLATE_REST_S * US_PER_SEC}, now);
	put_template(1);
	cr_assert_not_null((template = next()), "another file gets another try");
	issuance_rest(&issuance, template, (dur_us){TEMPLATE_REST_S * US_PER_SEC}, now);
	must(!template_images_del(s.view, a, 1));
	seen();
	pass_ms(TEMPLATE_REST_S * 1000);
	cr_expect_null(next());
	leave(a, 1);
}

Test(issuance, counts_no_time_while_nothing_can_be_tried)
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

Test(issuance, counts_no_time_of_a_fetch_without_a_slot)
{
	uint64_t id;
	create(a, 7);
	want(a, 7, "u");
	pass_ms(2 * ISSUANCE_TRY_MS);
	cr_expect_null(next(), "it was never requested");
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

Test(issuance, repeats_fetches_with_another_timer)
{
	uint64_t old, id;
	create(a, 7);
	want(a, 7, "u");
	asked(&old);
	issuance_forget_asked(&issuance);
	cr_expect_str_eq(asked(&id), "u");
	issuance_fetched(&issuance, old, ERR_IMAGE_REFUSED, span_str("late"), now);
	cr_expect_null(next(), "the old timer's answer is ignored");
	issuance_fetched(&issuance, id, OK, span_str(""), now);
	cr_expect_not_null(next());
}

Test(issuance, answers_waiting_requests_at_the_end_or_their_deadline)
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
	cr_expect_not(wait_for(a, 1, 13), "the pass has left");
}

Test(issuance, limits_waiting_requests)
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

Test(issuance, starts_from_the_table_without_waiting_requests)
{
	create(b, 2);
	create(a, 9);
	create(a, 4);
	scratch_commit(&s);
	issuance_free(&issuance);
	issuance = (struct issuance){.ended = NULL};
	cr_assert_eq(issuance_load(&issuance, s.view, PLACES), OK);
	cr_expect_eq(issuance.pass_count, 3);
	cr_expect_not(wait_for(a, 4, 1));
	want(a, 4, "u");
	want(b, 2, "u");
	want(a, 9, "v");
}

/* Whatever happens in any order, nothing is lost: in the end every pass has been issued or has failed. */
Test(issuance, random_operations_lose_nothing)
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

/* As many as rest may be due at any moment: a new pass must not wait for all of them. */
Test(issuance, new_passes_take_turns_with_those_that_rested)
{
	for (uint32_t i = 1; i <= 10; i++)
		put_template(i);
	for (unsigned i = 0; i < 10; i++) {
		struct creating *template = next();
		cr_assert_not_null(template);
		issuance_rest(&issuance, template, (dur_us){US_PER_SEC}, now);
	}
	pass_ms(1000);
	create(a, 7);
	bool is_new = false;
	for (unsigned i = 0; i < 2; i++) {
		struct creating *looked_at = next();
		cr_assert_not_null(looked_at);
		is_new |= looked_at->kind == CREATING_PASS;
	}
	cr_expect(is_new);
}

Test(issuance, what_rests_comes_in_order_of_its_time)
{
	put_template(1);
	put_template(2);
	struct creating *late = next(), *early = next();
	cr_assert(late && early);
	issuance_rest(&issuance, late, (dur_us){2 * US_PER_SEC}, now);
	issuance_rest(&issuance, early, (dur_us){US_PER_SEC}, now);
	pass_ms(1000);
	cr_assert_eq(next(), early);
	cr_expect_null(next());
	pass_ms(1000);
	cr_assert_eq(next(), late);
}
