/* One shard's pushes, from the long poll to the report.
 *
 *   WALLET_LEASE ─▶ credentials, leases ─▶ a push for each phone ─▶ apns ─▶ WALLET_REPORT
 *
 * The leases of one answer are a batch. In a batch a phone is pushed to once, whichever of its passes have changed, since a push
 * names no pass. A lease is reported when all of its pushes have ended, with the worst of their fates. It is in hand until its
 * report is acknowledged. */
#include "actors/timer/pushing.h"

#include "actors/timer/poll.h"
#include "actors/timer/reports.h"
#include "schemas/api/push.h"
#include "schemas/limits.h"
#include "schemas/wallet/push_answer.h"
#include "schemas/wallet/sealing.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Between two polls, unless the answer was full: what becomes due meanwhile is leased, pushed and reported together. */
enum { GATHER_MS = 10 };
enum { REPORT_CALLS_MAX = 16, REPORTS_GATHER_US = 2000, REPORT_AGAIN_MS = 200 };
enum { GONE_PER_LEASE = 8, COMPLAINTS_MAX = 64 }; /* further ones are dropped: they come again */
_Static_assert((int)APNS_PUSH_MS + CALL_DEADLINE_MS + CALL_DEADLINE_GRACE_MS < (int)LEASE_MS,
               "a push is reported before its lease is over");

enum { STREAM_REPORTS, STREAM_GONE, STREAM_COMPLAINTS };
static const struct report_kind report_kind = {.message = MSG_WALLET_REPORT,
                                               .streams = ARGS_WALLET_REPORT,
                                               .of = {{PUSH_REPORT_BYTES, PUSHES_PER_CALL_MAX},
                                                      {PUSH_GONE_BYTES, PUSH_NOTES_PER_CALL_MAX},
                                                      {PUSH_COMPLAINT_BYTES, PUSH_NOTES_PER_CALL_MAX}},
                                               .calls_max = REPORT_CALLS_MAX,
                                               .gathered_max = PUSHES_PER_CALL_MAX,
                                               .gather = {REPORTS_GATHER_US},
                                               .again = {REPORT_AGAIN_MS * US_PER_MS}};

struct held_lease {
	struct push_lease lease;
	uint8_t           bytes[PUSH_LEASE_BYTES];
	enum push_fate    fate; /* the worst so far */
	unsigned          open; /* pushes that have not ended */
};

/* A credential of a batch. */
struct used_credential {
	struct apns_name  name;
	struct apns_line *line; /* NULL: it cannot be used */
	bool              is_doubtful;
	bool              has_worked, has_complained, has_rested; /* in this batch */
};

/* A phone to push to. */
struct phone {
	struct apns_push        push;
	struct batch           *batch;
	struct used_credential *credential;
	struct claim           *claims;
	struct span             token;
};

/* A lease that wants a push to a phone. */
struct claim {
	struct claim      *next; /* of the same phone */
	struct held_lease *lease;
	uint8_t            device[PUSH_DEVICE_BYTES];
};

struct batch {
	LIST_ENTRY(batch) link;
	struct pushing         *pushing;
	struct used_credential *credentials;
	struct held_lease      *leases;
	struct phone           *phones;
	struct claim           *claims;
	struct buffer           tokens; /* what the phones' tokens point into */
	unsigned                credential_count, lease_count, phone_count, claim_count, open;
};
LIST_HEAD(batches, batch);

struct pushing {
	struct pushing_options options;
	struct poll            poll;
	struct batches         batches;
	struct reports         reports;
	bool                   is_answered; /* since the last turn, and not in full */
	mono_us                now;
};

/* Batches -------------------------------------------------------------------------------------------------- */

static void batch_free(struct batch *batch)
{
	LIST_REMOVE(batch, link);
	free(batch->credentials);
	free(batch->leases);
	free(batch->phones);
	free(batch->claims);
	buffer_free(&batch->tokens);
	free(batch);
}

/* The greater rank decides: something that rests is held whole; what failed is repeated whole. */
static unsigned rank_of(enum push_fate fate)
{
	switch (fate) {
	case PUSH_HELD: return 3;
	case PUSH_AGAIN: return 2;
	case PUSH_REFUSED: return 1;
	default: return 0;
	}
}

static enum push_fate fate_of(enum apns_fate fate)
{
	switch (fate) {
	case APNS_DONE:
	case APNS_GONE: return PUSH_DONE;
	case APNS_HELD: return PUSH_HELD;
	case APNS_REFUSED: return PUSH_REFUSED;
	default: return PUSH_AGAIN;
	}
}

