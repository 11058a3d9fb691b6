#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* The ledger: every event of every pass and every scan, append-only, in one sequence an account, from 1. Each row but those of
 * scans names the previous row of the same pass (0: none), so a pass's history is a walk back from hot.ledger_head.
 * Row, little-endian: number u32 | what u8 | status u8 | flags u8 | field u8 | at i64 | previous u64, and in rows that
 * move the balance (LOYALTY, RULE): delta i64 | balance i64. A row of the kind LEDGER_SCAN has another form (scan_row.h), with number, what and
 * at in the same places. Errors: as view.h. */
enum ledger_what {
#define W(id, NAME, text) LEDGER_##NAME = id,
#include "store/ledger.def"
#undef W
};

enum { LEDGER_SHOWS_NOTHING = 255 };
enum {
	LEDGER_EVENT_BYTES = 24,
	LEDGER_MOVE_BYTES = 40
}; /* of a row without and with those two; of a scan 40 */

struct ledger_row {
	uint32_t         number; /* of the pass */
	enum ledger_what what;
	uint8_t          status, flags; /* after the event, as in struct hot */
	uint8_t field; /* of EDITED: the field of the template whose change wallets announce, from 1; 0: none;
	                  LEDGER_SHOWS_NOTHING: nothing that is shown has changed */
	wall_us at;
	uint64_t previous;
	int64_t  delta, balance; /* in rows that move it: the change, and the balance after it */
};

/* Does such an event move the balance? */
bool ledger_moves(enum ledger_what what);

const char *ledger_what_text(enum ledger_what what);

must_check enum err ledger_get(struct view *view, struct account_id account, uint64_t seq,
                               struct ledger_row *row);
/* Decodes a stored value; of a scan number, what and at alone. Errors: ERR_DAMAGED. */
must_check enum err ledger_row_read(struct span value, struct ledger_row *row);
must_check enum err ledger_put(struct view *view, struct account_id account, uint64_t seq,
                               const struct ledger_row *row);

/* The seq of the account's newest row; 0 when there is none. Before any staged write of a row. */
must_check enum err ledger_last(struct view *view, struct account_id account, uint64_t *seq);
