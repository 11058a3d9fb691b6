#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "store/writes.h"

/* One journal record: a head that belongs to this disk, and an inner part that would be the same on any host.
 * Little-endian.
 *   head    0 magic u32 | 4 version u32 | 8 segment u64 | 16 offset u64 | 24 durable_seq u64 | 32 sum u32
 *   inner   0 version u8 | 1 kind u8 | 2 shard u16 | 4 lineage 16 | 20 epoch u64 | 28 seq u64 | 36 now i64 (wall_us)
 *           44 length u32 (of the operations) | 48 operations u32 (their number) | 52 chain u32 (of the record before)
 *           56 the operations
 * The chain of a record is the CRC-32C of its inner part. The sum is the same CRC-32C, continued over the head before
 * the sum: one pass over all bytes gives both.
 * An operation: kind u8 | table u8 | key size u16 | key, then
 *   PUT value size u32 | value      DEL nothing      PATCH count u8 | count times (offset u16 | size u16 | bytes) */
enum {
	RECORD_OUTER = 36, /* the head */
	RECORD_INNER = 56, /* the inner part without the operations */
	RECORD_HEAD = RECORD_OUTER + RECORD_INNER,
	RECORD_ALIGN = 4096, /* records begin here, so that a synced sector is never written again */
	RECORD_VERSION = 2,  /* of both parts */
};
enum record_kind { RECORD_WRITES = 1, RECORD_EPOCH = 2 };

struct record {
	enum record_kind kind;
	uint16_t         shard;
	uint8_t          lineage[16];
	uint64_t         segment, offset; /* offset: bytes from the start of the segment */
	uint64_t         epoch, seq, durable_seq;
	wall_us          now;
	uint32_t         operations;
	uint32_t         chain_before;
	uint32_t         chain;  /* of this record: the next one carries it */
	struct span      writes; /* the operations, undecoded */
};

/* The bytes that a record with `length` bytes of operations takes in a segment. */
uint64_t record_room(uint64_t length);

/* Begins a record in an empty buffer with space for what precedes the operations. Operations are then appended. */
void record_begin(struct buffer *out);
void record_add(struct buffer *out, const struct write *write);

/* Writes what precedes the operations in `out`, with the sum; sets record->chain. The buffer must not have failed. */
void record_seal(struct buffer *out, struct record *record);

/* Reads the record at the beginning of `bytes`, which may be longer. Verifies form and checksum only.
 * Errors: ERR_NOT_FOUND (no magic: nothing was written here), ERR_MALFORMED (torn, or damaged), ERR_UNSUPPORTED
 * (intact, but of another version). */
must_check enum err record_open(struct span bytes, struct record *record);

/* Its version, if record_open() gives ERR_UNSUPPORTED. */
uint32_t record_version(struct span bytes);

/* Are the bytes between the record's end and the next block zeros, as they were written? `bytes` begins with the
 * record. False also if they are not all there. */
bool record_padding_holds(struct span bytes, const struct record *record);

/* The time of the record that begins with these bytes. Verifies nothing. Errors: false (nothing was written here). */
bool record_head_now(const uint8_t head[RECORD_HEAD], wall_us *now);

/* Takes the next operation off `writes`; patches live in `arena`.
 * Errors: ERR_NOT_FOUND (no more), ERR_MALFORMED, ERR_UNSUPPORTED (unknown table or operation), ERR_NO_MEMORY. */
must_check enum err record_next(struct span *writes, struct arena *arena, struct write *write);
