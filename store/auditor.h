#pragma once
#include "schemas/arena.h"
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/audit.h"
#include "store/cleanup.h"
#include "store/image_use.h"
#include "store/keys.h"

/* What the parts of an audit share: audit.c goes from account to account and calls them in turn, audit_rows.c takes an
 * account's rows of one table apart, audit_X.c judges the rows of X. Nobody else includes this. */

/* What the tables say of one pass: its hot row, and beside it what the others must agree to. */
struct pass_seen {
	int64_t  hot_balance, balance; /* as the hot row says; the sum of the ledger */
	uint64_t hot_head, head;       /* its newest ledger row */
	uint64_t id_sum, name_sum,
	    text_sum; /* of what its body is found by: they stand for it, to keep memory small */
	uint32_t text_size;
	uint32_t hot_scan_count, scan_count; /* as the hot row says; the scans that succeeded */
	wall_us  hot_last_scan, last_scan;
	uint16_t template;
	uint8_t hot_status, status;
	uint8_t hot_flags, flags;
	bool    has_body, has_id, has_name, has_long_text;
	bool    is_blank; /* nothing in its body is the holder's, but perhaps the id */
};

/* A version of a reward, and how many entitlements are of it. */
struct version_seen {
	uint32_t family, version;
	uint64_t assigned;
};

/* What the tables say of one template. */
struct template_seen {
	bool is_there, is_used, is_deleted, has_passes;
};

struct auditor {
	struct view          *reader;
	struct audit         *audit;
	struct faults        *faults;
	struct progress      *progress;
	struct account_id     account; /* the one at hand */
	char                  account_text[ACCOUNT_ID_TEXT];
	uint32_t              template_count; /* that it has made */
	struct template_seen *templates;      /* by number; the first is nobody's */
	uint32_t              family_count;   /* of its rewards, those that are deleted too */
	uint64_t url_sum; /* of the URLs of images that its passes and templates name: stands for them */
	struct buffer
	    versions; /* of its rewards, that are there: struct version_seen, in the order of keys */
	struct buffer     name_fields; /* of its templates, by number: each ends in 0 */
	struct arena      arena;       /* of one body */
	struct buffer     text;        /* a name or text made of it */
	struct buffer     whole;       /* a value put together from its parts */
	struct pass_seen *passes;      /* of the account, by number */
	size_t            pass_count, pass_room;
	wall_us           last_created;
	uint32_t          scan_count; /* of the account */
	uint32_t         *order;      /* numbers of passes, as the rows of an index name them */
	size_t            order_count;
};

/* Adds a fault of the account at hand in `table`. */
__attribute__((format(printf, 3, 4))) void audit_fault(struct auditor *auditor, enum table table,
                                                       const char *format, ...);

/* Of a look for a row that ought to be there: is it a fault of the tables, and no reason to end the audit? */
bool audit_is_fault(enum err err);

/* Is it left to the background removal, which knows of it by this account, kind and subject? */
must_check enum err audit_is_left(struct auditor *auditor, struct cleanup row, bool *left);

/* Of something of the holder's in `table`: if the pass is erased, it has to be left to the background removal. */
must_check enum err audit_erased(struct auditor *auditor, enum table table, uint32_t number);

/* The version that was met, NULL: none. */
struct version_seen *audit_version(const struct auditor *auditor, uint32_t family, uint32_t version);

/* Has the account at hand a template of that number? */
bool audit_has_template(const struct auditor *auditor, uint32_t number);

/* What an image's URL adds to auditor->url_sum. */
uint64_t audit_url_sum(struct span url);

/* The account's rows of one table, in order. Begin with the table alone set. `rest` is the key behind the account,
 * `value` comes without its checksum. Errors: ERR_NOT_FOUND: no more; ERR_STOPPED. */
struct audit_rows {
	enum table     table;
	struct raw_row row;
	struct span    rest, value;
	bool           begun, kept; /* kept: the next call gives the same row again */
	size_t         key_size;    /* PARTED: of `rest` without the part's number; 0: a u32 */
};
must_check enum err audit_row(struct auditor *auditor, struct audit_rows *rows);

/* The next value of a PARTED table, whose keys are account | number, or more behind that. *whole false: a fault was added,
 * and nothing else is to be used. The value and the key (`rows->rest` is its last part's) live until the next call.
 * Errors: as audit_row(), ERR_NO_MEMORY. */
enum { AUDIT_KEY_MAX = 64 };
struct audit_whole {
	bool        whole;
	uint32_t    number;
	uint8_t     key[AUDIT_KEY_MAX]; /* rows->key_size of them */
	struct span value;
};
must_check enum err audit_whole(struct auditor *auditor, struct audit_rows *rows, struct audit_whole *found);

/* The parts, each of the account at hand. */
#define A(name) must_check enum err audit_##name(struct auditor *auditor);
#include "store/audits.def"
#undef A

/* What passes are found by: rows of PASS_ID, NAME, TEXT, ID_ORDER and NAME_ORDER. audit_body() notes what a body asks for,
 * and comes first; false if it cannot be read. */
must_check enum err audit_body(struct auditor *auditor, struct pass_seen *pass, struct span value,
                               bool *readable);
must_check enum err audit_index(struct auditor *auditor);