/* What is noted of a push of `wallet check` is sent no later than its report, which ends it: in front of the others. */
static void note_gone(const struct phone *phone, const struct claim *claim, const struct apns_answer *answer)
{
	uint8_t          bytes[PUSH_GONE_BYTES];
	struct push_gone gone = {.account = claim->lease->lease.account,
	                         .pass_number = claim->lease->lease.pass_number,
	                         .credential = phone->credential->name.number,
	                         .at_ms = answer->at_ms};
	memcpy(gone.device, claim->device, sizeof gone.device);
	push_token_hash(phone->token, gone.token_hash);
	push_gone_write(&gone, bytes);
	reports_add(&phone->batch->pushing->reports, STREAM_GONE, bytes, gone.pass_number == PROBE_PASS);
}

/* Is it the made-up phone of `wallet check`? That one has a single claim. */
static bool is_probe(const struct phone *phone)
{
	return phone->claims->lease->lease.pass_number == PROBE_PASS;
}

/* What the answer says of the credential, once in a batch, and once of a probe: what takes a made-up phone is not APNs. */
static void note_credential(struct pushing *pushing, const struct phone *phone,
                            const struct apns_answer *answer)
{
	uint8_t                 bytes[PUSH_COMPLAINT_BYTES];
	struct used_credential *credential = phone->credential;
	const bool              probes = is_probe(phone);
	bool                    works = answer->fate == APNS_GONE || (answer->fate == APNS_DONE && !probes);
	const bool              rests = answer->fate == APNS_HELD;
	bool                    is_said = works   ? credential->has_worked
	                                  : rests ? credential->has_rested
	                                          : credential->has_complained;
	if (works && !credential->is_doubtful) return;
	if (probes ? answer->fate == APNS_DONE : is_said) return;
	struct push_complaint complaint = {.kind = works   ? PUSH_WORKS
	                                           : rests ? PUSH_RESTS
	                                                   : PUSH_COMPLAINS,
	                                   .is_rehearsed = probes,
	                                   .account = credential->name.account,
	                                   .number = credential->name.number,
	                                   .generation = credential->name.generation,
	                                   .put = credential->name.put};
	credential->has_worked |= works && !probes;
	credential->has_complained |= !works && !probes;
	credential->has_rested |= rests && !probes;
	if (!works) snprintf(complaint.reason, sizeof complaint.reason, "%s", answer->reason);
	push_complaint_write(&complaint, bytes);
	reports_add(&pushing->reports, STREAM_COMPLAINTS, bytes, probes);
}

/* A lease is reported with its last push. */
static void end_claim(struct pushing *pushing, struct held_lease *lease, enum push_fate fate)
{
	if (rank_of(fate) > rank_of(lease->fate)) lease->fate = fate;
	if (--lease->open) return;
	uint8_t            bytes[PUSH_REPORT_BYTES];
	struct push_report report = {.lease = lease->lease, .fate = lease->fate};
	push_report_write(&report, bytes);
	reports_add(&pushing->reports, STREAM_REPORTS, bytes, false);
}

static void end_phone(struct phone *phone, const struct apns_answer *answer)
{
	struct batch   *batch = phone->batch;
	struct pushing *pushing = batch->pushing;
	enum push_fate  fate = fate_of(answer->fate);
	note_credential(pushing, phone, answer);
	for (struct claim *claim = phone->claims; claim; claim = claim->next) {
		if (answer->fate == APNS_GONE) note_gone(phone, claim, answer);
		end_claim(pushing, claim->lease, fate);
	}
	if (--batch->open == 0) batch_free(batch);
}

static void on_done(struct apns_push *push, const struct apns_answer *answer)
{
	end_phone((struct phone *)((char *)push - offsetof(struct phone, push)), answer);
}

/* Taking an answer ---------------------------------------------------------------------------------------- */

