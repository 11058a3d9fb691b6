/* A measuring tool must not err, so it checks itself: `load --check` runs this, and so does the project's test run. Each check
 * compares a part with the plain and slow way to the same result. */
#include "bench/check.h"
#include "bench/histogram.h"
#include "bench/pace.h"
#include "bench/plan.h"
#include "bench/request.h"
#include "bench/response.h"
#include "bench/script.h"
#include "bench/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { SAMPLES = 20000, FIRST = 7, NAMES = 1000, DRAWS = 400000 };

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Compared with the sorted samples: every quantile within 1 %, the largest exact. */
static const char *histogram_against_sorting(uint32_t value_bits)
{
	static struct histogram histogram;
	static uint64_t         samples[SAMPLES];
	static const uint32_t   shares_ppm[] = {1, 10000, 500000, 900000, 990000, 999000, 999900};
	struct plan             plan;

	histogram_clear(&histogram);
	plan_init(&plan, &(struct plan_choice){PLAN_UNIFORM, .pass_count = UINT32_MAX, .seed = value_bits});
	for (int i = 0; i < SAMPLES; i++) {
		samples[i] = (plan_next(&plan) << 8) >> plan_next(&plan) % value_bits;
		histogram_add(&histogram, samples[i]);
	}
	qsort(samples, SAMPLES, sizeof(samples[0]), by_value);
	if (histogram.count != SAMPLES) return "histogram: a value was lost";
	if (histogram_quantile(&histogram, 1000000) != samples[SAMPLES - 1])
		return "histogram: max is not exact";
	for (size_t i = 0; i < COUNT(shares_ppm); i++) {
		uint64_t rank = ((uint64_t)SAMPLES * shares_ppm[i] + 999999) / 1000000;
		double   want = (double)samples[rank - 1];
		double   got = (double)histogram_quantile(&histogram, shares_ppm[i]);

		if (fabs(got - want) > want * 0.01) return "histogram: a quantile is off by more than 1 %";
	}
	return NULL;
}

const char *check_histogram(void)
{
	static struct histogram histogram;
	const char             *wrong;

	histogram_clear(&histogram);
	if (histogram_quantile(&histogram, 500000) != 0) return "histogram: an empty one has a median";
	for (uint64_t value = 1; value < UINT64_C(1) << 41; value = value * 5 / 4 + 1) {
		histogram_clear(&histogram);
		histogram_add(&histogram, value);
		histogram_add(&histogram, UINT64_MAX);
		if (value >> 40 == 0 && fabs((double)histogram_quantile(&histogram, 500000) - (double)value) >
		                            (double)value * 0.01)
			return "histogram: a value comes back changed by more than 1 %";
		if (histogram_quantile(&histogram, 999000) != UINT64_MAX)
			return "histogram: max is not exact";
	}
	for (uint32_t value_bits = 1; value_bits < 40; value_bits += 3)
		if ((wrong = histogram_against_sorting(value_bits))) return wrong;
	return NULL;
}

/* How often each of NAMES numbers was drawn, the most frequent last. */
static const char *draw(enum plan_ids ids, double theta, uint64_t *sorted)
{
	struct plan plan;

	memset(sorted, 0, NAMES * sizeof(sorted[0]));
	plan_init(&plan, &(struct plan_choice){ids, FIRST, NAMES, theta, .seed = 42});
	for (int i = 0; i < DRAWS; i++) {
		uint64_t number = plan_next(&plan);

		if (number < FIRST || number >= FIRST + NAMES) return "plan: a number out of range";
		sorted[number - FIRST]++;
	}
	qsort(sorted, NAMES, sizeof(sorted[0]), by_value);
	return NULL;
}

