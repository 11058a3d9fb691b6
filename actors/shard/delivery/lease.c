/* DELIVERY_LEASE: the timer asks for what is due, and gets the right to make one attempt at each. The attempt is counted
 * here, before anybody can make it, so that no crash can make an eighth. What is not wanted any more ends here; what was
 * leased and never reported becomes due again. Nothing due: the question waits (engine/hand_out.c). A question for nothing takes the
 * one before back. */
#include "actors/shard/delivery/delivery.h"

/* Rows written: a lease moves one; an end moves one too, and its account may have two old ones to forget. */
enum { WRITES_OF_MOVE = 2, WRITES_OF_END = 4 };
_Static_assert((int)LEASES_PER_CALL_MAX *WRITES_OF_MOVE <= (int)BULK_WRITES_MAX,
               "of a command that only leases");
_Static_assert((int)REPORTS_PER_CALL_MAX *WRITES_OF_END <= (int)BULK_WRITES_MAX,
               "of a report that only ends");

/* What is to be done with a delivery. */
enum fate { LEASE_IT, DISCARD_IT, GIVE_BACK, END_IT };

struct plan {
	unsigned    count, ends, writes; /* the last: at most, of all steps */
	struct ends accounts;
	struct step {
		enum fate       fate;
		struct delivery row;
	} steps[LEASES_PER_CALL_MAX];
};

static void add(struct plan *plan, const struct delivery *row, enum fate fate)
{
	plan->steps[plan->count++] = (struct step){fate, *row};
	plan->writes += WRITES_OF_MOVE;
	if (fate != DISCARD_IT && fate != END_IT) return;
	plan->ends++;
	plan->writes += WRITES_OF_END - WRITES_OF_MOVE;
	ends_note(&plan->accounts, row->account);
}

/* An end writes more rows than a lease does: there may be fewer. */
static bool is_full(const struct plan *plan, unsigned count)
{
	return plan->count >= count || plan->ends >= ENDS_PER_COMMAND_MAX ||
	       plan->writes + WRITES_OF_END > (unsigned)BULK_WRITES_MAX;
}

