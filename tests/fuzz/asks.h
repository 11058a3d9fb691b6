#pragma once
#include "tests/fuzz/fuzz.h"

#include "schemas/fields.h"
#include "schemas/frame.h"

/* Calls made from the fuzzer's bytes: every message of the table, with plausible or random arguments, chosen
 * by their names and types in schemas/fields.h. A new message needs no change here. */
enum { ASK_ACCOUNTS = 3, ASK_PASSES = 6 };

struct ask {
	enum message message;
	unsigned     account;
	int          pass; /* the number of a valid id of ASK_PASSES; else -1 */
	int64_t      delta;
	bool         include_deleted;
	bool         has_bound;     /* an erasure of passes below some number alone */
	unsigned     token_account; /* the pass that the token names, if there is one */
};

struct account_id ask_account(unsigned account);
/* The hash of the key that the account's first message names. */
void ask_key_hash(unsigned account, unsigned which, uint8_t hash[32]);
/* The id of the pass with this number. */
struct span ask_pass_id(unsigned pass);

/* Remembers leases that were handed out, for renderings and reports; remembers ids in an answer, for other
 * calls; forgets all of them. */
void ask_note_leases(struct span leases);
void ask_note_ids(const msgpack_object *answer);
void ask_forget(void);

/* Appends a call to `out`, and stores in `ask` what a model needs to know of it. `head` is complete except
 * for its message. */
void ask_make(struct supply *supply, struct call *head, struct frame_out *out, struct ask *ask);
