/* Rows in flight: a ring, from the oldest row not yet taken off to the newest.
 *
 *   READY -> SENT -> ENDED     the shard has given a final answer
 *     ^--------'               refused temporarily, or not answered: it is sent again with its key
 *
 * Anything but a final answer makes the flight hold: see flight.h. A row's slot is its place in the ring, which the next row
 * gets after this one was taken off. So the shard never needs to remember two rows of one slot. */
#include "ops/cli/import/flight.h"
#include "actors/rt/random.h"
#include "actors/rt/time.h"

#include <stdlib.h>

enum {
	DECIDE_MS = 20000, /* the shard's time to decide one: on a slow disk many wait for each sync */
	PAUSE_MS = 20,     /* before a refused row is sent again; doubles */
	PAUSE_MS_MAX = 1000,
	STOP_WAIT_MS_MAX = 3000, /* for answers, after a stop */
	TURN_MS = 50,
	FIELD_BYTES_MAX = 200,
	LIST_CACHE_BYTES = 64 << 10, /* a larger row buffer is not kept for the next row */
};

struct flight {
	struct service   *service;
	struct account_id account;
	uint32_t          shard;
	int64_t           wait_ms;
	uint8_t           import[IMPORT_ID_BYTES]; /* random: common part of this import's keys */

	struct row rows[FLIGHT_ROWS_MAX]; /* a ring */
	uint64_t   first, end;            /* counts of rows: rows[n % FLIGHT_ROWS_MAX] */
	uint64_t   next;                  /* the next to be sent */
	uint64_t   tried;                 /* rows before it were sent at least once, or ended without */
	uint32_t   sent;                  /* rows in this state */
	size_t     sent_bytes, held_bytes;

	bool     holding; /* nothing is sent until all sent rows have ended, and `again` */
	mono_us  again;
	dur_us   pause; /* the last one; doubles */
	mono_us  moved; /* when a row last ended, or the first of many was sent */
	bool     stopping;
	enum err trouble;
};

static struct row *flight_row(struct flight *flight, uint64_t count)
{
	return &flight->rows[count % FLIGHT_ROWS_MAX];
}

static dur_us ms(int64_t count)
{
	return (dur_us){count * US_PER_MS};
}

enum err flight_open(struct flight **flight_p, struct service *service, const struct account_id *account,
                     int64_t wait_ms)
{
	struct flight     *flight = calloc(1, sizeof *flight);
	struct random_pool random = {0};
	enum err           err;

	*flight_p = NULL;
	if (!flight) return ERR_NO_MEMORY;
	flight->service = service;
	flight->account = *account;
	flight->wait_ms = wait_ms;
	random_take(&random, flight->import, sizeof flight->import);
	if ((err = service_connect(service, account, &flight->shard))) goto out;
	*flight_p = flight;
	flight = NULL;
out:
	flight_close(&flight);
	return err;
}

void flight_close(struct flight **flight_p)
{
	struct flight *flight = *flight_p;

	*flight_p = NULL;
	if (!flight) return;
	for (unsigned i = 0; i < FLIGHT_ROWS_MAX; i++) {
		buffer_free(&flight->rows[i].args);
		buffer_free(&flight->rows[i].reason);
	}
	free(flight);
}

void row_blame(struct row *row, enum err err, struct span message, struct span field)
{
	row->err = err;
	buffer_clear(&row->reason);
	buffer_text(&row->reason, err_code(err));
	buffer_byte(&row->reason, ' ');
	if (message.size == 0) message = span_str(field.size ? err_message_of_field(err) : err_message(err));
	buffer_append(&row->reason, message.at, message.size);
	if (field.size == 0) return;
	buffer_text(&row->reason, " (");
	/* The file may determine a field's name. */
	field = utf8_cut(field, FIELD_BYTES_MAX);
	for (size_t i = 0; i < field.size; i++)
		buffer_byte(&row->reason, field.at[i] < ' ' || field.at[i] == 0x7f ? '?' : field.at[i]);
	buffer_byte(&row->reason, ')');
}

