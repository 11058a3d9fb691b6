/* Judges answers of APNs. */
#include "actors/timer/apns/answer.h"

#include "schemas/json.h"

#include <stdio.h>

struct rule {
	int            status; /* 0: any */
	const char    *reason; /* NULL: any */
	enum apns_fate fate;
};

/* The first row that fits decides. */
static const struct rule rules[] = {
    {200, NULL, APNS_DONE},
    {410, NULL, APNS_GONE},
    {400, "BadDeviceToken", APNS_GONE},
    {400, "DeviceTokenNotForTopic", APNS_GONE},
    {400, "BadTopic", APNS_HELD},
    {403, "ExpiredProviderToken", APNS_TOKEN_EXPIRED},
    {403, NULL, APNS_HELD},
    {429, "TooManyProviderTokenUpdates", APNS_TOKEN_TOO_NEW},
    {429, NULL, APNS_AGAIN},
};

static enum apns_fate fate_of(int status, const char *reason)
{
	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
		const struct rule *rule = &rules[i];
		if (rule->status == status && (!rule->reason || !strcmp(rule->reason, reason)))
			return rule->fate;
	}
	return status >= 400 && status < 500 ? APNS_REFUSED : APNS_AGAIN;
}

static bool is_word(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == '"' || text.at[i] == '\\')
			return false;
	return text.size > 0;
}

static void read_body(struct span body, struct apns_answer *answer)
{
	struct arena arena = {.blocks = NULL};
	struct json *json;
	if (!body.size || json_parse(body, &arena, &json) || json->kind != JSON_OBJECT) goto out;
	const struct json *reason = json_member(json, "reason"), *at = json_member(json, "timestamp");
	if (reason && reason->kind == JSON_STRING && is_word(reason->text) &&
	    reason->text.size < sizeof answer->reason)
		memcpy(answer->reason, reason->text.at, reason->text.size);
	if (at && at->kind == JSON_NUMBER && json_integer(at, &answer->at_ms) && answer->at_ms < 0)
		answer->at_ms = 0;
out:
	arena_free(&arena);
}

void apns_judge(int status, struct span body, struct apns_answer *answer)
{
	*answer = (struct apns_answer){.at_ms = 0};
	if (status != 200) read_body(body, answer);
	answer->fate = fate_of(status, answer->reason);
	if (answer->fate != APNS_DONE && !answer->reason[0])
		snprintf(answer->reason, sizeof answer->reason, "status %d", status);
}
