#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "store/writes.h"

/* One journal record: a head of RECORD_HEAD bytes and the operations. Little-endian.
 *   0 magic u32 | 4 version u8 | 5 kind u8 | 6 shard u16 | 8 lineage 16 | 24 segment u64 | 32 offset u64
 *   40 epoch u64 | 48 seq u64 | 56 durable_seq u64 | 64 now i64 (wall_us) | 72 length u32 | 76 operations u32
 *   80 chain u32 (of the record before) | 84 crc u32 (CRC-32C of head and operations, this field as zero)
 * An operation: kind u8 | table u8 | key size u16 | key, then
 *   PUT value size u32 | value      DEL nothing      PATCH count u8 | count times (offset u16 | size u16 | bytes) */
enum {
	RECORD_HEAD = 88,
	RECORD_ALIGN = 4096, /* records begin here, so that a synced sector is never written again */
	RECORD_VERSION = 1,
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

/* Begins a record in an empty buffer with space for the head. Operations are then appended. */
void record_begin(struct buffer *out);
void record_add(struct buffer *out, const struct write *write);

/* Writes head and checksum over the record in `out`; sets record->chain. The buffer must not have failed. */
void record_seal(struct buffer *out, struct record *record);

/* Reads the record at the beginning of `bytes`, which may be longer. Verifies form and checksum only.
 * Errors: ERR_NOT_FOUND (no magic: nothing was written here), ERR_MALFORMED (torn, or damaged), ERR_UNSUPPORTED
 * (intact, but of another version). */
must_check enum err record_open(struct span bytes, struct record *record);

/* The time in a record's head. Verifies nothing. Errors: false (nothing was written here). */
bool record_head_now(const uint8_t head[RECORD_HEAD], wall_us *now);

/* Takes the next operation off `writes`; patches live in `arena`.
 * Errors: ERR_NOT_FOUND (no more), ERR_MALFORMED, ERR_UNSUPPORTED (unknown table or operation), ERR_NO_MEMORY. */
must_check enum err record_next(struct span *writes, struct arena *arena, struct write *write);
