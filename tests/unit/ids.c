/* Identifiers: each text form, refused forms, and the shard of an account. */
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct account_id account = {{0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf}};
#define ACCOUNT_PART "abcdefghijklmnop"

Test(ids, account_reads_as_it_was_written)
{
	char              text[ACCOUNT_ID_TEXT];
	struct account_id got;
	account_id_text(account, text);
	cr_assert_str_eq(text, "acc_" ACCOUNT_PART);
	cr_assert(account_id_read(span_str(text), &got));
	cr_expect_arr_eq(got.b, account.b, sizeof(account.b));
	account_id_text((struct account_id){{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}}, text);
	cr_expect_str_eq(text, "acc_7777777777777777");
}

Test(ids, refuses_other_accounts)
{
	static const char *const texts[] = {"",
	                                    "acc_",
	                                    "acc_abcdefghijklmno",
	                                    "acc_abcdefghijklmnopq",
	                                    "acc_Abcdefghijklmnop",
	                                    "acc_1bcdefghijklmnop",
	                                    "acc_8bcdefghijklmnop",
	                                    "tpl_abcdefghijklmnop"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct account_id got;
		cr_expect(!account_id_read(span_str(texts[i]), &got), "accepted: %s", texts[i]);
	}
}

Test(ids, key_carries_its_account_and_a_hash_of_its_secret)
{
	/* SHA-256 of 52 letters "a", from another implementation. */
	static const uint8_t want[32] = {0x6c, 0x1b, 0x3d, 0xc7, 0xa7, 0x06, 0xb9, 0xdc, 0x81, 0x35, 0x2a,
	                                 0x67, 0x16, 0xb9, 0xc6, 0x66, 0xc6, 0x08, 0xd8, 0x62, 0x62, 0x72,
	                                 0xc6, 0x4b, 0x91, 0x4a, 0xb0, 0x55, 0x72, 0xfc, 0x6e, 0x84};
	char                 text[API_KEY_TEXT];
	uint8_t              hash[32];
	struct account_id    got;
	api_key_make(account, (const uint8_t[32]){0}, text);
	cr_assert_str_eq(text, "sk_" ACCOUNT_PART "_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	cr_assert(api_key_read(span_str(text), &got, hash));
	cr_expect_arr_eq(got.b, account.b, sizeof(account.b));
	cr_expect_arr_eq(hash, want, sizeof(want));
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char spoilt[API_KEY_TEXT];
		memcpy(spoilt, text, sizeof(spoilt));
		spoilt[i] = '!';
		cr_expect(!api_key_read(span_str(spoilt), &got, hash), "accepted: %s", spoilt);
	}
	cr_expect(!api_key_read(span_of(text, sizeof(text) - 2), &got, hash));
}

Test(ids, template_carries_its_account_and_number)
{
	static const struct {
		const char *tail;
		uint32_t    want; /* 0: refused */
	} rows[] = {{"1", 1},           {"4294967295", UINT32_MAX},
	            {"4294967296", 0},  {"0", 0},
	            {"01", 0},          {"", 0},
	            {"1a", 0},          {"-1", 0},
	            {"99999999999", 0}, {" 1", 0},
	            {"12", 12}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char              text[64], again[TEMPLATE_ID_TEXT];
		struct account_id got;
		uint32_t          number = 0;
		snprintf(text, sizeof(text), "tpl_" ACCOUNT_PART "_%s", rows[i].tail);
		bool read = template_id_read(span_str(text), &got, &number);
		cr_expect_eq(read, rows[i].want > 0, "%s", text);
		if (!read) continue;
		cr_expect_eq(number, rows[i].want);
		template_id_text(got, number, again);
		cr_expect_str_eq(again, text);
	}
}