static struct apns_line *open_line(struct pushing *pushing, const msgpack_object *items,
                                   const struct apns_name *name)
{
	struct buffer          plain = {.at = NULL};
	struct wallet_keys     keys;
	struct apns_line      *line = NULL;
	struct wallet_seal     whose = {.account = name->account,
	                                .kind = WALLET_APPLE,
	                                .number = name->number,
	                                .generation = name->generation};
	struct apns_credential credential = {.name = *name,
	                                     .pass_type = arg_span(&items[PUSH_AT_PASS_TYPE]),
	                                     .team = arg_span(&items[PUSH_AT_TEAM]),
	                                     .key_id = arg_span(&items[PUSH_AT_KEY_ID]),
	                                     .certificate = arg_span(&items[PUSH_AT_CERTIFICATE]),
	                                     .issuer = arg_span(&items[PUSH_AT_ISSUER])};
	if (!wallet_unseal(pushing->options.key, &whose, arg_span(&items[PUSH_AT_SEALED]), &plain, &keys)) {
		credential.key = keys.key;
		credential.p8 = keys.p8;
		if (apns_line_open(pushing->options.apns, &credential, &line)) line = NULL;
	}
	wallet_keys_forget(&plain);
	return line;
}

static void take_credential(struct batch *batch, const msgpack_object *items)
{
	struct used_credential *credential = &batch->credentials[batch->credential_count++];
	memcpy(credential->name.account.b, items[PUSH_AT_ACCOUNT].via.bin.ptr,
	       sizeof credential->name.account.b);
	credential->name.number = items[PUSH_AT_NUMBER].via.u64;
	credential->name.generation = (uint32_t)items[PUSH_AT_GENERATION].via.u64;
	credential->name.put.v = arg_integer(&items[PUSH_AT_PUT], 0);
	credential->is_doubtful = items[PUSH_AT_DOUBTFUL].type == MSGPACK_OBJECT_BOOLEAN &&
	                          items[PUSH_AT_DOUBTFUL].via.boolean;
	credential->line = apns_line(batch->pushing->options.apns, &credential->name);
	if (!credential->line) credential->line = open_line(batch->pushing, items, &credential->name);
}

/* The phone that a token is of; added if the batch has not pushed to it yet. Linear: a batch has few. */
static struct phone *phone_of(struct batch *batch, struct used_credential *credential, struct span token)
{
	for (unsigned i = 0; i < batch->phone_count; i++) {
		struct phone *phone = &batch->phones[i];
		if (phone->credential == credential && span_equal(phone->token, token)) return phone;
	}
	struct phone *phone = &batch->phones[batch->phone_count++];
	size_t        at = batch->tokens.size;
	buffer_append(&batch->tokens, token.at, token.size); /* has its room already */
	*phone = (struct phone){.push.on_done = on_done,
	                        .batch = batch,
	                        .credential = credential,
	                        .token = span_of(batch->tokens.at + at, token.size)};
	return phone;
}

static void take_lease(struct batch *batch, const msgpack_object *items)
{
	struct held_lease          *lease = &batch->leases[batch->lease_count++];
	const msgpack_object_array *tokens = &items[PUSH_AT_TOKENS].via.array;
	memcpy(lease->bytes, items[PUSH_AT_LEASE].via.bin.ptr, PUSH_LEASE_BYTES);
	push_lease_read(lease->bytes, &lease->lease);
	lease->fate = PUSH_DONE;
	for (uint32_t i = 0; i < tokens->size; i++) {
		const msgpack_object   *token = tokens->ptr[i].via.array.ptr;
		struct used_credential *credential = &batch->credentials[token[PUSH_AT_INDEX].via.u64];
		struct phone           *phone = phone_of(batch, credential, arg_span(&token[PUSH_AT_TOKEN]));
		struct claim           *claim = &batch->claims[batch->claim_count++];
		*claim = (struct claim){.next = phone->claims, .lease = lease};
		memcpy(claim->device, token[PUSH_AT_DEVICE].via.bin.ptr, sizeof claim->device);
		phone->claims = claim;
		lease->open++;
	}
}

static struct batch *batch_new(struct pushing *pushing, const msgpack_object *answer, size_t tokens)
{
	uint32_t      credentials = answer[PUSH_AT_CREDENTIALS].via.array.size;
	uint32_t      leases = answer[PUSH_AT_LEASES].via.array.size;
	struct batch *batch = calloc(1, sizeof *batch);
	if (!batch) return NULL;
	LIST_INSERT_HEAD(&pushing->batches, batch, link);
	batch->pushing = pushing;
	batch->credentials = calloc(credentials + 1, sizeof *batch->credentials);
	batch->leases = calloc(leases, sizeof *batch->leases);
	batch->phones = calloc(tokens, sizeof *batch->phones);
	batch->claims = calloc(tokens, sizeof *batch->claims);
	if (batch->credentials && batch->leases && batch->phones && batch->claims &&
	    buffer_reserve(&batch->tokens, tokens * PUSH_TOKEN_BYTES_MAX))
		return batch;
	batch_free(batch);
	return NULL;
}

