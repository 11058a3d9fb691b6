#pragma once
#include "schemas/arena.h"
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/audit.h"
#include "store/cleanup.h"
#include "store/image_use.h"
#include "store/keys.h"
#include "store/template_state.h"

/* Shared by the parts of an audit, and included by them alone. audit.c iterates over the accounts and calls the
 * parts, audit_rows.c iterates over an account's rows of one table, audit_X.c checks the rows of X. */

/* One pass in the tables: values of its hot row, and beside them the values the other tables imply. */
struct pass_seen {
	int64_t  hot_balance, balance;       /* in the hot row; the sum of the ledger */
	uint64_t hot_head, head;             /* its newest ledger row */
	uint64_t id_sum, name_sum, text_sum; /* of the keys its body is found by: checksums, to save memory */
	uint32_t text_size;
	uint32_t hot_scan_count, scan_count; /* in the hot row; the successful scans */
	wall_us  hot_last_scan, last_scan;
	uint16_t template;
	uint8_t  hot_status, status;
	uint8_t  hot_flags, flags;
	bool     has_body, has_id, has_name, has_long_text;
	uint32_t phones; /* that have it */
	bool     is_removal_due;
	bool     is_at_google; /* saved in its wallet */
	bool     is_blank;     /* its body has no data of the holder, except perhaps the id */
};

/* A version of a reward, and how many entitlements were assigned from it. */
struct version_seen {
	uint32_t family, version;
	uint64_t assigned;
};

/* One template in the tables. */
struct template_seen {
	struct template_use use;
	bool                is_there, has_passes;
	uint32_t            passes, installed; /* not deleted; of these active */
};

struct auditor {
	struct view          *reader;
	struct audit         *audit;
	struct faults        *faults;
	struct progress      *progress;
	struct account_id     account; /* the current account */
	char                  account_text[ACCOUNT_ID_TEXT];
	uint32_t              template_count; /* ever created by the account */
	struct template_seen *templates;      /* by number; index 0 is unused */
	uint32_t              family_count;   /* of its rewards, deleted ones included */
	uint64_t
	    url_sum; /* over the URLs of images that passes and templates name: compared in place of them */
	struct buffer     versions; /* existing versions of its rewards: struct version_seen, in key order */
	struct buffer     name_fields; /* of its templates, by number: each ends in 0 */
	struct arena      arena;       /* of one body */
	struct buffer     text;        /* a name or text computed from it */
	struct buffer     whole;       /* a value joined from its parts */
	struct pass_seen *passes;      /* of the account, by number */
	size_t            pass_count, pass_room;
	wall_us           last_created;
	uint32_t          scan_count; /* of the account */
	/* Scans in the ledger: the first number, the number behind the last, and the sum of audit_scan_sum() over them. The
	 * audit of scans subtracts each scan that it finds, so the sum is 0 at its end. */
	bool      has_ledger_scans;
	uint32_t  ledger_scans_from, ledger_scans;
	uint64_t  scan_sum;
	uint32_t *order; /* pass numbers in the order of an index's rows */
	size_t    order_count;
};

/* Adds a fault of the current account in `table`. */
__attribute__((format(printf, 3, 4))) void audit_fault(struct auditor *auditor, enum table table,
                                                       const char *format, ...);

/* After a lookup of a row that must exist: does `err` mean a fault in the tables, so that the audit goes on? */
bool audit_is_fault(enum err err);

/* Is there a row of background removal with this account, kind and subject? */
must_check enum err audit_is_left(struct auditor *auditor, struct cleanup row, bool *left);

/* Checks data of a holder found in `table`: if its pass is erased, the background removal must still have a row for
 * it. */
must_check enum err audit_erased(struct auditor *auditor, enum table table, uint32_t number);

/* The version if it exists, or NULL. */
struct version_seen *audit_version(const struct auditor *auditor, uint32_t family, uint32_t version);

/* Has the current account a template of that number? */
bool audit_has_template(const struct auditor *auditor, uint32_t number);

/* The value that an image's URL adds to auditor->url_sum. */
uint64_t audit_url_sum(struct span url);

/* The value that a scan adds to auditor->scan_sum. Its reader is left out: a deletion removes it in one place only. */
struct scan_row;
uint64_t audit_scan_sum(uint32_t number, const struct scan_row *scan);

/* The account's rows of one table, in order. Zero all but `table` to begin. `rest` is the key behind the account;
 * `value` comes without its checksum. Errors: ERR_NOT_FOUND: no more; ERR_STOPPED. */
struct audit_rows {
	enum table     table;
	struct raw_row row;
	struct span    rest, value;
	bool           begun, kept; /* kept: the next call returns the same row again */
	size_t         key_size;    /* PARTED: bytes of `rest` before the part's number; 0: a u32 */
	void          *context;     /* of audit_each() */
};
must_check enum err audit_row(struct auditor *auditor, struct audit_rows *rows);

/* Calls `judge` at each of the account's rows of one table, in order; it finds `context` in rows->context. Its
 * ERR_MALFORMED becomes the fault "a row of a wrong form", any other error ends the iteration. Errors: as audit_row(),
 * without ERR_NOT_FOUND, and the judge's. */
typedef enum err    audit_judge(struct auditor *auditor, const struct audit_rows *rows);
must_check enum err audit_each(struct auditor *auditor, enum table table, audit_judge *judge, void *context);

/* The next value of a PARTED table. Its keys are account | number, optionally longer. *whole false: a fault was
 * added, and nothing else in `found` is valid. The value and the key (`rows->rest` belongs to its last part) live
 * until the next call. Errors: as audit_row(), ERR_NO_MEMORY. */
enum { AUDIT_KEY_MAX = 64 };
struct audit_whole {
	bool        whole;
	uint32_t    number;
	uint8_t     key[AUDIT_KEY_MAX]; /* rows->key_size bytes */
	struct span value;
	void       *context; /* of audit_each_whole() */
};
must_check enum err audit_whole(struct auditor *auditor, struct audit_rows *rows, struct audit_whole *found);

/* As audit_each(), for the whole values of a PARTED table. `key_size`: as in struct audit_rows. */
typedef enum err    audit_judge_whole(struct auditor *auditor, const struct audit_whole *found);
must_check enum err audit_each_whole(struct auditor *auditor, enum table table, size_t key_size,
                                     audit_judge_whole *judge, void *context);

/* The parts: each audits the current account. */
#define A(name) must_check enum err audit_##name(struct auditor *auditor);
#include "store/audits.def"
#undef A

/* Rows that passes are found by: PASS_ID, NAME, TEXT, ID_ORDER and NAME_ORDER. audit_body() comes first and notes
 * the rows that a body requires; *readable is false if the body cannot be decoded. */
must_check enum err audit_body(struct auditor *auditor, struct pass_seen *pass, struct span value,
                               bool *readable);
must_check enum err audit_index(struct auditor *auditor);