const char *check_plan(void)
{
	static const double thetas[] = {0.5, 0.99, 1, 1.3};
	static uint64_t     sorted[NAMES];
	struct plan         plan;
	const char         *wrong;

	plan_init(&plan, &(struct plan_choice){PLAN_SEQUENCE, .first = 5});
	for (uint64_t want = 5; want < 100; want++)
		if (plan_next(&plan) != want) return "plan: a sequence has a gap";
	plan_init(&plan, &(struct plan_choice){PLAN_TURNS, .first = 5, .pass_count = 30, .seed = 2});
	for (uint64_t i = 0, seen = 0; i < 30; i++) {
		seen |= UINT64_C(1) << (plan_next(&plan) - 5);
		if (i == 29 && seen != (1 << 30) - 1) return "plan: turns leave a number out";
	}
	if ((wrong = draw(PLAN_UNIFORM, 0, sorted))) return wrong;
	if (sorted[0] < DRAWS / NAMES * 3 / 4 || sorted[NAMES - 1] > DRAWS / NAMES * 5 / 4)
		return "plan: uniform numbers are not alike";
	for (size_t i = 0; i < COUNT(thetas); i++) {
		double weights = 0;

		if ((wrong = draw(PLAN_ZIPF, thetas[i], sorted))) return wrong;
		for (int rank = 1; rank <= NAMES; rank++)
			weights += pow(rank, -thetas[i]);
		for (int rank = 1; rank <= 10; rank++) {
			double want = DRAWS * pow(rank, -thetas[i]) / weights;

			if (fabs((double)sorted[NAMES - rank] - want) > 4 * sqrt(want) + 0.02 * want)
				return "plan: zipf does not follow its law";
		}
	}
	return NULL;
}

const char *check_pace(void)
{
	struct pace pace = {.rate_per_s = 1000, .count_max = UINT64_MAX, .end = {5 * NS_PER_MS}};
	mono_ns     late = {3 * NS_PER_MS};

	for (int64_t i = 0; i < 4; i++)
		if (!pace_is_due(&pace, late) || pace_take(&pace, late).v != i * NS_PER_MS)
			return "pace: what waits does not keep the time it was meant for";
	if (pace_is_due(&pace, late)) return "pace: a request is due before its time";
	if (pace_untaken(&pace) != 1) return "pace: an open loop forgets what it did not send";
	pace_take(&pace, (mono_ns){4 * NS_PER_MS});
	if (!pace_is_over(&pace, (mono_ns){4 * NS_PER_MS})) return "pace: an open loop does not end";
	pace = (struct pace){
	    .rate_per_s = 1000, .count_max = UINT64_MAX, .turn = {2 * NS_PER_MS}, .end = {4 * NS_PER_MS}};
	pace_begin_at(&pace, 2000);
	if (pace_untaken(&pace) != 6) return "pace: another number of requests than two rates make";
	for (int64_t i = 0; i < 6; i++)
		if (pace_take(&pace, late).v != (i < 4 ? i * NS_PER_MS / 2 : (i - 2) * NS_PER_MS))
			return "pace: the rate does not change at its turn";
	if (!pace_is_over(&pace, late)) return "pace: two rates do not end";
	pace = (struct pace){.count_max = 2, .end = {INT64_MAX}};
	if (pace_take(&pace, late).v != late.v) return "pace: a closed loop means another time than now";
	pace_take(&pace, late);
	return pace_is_due(&pace, late) ? "pace: a closed loop sends more than it should" : NULL;
}

/* The requests of a phone: with an account, and with two words a pass in place of an API key. */
static const char *check_phone(void)
{
	static struct request_form form;
	char                       bytes[REQUEST_BYTES_MAX];
	const char *want = "POST /wallet/apple/acc_1/v1/devices/phone120/registrations/pass.example.bench/s1 "
	                   "HTTP/1.1\r\nHost: h:1\r\nAuthorization: ApplePass tok1\r\n";
	struct request_subject subject = {"p", {"s0 tok0s1 tok1", 7, 2}, "acc_1", NULL};
	const char            *body;
	size_t                 size;

	if (!request_form_make(&form, OP_REGISTER, "h:1", "k", &subject))
		return "request: a phone's does not fit";
	size = request_write(&form, &(struct request_about){.number = 120, .index = 1}, bytes);
	body = memmem(bytes, size, "\r\n\r\n", 4);
	if (memcmp(bytes, want, strlen(want)) != 0) return "request: not the registration of that phone";
	if (!body ||
	    body + 4 + strtoul((char *)memmem(bytes, size, "-Length: ", 9) + 9, NULL, 10) != bytes + size)
		return "request: Content-Length of a registration is wrong";
	if (!memmem(body, (size_t)(bytes + size - body), "120\"}", 5))
		return "request: a phone without a push token";
	if (request_form_make(&form, OP_CHANGES, "h:1", "k", &subject))
		return "request: a mark stands for nothing";
	subject.tag = "t.1";
	want =
	    "GET "
	    "/wallet/apple/acc_1/v1/devices/phone7/registrations/pass.example.bench?passesUpdatedSince=t.1 "
	    "HTTP/1.1\r\nHost: h:1\r\n\r\n";
	if (!request_form_make(&form, OP_CHANGES, "h:1", "k", &subject)) return "request: a tag does not fit";
	size = request_write(&form, &(struct request_about){.number = 7, .key = "x"}, bytes);
	return size != strlen(want) || memcmp(bytes, want, size) ? "request: not the question of a phone"
	                                                         : NULL;
}

