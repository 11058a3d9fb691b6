#pragma once
#include "ops/cli/import/rows.h"
#include "ops/cli/service.h"

/* Creations in flight to one account's shard. Rows go in at one end and come out at the other in the same order, each with its
 * outcome. Many are sent at a time, in order, and the shard creates them in order.
 *
 * A row that was refused temporarily (no session, no room, no issuer) is sent again. Nothing new is sent before everything in
 * flight has ended, so rows done and rows not done are each in order. A row without an answer (its shard died, or its time was
 * up) is sent again too. Each row has an idempotency key, so it is created and counted once; an existing pass with its id is
 * then another row's. */
struct flight;

enum { FLIGHT_ROWS_MAX = 512, FLIGHT_BYTES_MAX = 4 << 20 }; /* both well within the credit of a session */

struct row {
	/* The owner's, from flight_room() to flight_add() */
	struct row_place place;
	struct buffer    args;   /* of PASS_CREATE */
	enum err         err;    /* the outcome; not OK before it is sent: it is not sent */
	struct buffer    reason; /* of a failure: CODE message (field) */

	/* The flight's */
	enum { ROW_READY, ROW_SENT, ROW_ENDED } state;
	struct waiting waiting;
	struct flight *flight;
	bool           is_in_doubt; /* a call of it was not answered: it may have been created */
};

/* Opens the session with the account's shard. If nothing is accepted or finally refused for `wait_ms`, the flight stops by
 * itself. Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err flight_open(struct flight **flight, struct service *service,
                                const struct account_id *account, int64_t wait_ms);
void                flight_close(struct flight **flight);

/* flight_room(): an empty row to fill; NULL: there is no room now, or the flight has stopped. flight_add() appends it. */
struct row *flight_room(struct flight *flight);
void        flight_add(struct flight *flight);

/* Sends, receives, and waits a little if there is nothing else to do. */
void flight_turn(struct flight *flight);

/* The oldest row if it has ended, else NULL; flight_drop() takes it off. */
struct row *flight_ended(struct flight *flight);
void        flight_drop(struct flight *flight);
bool        flight_is_empty(const struct flight *flight);

/* Stops: rows that were never sent are dropped. Those in flight get a few seconds, and those in doubt are sent again
 * meanwhile. */
void flight_stop(struct flight *flight);
/* Why the flight stopped by itself: the shard accepted nothing for a long time, or refuses the account. OK: it has not. */
enum err flight_trouble(const struct flight *flight);

/* Writes "CODE message (field)"; an empty message is the error's own, an empty field none; no control characters. */
void row_blame(struct row *row, enum err err, struct span message, struct span field);
