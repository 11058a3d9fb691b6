#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/dump.h"

/* Shared by the files of a dump, and included by them alone. Each function appends a member to the JSON object open
 * in `out`, with its comma. */
void dump_begin(struct buffer *out, const char *name, char bracket); /* a member that is an object or array */
void dump_item(struct buffer *out);                                  /* before the next item of an array */
void dump_number(struct buffer *out, const char *name, int64_t value);
void dump_count(struct buffer *out, const char *name, uint64_t value);
void dump_flag(struct buffer *out, const char *name, bool on);
void dump_word(struct buffer *out, const char *name, const char *word);
void dump_span(struct buffer *out, const char *name, struct span text); /* not UTF-8: as dump_hex() */
void dump_hex(struct buffer *out, const char *name, struct span bytes); /* {"hex"} */
void dump_hidden(struct buffer *out, const char *name, size_t size);    /* {"hidden_bytes"} */
void dump_time(struct buffer *out, const char *name, wall_us at);       /* to the microsecond; 0: null */
void dump_uuid(struct buffer *out, const char *name, struct uuid id);
void dump_text_of_json(struct buffer *out, const char *name, struct span text); /* as JSON; empty: null */
void dump_numbers(struct buffer *out, const char *name, struct span numbers);   /* little-endian u32 */
bool dump_u32(struct buffer *out, const char *name, struct span value);         /* false: not a u32 */

/* Appends the members of a row's value. false: the value is malformed. `key` is the whole key. */
typedef bool dump_value_fn(struct buffer *out, struct span key, struct span value);
#define D(NAME, layout, value) dump_value_fn dump_##value;
#include "store/dumps.def"
#undef D
dump_value_fn dump_credential, dump_credential_current; /* the two forms of a row of WALLET_CREDENTIAL */
dump_value_fn dump_ledger_event;                        /* a row of LEDGER that is no scan */

/* The end of a dump that has shown damage in `lines` lines: ERR_DAMAGED if there is any, and the sentence about it. */
must_check enum err dump_end(const struct dump_to *to, uint64_t lines);

/* What is behind the account in a key, and the u32 there; empty, and 0, when the key is shorter. */
struct span dump_rest_of(struct span key);
uint32_t    dump_u32_of(struct span key);

/* The name of a verdict in verdicts.def; "unknown" for a number that is none. */
const char *dump_verdict_text(unsigned verdict);
