#pragma once
#include "schemas/buffer.h"
#include "store/keys.h"
#include "store/table.h"

/* The files of a shard as JSON for people: one object a line, for debugging. Secrets are not shown: a hash of a key, a
 * sealed secret, a token or a kept answer that may hold one stands as {"hidden_bytes":N}. Damage has a line of its own.
 * Nothing on the disk is changed. The caller holds the place's locks. */

/* Takes a line, which ends with '\n'; false: no more are wanted. */
struct dump_to {
	bool (*line)(void *user, struct span line);
	void *user;
};

/* Every record of the journal below `shard_fd`, from seq `from` on, in the order of its segments:
 *   {"seq","epoch","kind","time","segment","offset","bytes","durable_seq","operations":[{"op","table","key",…},…]}
 * and of what is no record {"segment","offset","bytes","damaged"} or {…,"unfinished"}.
 * Errors: ERR_NOT_FOUND (no journal), ERR_IO, ERR_NO_MEMORY. */
must_check enum err dump_journal(int shard_fd, uint64_t from, const struct dump_to *to);

/* Every row of one table below `shard_fd` whose key begins with `prefix` (size 0: all), values in parts put together:
 *   {"table","key":{…},"value":{…}}, or {"table","key":{…},"damaged"}
 * Of the tables in db/, or of a snapshot's or backup's directory.
 * Errors: ERR_NOT_FOUND (no tables), ERR_DAMAGED (they cannot be opened), ERR_IO, ERR_NO_MEMORY. A damaged page may kill
 * the process. */
must_check enum err dump_table(int shard_fd, enum table table, struct span prefix, const struct dump_to *to);

/* The table of that name; TABLE_END: none. And all names, with ", " between them. */
enum table dump_table_named(struct span name);
void       dump_table_names(struct buffer *out);

/* A prefix of keys as people write it: the parts of a key from the first on, with '/' between them, numbers in decimal,
 * times as RFC 3339; of a text the beginning is enough. Errors: ERR_INVALID_INPUT. */
must_check enum err dump_prefix(enum table table, struct span text, struct row_key *prefix);
/* The parts of a table's keys, as such a prefix names them: "account/pass/…". */
void dump_key_parts(enum table table, struct buffer *out);

/* One key, and one value without its checksum, each as a JSON value. */
void dump_key(enum table table, struct span key, struct buffer *out);
void dump_value(enum table table, struct span key, struct span value, struct buffer *out);
