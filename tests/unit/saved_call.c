/* A saved call does not refer to the frame in which it arrived. */
#include "actors/shard/engine/saved_call.h"

#include "schemas/api/pass.h"
#include "tests/unit/args.h"

#include <criterion/criterion.h>

static struct saved_call kept;

static void end(void)
{
	saved_call_free(&kept);
}

TestSuite(saved_call, .fini = end);

Test(saved_call, is_a_copy_of_the_whole_call)
{
	char               id[] = "p1", request_id[] = "r1";
	msgpack_object     args[ARGS_PASS_CREATE] = {{.type = MSGPACK_OBJECT_NIL}};
	struct idempotency idempotency = {.key = {1, 2}, .request = {3}}, want = idempotency;
	struct call        call = {.id = 7,
	                           .message = MSG_PASS_CREATE,
	                           .args = args,
	                           .request_id = span_str(request_id),
	                           .idempotency = &idempotency};
	args[ARG_PASS_CREATE_pass_id] = value_text(id);
	cr_assert_eq(saved_call_make(&kept, &call), OK);
	memset(id, '?', sizeof id);
	memset(request_id, '?', sizeof request_id);
	memset(args, 0xff, sizeof args);
	memset(&idempotency, '?', sizeof idempotency);
	cr_expect(kept.call.id == 7 && kept.call.message == MSG_PASS_CREATE);
	cr_expect(span_is(kept.call.request_id, "r1"));
	cr_expect(span_is(arg_span(&kept.call.args[ARG_PASS_CREATE_pass_id]), "p1"));
	cr_expect_not(arg_present(&kept.call.args[ARG_PASS_CREATE_visible]));
	cr_assert_not_null(kept.call.idempotency);
	cr_expect_arr_eq(kept.call.idempotency, &want, sizeof want);
}
