/* schemas/wallet/google_job.h: answers of another form are refused, and reports read as they were written. */
#include "schemas/wallet/google_job.h"

#include "schemas/buffer.h"

#include <criterion/criterion.h>

static struct buffer bytes;

/* An answer with one credential and one job; `fault` changes one thing. */
enum fault { SOUND, FEW, CREDENTIAL, INDEX, LEASE, NOTICE, MAKES, WANTS, FAULTS };

static void pack(enum fault fault)
{
	static const uint8_t lease[PUSH_LEASE_BYTES];
	msgpack_packer       pk = buffer_packer(&bytes);
	buffer_clear(&bytes);
	msgpack_pack_array(&pk, fault == FEW ? GOOGLE_ANSWER_ITEMS - 1 : GOOGLE_ANSWER_ITEMS);
	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, GOOGLE_CREDENTIAL_ITEMS);
	pack_bin(&pk, span_of(lease, fault == CREDENTIAL ? 9 : 10));
	msgpack_pack_int(&pk, 1);
	msgpack_pack_int(&pk, 1);
	msgpack_pack_int(&pk, 1);
	for (unsigned i = 0; i < 3; i++)
		pack_bin(&pk, span_str("text"));
	msgpack_pack_false(&pk);
	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, GOOGLE_JOB_ITEMS);
	pack_bin(&pk, span_of(lease, fault == LEASE ? 3 : sizeof lease));
	msgpack_pack_int(&pk, fault == INDEX ? 1 : 0);
	for (unsigned i = GOOGLE_AT_KIND; i <= GOOGLE_AT_MESSAGE; i++)
		pack_bin(&pk, span_str("text"));
	msgpack_pack_int(&pk, 5);
	fault == NOTICE ? msgpack_pack_nil(&pk) : msgpack_pack_true(&pk);
	fault == MAKES ? msgpack_pack_int(&pk, 1) : msgpack_pack_false(&pk);
	if (fault == FEW) return;
	fault == WANTS ? msgpack_pack_int(&pk, 1) : msgpack_pack_true(&pk);
}

static bool check(uint32_t jobs_max)
{
	msgpack_unpacked read;
	msgpack_unpacked_init(&read);
	cr_assert_eq(msgpack_unpack_next(&read, (const char *)bytes.at, bytes.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	bool good = google_answer_check(&read.data, jobs_max);
	msgpack_unpacked_destroy(&read);
	return good;
}

Test(google_job, answers_have_one_form)
{
	for (unsigned fault = SOUND; fault < FAULTS; fault++) {
		pack((enum fault)fault);
		cr_expect_eq(check(1), fault == SOUND, "fault %u", fault);
	}
	pack(SOUND);
	cr_expect_not(check(0), "more jobs than were asked for");
	buffer_free(&bytes);
}

Test(google_job, reports_read_as_they_were_written)
{
	uint8_t              text[GOOGLE_REPORT_BYTES];
	struct google_report got, report = {.lease = {.pass_number = 7, .token = UINT64_MAX, .head = 9},
	                                    .fate = GOOGLE_ABSENT,
	                                    .users = GOOGLE_USERS_NONE,
	                                    .message = GOOGLE_MESSAGE_SILENT,
	                                    .notification = 0x01020304};
	google_report_write(&report, text);
	cr_assert(google_report_read(text, &got));
	cr_expect_eq(got.lease.token, report.lease.token);
	cr_expect_eq(got.lease.pass_number, 7);
	cr_expect_eq(got.fate, GOOGLE_ABSENT);
	cr_expect_eq(got.message, GOOGLE_MESSAGE_SILENT);
	cr_expect_eq(got.notification, report.notification);
	cr_expect_eq(got.users, GOOGLE_USERS_NONE);
	text[PUSH_LEASE_BYTES] = 0;
	cr_expect_not(google_report_read(text, &got));
	text[PUSH_LEASE_BYTES] = GOOGLE_FATES;
	cr_expect_not(google_report_read(text, &got));
	text[PUSH_LEASE_BYTES] = GOOGLE_DONE;
	text[PUSH_LEASE_BYTES + 1] = GOOGLE_MESSAGES;
	cr_expect_not(google_report_read(text, &got));
	text[PUSH_LEASE_BYTES + 1] = GOOGLE_MESSAGE_NONE;
	cr_expect(google_report_read(text, &got));
	text[GOOGLE_REPORT_BYTES - 1] = GOOGLE_USERS;
	cr_expect_not(google_report_read(text, &got));
}
