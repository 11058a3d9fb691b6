/* SHA-256: the standard's examples, in any division into pieces. */
#include "schemas/sha256.h"

#include <criterion/criterion.h>
#include <pthread.h>

static const struct {
	const char *text;
	uint8_t     begins[4];
} examples[] = {
    {"", {0xe3, 0xb0, 0xc4, 0x42}},
    {"abc", {0xba, 0x78, 0x16, 0xbf}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x24, 0x8d, 0x6a, 0x61}},
};

static void check_examples(void)
{
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		struct span text = span_str(examples[i].text);
		uint8_t     whole[SHA256_BYTES], cut[SHA256_BYTES];
		sha256_of(&text, 1, whole);
		cr_expect_arr_eq(whole, examples[i].begins, 4, "%s", examples[i].text);
		for (size_t at = 0; at <= text.size; at++) {
			struct span pieces[] = {
			    span_of(text.at, at), {NULL, 0}, span_of(text.at + at, text.size - at)};
			sha256_of(pieces, 3, cut);
			cr_expect_arr_eq(cut, whole, SHA256_BYTES, "%s cut at %zu", examples[i].text, at);
		}
	}
}

Test(sha256, has_the_standards_values_in_any_pieces)
{
	check_examples();
}

static void *check_in_thread(void *nothing)
{
	check_examples();
	return nothing;
}

Test(sha256, each_thread_has_its_own_state)
{
	pthread_t threads[4];
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, check_in_thread, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