const char *check_request(void)
{
	static struct request_form form;
	char                       bytes[REQUEST_BYTES_MAX];
	const char                *want =
	    "POST /v1/passes/p120/loyalty HTTP/1.1\r\nHost: h:1\r\nAuthorization: Bearer k\r\n"
	    "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"balance_to_add\":5}";
	const char *name = "01900000-0000-7000-8000-00000000000a01900000-0000-7000-8000-00000000000b";
	const char *body;
	size_t      size, length;

	const struct request_subject subject = {"p", {name, 36, 36}, NULL, NULL};
	if (!request_form_make(&form, OP_DELTA, "h:1", "k", &subject))
		return "request: a short one does not fit";
	size = request_write(&form, &(struct request_about){.number = 120}, bytes);
	if (size != strlen(want) || memcmp(bytes, want, size) != 0)
		return "request: not the bytes of a delta";
	request_write(&form, &(struct request_about){.number = 7, .key = "x"}, bytes);
	if (!memmem(bytes, size, "/p7/loyalty", 11) || !memmem(bytes, size, "Bearer x\r\n", 10))
		return "request: another key is not in its place";
	if (!request_form_make(&form, OP_CREATE, "h:1", "k", &subject))
		return "request: a short one does not fit";
	for (uint64_t number = 1; number < UINT64_MAX / 20; number *= 11) {
		size = request_write(&form, &(struct request_about){.number = number}, bytes);
		body = memmem(bytes, size, "\r\n\r\n", 4);
		length = strtoul((char *)memmem(bytes, size, "Content-Length: ", 16) + 16, NULL, 10);
		if (!body || bytes + size != body + 4 + length) return "request: Content-Length is wrong";
	}
	want = "POST /v1/passes/p12/rewards/01900000-0000-7000-8000-00000000000b/redeem HTTP/1.1\r\n";
	if (!request_form_make(&form, OP_REDEEM, "h:1", "k", &subject)) return "request: a name does not fit";
	request_write(&form, &(struct request_about){.number = 12, .index = 1}, bytes);
	return memcmp(bytes, want, strlen(want)) ? "request: not the name of that pass" : check_phone();
}

