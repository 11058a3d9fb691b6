/* The operator's default on three shards, of which one may fail: what the command says, and what a repeated one does. The
 * test answers the calls itself. */
#include "ops/cli/wallet.h"
#include "schemas/api/wallet.h"
#include "tests/unit/args.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { SHARDS = 3 };

/* The shards: which credential each has. */
static struct {
	int64_t  generations[SHARDS]; /* 0: none */
	char     names[SHARDS][16];
	bool     marked[SHARDS];
	int      failing;    /* a shard that answers nothing; -1: none */
	bool     is_refused; /* what is put */
	unsigned judged;
} shards;

static const char *name; /* of what is put */
static char        file[] = "wallet_target.XXXXXX";
static struct cli  cli;

enum err __wrap_service_call(struct service *service, const struct call_spec *request,
                             service_part_fn on_part, void *user);
uint32_t __wrap_service_shards(const struct service *service);

uint32_t __wrap_service_shards(const struct service *service)
{
	(void)service;
	return SHARDS;
}

static void answer_text(service_part_fn on_part, void *user, uint32_t shard, enum err err)
{
	msgpack_object text = value_text("Words.");
	struct reply   reply = {.err = err, .field = span_of("", 0), .payload = &text};
	on_part(user, shard, &reply);
}

static void answer_credential(service_part_fn on_part, void *user, uint32_t shard)
{
	msgpack_object_kv of[2] = {
	    {value_text("pass_type_id"), value_text(shards.names[shard])},
	    {value_text("generation"), value_integer((uint64_t)shards.generations[shard])}};
	msgpack_object map = {.type = MSGPACK_OBJECT_MAP, .via.map = {2, of}};
	struct reply   reply = {.payload = &map};
	on_part(user, shard, &reply);
}

/* As a shard does it: one more than before, and at least what the command says. */
static void put(uint32_t shard, const msgpack_object *args)
{
	int64_t least = arg_integer(&args[ARG_WALLET_APPLE_PUT_generation], 0);
	int64_t next = strcmp(shards.names[shard], name) ? 1 : shards.generations[shard] + 1;
	cr_expect_eq(least != 0, shard != 0, "the first shard gives the generation");
	cr_expect(shards.marked[0] && shards.marked[1] && shards.marked[2], "before anything is put");
	shards.generations[shard] = next < least ? least : next;
	snprintf(shards.names[shard], sizeof shards.names[shard], "%s", name);
}

static void answer(const struct call_spec *request, uint32_t shard, const msgpack_object *args,
                   service_part_fn on_part, void *user)
{
	msgpack_object nil = value_nil();
	struct reply   reply = {.payload = &nil};
	bool           is_put = request->message == MSG_WALLET_APPLE_PUT;
	bool           judges = is_put && arg_boolean(&args[ARG_WALLET_APPLE_PUT_judge], false);
	shards.judged += judges;
	if (shards.failing == (int)shard && request->message != MSG_WALLET_MARK) {
		answer_text(on_part, user, shard, ERR_SHARD_UNAVAILABLE);
	} else if (is_put && shards.is_refused) {
		answer_text(on_part, user, shard, ERR_INVALID_INPUT);
	} else if (request->message == MSG_WALLET_MARK) {
		shards.marked[shard] = true;
		on_part(user, shard, &reply);
	} else if (is_put) {
		if (!judges) put(shard, args);
		answer_credential(on_part, user, shard);
	} else if (!shards.generations[shard]) {
		answer_text(on_part, user, shard, ERR_RESOURCE_NOT_FOUND);
	} else {
		if (request->message == MSG_WALLET_CREDENTIAL_REMOVE) shards.generations[shard] = 0;
		answer_credential(on_part, user, shard);
	}
}

enum err __wrap_service_call(struct service *service, const struct call_spec *request,
                             service_part_fn on_part, void *user)
{
	msgpack_unpacked whole;
	(void)service;
	cr_assert_null(request->account);
	msgpack_unpacked_init(&whole);
	must(msgpack_unpack_next(&whole, (const char *)request->args.at, request->args.size, NULL) ==
	     MSGPACK_UNPACK_SUCCESS);
	for (uint32_t shard = 0; shard < SHARDS; shard++)
		if (!request->shard || *request->shard == shard)
			answer(request, shard, whole.data.via.array.ptr, on_part, user);
	msgpack_unpacked_destroy(&whole);
	return OK;
}

