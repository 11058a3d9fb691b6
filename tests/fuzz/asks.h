#pragma once
#include "tests/fuzz/fuzz.h"

#include "schemas/fields.h"
#include "schemas/frame.h"

/* Calls made of the fuzzer's bytes: every message of the table, its arguments plausible or not, by their names and types
 * in schemas/fields.h, so that a new one needs nothing here. */
enum { ASK_ACCOUNTS = 3, ASK_PASSES = 6 };

struct ask {
	enum message message;
	unsigned     account;
	int          pass; /* one of ASK_PASSES that is a good id; else -1 */
	int64_t      delta;
	bool         include_deleted;
	unsigned     token_account; /* whose pass the token names, if there is one */
};

struct account_id ask_account(unsigned account);
/* The hash of the key that the account's first message names. */
void ask_key_hash(unsigned account, unsigned which, uint8_t hash[32]);
/* The id of the pass with this number. */
struct span ask_pass_id(unsigned pass);

/* Leases that were given, for renderings and reports to name; ids in an answer, for other calls to name; and none any more. */
void ask_note_leases(struct span leases);
void ask_note_ids(const msgpack_object *answer);
void ask_forget(void);

/* Appends a call to `out`, and tells in `ask` what of it a model needs to know. `head` is filled in but for its message. */
void ask_make(struct supply *supply, struct call *head, struct frame_out *out, struct ask *ask);
