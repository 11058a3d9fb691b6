/* Fairness among passes being issued, their accounts and images. */
#include "tests/unit/creations.h"

TestSuite(issuance_turns, .init = begin, .fini = end);

Test(issuance_turns, alternates_accounts_with_a_limit_of_images_each)
{
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX + 2; i++)
		create(a, i);
	create(b, 0);
	wants_number(a, 0);
	wants_number(b, 0);
	for (uint32_t i = 1; i < FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, i);
	cr_expect_null(next(), "the account has reached its limit");
	leave(a, 3);
	wants_number(a, FETCHES_ACCOUNT_MAX);
	cr_expect_null(next());
}

Test(issuance_turns, limits_concurrent_fetches_and_prefers_new_ones)
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

/* Accounts 1 to `count`, each with as many images as allowed, each on its own host. */
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

Test(issuance_turns, leaves_a_slot_for_the_next_account_however_many_hang)
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

Test(issuance_turns, counts_no_time_while_an_image_waits_for_a_slot)
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
	cr_expect_null(next(), "an image that was not requested has its full time");
}

Test(issuance_turns, gives_accounts_with_hanging_images_half_of_the_slots)
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

/* Requests images until the account's limit is reached, and lets all of them hang until they fail. */
static unsigned hang_once(void)
{
	uint64_t ids[PLACES];
	unsigned count = ask_all(ids);
	pass_ms(EGRESS_IMAGE_MS);
	for (unsigned i = 0; i < count; i++)
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("timeout"), now);
	return count;
}

Test(issuance_turns, queues_images_of_a_hanging_host_last)
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
	cr_expect_eq(hang_once(), FETCHES_AGAIN_MAX - 2, "half of the slots are free");
}

Test(issuance_turns, gives_a_hanging_host_one_slot_beside_new_images)
{
	uint64_t id;
	unsigned dead = 0;
	char     url[32];
	for (uint32_t i = 0; i < 2 * FETCHES_ACCOUNT_MAX; i++)
		create(a, i);
	for (uint32_t i = 0; i < 2 * FETCHES_ACCOUNT_MAX; i++) {
		const bool is_dead = i < FETCHES_ACCOUNT_MAX;
		if (i == FETCHES_ACCOUNT_MAX) cr_assert_eq(hang_once(), 2);
		snprintf(url, sizeof url, "https://%s.example/%u", is_dead ? "dead" : "good", i);
		want(a, i, url);
	}
	for (unsigned i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		dead += strstr(asked(&id), "dead") != NULL;
	cr_expect_eq(dead, FETCHES_HUNG_MAX);
	cr_expect_str_eq(asked(NULL), "");
}

/* The first fetch fails once, while new ones are queued continuously. */
Test(issuance_turns, retries_temporary_failures_while_new_images_arrive)
{
	uint64_t id, first;
	for (uint32_t i = 0; i < 3 * FETCHES_ACCOUNT_MAX; i++)
		create(a, i);
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, i);
	cr_assert_str_eq(asked(&first), "a0");
	issuance_fetched(&issuance, first, ERR_IMAGE_UNREACHABLE, span_str("busy"), now);
	wants_number(a, FETCHES_ACCOUNT_MAX);
	cr_assert_str_eq(asked(&id), "a1", "the first one waits before its retry");
	pass_ms(FETCH_REST_MS);
	cr_expect_str_eq(asked(NULL), "a0");
	cr_expect_str_eq(asked(NULL), "a2");
}

Test(issuance_turns, leaves_half_of_the_slots_to_new_images)
{
	uint64_t ids[FETCHES_ACCOUNT_MAX];
	unsigned fresh = 0;
	for (uint32_t i = 0; i < 4 * FETCHES_ACCOUNT_MAX; i++)
		create(a, i);
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, i);
	for (unsigned i = 0; i < FETCHES_ACCOUNT_MAX; i++) {
		(void)!asked(&ids[i]);
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("busy"), now);
	}
	for (uint32_t i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, FETCHES_ACCOUNT_MAX + i);
	pass_ms(FETCH_REST_MS);
	for (unsigned i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		fresh += strtoul(asked(NULL) + 1, NULL, 10) >= FETCHES_ACCOUNT_MAX;
	cr_expect_eq(fresh, FETCHES_ACCOUNT_MAX - FETCHES_AGAIN_MAX);
}

Test(issuance_turns, limits_retries_of_a_hanging_host)
{
	enum { DEAD = FETCHES_AGAIN_MAX + 2 };
	uint64_t ids[PLACES], id;
	char     url[32];
	unsigned dead = 0;
	for (uint32_t i = 0; i < DEAD + FETCHES_ACCOUNT_MAX; i++)
		create(a, i);
	for (uint32_t i = 0; i < DEAD; i++) {
		snprintf(url, sizeof url, "https://dead.example/%u", i);
		want(a, i, url);
		(void)!asked(&id);
		issuance_fetched(&issuance, id, ERR_IMAGE_UNREACHABLE, span_str("busy"), now);
	}
	pass_ms(FETCH_REST_MS);
	cr_assert_eq(ask_all(ids), FETCHES_AGAIN_MAX);
	pass_ms(EGRESS_SLOW_MS + 1);
	for (unsigned i = 0; i < FETCHES_AGAIN_MAX; i++)
		issuance_fetched(&issuance, ids[i], ERR_IMAGE_UNREACHABLE, span_str("timeout"), now);
	for (uint32_t i = DEAD; i < DEAD + FETCHES_ACCOUNT_MAX; i++)
		wants_number(a, i);
	for (unsigned i = 0; i < FETCHES_ACCOUNT_MAX; i++)
		dead += strstr(asked(NULL), "dead") != NULL;
	cr_expect_eq(dead, FETCHES_HUNG_MAX);
}

Test(issuance_turns, clears_the_mark_of_a_host_that_answers)
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