/* A rehearsal dials whatever came of it before, and so does a credential that Apple refused, if the shard has no doubt of it (any more). */
static void push_to(struct phone *phone, mono_us now)
{
	struct apns_line *line = phone->credential->line;
	if (is_probe(phone) || (!phone->credential->is_doubtful && apns_line_is_refused(line)))
		apns_line_hurry(line);
	apns_push(line, &phone->push, phone->token, now);
}

/* What cannot be begun is not reported: its lease runs out. */
static void take_answer(struct pushing *pushing, const msgpack_object *answer, size_t tokens)
{
	static const struct apns_answer unusable = {.fate = APNS_HELD, .reason = "its keys cannot be opened"};
	const msgpack_object_array     *credentials = &answer[PUSH_AT_CREDENTIALS].via.array,
	                           *leases = &answer[PUSH_AT_LEASES].via.array;
	struct batch *batch = leases->size ? batch_new(pushing, answer, tokens) : NULL;
	if (!batch) return;
	for (uint32_t i = 0; i < credentials->size; i++)
		take_credential(batch, credentials->ptr[i].via.array.ptr);
	for (uint32_t i = 0; i < leases->size; i++)
		take_lease(batch, leases->ptr[i].via.array.ptr);
	pushing->reports.in_hand += batch->lease_count;
	batch->open = batch->phone_count + 1; /* so that it lives until all have begun */
	for (unsigned i = 0; i < batch->phone_count; i++) {
		struct phone *phone = &batch->phones[i];
		if (phone->credential->line)
			push_to(phone, pushing->now);
		else
			end_phone(phone, &unusable);
	}
	if (--batch->open == 0) batch_free(batch);
}

/* The long poll ------------------------------------------------------------------------------------------- */

static void on_leases(struct poll *poll, const msgpack_object *answer)
{
	struct pushing *pushing = (struct pushing *)((char *)poll - offsetof(struct pushing, poll));
	size_t          tokens = 0;
	if (!push_answer_check(answer, poll->asked_for, &tokens) || poll->is_stopping) return;
	const msgpack_object *items = answer->via.array.ptr;
	pushing->is_answered = items[PUSH_AT_LEASES].via.array.size < poll->asked_for;
	take_answer(pushing, items, tokens);
}

dur_us pushing_turn(struct pushing *pushing, mono_us now)
{
	struct poll *poll = &pushing->poll;
	uint32_t     places = pushing->options.places;
	pushing->now = now;
	if (pushing->is_answered) poll->ask_at = mono_after(now, (dur_us){GATHER_MS * US_PER_MS});
	pushing->is_answered = false;
	dur_us   wait = reports_send(&pushing->reports, now, poll->is_stopping);
	uint32_t in_hand = pushing->reports.in_hand;
	poll_turn(poll, now, in_hand < places ? places - in_hand : 0);
	int64_t rest = mono_since(poll->ask_at, now).v;
	return !poll->is_waiting && rest > 0 && rest < wait.v ? (dur_us){rest} : wait;
}

/* Open, stop and close ------------------------------------------------------------------------------------- */

void pushing_stop(struct pushing *pushing)
{
	poll_stop(&pushing->poll);
}

bool pushing_is_idle(const struct pushing *pushing)
{
	return rpc_state(pushing->options.rpc) != RPC_UP ||
	       (!pushing->poll.is_waiting && pushing->reports.in_hand == 0);
}

enum err pushing_open(struct pushing **out, const struct pushing_options *options)
{
	struct pushing *pushing = *out = calloc(1, sizeof *pushing);
	if (!pushing) return ERR_NO_MEMORY;
	pushing->options = *options;
	pushing->poll = (struct poll){.rpc = options->rpc,
	                              .message = MSG_WALLET_LEASE,
	                              .instance = options->instance,
	                              .count_max = PUSHES_PER_CALL_MAX,
	                              .on_answer = on_leases};
	const uint32_t rooms[] = {options->places, options->places * GONE_PER_LEASE, COMPLAINTS_MAX};
	if (!reports_open(&pushing->reports, &report_kind, options->rpc, rooms)) return OK;
	pushing_close(out);
	return ERR_NO_MEMORY;
}

void pushing_close(struct pushing **pushing_p)
{
	struct pushing *pushing = *pushing_p;
	*pushing_p = NULL;
	if (!pushing) return;
	while (!LIST_EMPTY(&pushing->batches))
		batch_free(LIST_FIRST(&pushing->batches));
	reports_close(&pushing->reports);
	free(pushing);
}
