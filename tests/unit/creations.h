/* The shard's memory of passes being issued, under test, and short functions for it. Criterion runs each test
 * in its own process, so these can be static. */
#pragma once
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

static inline void begin(void)
{
	scratch_open(&s);
	cr_assert_eq(issuance_load(&issuance, s.view, PLACES), OK);
}

static inline void end(void)
{
	issuance_free(&issuance);
	cr_expect(issuance.pass_count == 0 && issuance.wait_count == 0 && issuance.asked_count == 0);
	for (int i = 0; i < FETCH_STATES; i++)
		cr_expect(TAILQ_EMPTY(&issuance.fetches[i]));
	scratch_close(&s);
}

static inline void pass_ms(int64_t ms)
{
	now.v += ms * US_PER_MS;
}

static inline void seen(void)
{
	cr_assert_eq(issuance_on_writes(&issuance, &s.staged, now), OK);
	scratch_save(&s);
}

static inline void create(struct account_id account, uint32_t number)
{
	struct issuing row = {.begun = {1}, .logo = span_str("x")};
	must(!issuing_put(s.view, account, number, &row));
	seen();
}

static inline void leave(struct account_id account, uint32_t number)
{
	must(!issuing_del(s.view, account, number));
	seen();
}

static inline struct creating *next(void)
{
	return issuance_next(&issuance, now, &why);
}

/* Takes the next pass, which must be this one, and adds the image to its wanted images. */
static inline void want(struct account_id account, uint32_t number, const char *url)
{
	struct creating *pass = next();
	cr_assert(pass && pass->number == number && account_same(pass->account->id, account));
	cr_assert_null(why);
	cr_assert_eq(issuance_want(&issuance, pass, "logo", span_str(url), now), OK);
}

static inline void wants_number(struct account_id account, uint32_t number)
{
	char url[16];
	snprintf(url, sizeof url, "%c%u", account.b[0], number);
	want(account, number, url);
}

/* The next URL to be requested; "" if there is none. */
static inline const char *asked(uint64_t *id)
{
	static char   url[64];
	struct fetch *fetch = issuance_next_fetch(&issuance, now);
	snprintf(url, sizeof url, "%.*s", fetch ? (int)fetch->url_size : 0, fetch ? fetch->url : "");
	if (id) *id = fetch ? fetch->ask_id : 0;
	return url;
}
