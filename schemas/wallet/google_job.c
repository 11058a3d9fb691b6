/* Checks answers to GOOGLE_LEASE; records of GOOGLE_REPORT; reads what Google answers of an object. */
#include "schemas/wallet/google_job.h"

#include "schemas/bytes.h"
#include "schemas/json.h"
#include "schemas/msgpack_look.h"

static bool is_natural(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_POSITIVE_INTEGER;
}

static bool is_credential(const msgpack_object *object)
{
	if (!msgpack_is_array(object, GOOGLE_CREDENTIAL_ITEMS)) return false;
	const msgpack_object *items = object->via.array.ptr;
	for (unsigned i = GOOGLE_AT_EMAIL; i <= GOOGLE_AT_SEALED; i++)
		if (items[i].type != MSGPACK_OBJECT_BIN) return false;
	return msgpack_is_bin(&items[GOOGLE_AT_ACCOUNT], sizeof(struct account_id)) &&
	       is_natural(&items[GOOGLE_AT_NUMBER]) &&
	       items[GOOGLE_AT_DOUBTFUL].type == MSGPACK_OBJECT_BOOLEAN &&
	       is_natural(&items[GOOGLE_AT_GENERATION]);
}

static bool is_job(const msgpack_object *object, uint32_t credentials)
{
	if (!msgpack_is_array(object, GOOGLE_JOB_ITEMS)) return false;
	const msgpack_object *items = object->via.array.ptr;
	for (unsigned i = GOOGLE_AT_KIND; i <= GOOGLE_AT_MESSAGE; i++)
		if (items[i].type != MSGPACK_OBJECT_BIN) return false;
	return msgpack_is_bin(&items[GOOGLE_AT_LEASE], PUSH_LEASE_BYTES) &&
	       is_natural(&items[GOOGLE_AT_INDEX]) && items[GOOGLE_AT_INDEX].via.u64 < credentials &&
	       is_natural(&items[GOOGLE_AT_NOTIFICATION]) &&
	       items[GOOGLE_AT_MAY_NOTIFY].type == MSGPACK_OBJECT_BOOLEAN &&
	       items[GOOGLE_AT_MAKES].type == MSGPACK_OBJECT_BOOLEAN;
}

bool google_answer_check(const msgpack_object *answer, uint32_t jobs_max)
{
	if (!msgpack_is_array(answer, GOOGLE_ANSWER_ITEMS)) return false;
	const msgpack_object *credentials = &answer->via.array.ptr[GOOGLE_AT_CREDENTIALS],
	                     *jobs = &answer->via.array.ptr[GOOGLE_AT_JOBS];
	if (credentials->type != MSGPACK_OBJECT_ARRAY || jobs->type != MSGPACK_OBJECT_ARRAY) return false;
	if (answer->via.array.ptr[GOOGLE_AT_WANTS_KEYS].type != MSGPACK_OBJECT_BOOLEAN) return false;
	if (jobs->via.array.size > jobs_max) return false;
	for (uint32_t i = 0; i < credentials->via.array.size; i++)
		if (!is_credential(&credentials->via.array.ptr[i])) return false;
	for (uint32_t i = 0; i < jobs->via.array.size; i++)
		if (!is_job(&jobs->via.array.ptr[i], credentials->via.array.size)) return false;
	return true;
}

void google_report_write(const struct google_report *report, uint8_t bytes[GOOGLE_REPORT_BYTES])
{
	push_lease_write(&report->lease, bytes);
	bytes[PUSH_LEASE_BYTES] = (uint8_t)report->fate;
	bytes[PUSH_LEASE_BYTES + 1] = (uint8_t)report->message;
	put_le32(bytes + PUSH_LEASE_BYTES + 2, report->notification);
	bytes[PUSH_LEASE_BYTES + 6] = (uint8_t)report->users;
}

bool google_report_read(const uint8_t bytes[GOOGLE_REPORT_BYTES], struct google_report *report)
{
	push_lease_read(bytes, &report->lease);
	report->fate = (enum google_fate)bytes[PUSH_LEASE_BYTES];
	report->message = (enum google_message)bytes[PUSH_LEASE_BYTES + 1];
	report->notification = get_le32(bytes + PUSH_LEASE_BYTES + 2);
	report->users = (enum google_users)bytes[PUSH_LEASE_BYTES + 6];
	return report->fate >= GOOGLE_DONE && report->fate < GOOGLE_FATES &&
	       report->message < GOOGLE_MESSAGES && report->users < GOOGLE_USERS;
}

enum google_users google_users_of(struct span body)
{
	struct arena       arena = {0};
	struct json       *answer;
	const struct json *users = NULL;
	if (!json_parse(body, &arena, &answer) && answer->kind == JSON_OBJECT)
		users = json_member(answer, "hasUsers");
	enum google_users is = GOOGLE_USERS_UNSAID;
	if (users && users->kind == JSON_FALSE) is = GOOGLE_USERS_NONE;
	if (users && users->kind == JSON_TRUE) is = GOOGLE_USERS_SOME;
	arena_free(&arena);
	return is;
}
