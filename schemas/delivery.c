/* Leases and reports as bytes, and the schedule of attempts. */
#include "schemas/delivery.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

enum { AT_SUBSCRIPTION = 10, AT_DUE = 26, AT_EVENT = 34, AT_TOKEN = 50 };
_Static_assert((int)AT_TOKEN + 8 == (int)LEASE_BYTES, "as the header says");

void lease_write(const struct lease *lease, uint8_t bytes[LEASE_BYTES])
{
	memcpy(bytes, lease->account.b, sizeof lease->account.b);
	memcpy(bytes + AT_SUBSCRIPTION, lease->subscription.b, sizeof lease->subscription.b);
	put_be64(bytes + AT_DUE, (uint64_t)lease->due.v);
	memcpy(bytes + AT_EVENT, lease->event.b, sizeof lease->event.b);
	put_be64(bytes + AT_TOKEN, lease->token);
}

void lease_read(const uint8_t bytes[LEASE_BYTES], struct lease *lease)
{
	memcpy(lease->account.b, bytes, sizeof lease->account.b);
	memcpy(lease->subscription.b, bytes + AT_SUBSCRIPTION, sizeof lease->subscription.b);
	lease->due.v = (int64_t)get_be64(bytes + AT_DUE);
	memcpy(lease->event.b, bytes + AT_EVENT, sizeof lease->event.b);
	lease->token = get_be64(bytes + AT_TOKEN);
}

void attempt_report_write(const struct attempt_report *report, uint8_t bytes[ATTEMPT_REPORT_BYTES])
{
	lease_write(&report->lease, bytes);
	bytes[LEASE_BYTES] = (uint8_t)report->what;
	bytes[LEASE_BYTES + 1] = report->error;
	put_be16(bytes + LEASE_BYTES + 2, report->status);
	put_be32(bytes + LEASE_BYTES + 4, report->latency_ms);
	bytes[LEASE_BYTES + 8] = report->detail;
}

bool attempt_report_read(const uint8_t bytes[ATTEMPT_REPORT_BYTES], struct attempt_report *report)
{
	lease_read(bytes, &report->lease);
	report->what = (enum attempt_what)bytes[LEASE_BYTES];
	report->error = bytes[LEASE_BYTES + 1];
	report->status = get_be16(bytes + LEASE_BYTES + 2);
	report->latency_ms = get_be32(bytes + LEASE_BYTES + 4);
	report->detail = bytes[LEASE_BYTES + 8];
	return bytes[LEASE_BYTES] <= ATTEMPT_VOID && report->error < ATTEMPT_ERRORS &&
	       report->detail < ATTEMPT_DETAILS;
}

dur_us delivery_wait(unsigned attempts)
{
	static const int32_t seconds[DELIVERY_ATTEMPTS_MAX] = {0,        30,       5 * 60,   30 * 60,
	                                                       2 * 3600, 8 * 3600, 24 * 3600};
	return (dur_us){attempts < DELIVERY_ATTEMPTS_MAX ? seconds[attempts] * US_PER_SEC : 0};
}

const char *const delivery_outcomes[DELIVERY_OUTCOMES] = {"pending", "delivered", "failed", "discarded"};

const char *delivery_outcome_text(unsigned outcome)
{
	return outcome < DELIVERY_OUTCOMES ? delivery_outcomes[outcome] : "unknown";
}
