/* DELIVERY_LEASE: the timer asks for due deliveries. It gets the right to make one attempt at each, and what to send, up to
 * HANDED_BODY_BYTES together. The attempt is counted here, before it can be made, so that no crash can cause an eighth.
 * Deliveries that are no longer wanted end here. Leases without a report become due again. If nothing is due, the poll waits
 * (engine/hand_out.c). A poll for zero deliveries ends the waiting one. */
#include "actors/shard/delivery/delivery.h"
#include "schemas/api/delivery.h"

/* Rows written. A lease moves one row. An end moves one too, and may remove two old ends of its account. */
enum { WRITES_OF_MOVE = 2, WRITES_OF_END = 4 };
_Static_assert((int)LEASES_PER_CALL_MAX *WRITES_OF_MOVE <= (int)BULK_WRITES_MAX,
               "BULK_WRITES_MAX is too small for leases");
_Static_assert((int)REPORTS_PER_CALL_MAX *WRITES_OF_END <= (int)BULK_WRITES_MAX,
               "BULK_WRITES_MAX is too small for ends");

/* What to do with a delivery. */
enum fate { LEASE_IT, DISCARD_IT, GIVE_BACK, END_IT };

struct plan {
	unsigned    count, ends, writes; /* `writes`: upper bound over all steps */
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

/* An end writes more rows than a lease, so fewer ends fit. */
static bool is_full(const struct plan *plan, unsigned count)
{
	return plan->count >= count || plan->ends >= ENDS_PER_COMMAND_MAX ||
	       plan->writes + WRITES_OF_END > (unsigned)BULK_WRITES_MAX;
}

/* Attempts without a report: expired, or of an earlier timer. They count as made and failed. */
static enum err take_back(struct request *request, unsigned count, struct plan *plan)
{
	const struct held_lease *lease = NULL;
	while (!is_full(plan, count) && (lease = queue_expired(request->deliveries, request->mono, lease))) {
		struct delivery row = {.account = lease->lane->account,
		                       .subscription = lease->lane->subscription,
		                       .zone = ZONE_LEASED,
		                       .due = lease->due,
		                       .event = lease->event};
		enum err        err = delivery_get(request->view, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		add(plan, &row, row.attempts < DELIVERY_ATTEMPTS_MAX ? GIVE_BACK : END_IT);
	}
	return OK;
}

static bool is_of(const struct delivery *row, const struct lane *lane)
{
	return row->zone == ZONE_WAITING && account_same(row->account, lane->account) &&
	       uuid_same(row->subscription, lane->subscription);
}

static enum err take_line(struct request *request, const struct lane *lane, unsigned room, unsigned count,
                          struct plan *plan)
{
	struct delivery row = {
	    .account = lane->account, .subscription = lane->subscription, .zone = ZONE_WAITING};
	struct account *account;
	bool            wanted;
	enum err        err = delivery_account(request, lane->account, &account);
	if (err) return err;
	err = delivery_from(request->view, &row);
	for (unsigned i = 0; !err && i < room && !is_full(plan, count); i++) {
		if (!is_of(&row, lane) || row.due.v > request->now.v) return OK;
		if ((err = delivery_is_wanted(request->view, account, &row, &wanted))) return err;
		add(plan, &row, wanted ? LEASE_IT : DISCARD_IT);
		err = delivery_next(request->view, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err make_plan(struct request *request, unsigned count, struct plan *plan)
{
	uint32_t     room;
	struct lane *lane;
	enum err     err = take_back(request, count, plan);
	queue_turn_begin(request->deliveries, request->mono);
	while (!err && !is_full(plan, count) &&
	       (lane = queue_turn(request->deliveries, request->now, &room))) {
		unsigned before = plan->count - plan->ends;
		err = take_line(request, lane, room, count, plan);
		queue_reserve(request->deliveries, lane, plan->count - plan->ends - before);
	}
	return err ? err : ends_look_up(request, &plan->accounts);
}

/* The answer: leases, and for most of them what to send. */
struct handed {
	struct buffer leases, items;
	unsigned      item_count;
};

/* Reads and renders the pass as a GET does, which also runs on the writer. On a reader thread it would wait for a commit and
 * another poll. The timer asks again for a delivery that cannot be rendered here, and gets the error then. */
static void render(struct request *request, const struct delivery *row, const uint8_t *lease,
                   struct handed *handed)
{
	struct request of = *request;
	size_t         size = handed->items.size;
	if (size >= HANDED_BODY_BYTES) return;
	if (delivery_account(request, row->account, &of.account) || !of.account) return;
	msgpack_packer pk = buffer_packer(&handed->items);
	if (delivery_render(&of, lease, row, &pk))
		handed->items.size = size;
	else
		handed->item_count++;
}

/* Call before the command's first write: rendering may need range reads. */
static void hand(struct request *request, struct plan *plan, struct handed *handed)
{
	for (unsigned i = 0; i < plan->count; i++) {
		struct delivery *row = &plan->steps[i].row;
		uint8_t          bytes[LEASE_BYTES];
		if (plan->steps[i].fate != LEASE_IT) continue;
		random_take(request->random, &row->token, sizeof row->token);
		lease_write(
		    &(struct lease){row->account, row->subscription, row->due, row->event, row->token},
		    bytes);
		buffer_append(&handed->leases, bytes, sizeof bytes);
		render(request, row, bytes, handed);
	}
}

static enum err lease(struct request *request, struct delivery row)
{
	enum err err = delivery_del(request->view, &row);
	if (err) return err;
	row.zone = ZONE_LEASED;
	row.attempts++;
	row.instance = (uint64_t)arg_integer(&request->args[ARG_DELIVERY_LEASE_instance], 0);
	return delivery_put(request->view, &row);
}

/* A lease that is not reported in time counts as a failed attempt. */
static void note_unreported(struct request *request, struct delivery *row)
{
	row->error = ATTEMPT_UNREPORTED;
	row->status = 0;
	row->detail = DETAIL_NONE;
	atomic_fetch_add_explicit(&request->counters->attempts[ATTEMPT_UNREPORTED], 1, memory_order_relaxed);
}

/* Due at once: its timer probably died. But a timer that dies repeatedly must not use up all attempts in seconds. `row.error`
 * is still the previous attempt's. */
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

static enum err take_step(struct request *request, struct plan *plan, const struct step *step)
{
	struct delivery row = step->row;
	switch (step->fate) {
	case LEASE_IT: return lease(request, row);
	case GIVE_BACK: return give_back(request, row);
	case DISCARD_IT: return ends_put(request, &plan->accounts, &row, DELIVERY_DISCARDED);
	case END_IT: break;
	}
	note_unreported(request, &row);
	return ends_put(request, &plan->accounts, &row, DELIVERY_FAILED);
}

static void pack_handed(struct handed *handed, mono_us now, struct buffer *payload)
{
	msgpack_packer pk = buffer_packer(payload);
	msgpack_pack_array(&pk, 3);
	pack_bin(&pk, buffer_span(&handed->leases));
	if (handed->items.failed) { /* no memory: the timer asks for them one by one */
		msgpack_pack_array(&pk, 0);
	} else {
		msgpack_pack_array(&pk, handed->item_count);
		buffer_append(payload, handed->items.at, handed->items.size);
	}
	pack_int(&pk, now.v);
	payload->failed |= handed->leases.failed;
	buffer_free(&handed->leases);
	buffer_free(&handed->items);
}

/* The answer is [the leases' bytes, [items], time]. Each item is as in the answer to DELIVERY_RENDER. `time` is when they were
 * rendered, in microseconds of the host's monotonic clock. */
enum err on_DELIVERY_LEASE(struct request *request, struct outcome *outcome)
{
	struct plan   plan = {.count = 0};
	struct handed handed = {.item_count = 0};
	unsigned      count = (unsigned)arg_integer(&request->args[ARG_DELIVERY_LEASE_count], 0);
	if (count == 0) { /* the timer is stopping and withdraws its poll */
		pack_handed(&handed, request->mono, outcome->payload);
		return OK;
	}
	queue_meet(request->deliveries,
	           (uint64_t)arg_integer(&request->args[ARG_DELIVERY_LEASE_instance], 0));
	enum err err = make_plan(request, count, &plan);
	if (!err) hand(request, &plan, &handed);
	for (unsigned i = 0; i < plan.count && !err; i++)
		err = take_step(request, &plan, &plan.steps[i]);
	pack_handed(&handed, request->mono, outcome->payload);
	if (!err && outcome->payload->failed) err = ERR_NO_MEMORY;
	if (err || plan.count) return err;
	mono_us last = {request->call->deadline.v - LEASE_ANSWER_MS * US_PER_MS};
	return request->mono.v < last.v ? ERR_PARKED : OK;
}
