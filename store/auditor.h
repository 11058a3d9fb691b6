#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/audit.h"
#include "store/keys.h"

/* What the parts of an audit share: audit.c goes from account to account, audit_rows.c takes an account's rows of one
 * table apart, audit_passes.c recomputes what an account's passes must add up to. Nobody else includes this. */
struct pass_seen;

struct auditor {
	struct view      *reader;
	struct audit     *audit;
	struct faults    *faults;
	struct progress  *progress;
	struct account_id account; /* the one at hand */
	char              account_text[ACCOUNT_ID_TEXT];
	uint32_t          template_count;
	struct buffer     whole;  /* a value put together from its parts */
	struct pass_seen *passes; /* of the account, by number */
	size_t            pass_count, pass_room;
};

/* Adds a fault of the account at hand in `table`. */
__attribute__((format(printf, 3, 4))) void audit_fault(struct auditor *auditor, enum table table,
                                                       const char *format, ...);

/* The account's rows of one table, in order. Begin with the table alone set. `rest` is the key behind the account,
 * `value` comes without its checksum. Errors: ERR_NOT_FOUND: no more; ERR_STOPPED. */
struct audit_rows {
	enum table     table;
	struct raw_row row;
	struct span    rest, value;
	bool           begun, kept; /* kept: the next call gives the same row again */
};
must_check enum err audit_row(struct auditor *auditor, struct audit_rows *rows);

/* The next value of a PARTED table, whose keys are account | number. *whole false: a fault was added, and neither
 * number nor value are to be used. The value lives until the next call. Errors: as audit_row(), ERR_NO_MEMORY. */
struct audit_whole {
	bool        whole;
	uint32_t    number;
	struct span value;
};
must_check enum err audit_whole(struct auditor *auditor, struct audit_rows *rows, struct audit_whole *found);

/* The passes of the account at hand: rows of HOT, TALLY, BODY, PASS_ID and LEDGER. */
must_check enum err audit_passes(struct auditor *auditor);
