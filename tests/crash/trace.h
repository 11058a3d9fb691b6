#pragma once
#include "schemas/span.h"

/* A trace: the changes of the files below one directory, in order, and marks of what was promised meanwhile.
 * The recorder
 * appends to it, each entry with one write; so may any process that has something to mark.
 * An entry: this head (native byte order: it is read on the machine that wrote it), `name_size` bytes of name
 * (RENAME: the old one, a NUL, the new one), then, for a WRITE that is not all zeros and for a MARK, the bytes.
 * Files and directories are named by inode, which MAKE may reuse for another file. Errors: none. */
enum trace_op {
	TRACE_ROOT = 1,   /* file: the recorded directory; at: its device */
	TRACE_MAKE,       /* file, in dir under name; at: 1 for a directory */
	TRACE_LINK,       /* file, in dir under name */
	TRACE_UNLINK,     /* name in dir */
	TRACE_RENAME,     /* file; names; dir, other: source and target directory */
	TRACE_WRITE,      /* length bytes at; other: 1 if they were durable at once (O_DSYNC) */
	TRACE_RESIZE,     /* file is now at bytes long */
	TRACE_SYNC_BEGIN, /* file, which may be a directory; at: the thread */
	TRACE_SYNC_END,   /* what existed at this thread's SYNC_BEGIN is durable */
	TRACE_MARK,       /* at: which mark; see below */
};

/* SEQ: the record `length` was reported durable. A client may have been answered, so it must not be lost.
 * OPENED: a start was completed, with `length` as its newest record; the same applies.
 * DIGEST: `other` is the digest of the tables at the record `length`.
 * BALANCE: the bytes are an account id as text and a pass id, which must have at least `length` points.
 * RESTORED: the directory has a restored snapshot of the record `length` with the chain `other`; the bytes are
 * its rows, as
 * the operations of a record. */
enum trace_mark {
	MARK_SEQ = 1,
	MARK_OPENED = 2,
	MARK_DIGEST = 3,
	MARK_BALANCE = 4,
	MARK_RESTORED = 5,
};

struct trace_head {
	uint32_t size; /* of the whole entry */
	uint16_t op, name_size;
	uint64_t file, dir, other, at, length;
};
_Static_assert(sizeof(struct trace_head) == 48, "scenario tests write entries too");

struct trace_entry {
	struct trace_head head;
	const char       *name, *new_name; /* NUL-terminated; new_name: RENAME's */
	struct span       bytes;           /* WRITE: size 0 means zeros */
};

/* Takes the next entry off `left`; false at the end, or if the last entry is unfinished. */
bool trace_next(struct span *left, struct trace_entry *entry);
