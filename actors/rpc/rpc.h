#pragma once
#include "actors/rt/channel.h"
#include "schemas/frame.h"
#include "schemas/histogram.h"

/* The caller's side of a session with one shard or the supervisor: DOWN -> HELLO -> UP (epoch, credit). Calls are collected
 * and leave as one message per rpc_flush(). Every call ends exactly once, in `on_reply`, with the callee's answer or with what
 * is known of its fate:
 *   not UP, or not yet handed to the transport       ERR_SHARD_UNAVAILABLE (nothing was done)
 *   no credit left, in commands or in bytes          ERR_OVERLOADED (nothing was done)
 *   sent, then the session ended or time ran out     READ, SCAN: ERR_SHARD_UNAVAILABLE; WRITE: ERR_OUTCOME_UNKNOWN
 * A session ends with its connection, when the callee shows another epoch, or on a malformed frame; what has arrived is read
 * first. Received bytes are confirmed to the callee, so it never has more than SESSION_ANSWER_BYTES in transit. Bytes that it
 * has not received count against its credit. Parts (REPLY_MORE) are passed on as they arrive. One thread owns it. It never
 * blocks. */
struct rpc;

/* `user` is from the call. The reply and what it points to live until the callback returns. The callback may make new calls,
 * but not flush, pump or close. */
typedef void (*rpc_reply_fn)(void *user, const struct reply *reply);

enum rpc_state { RPC_DOWN, RPC_HELLO, RPC_UP };

/* Calls in each frame sent, and replies in each frame received (scale_items). */
struct rpc_traffic {
	struct histogram calls, replies;
};

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err rpc_open(struct rpc **rpc, const char *endpoint, enum role role, uint32_t index,
                             rpc_reply_fn on_reply);
/* Before the first pump: what the session's HELLO requests, enum hello_wants. */
void rpc_want(struct rpc *rpc, unsigned wants);
void rpc_close(struct rpc **rpc); /* open calls end without on_reply */

enum rpc_state rpc_state(const struct rpc *rpc);
uint64_t       rpc_epoch(const struct rpc *rpc); /* 0 unless UP */
uint32_t       rpc_outstanding(const struct rpc *rpc);

/* Begins a call. The id is chosen here and returned in head->id; the caller sets deadline, message, account and key hash. On
 * OK the caller packs the array of arguments with *packer (packer->data is the frame's struct buffer), then calls
 * rpc_commit(). Errors: ERR_SHARD_UNAVAILABLE, ERR_OVERLOADED: nothing was begun, and on_reply will not be called. */
must_check enum err rpc_begin(struct rpc *rpc, struct call *head, void *user, msgpack_packer *packer);
void                rpc_commit(struct rpc *rpc);
void                rpc_abort(struct rpc *rpc); /* instead of commit: the call is dropped */

/* The answer of call `id` is no longer wanted: on_reply will not be called for it. Any id is fine. */
void rpc_forget(struct rpc *rpc, uint64_t id);

/* After a part of call `id`'s answer: the rest may take until `deadline`. Any id is fine. */
void rpc_extend(struct rpc *rpc, uint64_t id, mono_us deadline);

/* Once a turn, after the turn's calls and before rpc_pump(): sends what was collected. A send may consume the wake-up for what
 * has just arrived; the pump then finds it. */
void rpc_flush(struct rpc *rpc, mono_us now);

/* Once a turn: receives at most `budget` messages, maintains the session, and ends calls past their deadline +
 * CALL_DEADLINE_GRACE_MS. True: there may be more to receive at once. */
bool rpc_pump(struct rpc *rpc, mono_us now, unsigned budget);

/* A loop that reports which descriptor was readable saves system calls. After rpc_heeds_wakes() a pump looks only where
 * rpc_woken() pointed and where a send may have consumed a wake-up. A few times a second it looks everywhere. */
enum rpc_wake { RPC_WAKE_MAIL = 1, RPC_WAKE_LINK = 2 }; /* of rpc_fd(), rpc_link_fd() */
void rpc_heeds_wakes(struct rpc *rpc);
void rpc_woken(struct rpc *rpc, enum rpc_wake what);

/* Is there something to receive? For a turn that sends after it has pumped: the send may have consumed the wake-up. */
bool rpc_waiting(struct rpc *rpc);

/* Frames of CALLS that the other side sends over this session (a shard to its timer): `on_calls` gets each. rpc_answer() seals
 * and sends `replies`; errors as channel_send(). */
typedef void (*rpc_calls_fn)(void *user, struct rpc *rpc, const struct frame *frame);
void                rpc_serve(struct rpc *rpc, rpc_calls_fn on_calls, void *user);
must_check enum err rpc_answer(struct rpc *rpc, struct frame_out *replies, uint64_t epoch);

/* Counts into `traffic` from now on. It must outlive `rpc`; other threads may read it. */
void rpc_count(struct rpc *rpc, struct rpc_traffic *traffic);

/* Descriptors to wait on (readable), with the transport's rule: after every wake-up pump until false. */
int rpc_fd(const struct rpc *rpc);
int rpc_link_fd(const struct rpc *rpc);