Test(ids, uuid_is_of_version_7)
{
	static const uint8_t random[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	char                 text[UUID_TEXT];
	struct uuid          id = uuid_v7((wall_us){INT64_C(0x0123456789ab) * 1000 + 999}, random), got;
	uuid_text(id, text);
	cr_assert_str_eq(text, "01234567-89ab-7f9f-bfff-ffffffffff01");
	cr_assert(uuid_read(span_str("01234567-89AB-7f9F-BFFF-ffffffffff01"), &got));
	cr_expect_arr_eq(got.b, id.b, sizeof(id.b));
	cr_expect(!uuid_read(span_str("01234567089ab-7fff-bfff-ffffffffff01"), &got));
	cr_expect(!uuid_read(span_str("0123456789ab7fffbfffffffffffff01"), &got));
	cr_expect(!uuid_read(span_str("01234567-89ab-7fff-bfff-ffffffffff0g"), &got));
}

Test(ids, uuids_contain_their_microsecond_and_sort_by_it)
{
	static const uint8_t high[10] = {0xff, 0xff, 0xff, 0xff, 0xff}, low[10] = {0};
	static const int64_t times[] = {
	    0, 1, 63, 64, 999, 1000, 1700000000123456, 1700000000123457, 1700000000999999};
	struct uuid before, id;
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		id = uuid_v7((wall_us){times[i]}, low);
		cr_expect_eq(uuid_time(id).v, times[i]);
		cr_expect_eq(uuid_time(uuid_v7((wall_us){times[i]}, high)).v, times[i]);
		if (i > 0) cr_expect_gt(memcmp(id.b, before.b, sizeof id.b), 0);
		before = uuid_v7((wall_us){times[i]}, high);
	}
}

Test(ids, accepts_pass_ids_of_valid_utf8_without_controls)
{
	static const struct {
		const char *text;
		bool        want;
	} rows[] = {
	    {"a", true},
	    {"...", true},
	    {"a/b?c", true},
	    {"\xc3\xa9", true},         /* é */
	    {"\xc2\xa0", true},         /* the first character after the C1 controls */
	    {"\xe0\xa0\x80", true},     /* the smallest of three bytes */
	    {"\xed\x9f\xbf", true},     /* the last before the surrogates */
	    {"\xee\x80\x80", true},     /* the first after them */
	    {"\xf0\x90\x80\x80", true}, /* the smallest of four bytes */
	    {"\xf4\x8f\xbf\xbf", true}, /* the last code point */
	    {"", false},
	    {".", false},
	    {"..", false},
	    {"a\x01", false},
	    {"a\x7f", false},
	    {"\xc2\x80", false}, /* C1 */
	    {"\xc2\x9f", false},
	    {"\x80", false},
	    {"\xc0\x80", false}, /* overlong */
	    {"\xc1\xbf", false},
	    {"\xe0\x9f\xbf", false},
	    {"\xf0\x8f\xbf\xbf", false},
	    {"\xed\xa0\x80", false}, /* a surrogate */
	    {"\xed\xbf\xbf", false},
	    {"\xf4\x90\x80\x80", false}, /* beyond the last code point */
	    {"\xf5\x80\x80\x80", false},
	    {"\xc3", false}, /* incomplete */
	    {"\xe2\x82", false},
	    {"\xf0\x9f\x98", false},
	    {"\xc3(", false},
	    {"\xe2(\xa1", false},
	    {"\xff", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(pass_id_is_valid(span_str(rows[i].text)), rows[i].want, "row %zu", i);
	cr_expect(!pass_id_is_valid(span_of("a\0b", 3)));
}

Test(ids, accepts_pass_ids_of_at_most_200_bytes)
{
	char text[201];
	memset(text, 'x', sizeof(text));
	cr_expect(pass_id_is_valid(span_of(text, 200)));
	cr_expect(!pass_id_is_valid(span_of(text, 201)));
}

Test(ids, slots_cover_all_shards_evenly)
{
	for (uint32_t shards = 1; shards <= SHARDS_MAX; shards++) {
		uint32_t counts[SHARDS_MAX] = {0};
		for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
			uint32_t shard = slot_shard(slot, shards);
			cr_assert_lt(shard, shards);
			counts[shard]++;
		}
		for (uint32_t shard = 0; shard < shards; shard++)
			cr_expect(counts[shard] - SLOT_COUNT / shards <= 1, "%u of %u", shard, shards);
	}
}

Test(ids, placement_never_changes)
{
	/* CRC-32C of these ten bytes modulo 4096, computed bit by bit in another language. Stored data
	 * depends on it. */
	cr_expect_eq(account_slot(account), 3724);
	cr_expect_eq(account_slot((struct account_id){{0}}), 107);
}
