/* The result of a run, for people and for programs. Only successes count as requests per second and have a latency; everything
 * else is named beside them. */
#include "bench/report.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *text, *json;
	uint32_t    share_ppm;
} quantiles[] = {
    {"p50", "p50", 500000},
    {"p99", "p99", 990000},
    {"p99.9", "p99_9", 999000},
    {"max", "max", 1000000},
};

enum { QUANTILE_COUNT = sizeof(quantiles) / sizeof(quantiles[0]) };

static double us_of(const struct histogram *histogram, uint32_t share_ppm)
{
	return (double)histogram_quantile(histogram, share_ppm) / (double)NS_PER_US;
}

static double per_s(const struct drive_result *result)
{
	return result->measured_s > 0 ? (double)result->measured.good_count / result->measured_s : 0;
}

static const char *mode_of(const struct options *options)
{
	return options->rate_per_s ? "open" : "closed";
}

void report_text(const struct options *options, const struct drive_result *result)
{
	const struct tally *tally = &result->measured;

	printf("%s, %s loop, %u connections, %.3f s\n", op_name(options->op), mode_of(options),
	       options->connection_count, result->measured_s);
	printf("requests/s  %.0f", per_s(result));
	if (options->rate_per_s) printf("  (meant: %" PRIu64 ")", options->rate_per_s);
	printf("\nanswers    ");
	for (int status = 0; status < STATUS_END; status++)
		if (tally->by_status[status]) printf(" %d: %" PRIu64, status, tally->by_status[status]);
	printf("\nerrors      %" PRIu64, tally_fault_count(tally));
	for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
		if (tally->faults[fault]) printf("  %s: %" PRIu64, fault_name(fault), tally->faults[fault]);
	printf("  (warm-up: %" PRIu64 ", reconnects: %" PRIu64 ")%s\nlatency us ",
	       tally_fault_count(&result->warmup), result->reconnect_count,
	       result->gave_up ? "  GAVE UP" : "");
	for (int i = 0; i < QUANTILE_COUNT; i++)
		printf(" %s %.1f ", quantiles[i].text, us_of(&tally->latency_ns, quantiles[i].share_ppm));
	printf("\n");
}

static void quantiles_json(const char *name, const struct histogram *histogram)
{
	printf("\"%s\":{", name);
	for (int i = 0; i < QUANTILE_COUNT; i++)
		printf("%s\"%s\":%.1f", i ? "," : "", quantiles[i].json,
		       us_of(histogram, quantiles[i].share_ppm));
	printf("}");
}

/* `before` is the prefix of both names. */
static void fates_json(const char *before, const struct tally *tally)
{
	const char *comma = "";

	printf("\"%sstatus\":{", before);
	for (int status = 0; status < STATUS_END; status++) {
		if (!tally->by_status[status]) continue;
		printf("%s\"%d\":%" PRIu64, comma, status, tally->by_status[status]);
		comma = ",";
	}
	printf("},\"%serror_kinds\":{", before);
	for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
		printf("%s\"%s\":%" PRIu64, fault ? "," : "", fault_name(fault), tally->faults[fault]);
	printf("}");
}

static void windows_json(const struct drive_result *result)
{
	for (uint32_t i = 0; i < result->window_count; i++) {
		const struct tally *window = &result->windows[i];

		printf("%s{\"ok\":%" PRIu64 ",\"errors\":%" PRIu64 ",", i ? "," : "", window->good_count,
		       tally_fault_count(window));
		quantiles_json("latency_us", &window->latency_ns);
		printf("}");
	}
}

void report_json(const struct options *options, const struct drive_result *result)
{
	const struct tally *tally = &result->measured;

	printf("{\"op\":\"%s\",\"mode\":\"%s\",\"rate\":%" PRIu64 ",\"connections\":%u", op_name(options->op),
	       mode_of(options), options->rate_per_s, options->connection_count);
	printf(",\"measured_s\":%.6f,\"active_s\":%.6f", result->measured_s, result->active_s);
	printf(",\"goodput_per_s\":%.1f", result->goodput_per_s);
	printf(",\"ok\":%" PRIu64 ",\"requests_per_s\":%.1f,", tally->good_count, per_s(result));
	fates_json("", tally);
	printf(",");
	fates_json("warmup_", &result->warmup);
	printf(",\"errors\":%" PRIu64 ",\"warmup_errors\":%" PRIu64, tally_fault_count(tally),
	       tally_fault_count(&result->warmup));
	printf(",\"reconnects\":%" PRIu64 ",\"gave_up\":%s,", result->reconnect_count,
	       result->gave_up ? "true" : "false");
	quantiles_json("latency_us", &tally->latency_ns);
	printf(",");
	quantiles_json("sent_us", &tally->sent_ns);
	printf(",");
	quantiles_json("refusal_us", &tally->refusal_ns);
	printf(",\"windows\":[");
	windows_json(result);
	printf("]}\n");
}
