/* Checks answers to WALLET_LEASE. */
#include "schemas/wallet/push_answer.h"

#include "schemas/limits.h"
#include "schemas/msgpack_look.h"

static bool is_credential(const msgpack_object *object)
{
	if (!msgpack_is_array(object, PUSH_CREDENTIAL_ITEMS)) return false;
	const msgpack_object *items = object->via.array.ptr;
	for (unsigned i = PUSH_AT_PASS_TYPE; i <= PUSH_AT_SEALED; i++)
		if (items[i].type != MSGPACK_OBJECT_BIN) return false;
	return msgpack_is_bin(&items[PUSH_AT_ACCOUNT], sizeof(struct account_id)) &&
	       items[PUSH_AT_NUMBER].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
	       items[PUSH_AT_GENERATION].type == MSGPACK_OBJECT_POSITIVE_INTEGER;
}

static bool is_token(const msgpack_object *object, uint32_t credentials)
{
	if (!msgpack_is_array(object, PUSH_TOKEN_ITEMS)) return false;
	const msgpack_object *items = object->via.array.ptr;
	return items[PUSH_AT_INDEX].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
	       items[PUSH_AT_INDEX].via.u64 < credentials &&
	       msgpack_is_bin(&items[PUSH_AT_DEVICE], PUSH_DEVICE_BYTES) &&
	       items[PUSH_AT_TOKEN].type == MSGPACK_OBJECT_STR &&
	       items[PUSH_AT_TOKEN].via.str.size <= PUSH_TOKEN_BYTES_MAX;
}

/* Counts the tokens. Errors: false: it is no lease. */
static bool is_lease(const msgpack_object *object, uint32_t credentials, size_t *tokens)
{
	if (!msgpack_is_array(object, PUSH_LEASE_ITEMS) ||
	    !msgpack_is_bin(&object->via.array.ptr[PUSH_AT_LEASE], PUSH_LEASE_BYTES))
		return false;
	const msgpack_object *list = &object->via.array.ptr[PUSH_AT_TOKENS];
	if (list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size == 0) return false;
	*tokens += list->via.array.size;
	for (uint32_t i = 0; i < list->via.array.size; i++)
		if (!is_token(&list->via.array.ptr[i], credentials)) return false;
	return true;
}

bool push_answer_check(const msgpack_object *answer, uint32_t leases_max, size_t *tokens)
{
	*tokens = 0;
	if (!msgpack_is_array(answer, PUSH_ANSWER_ITEMS)) return false;
	const msgpack_object *credentials = &answer->via.array.ptr[PUSH_AT_CREDENTIALS],
	                     *leases = &answer->via.array.ptr[PUSH_AT_LEASES];
	if (credentials->type != MSGPACK_OBJECT_ARRAY || leases->type != MSGPACK_OBJECT_ARRAY) return false;
	if (leases->via.array.size > leases_max) return false;
	for (uint32_t i = 0; i < credentials->via.array.size; i++)
		if (!is_credential(&credentials->via.array.ptr[i])) return false;
	for (uint32_t i = 0; i < leases->via.array.size; i++)
		if (!is_lease(&leases->via.array.ptr[i], credentials->via.array.size, tokens)) return false;
	return *tokens <= PUSH_TOKENS_MAX;
}