/* Each operation of the mix occurs as often as its row says, equally in all accounts. */
static const char *check_mix(void)
{
	static const char *const keys[] = {"k0", "k1", "k2"};
	static uint32_t          seen[COUNT(keys)][OP_COUNT];
	struct script            script;
	struct script_sources    sources = {.op = OP_MIXED,
	                                    .choice = {PLAN_UNIFORM, .pass_count = NAMES, .seed = 3},
	                                    .host = "h:1",
	                                    .keys = keys,
	                                    .key_count = COUNT(keys),
	                                    .subject = {.id_prefix = "p"}};
	char                     bytes[REQUEST_BYTES_MAX];
	enum op                  op;
	const char              *wrong = script_new(&script, &sources);

	for (uint32_t i = 0; i < DRAWS && !wrong; i++) {
		uint32_t size = script_next(&script, bytes, &op);

		seen[i % COUNT(keys)][op]++;
		if (!memmem(bytes, size, keys[i % COUNT(keys)], 2))
			wrong = "script: accounts do not take turns";
	}
#define M(name, share_percent)                                                                     \
	for (size_t i = 0; i < COUNT(keys) && !wrong; i++)                                         \
		if (fabs(seen[i][OP_##name] * 100. * COUNT(keys) / DRAWS - (share_percent)) > 0.5) \
			wrong = "script: the mix is another than its table says";
#include "bench/ops.def"
	script_free(&script);
	return wrong;
}

/* One account gets its share, and the others take turns with the rest. */
static const char *check_hot(void)
{
	enum { HOT_PERCENT = 80 };
	static const char *const keys[] = {"k0", "k1", "k2"};
	uint32_t                 seen[COUNT(keys)] = {0};
	struct script            script;
	struct script_sources    sources = {.op = OP_GET,
	                                    .choice = {PLAN_UNIFORM, .pass_count = NAMES, .seed = 5},
	                                    .host = "h:1",
	                                    .keys = keys,
	                                    .key_count = COUNT(keys),
	                                    .subject = {.id_prefix = "p"},
	                                    .hot_percent = HOT_PERCENT};
	char                     bytes[REQUEST_BYTES_MAX];
	enum op                  op;
	const char              *wrong = script_new(&script, &sources);

	for (uint32_t i = 0; i < DRAWS && !wrong; i++) {
		uint32_t size = script_next(&script, bytes, &op);

		for (size_t key = 0; key < COUNT(keys); key++)
			seen[key] += memmem(bytes, size, keys[key], 2) != NULL;
	}
	script_free(&script);
	if (wrong) return wrong;
	if (fabs(seen[0] * 100. / DRAWS - HOT_PERCENT) > 0.5)
		return "script: the hot account has not its share";
	if (abs((int)seen[1] - (int)seen[2]) > 1) return "script: the other accounts do not take turns";
	return seen[0] + seen[1] + seen[2] == DRAWS ? NULL : "script: a request for no account";
}

enum { ACCOUNTS = 100 };

/* How often each account is asked for, the most frequent last. */
static const char *draw_accounts(enum plan_ids accounts, uint64_t *sorted)
{
	static char           texts[ACCOUNTS][4];
	const char           *keys[ACCOUNTS], *wrong;
	struct script         script;
	struct script_sources sources = {.op = OP_DELTA,
	                                 .choice = {PLAN_UNIFORM, .pass_count = NAMES, .seed = 11},
	                                 .host = "h:1",
	                                 .keys = keys,
	                                 .key_count = ACCOUNTS,
	                                 .accounts = accounts,
	                                 .account_theta = 0.99,
	                                 .subject = {.id_prefix = "p"}};
	char                  bytes[REQUEST_BYTES_MAX];
	enum op               op;

	for (int i = 0; i < ACCOUNTS; i++) {
		snprintf(texts[i], sizeof(texts[i]), "k%02d", i);
		keys[i] = texts[i];
	}
	memset(sorted, 0, ACCOUNTS * sizeof(sorted[0]));
	wrong = script_new(&script, &sources);
	for (uint32_t i = 0; i < DRAWS && !wrong; i++) {
		uint32_t    size = script_next(&script, bytes, &op);
		const char *key = memmem(bytes, size, "Bearer k", 8);

		if (!key) wrong = "script: a request without a key";
		if (key) sorted[(key[8] - '0') * 10 + key[9] - '0']++;
	}
	script_free(&script);
	qsort(sorted, ACCOUNTS, sizeof(sorted[0]), by_value);
	return wrong;
}

/* Accounts are drawn uniformly, or the n-th most frequent like 1 / n^theta. */
static const char *check_drawn_accounts(void)
{
	static uint64_t sorted[ACCOUNTS];
	double          weights = 0;
	const char     *wrong;

	if ((wrong = draw_accounts(PLAN_UNIFORM, sorted))) return wrong;
	if (sorted[0] < DRAWS / ACCOUNTS * 9 / 10 || sorted[ACCOUNTS - 1] > DRAWS / ACCOUNTS * 11 / 10)
		return "script: uniform accounts are not alike";
	if (sorted[0] == sorted[ACCOUNTS - 1]) return "script: uniform accounts take turns";
	if ((wrong = draw_accounts(PLAN_ZIPF, sorted))) return wrong;
	for (int rank = 1; rank <= ACCOUNTS; rank++)
		weights += pow(rank, -0.99);
	for (int rank = 1; rank <= 10; rank++) {
		double want = DRAWS * pow(rank, -0.99) / weights;

		if (fabs((double)sorted[ACCOUNTS - rank] - want) > 4 * sqrt(want) + 0.02 * want)
			return "script: zipf accounts do not follow their law";
	}
	return NULL;
}

static const char *check_keys(void)
{
	static const char *const keys[] = {"k0", "k10"};
	struct script            script;
	struct script_sources    sources = {.op = OP_GET,
	                                    .choice = {PLAN_UNIFORM, .pass_count = NAMES},
	                                    .host = "h:1",
	                                    .keys = keys,
	                                    .key_count = COUNT(keys),
	                                    .subject = {.id_prefix = "p"}};
	const char              *wrong = script_new(&script, &sources);

	script_free(&script);
	return wrong ? NULL : "script: keys of different lengths are taken";
}

const char *check_script(void)
{
	static const char *const keys[] = {"k0", "k1"};
	struct script            script;
	struct script_sources    sources = {.op = OP_CREATE,
	                                    .choice = {PLAN_SEQUENCE, .first = 7},
	                                    .host = "h:1",
	                                    .keys = keys,
	                                    .key_count = COUNT(keys),
	                                    .subject = {.id_prefix = "p"}};
	char                     bytes[REQUEST_BYTES_MAX], want[REQUEST_BYTES_MAX];
	enum op                  op;
	const char              *wrong = script_new(&script, &sources);

	for (uint32_t i = 0; i < 6 && !wrong; i++) {
		uint32_t size = script_next(&script, bytes, &op);
		uint64_t number = 7 + i / COUNT(keys);

		const struct request_about about = {number, number, keys[i % COUNT(keys)]};

		if (size != request_write(&script.forms[0], &about, want) || memcmp(bytes, want, size) != 0 ||
		    op != OP_CREATE)
			wrong = "script: a sequence is not once in each account";
	}
	script_free(&script);
	if (!wrong) wrong = check_mix();
	if (!wrong) wrong = check_hot();
	if (!wrong) wrong = check_drawn_accounts();
	return wrong ? wrong : check_keys();
}

const char *check_tally(void)
{
	static struct tally tally;

	tally_answer(&tally, 202, true, (struct answer_times){.meant_ns = 5, .sent_ns = 3});
	tally_answer(&tally, 503, false, (struct answer_times){.meant_ns = 11, .sent_ns = 9});
	if (tally.good_count != 1 || tally.by_status[503] != 1 || tally_fault_count(&tally) != 1)
		return "tally: an answer has not exactly one fate";
	if (tally.latency_ns.max != 5 || tally.sent_ns.max != 3)
		return "tally: a success has another latency";
	return tally.refusal_ns.max != 9 ? "tally: a refusal has another latency" : NULL;
}

const char *check_response(void)
{
	static const struct {
		const char        *bytes;
		enum response_read read;
		int                status;
		uint64_t           body_bytes;
		bool               closes;
	} rows[] = {
	    {"HTTP/1.1 200 OK\r\nA: x\r\ncontent-length: 12\r\n\r\n", RESPONSE_WHOLE_HEAD, 200, 12, false},
	    {"HTTP/1.1 202 Accepted\r\nContent-Length:0\r\n\r\n", RESPONSE_WHOLE_HEAD, 202, 0, false},
	    {"HTTP/1.1 204 No Content\r\n\r\n", RESPONSE_WHOLE_HEAD, 204, 0, false},
	    {"HTTP/1.1 503 \r\nConnection:close\r\nContent-Length:3\r\n\r\n", RESPONSE_WHOLE_HEAD, 503, 3,
	     true},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r", RESPONSE_PARTIAL, 0, 0, false},
	    {"HTTP/1.1 200 OK\r\n\r\n", RESPONSE_BROKEN, 0, 0, false},
	    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", RESPONSE_BROKEN, 0, 0, false},
	    {"HTTP/1.1 200 \r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", RESPONSE_BROKEN, 0, 0, false},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n", RESPONSE_BROKEN, 0, 0, false},
	    {"SSH-2.0-OpenSSH_9.2 and more\r\n\r\n", RESPONSE_BROKEN, 0, 0, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct response got = {0};

		if (response_head_read(rows[i].bytes, strlen(rows[i].bytes), &got) != rows[i].read)
			return "response: a head is taken for what it is not";
		if (got.status != rows[i].status || got.body_bytes != rows[i].body_bytes ||
		    got.closes != rows[i].closes)
			return "response: a head is misread";
	}
	return NULL;
}

const char *check_all(void)
{
	static const char *(*const checks[])(void) = {check_histogram, check_plan,   check_pace,
	                                              check_request,   check_script, check_tally,
	                                              check_response};
	const char *wrong = NULL;

	for (size_t i = 0; i < COUNT(checks) && !wrong; i++)
		wrong = checks[i]();
	return wrong;
}
