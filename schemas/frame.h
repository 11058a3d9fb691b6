#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/messages.h"

/* One ZeroMQ message between two processes: a msgpack array, by its first item one of
 *   [HELLO, protocol, role, index, wants, begun, credit in bytes] caller -> callee, first of all
 *   [WELCOME, protocol, epoch, begun, credit in commands, credit in bytes, placement version]   the reply
 *   [CALLS, epoch, taken, placement version, waiting, [call...]]          from the side that asks
 *   [REPLIES, epoch, taken, [reply...]]                                   from the other side
 * call  = [id, message, deadline (mono_us), account bin | nil, key hash bin | nil, request id str | nil,
 *          idempotency bin ?, [argument...]]
 * reply = [id, error, flags, field str | nil, key id bin ?, payload]
 * The request id is that of the HTTP request, so that lines of both processes' logs can be matched. The key id names
 * the API key that admitted the call; it is sent only to callers whose HELLO wants it. Idempotency is a struct
 * idempotency as its bytes; it is absent without such a key. The caller chooses the id; the payload is the response, or
 * for an error a str with the message for people or nil. Waiting is the number of calls without a reply, this frame's
 * included.
 * Protocol is a digest of what the messages look like (protocol.sh), so that programs of different versions refuse each other.
 * Begun (mono_us) is when the caller started this session; a repeated HELLO repeats it, a WELCOME returns it. Of two
 * sessions of one process, or of a process and its successor, the later one is valid.
 * Credit in bytes is how much may be under way to the frame's sender. Taken is how many bytes of CALLS and REPLIES the
 * sender has received since the WELCOME; what the peer has sent beyond that counts against its credit. CALLS without a
 * call only report `taken`; REPLIES without a reply ask for such a frame.
 * In CALLS and REPLIES the epoch is the callee's, from its WELCOME. Epochs begin at 1; calls of a caller without a
 * session are refused in REPLIES of epoch 0, so that the caller says HELLO. */
enum frame_kind { FRAME_HELLO = 1, FRAME_WELCOME = 2, FRAME_CALLS = 3, FRAME_REPLIES = 4 };

enum reply_flag {
	REPLY_MORE = 1,     /* a part of a long response; more replies with this id follow */
	REPLY_ACCEPTED = 2, /* accepted but not completed: the interface's 202 */
	REPLY_REPLAYED =
	    4, /* the response to an earlier call with the same idempotency; nothing was done now */
};

/* Wishes in a caller's HELLO, or'ed. */
enum hello_wants { WANTS_KEY_IDS = 1 };

struct frame {
	enum frame_kind       kind;
	uint64_t              epoch;             /* WELCOME, CALLS, REPLIES */
	uint64_t              taken;             /* CALLS, REPLIES */
	mono_us               begun;             /* HELLO, WELCOME */
	uint32_t              placement_version; /* WELCOME, CALLS */
	uint32_t              waiting;           /* CALLS */
	enum role             role;              /* HELLO */
	uint32_t              index;             /* HELLO: number within its role; http: process and thread */
	uint32_t              wants;             /* HELLO: enum hello_wants */
	uint32_t              credit_commands;   /* WELCOME */
	uint32_t              credit_bytes;      /* HELLO, WELCOME */
	const msgpack_object *items;             /* CALLS, REPLIES */
	uint32_t              count;
};

/* Makes a repeated command take effect once: SHA-256 of the key that the client chose, and of the request as it was
 * sent. */
struct idempotency {
	uint8_t key[32], request[32];
};
_Static_assert(sizeof(struct idempotency) == 64, "travels as its bytes");

/* For a row of an import, which is a PASS_CREATE of a command: `key` is the import's random id and a slot, `request`
 * the row's number in the import, from 0. The shard lets a row replace one of a lower number in its slot. So the
 * import reuses a slot only after the row there has its final reply. */
enum { IMPORT_ID_BYTES = 16 };
void     idempotency_of_row(const uint8_t import[IMPORT_ID_BYTES], uint32_t slot, uint64_t number,
                            struct idempotency *idempotency);
uint64_t idempotency_row_number(const uint8_t request[32]);