/* ---- the ring ---- */

struct row *flight_room(struct flight *flight)
{
	if (flight->stopping || flight->end - flight->first == FLIGHT_ROWS_MAX) return NULL;
	if (flight->held_bytes >= FLIGHT_BYTES_MAX) return NULL;
	struct row *row = flight_row(flight, flight->end);
	buffer_clear(&row->args);
	buffer_clear(&row->reason);
	row->err = OK;
	row->is_in_doubt = false;
	return row;
}

void flight_add(struct flight *flight)
{
	struct row *row = flight_row(flight, flight->end);

	if (flight_is_empty(flight)) flight->moved = time_mono();
	row->state = row->err ? ROW_ENDED : ROW_READY;
	row->flight = flight;
	flight->held_bytes += row->args.size;
	flight->end++;
}

struct row *flight_ended(struct flight *flight)
{
	struct row *row = flight_row(flight, flight->first);

	if (flight_is_empty(flight) || row->state != ROW_ENDED) return NULL;
	/* A row that was never sent waits its turn even if it failed: at a stop, all rows before it have been
	 * tried, and none after. */
	return flight->first < flight->tried ? row : NULL;
}

void flight_drop(struct flight *flight)
{
	struct row *row = flight_row(flight, flight->first++);

	flight->held_bytes -= row->args.size;
	if (row->args.capacity > LIST_CACHE_BYTES) buffer_free(&row->args);
}

bool flight_is_empty(const struct flight *flight)
{
	return flight->first == flight->end;
}

/* ---- ends of rows ---- */

static void end_row(struct flight *flight, struct row *row, enum err err)
{
	static const struct span none = {(const uint8_t *)"", 0};

	row->state = ROW_ENDED;
	if (err && (err != row->err || !row->reason.size)) row_blame(row, err, none, none);
	row->err = err;
	flight->moved = time_mono();
}

static void hold(struct flight *flight)
{
	int64_t longer = flight->pause.v ? flight->pause.v * 2 : PAUSE_MS * US_PER_MS;

	if (flight->holding) return;
	flight->holding = true;
	flight->pause.v = longer < PAUSE_MS_MAX * US_PER_MS ? longer : PAUSE_MS_MAX * US_PER_MS;
	flight->again = mono_after(time_mono(), flight->pause);
}

static bool is_for_now(enum err err)
{
	return err == ERR_OVERLOADED || err == ERR_SHARD_UNAVAILABLE || err == ERR_OUTCOME_UNKNOWN ||
	       err == ERR_PASS_PROVIDER_UNAVAILABLE || err == ERR_STORAGE_FULL ||
	       err == ERR_ACCOUNT_SUSPENDED;
}

static void on_answer(void *user, uint32_t shard, const struct reply *reply)
{
	struct row           *row = user;
	struct flight        *flight = row->flight;
	const msgpack_object *text = reply->payload;
	struct span           message = {(const uint8_t *)"", 0};

	(void)shard;
	flight->sent--;
	flight->sent_bytes -= row->args.size;
	row->state = ROW_READY;
	if (!reply->err) {
		flight->pause.v = 0;
		end_row(flight, row, OK);
		return;
	}
	if (text->type == MSGPACK_OBJECT_STR) message = span_of(text->via.str.ptr, text->via.str.size);
	row_blame(row, reply->err, message, reply->field);
	if (reply->err == ERR_OUTCOME_UNKNOWN) row->is_in_doubt = true;
	/* The shard has looked up the row's key before these errors, but not before other temporary ones. */
	if (reply->err == ERR_PASS_PROVIDER_UNAVAILABLE || reply->err == ERR_STORAGE_FULL)
		row->is_in_doubt = false;
	if (reply->err == ERR_ACCOUNT_SUSPENDED) flight->trouble = reply->err;
	if (is_for_now(reply->err))
		hold(flight);
	else
		end_row(flight, row, reply->err);
}

/* ---- turns ---- */

