/* The header: valid keys, and which requests count as the same. */
#include "http/idempotency_key.h"

#include <criterion/criterion.h>

Test(idempotency_key, is_visible_ascii_of_bounded_length)
{
	char text[300];
	memset(text, 'k', sizeof text);
	for (size_t size = 0; size <= sizeof text; size++)
		cr_expect_eq(idempotency_key_is_valid(span_of(text, size)), size >= 1 && size <= 255, "%zu",
		             size);
	for (unsigned c = 0; c < 256; c++) {
		char around[] = {'a', (char)c, 'b'};
		cr_expect_eq(idempotency_key_is_valid(span_of(around, 3)), c > ' ' && c < 0x7f, "byte %u", c);
	}
}

static struct idempotency of(const char *key, const char *method, const char *target, const char *body)
{
	struct idempotency idempotency;
	const struct span  request[] = {span_str(method), span_str(target), span_str(body)};
	idempotency_of(span_str(key), request, &idempotency);
	return idempotency;
}

static bool same(struct idempotency a, struct idempotency b)
{
	return !memcmp(a.request, b.request, sizeof a.request);
}

Test(idempotency_key, a_request_is_its_method_its_target_and_its_body)
{
	struct idempotency first = of("k", "POST", "/v1/passes", "{}");
	cr_expect(same(first, of("k", "POST", "/v1/passes", "{}")));
	cr_expect(same(first, of("another", "POST", "/v1/passes", "{}")));
	cr_expect_not(same(first, of("k", "PUT", "/v1/passes", "{}")));
	cr_expect_not(same(first, of("k", "POST", "/v1/passes?", "{}")));
	cr_expect_not(same(first, of("k", "POST", "/v1/passes", "{} ")));
	cr_expect_not(same(first, of("k", "POST", "/v1/passes", "")));
	cr_expect_not(same(of("k", "POST", "/v1/a", "b"), of("k", "POST", "/v1/ab", "")));
}

Test(idempotency_key, differs_from_every_other)
{
	struct idempotency one = of("k", "POST", "/", ""), again = of("k", "PUT", "/", "");
	struct idempotency other = of("K", "POST", "/", "");
	cr_expect_arr_eq(one.key, again.key, sizeof one.key);
	cr_expect(memcmp(one.key, other.key, sizeof one.key));
}
