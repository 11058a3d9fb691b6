#pragma once

/* Every limit, in one place. The comment of each says what it counts and, where its name leaves that open, why it is
 * there and what happens at it: an error's code, or what is done instead. */
enum {
	/* Interface */
	PASS_ID_BYTES_MAX = 200,    /* bytes; key size; INVALID_INPUT */
	PAGE_LIMIT_DEFAULT = 25,    /* rows; document section 8 */
	PAGE_LIMIT_MAX = 100,       /* rows; document section 8; INVALID_INPUT */
	JSON_DEPTH_MAX = 32,        /* containers; stack of every reader; INVALID_REQUEST */
	REQUEST_ID_BYTES_MAX = 128, /* bytes of a caller's X-Request-Id; a longer one is replaced by ours */
	PASS_STORED_BYTES_MAX = 1 << 20,   /* bytes of a pass as stored, after merging; PAYLOAD_TOO_LARGE */
	BODY_BYTES_DEFAULT_MAX = 16 << 20, /* bytes; --max-body; PAYLOAD_TOO_LARGE */
	ERROR_FIELD_BYTES_MAX = 200,       /* bytes of a field's name in an error; the rest is cut off */
	URI_BYTES_MAX = 8192,              /* bytes of path and query; URI_TOO_LONG */
	HEAD_BYTES_MAX = 16384,            /* bytes of request line and headers; HEAD_TOO_LARGE */
	TEMPLATE_FIELDS_MAX = 64,          /* fields a template accepts; INVALID_INPUT */
	TEMPLATES_PER_ACCOUNT_MAX = 1000,  /* INVALID_INPUT */
	KEYS_PER_ACCOUNT_MAX = 32,         /* unrevoked API keys; RESOURCE_CONFLICT */
	/* values in a body; more fit no pass, since each is two bytes of text or more; PAYLOAD_TOO_LARGE */
	JSON_VALUES_MAX = 1 << 19,
	IDEMPOTENCY_KEY_BYTES_MAX = 255, /* visible ASCII; INVALID_INPUT */
	IDEMPOTENCY_KEPT_HOURS = 24,     /* of service time; then a key is as good as new */
	IDEMPOTENCY_KEYS_DEFAULT =
	    100000,                       /* kept per account; --idempotency-keys; the oldest are forgotten */
	IDEMPOTENCY_KEYS_MAX = 100000000, /* the most that --idempotency-keys takes */
	IDEMPOTENCY_FORGOTTEN_MAX = 4,    /* old keys that go when a new one comes; more wait for the next */

	/* HTTP connections */
	HTTP_THREADS_MAX = 8,    /* --http-threads */
	CONNECTIONS_MAX = 10000, /* a thread; fewer if descriptors are few; more wait in the listen queue */
	CONNECTIONS_ADMIN_MAX = 64,     /* likewise, on the admin listener */
	DESCRIPTORS_RESERVED = 256,     /* kept for everything that is no client's connection */
	HEADERS_MAX = 100,              /* lines of a head; h2o has no room for more; HEAD_TOO_LARGE */
	REQUEST_LINE_SLACK_BYTES = 128, /* of a request line, beside its path and query */
	CHUNK_LINE_BYTES_MAX = 256,     /* a chunk's size with its extensions; INVALID_REQUEST */
	TRAILER_BYTES_MAX = 4096,       /* what follows the last chunk; INVALID_REQUEST */
	KEEP_ALIVE_MS = 30000,          /* a connection between two requests; closed */
	HANDSHAKE_MS = 10000,           /* a TLS handshake; closed */
	HEAD_READ_MS = 10000,           /* from a head's first byte to its last; closed */
	BODY_READ_MS = 60000,           /* from a head's end to its body's; closed */
	PACE_MS = 10000, /* within so long a body or an answer moves on by PACE_BYTES; else closed */
	PACE_BYTES = 16384,
	/* bytes of bodies in memory, over all connections, until their requests are answered; OVERLOADED. One body that
	 * is larger by itself: PAYLOAD_TOO_LARGE */
	BODIES_BYTES_MAX = 128 << 20,
	/* likewise, of one account that has more than one under way */
	BODIES_ACCOUNT_BYTES_MAX = BODIES_BYTES_MAX / 4,
	BODY_SMALL_BYTES = 64 << 10, /* a body that is always taken */
	/* bytes of answers that wait for their last part or for their reader, over all connections; who has not read for
	 * EVICT_AFTER_MS is closed, then large answers are OVERLOADED */
	ANSWERS_BYTES_MAX = 256 << 20,
	ANSWER_SMALL_BYTES = 64 << 10, /* an answer that is always given */
	EVICT_AFTER_MS = 1000,
	LINGER_MS = 2000, /* after a refusal, for the client to stop sending and read it; then closed */
	LINGER_BYTES = 64 << 20, /* likewise, in what it still sends */
	STOP_WAIT_MS = 15000,    /* answers still owed when a stop is asked for; then dropped */

	/* Placement */
	SLOT_COUNT = 4096, /* fixed for ever: the hash of an account id names one of these */
	SHARDS_MAX = 64,   /* processes; --shards */

	/* Between processes */
	SESSION_CREDIT_COMMANDS = 2048, /* calls outstanding per session; OVERLOADED */
	SESSION_CREDIT_BYTES = 8 << 20, /* bytes of calls outstanding per session; OVERLOADED */
	SESSIONS_MAX = 512, /* peers a shard keeps; a command's, else the longest idle one, is forgotten */
	FRAME_BYTES_MAX = 20 << 20,    /* one message; larger ones are dropped by the socket */
	FRAME_NODES_MAX = 1 << 20,     /* msgpack items in one message; MALFORMED */
	FRAME_DEPTH_MAX = 24,          /* msgpack containers nested; MALFORMED */
	CALL_DEADLINE_MS = 5000,       /* a shard drops a command not decided by then */
	CALL_DEADLINE_GRACE_MS = 1000, /* the caller waits this much longer than the shard */
	PREPARE_DEADLINE_MS = 1500,    /* issuer's time to answer; PASS_PROVIDER_UNAVAILABLE */
	HEARTBEAT_EVERY_MS = 300,      /* timer to each shard */
	HEARTBEAT_LOST_MS = 1500,      /* without one for this long the issuer is gone */

	/* Batches (a batch is what one journal record holds) */
	BATCH_COMMANDS_MAX = 256, /* commands; the rest waits its turn */
	/* calls after which a frame leaves before the turn ends, so that the callee begins; else all would wait for
	 * each other in turn, one process at work and the others idle */
	FRAME_CALLS_FULL = 24,
	BATCH_BYTES_MAX = 1 << 20,      /* bytes of operations after which a record is closed */
	COMMIT_RECORDS_MAX = 32,        /* records applied before LMDB commits */
	COMMIT_ROWS_MAX = 256,          /* different rows written (about dirty pages) before LMDB commits */
	STAGED_WRITES_MAX = 64,         /* writes of one command; a bug if exceeded */
	REPLY_PART_BYTES_MAX = 1 << 20, /* bytes; a longer list goes out in parts */
	ANSWERS_WAITING_BYTES_MAX =
	    16 << 20, /* bytes of full answer frames not yet sent; nothing more is decided */
};