static void send_row(struct flight *flight, uint64_t n)
{
	struct row        *row = flight_row(flight, n);
	struct idempotency key;
	struct call_spec   request = {.message = MSG_PASS_CREATE,
	                              .account = &flight->account,
	                              .args = buffer_span(&row->args),
	                              .wait_ms = DECIDE_MS,
	                              .idempotency = &key};

	idempotency_of_row(flight->import, (uint32_t)(n % FLIGHT_ROWS_MAX), n, &key);
	row->state = ROW_SENT;
	row->waiting = (struct waiting){.on_part = on_answer, .user = row, .shard = flight->shard};
	flight->sent++;
	flight->sent_bytes += row->args.size;
	service_begin(flight->service, &request, &row->waiting);
}

static void send_rows(struct flight *flight)
{
	if (service_epoch(flight->service, flight->shard) == 0) hold(flight);
	while (flight->next < flight->end && !flight->holding) {
		struct row *row = flight_row(flight, flight->next);
		if (row->state == ROW_READY) {
			if (flight->sent && flight->sent_bytes + row->args.size > FLIGHT_BYTES_MAX) return;
			send_row(flight, flight->next);
		}
		if (++flight->next > flight->tried) flight->tried = flight->next;
	}
}

/* Ends rows that will not be sent again with what is known of them: with or without those in doubt. */
static void end_rows(struct flight *flight, bool in_doubt_too)
{
	for (uint64_t n = flight->first; n < flight->end; n++) {
		struct row *row = flight_row(flight, n);
		bool        is_unknown = row->state == ROW_SENT || row->is_in_doubt;
		if (row->state == ROW_ENDED || (is_unknown && !in_doubt_too)) continue;
		end_row(flight, row, is_unknown ? ERR_OUTCOME_UNKNOWN : row->err);
	}
}

/* Once nothing is in flight, sends rows again that were refused or not answered. */
static void release(struct flight *flight, mono_us now)
{
	if (flight->sent) return;
	if (flight->stopping) end_rows(flight, false);
	if (now.v < flight->again.v || service_epoch(flight->service, flight->shard) == 0) return;
	flight->holding = false;
	flight->next = flight->first;
}

static bool is_stuck(const struct flight *flight, mono_us now)
{
	int64_t wait_ms = flight->wait_ms;

	if (flight->stopping && wait_ms > STOP_WAIT_MS_MAX) wait_ms = STOP_WAIT_MS_MAX;
	return mono_since(now, flight->moved).v >= ms(wait_ms).v;
}

/* What keeps the first unfinished row from ending. */
static enum err what_is_wrong(struct flight *flight)
{
	uint64_t n = flight->first;

	while (n < flight->end && flight_row(flight, n)->state == ROW_ENDED)
		n++;
	const struct row *row = flight_row(flight, n);
	if (n == flight->end || row->state == ROW_SENT || row->is_in_doubt || !row->err)
		return ERR_SHARD_UNAVAILABLE;
	return row->err;
}

void flight_turn(struct flight *flight)
{
	mono_us now = time_mono();

	if (flight->holding) release(flight, now);
	if (!flight->holding) send_rows(flight);
	if (flight->trouble && !flight->stopping) flight_stop(flight);
	if (flight_is_empty(flight) || flight_ended(flight)) return;
	if (is_stuck(flight, now)) {
		if (!flight->trouble && !flight->stopping) flight->trouble = what_is_wrong(flight);
		flight_stop(flight);
		/* Later answers are lost: the command does not wait for the service again. */
		end_rows(flight, true);
		return;
	}
	service_turn(flight->service, flight->shard, ms(TURN_MS));
}

void flight_stop(struct flight *flight)
{
	if (flight->stopping) return;
	flight->stopping = flight->holding = true;
	flight->moved = flight->again = time_mono();
	while (flight->end > flight->tried)
		flight->held_bytes -= flight_row(flight, --flight->end)->args.size;
}

enum err flight_trouble(const struct flight *flight)
{
	return flight->trouble;
}
