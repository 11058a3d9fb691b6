/* wallet check: APNs and Google are called first; the shard then makes the other steps and puts all together. The steps are printed also
 * when one has failed. */
#include "actors/rt/time.h"
#include "ops/cli/taken.h"
#include "schemas/api/wallet.h"

#include <time.h>

enum { PROBE_WAIT_S = 15, PROBE_BUSY_S = 30, PROBE_PAUSE_MS = 50 };

/* The answer, and whether all steps went well. */
struct rehearsal {
	struct cli *cli;
	bool        is_good;
};

static void on_steps(void *user, uint32_t shard, const struct reply *reply)
{
	struct rehearsal     *rehearsal = user;
	const msgpack_object *ok;

	cli_print_part(rehearsal->cli, shard, reply);
	ok = reply->err ? NULL : msgpack_member(reply->payload, "ok");
	rehearsal->is_good = ok && ok->type == MSGPACK_OBJECT_BOOLEAN && ok->via.boolean;
}

/* Printed here, because a command that fails prints no result itself. */
static enum outcome fail(struct cli *cli)
{
	buffer_byte(&cli->out, '\n');
	if (cli_print(cli) != DONE) return FAILED;
	return cli_fail(cli, ERR_RESOURCE_CONFLICT, "A step failed: standard output says which.");
}

/* What APNs said to a made-up phone, or Google to a class, in the answers to WALLET_PROBE. */
struct probed {
	struct cli *cli;
	bool        is_begun, has_ended;
	mono_us     begun;
	bool        is_tried; /* there is a credential */
	bool        ok, has_token;
	char        detail[200];
};

static void on_probed(void *user, uint32_t shard, const struct reply *reply)
{
	struct probed        *probed = user;
	const msgpack_object *ok, *has_token, *detail;

	(void)shard;
	if (!cli_part_ok(probed->cli, reply) || reply->payload->type == MSGPACK_OBJECT_NIL) return;
	/* The shard does it for one account after the other. */
	if (reply->payload->type == MSGPACK_OBJECT_BOOLEAN && reply->payload->via.boolean) {
		probed->is_begun = false;
		return;
	}
	probed->has_ended = true;
	probed->is_tried = reply->payload->type == MSGPACK_OBJECT_MAP;
	if (!probed->is_tried) return;
	ok = msgpack_member(reply->payload, "ok");
	detail = msgpack_member(reply->payload, "detail");
	has_token = msgpack_member(reply->payload, "has_token");
	probed->ok = ok && ok->type == MSGPACK_OBJECT_BOOLEAN && ok->via.boolean;
	probed->has_token = has_token && has_token->type == MSGPACK_OBJECT_BOOLEAN && has_token->via.boolean;
	if (detail && detail->type == MSGPACK_OBJECT_STR)
		snprintf(probed->detail, sizeof probed->detail, "%.*s", (int)detail->via.str.size,
		         detail->via.str.ptr);
}

static bool is_awaited(const struct probed *probed, mono_us asked)
{
	mono_us now = time_mono();

	return probed->is_begun ? mono_since(now, probed->begun).v < PROBE_WAIT_S * US_PER_SEC
	                        : mono_since(now, asked).v < PROBE_BUSY_S * US_PER_SEC;
}

/* The shard has its timer call them, and is asked for the answer until it comes. */
static enum outcome probe(struct taken *taken, bool is_google, struct probed *probed)
{
	const struct timespec pause = {.tv_nsec = PROBE_PAUSE_MS * 1000000L};
	const mono_us         asked = time_mono();
	enum outcome          outcome = DONE;

	taken->message = MSG_WALLET_PROBE;
	while (outcome == DONE && !probed->has_ended && is_awaited(probed, asked)) {
		taken_boolean(taken, ARG_WALLET_PROBE_begin, !probed->is_begun);
		taken_boolean(taken, ARG_WALLET_PROBE_google, is_google);
		if (!probed->is_begun) probed->begun = time_mono();
		probed->is_begun = true;
		outcome = taken_call(probed->cli, taken, on_probed, probed);
		if (outcome == DONE && !probed->has_ended) nanosleep(&pause, NULL);
	}
	if (!probed->has_ended && !probed->is_begun)
		snprintf(probed->detail, sizeof probed->detail,
		         "The shard rehearses other accounts: try again.");
	else if (!probed->has_ended)
		snprintf(probed->detail, sizeof probed->detail, "The timer has not answered within %d s.",
		         (int)PROBE_WAIT_S);
	probed->is_tried |= !probed->has_ended;
	return outcome;
}

static void add_probed(struct taken *taken, const struct probed *apns, const struct probed *google)
{
	*taken = (struct taken){.message = MSG_WALLET_CHECK,
	                        .has_account = true,
	                        .account = taken->account,
	                        .bytes = taken->bytes};
	if (apns->is_tried) {
		taken_boolean(taken, ARG_WALLET_CHECK_apns_ok, apns->ok);
		taken_text(taken, ARG_WALLET_CHECK_apns_detail, apns->detail);
	}
	if (!google->is_tried) return;
	taken_boolean(taken, ARG_WALLET_CHECK_google_ok, google->ok);
	taken_boolean(taken, ARG_WALLET_CHECK_google_token, google->has_token);
	taken_text(taken, ARG_WALLET_CHECK_google_detail, google->detail);
}

enum outcome wallet_check(struct cli *cli)
{
	struct taken     taken;
	struct rehearsal rehearsal = {.cli = cli};
	struct probed    apns = {.cli = cli}, google = {.cli = cli};
	enum outcome     outcome = taken_read(cli, MSG_WALLET_CHECK, &taken);

	if (outcome == DONE) outcome = probe(&taken, false, &apns);
	if (outcome == DONE) outcome = probe(&taken, true, &google);
	add_probed(&taken, &apns, &google);
	if (outcome == DONE) outcome = taken_call(cli, &taken, on_steps, &rehearsal);
	taken_free(&taken);
	return outcome == DONE && !rehearsal.is_good ? fail(cli) : outcome;
}