struct call {
	uint64_t          id;
	enum message      message;
	mono_us           deadline;
	bool              has_account, has_key_hash;
	struct account_id account;
	uint8_t           key_hash[32]; /* SHA-256 of the API key's secret */
	struct span       request_id;   /* of the HTTP request; size 0: none; borrowed like args */

	const struct idempotency *idempotency; /* NULL: none; borrowed like args */
	const msgpack_object     *args; /* message_fields() many; count and types checked by call_open() */

	/* Set by the callee once it has accepted the key, if the caller wants it; it does not travel in a call. */
	bool        has_key_id;
	struct uuid key_id;
};

struct reply {
	uint64_t              id;
	enum err              err;
	unsigned              flags;
	struct span           field;   /* size 0: none */
	const struct uuid    *key_id;  /* NULL: none; borrowed like the payload */
	const msgpack_object *payload; /* never NULL; may be nil */
};

/* Checks the bounds of a peer's bytes and reads the head. Items live in `zone` and point into `bytes`: both must
 * outlive them. Errors: ERR_MALFORMED, ERR_NO_MEMORY, ERR_UNSUPPORTED (HELLO or WELCOME of another version of the program). */
must_check enum err frame_open(struct span bytes, msgpack_zone *zone, struct frame *frame);
uint32_t            frame_protocol(void); /* the one of this program */

/* Reads one item. A call's arguments are checked against the message's fields: number, type, presence of the
 * required ones; the handler checks ranges. Errors: ERR_MALFORMED (id is set if readable, else to 0). */
must_check enum err call_open(const msgpack_object *item, struct call *call);
must_check enum err reply_open(const msgpack_object *item, struct reply *reply);

/* Is this a valid request id: 1 to REQUEST_ID_BYTES_MAX characters of visible ASCII? */
bool request_id_is_valid(struct span id);

/* A frame of calls or replies being filled. Zeroed is empty; its buffer is reused for the next. */
struct frame_out {
	struct buffer bytes;
	uint32_t      count;
};

/* Begin one item; the caller then packs the array of arguments (message_fields() many), or the payload, onto
 * frame_out_packer(). `field` may be of size 0. frame_drop() removes everything added since frame_mark(). */
void frame_begin_calls(struct frame_out *out); /* the head, so that the next mark is where the call begins */
void frame_begin_replies(struct frame_out *out);
void frame_call(struct frame_out *out, const struct call *head);
void frame_reply(struct frame_out *out, uint64_t id, enum err err, unsigned flags, struct span field);
void frame_reply_of(struct frame_out *out, const struct reply *head); /* all but the payload */
msgpack_packer frame_out_packer(struct frame_out *out);
struct frame_mark {
	size_t   size;
	uint32_t count;
	bool     failed; /* dropping also undoes a later failure of memory */
};
struct frame_mark frame_mark(const struct frame_out *out);
void              frame_drop(struct frame_out *out, struct frame_mark mark);

/* Completes the head and returns the whole frame, valid until the next change; size 0 if memory ran out while it was
 * filled. One frame_out holds calls or replies, never both. frame_clear() starts a new frame. */
struct span frame_seal_calls(struct frame_out *out, uint64_t epoch, uint32_t placement_version,
                             uint32_t waiting);
struct span frame_seal_replies(struct frame_out *out, uint64_t epoch);
void        frame_clear(struct frame_out *out);
/* Sets `taken` in a sealed frame; frame_seal_...() does not change it, it is 0 at first. */
void frame_set_taken(struct buffer *sealed, uint64_t taken);

/* Append the two frames without items to `out`: every field of `frame` that they have, except the kind. */
void frame_hello(struct buffer *out, const struct frame *frame);
void frame_welcome(struct buffer *out, const struct frame *frame);

/* Arguments by position: nil gives false / the fallback. Types were checked by call_open(). */
bool        arg_present(const msgpack_object *arg);
struct span arg_span(const msgpack_object *arg); /* str or bin; size 0 when nil */
int64_t     arg_integer(const msgpack_object *arg, int64_t fallback);
bool        arg_boolean(const msgpack_object *arg, bool fallback);
/* The id that an argument has as text. Errors: ERR_NOT_FOUND: it has none, so it names nothing. */
must_check enum err arg_uuid(const msgpack_object *arg, struct uuid *id);

/* Packs an absent argument or an integer of any sign. */
void pack_int(msgpack_packer *packer, int64_t value);
