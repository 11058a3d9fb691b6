/* actors/timer/apns/answer.h: what each answer of APNs means. */
#include "actors/timer/apns/answer.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct apns_answer judged(int status, const char *body)
{
	struct apns_answer answer;
	apns_judge(status, span_str(body), &answer);
	return answer;
}

static enum apns_fate fate(int status, const char *reason)
{
	char body[128];
	snprintf(body, sizeof body, "{\"reason\":\"%s\"}", reason);
	struct apns_answer answer = judged(status, body);
	cr_expect_str_eq(answer.reason, status == 200 ? "" : reason);
	return answer.fate;
}

Test(apns_answer, each_answer_has_its_fate)
{
	cr_expect_eq(judged(200, "").fate, APNS_DONE);
	cr_expect_eq(fate(410, "Unregistered"), APNS_GONE);
	cr_expect_eq(fate(410, "ExpiredToken"), APNS_GONE);
	cr_expect_eq(fate(400, "BadDeviceToken"), APNS_GONE);
	cr_expect_eq(fate(400, "DeviceTokenNotForTopic"), APNS_GONE);
	cr_expect_eq(fate(400, "BadTopic"), APNS_HELD);
	cr_expect_eq(fate(403, "BadCertificate"), APNS_HELD);
	cr_expect_eq(fate(403, "InvalidProviderToken"), APNS_HELD);
	cr_expect_eq(fate(403, "ExpiredProviderToken"), APNS_TOKEN_EXPIRED);
	cr_expect_eq(fate(429, "TooManyProviderTokenUpdates"), APNS_TOKEN_TOO_NEW);
	cr_expect_eq(fate(429, "TooManyRequests"), APNS_AGAIN);
	cr_expect_eq(fate(500, "InternalServerError"), APNS_AGAIN);
	cr_expect_eq(fate(503, "Shutdown"), APNS_AGAIN);
	cr_expect_eq(fate(400, "BadMessageId"), APNS_REFUSED);
	cr_expect_eq(fate(404, "BadPath"), APNS_REFUSED);
	cr_expect_eq(fate(413, "PayloadTooLarge"), APNS_REFUSED);
}

Test(apns_answer, what_is_no_status_of_apns_is_repeated)
{
	cr_expect_eq(judged(0, "").fate, APNS_AGAIN);
	cr_expect_eq(judged(301, "").fate, APNS_AGAIN);
	cr_expect_eq(judged(204, "").fate, APNS_AGAIN);
}

Test(apns_answer, the_time_of_a_phone_that_is_gone)
{
	cr_expect_eq(judged(410, "{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}").at_ms,
	             1700000000000);
	cr_expect_eq(judged(410, "{\"reason\":\"Unregistered\"}").at_ms, 0);
	cr_expect_eq(judged(410, "{\"timestamp\":-5}").at_ms, 0);
	cr_expect_eq(judged(410, "{\"timestamp\":\"1700000000000\"}").at_ms, 0);
}

Test(apns_answer, a_body_that_cannot_be_read_leaves_the_status)
{
	static const char *const bodies[] = {"",
	                                     "null",
	                                     "[]",
	                                     "{",
	                                     "{\"reason\":7}",
	                                     "{\"reason\":\"\"}",
	                                     "{\"reason\":\"two words\"}",
	                                     "{\"reason\":\"a\\\"b\"}",
	                                     "{\"reason\":\"\\u0007\"}",
	                                     "{\"reason\":\"\\u00e4\"}"};
	for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct apns_answer answer = judged(413, bodies[i]);
		cr_expect_str_eq(answer.reason, "status 413", "%s", bodies[i]);
		cr_expect_eq(answer.fate, APNS_REFUSED);
	}
	char body[300];
	snprintf(body, sizeof body, "{\"reason\":\"%0200d\"}", 1);
	cr_expect_str_eq(judged(400, body).reason, "status 400");
}
