/* actors/timer/apns/provider_token.h: how often provider tokens are made, and for which key. */
#include "actors/timer/apns/provider_token.h"

#include <criterion/criterion.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <stdio.h>

static struct provider_tokens *tokens;
static struct provider         provider;
static char                    last[512];

static void begin(void)
{
	cr_assert_eq(provider_tokens_open(&tokens), OK);
	provider = (struct provider){
	    .team = span_str("TEAM"), .key_id = span_str("KEY"), .key = EVP_EC_gen("P-256")};
}

static void end(void)
{
	provider_tokens_close(&tokens);
	EVP_PKEY_free(provider.key);
}

/* Is it another one than the last? */
static bool is_new(int64_t minutes)
{
	const char *token = provider_token(tokens, &provider, (mono_us){minutes * 60 * US_PER_SEC},
	                                   (wall_us){(1800000000 + minutes * 60) * US_PER_SEC});
	cr_assert(token && !strncmp(token, "bearer ey", 9));
	bool differs = strcmp(token, last);
	snprintf(last, sizeof last, "%s", token);
	return differs;
}

Test(provider_token, lives_for_fifty_minutes, .init = begin, .fini = end)
{
	cr_expect(is_new(0));
	cr_expect(!is_new(1));
	cr_expect(!is_new(49));
	cr_expect(is_new(50));
	cr_expect(!is_new(99));
	cr_expect(is_new(100));
}

static bool expire(int sent_minute, int minute)
{
	return provider_token_expire(tokens, &provider, (mono_us){sent_minute * 60 * US_PER_SEC},
	                             (mono_us){minute * 60 * US_PER_SEC});
}

Test(provider_token, an_expired_one_is_replaced_unless_it_is_young, .init = begin, .fini = end)
{
	cr_expect(is_new(0));
	cr_expect(!expire(19, 19));
	cr_expect(!is_new(19));
	cr_expect(expire(20, 20));
	cr_expect(expire(20, 20));
	cr_expect(is_new(20));
	cr_expect(!is_new(21));
	cr_expect(expire(19, 21), "the push had the former one");
	cr_expect(!is_new(21), "which was replaced");
	cr_expect(!expire(20, 21));
}

Test(provider_token, another_key_under_the_same_name_has_its_own, .init = begin, .fini = end)
{
	cr_expect(is_new(0));
	EVP_PKEY *first = provider.key, *other = provider.key = EVP_EC_gen("P-256");
	cr_expect(is_new(0));
	provider.key = first;
	cr_expect(is_new(0));
	EVP_PKEY_free(other);
}

Test(provider_token, team_and_key_id_are_not_run_together, .init = begin, .fini = end)
{
	cr_expect(is_new(0));
	provider.team = span_str("TEAMK");
	provider.key_id = span_str("EY");
	cr_expect(is_new(0));
}

/* More names than are kept: the oldest go. */
Test(provider_token, many_names_find_room, .init = begin, .fini = end)
{
	char name[16];
	for (unsigned i = 0; i < 1200; i++) {
		snprintf(name, sizeof name, "TEAM%u", i);
		provider.team = span_str(name);
		cr_expect(is_new(0));
	}
	cr_expect(!is_new(0));
}
