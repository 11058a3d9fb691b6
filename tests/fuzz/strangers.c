/* What phones, Apple and Google send about passes in wallets. The first byte selects the reader. */
#include "tests/fuzz/fuzz.h"

#include "actors/timer/apns/answer.h"
#include "http/phone_parts.h"
#include "schemas/wallet/tag.h"
#include "tests/unit/callback_read.h"

static void check_answer(struct span bytes)
{
	struct supply      supply = {bytes};
	struct apns_answer answer;
	int                status = (int)supply_number(&supply, 2) % 1000;
	apns_judge(status, supply_rest(&supply), &answer);
	must(answer.fate >= APNS_DONE && answer.fate <= APNS_TOKEN_TOO_NEW);
	must((answer.fate == APNS_DONE) == (status == 200));
	must(memchr(answer.reason, 0, sizeof answer.reason));
	must((answer.fate == APNS_DONE) == !answer.reason[0]);
	for (const char *at = answer.reason; *at; at++)
		must(*at >= ' ' && *at <= '~');
	must(answer.at_ms >= 0);
}

/* The keys are the stranger's own, so that what they sign is looked at as well. */
static void check_callback(struct span bytes)
{
	struct supply          supply = {bytes};
	struct arena           arena = {.blocks = NULL};
	struct google_callback callback;
	struct google_judge    judge = {.now_ms = 1};
	judge.roots = supply_bytes(&supply, (size_t)supply_number(&supply, 2));
	if (!callback_read(supply_rest(&supply), &judge, "3388000000012345678", &arena, &callback))
		must(callback.object_id.size && callback.class_id.size && callback.nonce.size &&
		     callback.ends_ms > judge.now_ms);
	arena_free(&arena);
}

static void check_tag(struct span text)
{
	struct wallet_tag tag;
	char              again[WALLET_TAG_TEXT];
	if (!wallet_tag_read(text, &tag)) return;
	wallet_tag_text(&tag, again);
	must(span_is(text, again));
}

static void check_path(struct span text)
{
	struct account_id account;
	struct arena      arena = {.blocks = NULL};
	struct span       decoded;
	if (phone_account_of(text, &account)) must(phone_is_at(text));
	if (phone_decode(text, false, &arena, &decoded)) must(decoded.size <= text.size);
	(void)phone_tag_of(text, &arena);
	(void)phone_auth_of(text);
	arena_free(&arena);
}

static void check_registration(struct span text)
{
	struct arena arena = {.blocks = NULL};
	struct span  token;
	if (!phone_push_token_of(text, &arena, &token)) must(phone_push_token_is_good(token));
	arena_free(&arena);
}

static void check_log(struct span text)
{
	struct arena       arena = {.blocks = NULL};
	const struct json *logs;
	if (!phone_logs_of(text, &arena, &logs)) must(logs->kind == JSON_ARRAY);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const checks[])(struct span text) = {check_answer, check_callback,     check_tag,
	                                                   check_path,   check_registration, check_log};
	if (!size) return 0;
	checks[bytes[0] % (sizeof checks / sizeof *checks)](span_of(bytes + 1, size - 1));
	return 0;
}
