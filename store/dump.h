#pragma once
#include "schemas/buffer.h"
#include "schemas/version.h"
#include "store/keys.h"
#include "store/table.h"

/* The files of a shard as JSON, one object a line, for debugging. Secrets are not shown: a hash of a key, a sealed
 * secret, a token, or a kept response that may hold one appears as {"hidden_bytes":N}. Damage is shown at its place, as
 * "damaged"; the rest is shown all the same, and the dump returns ERR_DAMAGED. Nothing on the disk is changed. The
 * caller holds the directory's locks. */

/* Receives a line, which ends with '\n'; false: stop. */
struct dump_to {
	bool (*line)(void *user, struct span line);
	void *user;
	char *
	    why; /* VERSION_TEXT bytes, or NULL; after ERR_UNSUPPORTED, and damage that was shown: the sentence about it */
};

/* Every record of the journal below `shard_fd`, from seq `from` on, in the order of its segments:
 *   {"seq","epoch","kind","time","segment","offset","bytes","durable_seq","operations":[{"op","table","key",…},…]}
 * Other bytes appear as {"segment","offset","bytes","damaged"} or {…,"unfinished"}.
 * Errors: ERR_NOT_FOUND (no journal), ERR_UNSUPPORTED (a segment or record of an unknown version; the lines before it are
 * shown), ERR_DAMAGED, ERR_IO, ERR_NO_MEMORY. */
must_check enum err dump_journal(int shard_fd, uint64_t from, const struct dump_to *to);

/* Every row of one table below `shard_fd` whose key begins with `prefix` (size 0: all), PARTED values joined:
 *   {"table","key":{…},"value":{…}}, or {"table","key":{…},"damaged"}
 * The tables are those in db/, or those of a snapshot's or backup's directory.
 * Errors: ERR_NOT_FOUND (no tables), ERR_DAMAGED (also: they cannot be opened; `why` is empty then), ERR_UNSUPPORTED (their version), ERR_IO,
 * ERR_NO_MEMORY. A damaged page may kill the process. */
must_check enum err dump_table(int shard_fd, enum table table, struct span prefix, const struct dump_to *to);

/* The table of that name, TABLE_END if there is none; all names, separated by ", ". */
enum table dump_table_named(struct span name);
void       dump_table_names(struct buffer *out);

/* Parses a key prefix as people write it: the key's parts from the first on, separated by '/', numbers in decimal,
 * times as RFC 3339. A text may be cut short. Errors: ERR_INVALID_INPUT. */
must_check enum err dump_prefix(enum table table, struct span text, struct row_key *prefix);
/* Names the parts of a table's keys in the form of such a prefix: "account/pass/…". */
void dump_key_parts(enum table table, struct buffer *out);

/* One key, and one value without its checksum, each as a JSON value. False: it is malformed, and shown as "damaged". */
bool dump_key(enum table table, struct span key, struct buffer *out);
bool dump_value(enum table table, struct span key, struct span value, struct buffer *out);