/* Attempts of which nothing was heard: one too old, or of a timer that is no more. They count as made, and failed. */
static enum err take_back(struct request *request, unsigned count, struct plan *plan)
{
	const struct held *held = NULL;
	while (!is_full(plan, count) && (held = queue_expired(request->deliveries, request->mono, held))) {
		struct delivery row = {.account = held->line->account,
		                       .subscription = held->line->subscription,
		                       .zone = ZONE_LEASED,
		                       .due = held->due,
		                       .event = held->event};
		enum err        err = delivery_get(request->view, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		add(plan, &row, row.attempts < DELIVERY_ATTEMPTS_MAX ? GIVE_BACK : END_IT);
	}
	return OK;
}

static bool is_of(const struct delivery *row, const struct line *line)
{
	return row->zone == ZONE_WAITING && !memcmp(row->account.b, line->account.b, sizeof row->account.b) &&
	       !memcmp(row->subscription.b, line->subscription.b, sizeof row->subscription.b);
}

static enum err take_line(struct request *request, const struct line *line, unsigned room, unsigned count,
                          struct plan *plan)
{
	struct delivery row = {
	    .account = line->account, .subscription = line->subscription, .zone = ZONE_WAITING};
	struct account *account;
	bool            wanted;
	enum err        err = delivery_account(request, line->account, &account);
	if (err) return err;
	err = delivery_from(request->view, &row);
	for (unsigned i = 0; !err && i < room && !is_full(plan, count); i++) {
		if (!is_of(&row, line) || row.due.v > request->now.v) return OK;
		if ((err = delivery_is_wanted(request->view, account, &row, &wanted))) return err;
		add(plan, &row, wanted ? LEASE_IT : DISCARD_IT);
		err = delivery_next(request->view, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err make_plan(struct request *request, unsigned count, struct plan *plan)
{
	uint32_t     room;
	struct line *line;
	enum err     err = take_back(request, count, plan);
	queue_turn_begin(request->deliveries, request->mono);
	while (!err && !is_full(plan, count) &&
	       (line = queue_turn(request->deliveries, request->now, &room))) {
		unsigned before = plan->count - plan->ends;
		err = take_line(request, line, room, count, plan);
		queue_promise(request->deliveries, line, plan->count - plan->ends - before);
	}
	return err ? err : ends_look_up(request, &plan->accounts);
}

static enum err lease(struct request *request, struct delivery row, struct lease *lease)
{
	enum err err = delivery_del(request->view, &row);
	if (err) return err;
	row.zone = ZONE_LEASED;
	row.attempts++;
	row.instance = (uint64_t)arg_integer(&request->args[ARG_DELIVERY_LEASE_instance], 0);
	random_take(request->random, &row.token, sizeof row.token);
	*lease = (struct lease){row.account, row.subscription, row.due, row.event, row.token};
	return delivery_put(request->view, &row);
}

/* An attempt that was handed out and is not reported in time ends as one. */
static void note_unreported(struct request *request, struct delivery *row)
{
	row->error = ATTEMPT_UNREPORTED;
	row->status = 0;
	atomic_fetch_add_explicit(&request->counters->attempts[ATTEMPT_UNREPORTED], 1, memory_order_relaxed);
}

/* At once, as what was in the hands of a timer that died by chance; but one that dies again and again must not use all
 * attempts up in seconds. `row.error` is still that of the attempt before. */
static enum err give_back(struct request *request, struct delivery row)
{
	dur_us   wait = row.error == ATTEMPT_UNREPORTED ? delivery_wait(row.attempts) : (dur_us){0};
	enum err err = delivery_del(request->view, &row);
	if (err) return err;
	row.zone = ZONE_WAITING;
	row.due.v = request->now.v + wait.v;
	note_unreported(request, &row);
	return delivery_put(request->view, &row);
}

static enum err take_step(struct request *request, struct plan *plan, const struct step *step,
                          struct buffer *leases)
{
	struct lease    given;
	uint8_t         bytes[LEASE_BYTES];
	enum err        err;
	struct delivery row = step->row;
	switch (step->fate) {
	case LEASE_IT:
		if ((err = lease(request, row, &given))) return err;
		lease_write(&given, bytes);
		buffer_append(leases, bytes, sizeof bytes);
		return OK;
	case GIVE_BACK: return give_back(request, row);
	case DISCARD_IT: return ends_put(request, &plan->accounts, &row, DELIVERY_DISCARDED);
	case END_IT: break;
	}
	note_unreported(request, &row);
	return ends_put(request, &plan->accounts, &row, DELIVERY_FAILED);
}

/* Its answer is a bin: the leases' bytes. */
enum err on_DELIVERY_LEASE(struct request *request, struct outcome *outcome)
{
	struct plan    plan = {.count = 0};
	struct buffer  leases = {0};
	unsigned       count = (unsigned)arg_integer(&request->args[ARG_DELIVERY_LEASE_count], 0);
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (count == 0) { /* the timer stops: it wants no more, whatever it asked before */
		pack_bin(&pk, span_of(NULL, 0));
		return OK;
	}
	queue_meet(request->deliveries,
	           (uint64_t)arg_integer(&request->args[ARG_DELIVERY_LEASE_instance], 0));
	enum err err = make_plan(request, count, &plan);
	for (unsigned i = 0; i < plan.count && !err; i++)
		err = take_step(request, &plan, &plan.steps[i], &leases);
	pack_bin(&pk, buffer_span(&leases));
	if (!err && leases.failed) err = ERR_NO_MEMORY;
	buffer_free(&leases);
	if (err || plan.count) return err;
	mono_us last = {request->call->deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	return request->mono.v < last.v ? ERR_PARKED : OK;
}