static void begin(void)
{
	int   fd = mkstemp(file);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	must(to && fputs("x", to) >= 0 && !fclose(to));
	shards.failing = -1;
	name = "pass.one";
}

static void end(void)
{
	remove(file);
	buffer_free(&cli.out);
}

TestSuite(wallet_target, .init = begin, .fini = end);

static enum outcome run(enum outcome (*command)(struct cli *), bool is_put)
{
	char *words[] = {"--default", "--cert", file, "--key", file, "--wwdr", file};
	buffer_free(&cli.out);
	cli = (struct cli){.args = {.count = is_put ? 7 : 1, .words = words},
	                   .service = (struct service *)words};
	return command(&cli);
}

static bool prints(const char *text)
{
	return cli.out.at && memmem(cli.out.at, cli.out.size, text, strlen(text));
}

Test(wallet_target, every_shard_has_the_same)
{
	cr_assert_eq(run(wallet_apple_put, true), DONE, "%s", cli.message);
	cr_expect(prints("\"pass.one\"") && shards.judged == 1);
	for (unsigned i = 0; i < SHARDS; i++)
		cr_expect_eq(shards.generations[i], 1);
	cr_assert_eq(run(wallet_apple_show, false), DONE);
	cr_expect(prints("\"pass.one\""));
	cr_assert_eq(run(wallet_apple_remove, false), DONE);
	cr_expect(prints("{}"));
	cr_assert_eq(run(wallet_apple_show, false), FAILED);
	cr_expect_eq(cli.err, ERR_RESOURCE_NOT_FOUND);
	cr_assert_eq(run(wallet_apple_remove, false), FAILED);
	cr_expect_eq(cli.err, ERR_RESOURCE_NOT_FOUND);
}

Test(wallet_target, a_refusal_marks_nothing)
{
	shards.is_refused = true;
	cr_assert_eq(run(wallet_apple_put, true), FAILED);
	cr_expect(cli.err == ERR_INVALID_INPUT && !shards.marked[0] && !shards.generations[0]);
}

Test(wallet_target, a_shard_that_fails_midway_is_named_and_a_repetition_completes_it)
{
	cr_assert_eq(run(wallet_apple_put, true), DONE);
	name = "pass.two";
	shards.failing = 2;
	cr_assert_eq(run(wallet_apple_put, true), FAILED);
	cr_expect_eq(cli.err, ERR_SHARD_UNAVAILABLE);
	cr_expect(strstr(cli.message, "Shard 2") && strstr(cli.message, "repeat"), "%s", cli.message);
	shards.failing = -1;
	cr_assert_eq(run(wallet_apple_show, false), FAILED);
	cr_expect(cli.err == ERR_RESOURCE_CONFLICT && strstr(cli.message, "Not every shard"));
	cr_assert_eq(run(wallet_apple_put, true), DONE);
	for (unsigned i = 0; i < SHARDS; i++)
		cr_expect(shards.generations[i] == 2 && !strcmp(shards.names[i], "pass.two"), "shard %u", i);
	cr_assert_eq(run(wallet_apple_show, false), DONE);
}

Test(wallet_target, a_removal_is_repeated_likewise)
{
	cr_assert_eq(run(wallet_apple_put, true), DONE);
	shards.failing = 1;
	cr_assert_eq(run(wallet_apple_remove, false), FAILED);
	cr_expect(cli.err == ERR_SHARD_UNAVAILABLE && strstr(cli.message, "Shard 1"), "%s", cli.message);
	cr_expect(!shards.generations[0] && shards.generations[1] && shards.generations[2]);
	shards.failing = -1;
	cr_assert_eq(run(wallet_apple_show, false), FAILED);
	cr_expect_eq(cli.err, ERR_RESOURCE_CONFLICT);
	cr_assert_eq(run(wallet_apple_remove, false), DONE);
	cr_expect(!shards.generations[1] && !shards.generations[2]);
}

Test(wallet_target, the_first_shard_that_fails_is_no_half_done_work)
{
	shards.failing = 0;
	cr_assert_eq(run(wallet_apple_remove, false), FAILED);
	cr_expect(cli.err == ERR_SHARD_UNAVAILABLE && !strcmp(cli.message, "Words."), "%s", cli.message);
}
