#pragma once
#include <stdint.h>

/* The limits that a caller or operator can meet, and those that processes agree on. A limit of a single file is in
 * that file. Each comment says what is counted, where the name leaves it open also why the limit exists, and what
 * happens at it: an error's code, or the action taken. */
enum {
	/* Interface */
	ACCOUNT_NAME_BYTES_MAX = 200, /* bytes; INVALID_INPUT */
	PASS_ID_BYTES_MAX = 200,      /* bytes; key size; INVALID_INPUT */
	PAGE_LIMIT_DEFAULT = 25,      /* rows; document section 8 */
	PAGE_LIMIT_MAX = 100,         /* rows; document section 8; INVALID_INPUT */
	SEARCH_POINTS_MAX = 200,      /* characters of `q`; INVALID_INPUT */
	JSON_DEPTH_MAX = 32,          /* containers; stack of every reader; INVALID_REQUEST */
	REQUEST_ID_BYTES_MAX = 128,   /* bytes of a caller's X-Request-Id; a longer one is replaced by ours */
	PASS_STORED_BYTES_MAX = 1 << 20,   /* bytes of a pass as stored, after merging; PAYLOAD_TOO_LARGE */
	BODY_BYTES_DEFAULT_MAX = 16 << 20, /* bytes; --max-body; PAYLOAD_TOO_LARGE */
	ERROR_FIELD_BYTES_MAX = 200,       /* bytes of a field's name in an error; the rest is cut off */
	URL_BYTES_MAX = 1800,     /* bytes of an endpoint's URL: it must fit a row; INVALID_WEBHOOK_URL */
	URI_BYTES_MAX = 8192,     /* bytes of path and query; URI_TOO_LONG */
	HEAD_BYTES_MAX = 16384,   /* bytes of request line and headers; HEAD_TOO_LARGE */
	TEMPLATE_FIELDS_MAX = 64, /* fields a template accepts; INVALID_INPUT */
	/* bytes of a template's name, title and labels: every page of its passes shows them; INVALID_INPUT */
	TEMPLATE_TEXT_BYTES_MAX = 200,
	TEMPLATE_KEY_BYTES_MAX = 100,     /* key of a field; INVALID_INPUT */
	TEMPLATES_PER_ACCOUNT_MAX = 1000, /* RESOURCE_CONFLICT */
	TEMPLATES_MADE_MAX =
	    UINT16_MAX,            /* deleted ones too: a pass stores it in 16 bits; RESOURCE_CONFLICT */
	KEYS_PER_ACCOUNT_MAX = 32, /* unrevoked API keys; RESOURCE_CONFLICT */
	/* accounts with a rate limit that a shard learns of within a second; the longest idle one is dropped */
	RATED_ACCOUNTS_MAX = 65536,
	RATE_LIMIT_MAX = 1000000,            /* requests a second; account set --rate-limit */
	DOUBLE_SCAN_WINDOW_S_MAX = 31536000, /* account set --double-scan-window: 365 days */
	/* values in a body; more fit no pass, since each takes two bytes of text or more; PAYLOAD_TOO_LARGE */
	JSON_VALUES_MAX = 1 << 19,
	WEBHOOKS_ACTIVE_MAX = 5, /* document section 8; WEBHOOK_SUBSCRIPTION_LIMIT_REACHED */
	WEBHOOKS_MAX = 500,      /* an account's, inactive ones too: one response lists them; likewise */
	/* pass types, and issuers, of an account, or of the operator: a removal deletes all at once; RESOURCE_CONFLICT */
	WALLET_CREDENTIALS_MAX = 32,
	/* of a certificate, a key or a service account: each is parsed by the writer; INVALID_INPUT */
	WALLET_FILE_BYTES_MAX = 32 << 10,
	REGISTRATIONS_PER_PASS_MAX = 64,    /* phones with one pass; over that the oldest goes */
	PUSH_TOKEN_BYTES_MAX = 200,         /* hexadecimal digits; INVALID_REQUEST */
	DEVICE_ID_BYTES_MAX = 100,          /* INVALID_REQUEST */
	WALLET_LIST_MAX = 16384,            /* passes of a phone in one answer; further ones are left out */
	PHONE_BODY_BYTES_MAX = 16 << 10,    /* of a phone's request; PAYLOAD_TOO_LARGE */
	PHONE_LOG_LINES_MAX = 100,          /* of one request, and of an account in memory; the newest stay */
	WEBHOOK_KINDS_BYTES_MAX = 16 << 10, /* JSON text of event_types; INVALID_WEBHOOK_EVENT_TYPE */

	/* Notices: cards, audiences, notifications */
	NOTIFICATIONS_PAGE_DEFAULT = 100,    /* rows; document section 8 */
	CARD_CODE_BYTES_MAX = 200,           /* of a card's code; key size; INVALID_INPUT */
	NOTIFICATION_CODE_POINTS_MAX = 2000, /* of a message; every wallet would cut it; INVALID_INPUT */
	AUDIENCE_NAME_CODE_POINTS_MAX = 200, /* INVALID_INPUT */
	AUDIENCE_PASSES_MAX =
	    10000, /* of one command, which looks up each while others wait; INVALID_INPUT */

	/* Activation rules */
	RULES_MAX = 200, /* of an account: all are in memory; RESOURCE_CONFLICT */
	/* of all their texts: all are read when the first is needed after a start; RESOURCE_CONFLICT */
	RULES_BYTES_MAX = 512 << 10,
	RULE_OWN_ACTIONS_MAX = 8, /* of one rule; INVALID_INPUT */
	/* of all active rules of one event: a fact may trigger them all, in its own commit, about 12 rows each;
	 * RESOURCE_CONFLICT */
	RULE_ACTIONS_MAX = 32,
	RULE_NAME_CODE_POINTS_MAX = 200, /* INVALID_INPUT */

	/* Scans */
	READER_ID_BYTES_MAX = 200,   /* key size; INVALID_INPUT */
	READER_NAME_BYTES_MAX = 200, /* every scan of the reader shows it; INVALID_INPUT */
	READERS_NAMED_MAX = 10000,   /* an account's readers with a name: lists search them; INVALID_INPUT */

	IDEMPOTENCY_KEY_BYTES_MAX = 255,   /* visible ASCII; INVALID_INPUT */
	IDEMPOTENCY_KEPT_HOURS = 24,       /* of service time; then a key counts as new */
	IDEMPOTENCY_KEYS_DEFAULT = 100000, /* kept per account; --idempotency-keys; the oldest are dropped */
	IDEMPOTENCY_KEYS_MAX = 100000000,  /* maximum of --idempotency-keys */
	IDEMPOTENCY_FORGOTTEN_MAX = 4,     /* old keys dropped per new one; more wait for the next */
	RULES_SKIPPING_MAX =
	    1024, /* a shard's rules with a count of skipped actions; others are only in the sum */

	/* Rewards */
	REWARD_NAME_POINTS_MAX = 200,         /* code points; document section 8; INVALID_INPUT */
	REWARD_DESCRIPTION_POINTS_MAX = 2000, /* likewise */
	REWARD_SLUG_BYTES_MAX = 80,           /* likewise; ASCII */
	REWARDS_MAX = 5000, /* an account's, archived ones too: one response lists them; RESOURCE_CONFLICT */
	REDEMPTION_ALLOWANCE_MAX = 2147483647, /* of one entitlement; INVALID_INPUT */
	REDEMPTION_CONTEXT_MAX = 200,          /* code points; INVALID_INPUT */
	REDEMPTION_NOTE_MAX = 2000,            /* likewise */
	/* entitlements of one reward on one pass that `replace` ends: one command writes some rows for each;
	 * RESOURCE_CONFLICT */
	REPLACED_AT_ONCE_MAX = 400,

	/* HTTP connections */
	HTTP_THREADS_MAX = 8,    /* --http-threads */
	CONNECTIONS_MAX = 10000, /* a thread; fewer if descriptors are few; others are closed for a new one */
	CONNECTIONS_ADMIN_MAX = 64, /* likewise, on the admin listener */
	DESCRIPTORS_RESERVED =
	    256,           /* kept for everything but clients' connections and http's sessions with shards */
	HEADERS_MAX = 100, /* lines of a head; h2o has space for no more; HEAD_TOO_LARGE */
	REQUEST_LINE_SLACK_BYTES = 128, /* of a request line, beside its path and query */
	CHUNK_LINE_BYTES_MAX = 256,     /* a chunk's size with its extensions; INVALID_REQUEST */
	TRAILER_BYTES_MAX = 4096,       /* after the last chunk; INVALID_REQUEST */
	/* a connection between two requests; --keep-alive; closed. Load balancers mostly keep theirs for 60 s, and
	 * must close first */
	KEEP_ALIVE_S_DEFAULT = 75,
	KEEP_ALIVE_S_MIN = 1,
	KEEP_ALIVE_S_MAX = 3600,
	CONNECTIONS_PER_ADDRESS_MAX = 1000000, /* maximum of --connections-per-address; reset */
	/* a younger silent connection is closed after idle ones; one without a valid key yet may stall for as long */
	NEWCOMER_MS = 250,
	HANDSHAKE_MS = 10000, /* a TLS handshake; closed */
	HEAD_READ_MS = 10000, /* from a head's first byte to its last; closed */
	BODY_READ_MS = 60000, /* from a head's end to its body's; closed */
	PACE_MS = 10000,      /* a body or response must move PACE_BYTES in this time; else closed */
	PACE_BYTES = 16384,
	/* bytes of bodies in memory, and of bytes received before their turn, over all connections, until their
	 * requests are answered; OVERLOADED. A single larger body: PAYLOAD_TOO_LARGE */
	BODIES_BYTES_MAX = 128 << 20,
	/* likewise, of one account that has more than one in memory */
	BODIES_ACCOUNT_BYTES_MAX = BODIES_BYTES_MAX / 4,
	/* likewise, of all whose key has not been valid lately: the rest is for those that are customers */
	BODIES_STRANGERS_BYTES_MAX = BODIES_BYTES_MAX / 2,
	BODY_SMALL_BYTES = 64 << 10,       /* a body that is always accepted; of those keys, only */
	BODIES_SMALL_BYTES_MAX = 64 << 20, /* up to so much more */
	AHEAD_SMALL_BYTES = 32 << 10,      /* bytes a connection may keep of requests before their turn */
	/* bytes of responses that wait for their last part or their reader, over all connections; a connection not
	 * read for EVICT_AFTER_MS is closed, then large responses get OVERLOADED */
	ANSWERS_BYTES_MAX = 256 << 20,
	ANSWER_SMALL_BYTES = 64 << 10, /* a response that is always sent */
	EVICT_AFTER_MS = 1000, /* likewise, connections slower than PACE_BYTES in PACE_MS, at the limit */
	LINGER_MS = 2000,      /* after a refusal, for the client to stop sending and read it; then closed */
	LINGER_BYTES = 64 << 20, /* likewise, bytes that it still sends */
	/* responses still owed at a stop, which are then dropped: the supervisor waits for 12 s */
	STOP_WAIT_MS = 11500,
	STOP_BODY_MS = 5000, /* likewise, bodies still arriving */

	/* Calls to endpoints of accounts */
	EGRESS_ATTEMPTS_MAX = 4096, /* under way; fewer if descriptors are few; more wait */
	EGRESS_ENDPOINT_MAX = 64,   /* of one account to one host and port; more wait */
	EGRESS_HOST_MAX = 256,      /* of all accounts to one host and port; more wait */
	EGRESS_CROWDED_MAX = 4,     /* of one account there, once half of these are in use; likewise */
	EGRESS_WAITING_MAX = 4096,  /* OVERLOADED, to the timer itself */
	/* of images, whose bytes are in memory: 512 MiB; each shard requests its share, more wait; likewise */
	EGRESS_FETCHES_MAX = 256,
	EGRESS_BYTES_MAX = 256 << 20, /* of bodies, under way and waiting; likewise */
	EGRESS_OWNER_BYTES_MAX = EGRESS_BYTES_MAX /
	                         4,    /* of one account that has more than one there; likewise */
	EGRESS_SMALL_BYTES = 16 << 10, /* a body that is always accepted */
	EGRESS_ATTEMPT_MS = 10000,  /* of real time, from the lookup to the response's head; it has failed */
	EGRESS_IMAGE_MS = 20000,    /* likewise, from the lookup to the end of an image; it is retried */
	EGRESS_STAGGER_MS = 250,    /* before the next address of a host is also dialled */
	EGRESS_FAMILY_WAIT_MS = 50, /* for IPv6 addresses when those of IPv4 are known; then without */
	EGRESS_FAMILY_LATE_MS = 1000, /* after the query: until then late addresses still join */
	EGRESS_START_MS = 4000,       /* of waiting; not_started */
	EGRESS_SLOW_MS = 2000,        /* a slower endpoint is in doubt: fewer calls at once */
	EGRESS_DOUBTFUL_MAX = 16, /* to one such endpoint; to all of them half of all, and of its host's */
	EGRESS_DRAIN_MS = 1000,   /* for the unread rest of a response; the connection is closed */
	EGRESS_DRAIN_BYTES = 64 << 10,     /* likewise */
	EGRESS_HEAD_BYTES_MAX = 64 << 10,  /* of a response's head; it has failed */
	EGRESS_FETCH_BYTES_MAX = 2 << 20,  /* of a fetched image; too_large */
	EGRESS_ENDPOINTS_IDLE_MAX = 16384, /* remembered while idle; the oldest are dropped */
	EGRESS_IDLE_S = 600,               /* likewise */
	DNS_KEPT_S_MIN = 5,  /* addresses of a host are looked up again after their time to live, within */
	DNS_KEPT_S_MAX = 60, /* these bounds */

	/* Deliveries of webhooks */
	DELIVERY_ATTEMPTS_MAX = 7,        /* document section 8; then a delivery has failed */
	DELIVERIES_KEPT_DAYS = 7,         /* of service time: ended ones can be listed */
	DELIVERIES_KEPT_MAX = 10000,      /* likewise, an account's; the oldest are dropped */
	DELIVERIES_COUNTED_MAX = 1 << 20, /* rows read by a survey of the queue; more are not counted */
	/* credentials of a shard in status and /metrics: those that end first */
	WALLET_ENDS_SHOWN_MAX = 100,
	FAILING_MAX = 10,          /* subscriptions of a shard named by status and /metrics: the worst */
	LEASES_PER_CALL_MAX = 24,  /* deliveries leased by one command: it stages writes for each */
	REPORTS_PER_CALL_MAX = 12, /* likewise, attempts reported by one */
	PUSHES_PER_CALL_MAX = 24,  /* passes in wallets leased, and reported, by one command */
	PUSH_NOTES_PER_CALL_MAX =
	    8,                    /* phones that are gone, and complaints about credentials, in one report */
	GOOGLE_JOBS_MAX = 16,     /* passes in Google's wallet leased, and reported, by one command */
	GOOGLE_TICKET_BYTES = 53, /* of WALLET_GOOGLE_CHECK */
	GOOGLE_KEYS_BYTES_MAX = 1500, /* Google's root keys, as JSON */
	LEASES_MAX = 4096,            /* leases at once, over all shards; more wait in their queues */
	HANDED_BODY_BYTES = 65536,    /* payloads sent along with leases, in bytes; others are requested */
	HANDED_FRESH_MS = 100,   /* age up to which such a payload is current; an older one is requested */
	LEASE_MS = 25000,        /* of real time; an attempt not reported by then has failed */
	LEASE_ASK_MS = 10000,    /* duration of the timer's long poll for due deliveries */
	LEASE_ANSWER_MS = 2000,  /* it is answered empty this long before its end */
	LANE_SOUND_MAX = 64,     /* leases of one subscription whose endpoint responds quickly */
	LANE_NEW_MAX = 2,        /* of one without any result yet */
	LANE_RECENT_MS = 1000,   /* leases of such lanes are spread evenly: a lease is recent this long, */
	LANE_RECENT_MIN = 8,     /* and so many may be recent, or by their share and EGRESS_ATTEMPT_MS */
	LANE_DOUBTFUL_MAX = 2,   /* of one that did not respond in time */
	LANE_SLOW_MAX = 16,      /* of one that responds, but takes longer than EGRESS_SLOW_MS */
	LINES_WOKEN_MAX = 256,   /* subscriptions that become ready in one pass over the queue */
	LANE_TURN_MAX = 8,       /* leases of one subscription before others' turn */
	LINES_KEPT_MAX = 100000, /* idle subscriptions remembered, a shard's */
	LANE_HOLD_MS = 1000,     /* wait of a subscription whose attempt could not be made */

	/* Issuance */
	ISSUANCE_WAIT_MS =
	    10000, /* of real time: a creation's request waits this long; document section 8; 202 */
	ISSUANCE_TRY_MS = 30000, /* of real time, from the first fetch of its images; creation_failed */
	IMAGE_BYTES_MAX = EGRESS_FETCH_BYTES_MAX, /* of an image; creation_failed */
	IMAGE_SIDE_MAX = 4096,                    /* pixels; creation_failed */
	IMAGE_PART_BYTES = 64 << 10,  /* of an image; one part travels and is written as one command */
	IMAGE_BYTES_PER_S = 12 << 20, /* of one account's images, that a shard writes; more wait */
	IMAGE_UNNAMED_S =
	    3600,           /* of service time since its last part: then an unreferenced image is removed */
	IMAGE_FRESH_S = 60, /* of service time: an image is not fetched again from its URL */
	FETCHES_ACCOUNT_MAX = 8, /* images of one account, requested or next in line; more wait */
	FETCHES_UNKNOWN_WEIGHT =
	    32,                  /* slots left that one slot of an account without an ended fetch counts as */
	FETCHES_AGAIN_MAX = 4,   /* of those, after a failure; the rest is for new ones */
	FETCHES_HUNG_MAX = 1,    /* of those, from hosts that hung, while others wait */
	FETCHES_KEPT_MAX = 1024, /* of one account, those to be retried included; more wait */
	HOSTS_HUNG_MAX = 4,      /* hosts remembered per account: their images go last */
	FETCH_REST_MS = 1000,    /* before an image is retried */
	TEMPLATE_REST_S = 600,   /* before a template's images are retried, after ISSUANCE_TRY_MS */
	FETCH_ANSWER_MS = 27000, /* for the timer to fetch one and hand it over; then it is retried */
	ISSUING_MAX = 65536,     /* passes that a shard is issuing; OVERLOADED */
	ISSUING_ACCOUNT_MAX = 8192, /* likewise, of one account */
	ISSUING_A_TURN = 64,        /* passes processed before others' calls have their turn */
	CREATION_WAITS_MAX = 1024,  /* requests that wait for issuance in a shard; more get 202 at once */
	CREATION_WAITS_ACCOUNT_MAX = 256, /* likewise, of one account */
	CREATION_ERROR_BYTES_MAX = 200,   /* of the reason why a pass could not be issued; the rest is cut */

	/* Packages for wallets */
	SIGNER_JOBS_MAX =
	    256, /* waiting or in progress in a shard: a tenth of a second of work; OVERLOADED */
	SIGNER_JOBS_ACCOUNT_MAX = 64, /* likewise, waiting, of one account */
	SIGNER_JOBS_CALLBACKS_MAX =
	    32, /* of these, Google's callbacks, which anybody can send: 30 ms of work with one root key */
	SIGNER_JOBS_CALLBACK_MAX = 16,      /* likewise, waiting, of one account */
	PACKAGES_KEPT_BYTES_MAX = 16 << 20, /* of signatures that a shard keeps; the least used go */
	PACKAGES_KEPT_S = 60,               /* of real time; then a package is signed again */
	KITS_BYTES_MAX =
	    32 << 20, /* of pictures of packages that the HTTP process keeps; the least used go */

	/* Placement */
	SLOT_COUNT = 4096, /* fixed forever: the hash of an account id names one of these */
	SHARDS_MAX = 64,   /* processes; --shards */

	/* Data directories */
	/* restores in a directory's past; the oldest is dropped, and links of passes from before it open nothing */
	LINEAGES_MAX = 32,

	/* Between processes */
	SESSION_CREDIT_COMMANDS = 2048,  /* calls outstanding per session; OVERLOADED */
	SESSION_CREDIT_BYTES = 8 << 20,  /* bytes of calls outstanding, or not yet received; OVERLOADED */
	SESSION_ANSWER_BYTES = 32 << 20, /* bytes of replies not yet received, per session; OVERLOADED */
	/* likewise, of lists and other replies of readers: while there are more, the next part waits, since the
	 * replies to other calls are behind it, but at most LISTS_STALL_MS without a receipt; OVERLOADED */
	SESSION_LIST_BYTES = 512 << 10,
	ANSWERS_STALL_MS =
	    500, /* readers wait so long without a receipt where the bytes of all replies are too many */
	LISTS_STALL_MS = 2000, /* and so long where only those of lists are */
	/* bytes of replies that a shard holds for all long-lived processes, and for all commands; a session gets at
	 * most twice what is left of it; OVERLOADED */
	ANSWERS_SHARD_BYTES_MAX = 64 << 20,
	ANSWERS_COMMANDS_BYTES_MAX = 24 << 20,
	/* of each of these, reserved for replies to WRITEs; no such reply is larger. Without space nothing is done */
	ANSWER_RESERVED_BYTES = 2 << 20,
	ANSWER_TINY_BYTES = 1 << 10,     /* a reply that is always sent: no caller has many calls open */
	RECEIPT_EVERY_BYTES = 256 << 10, /* received bytes after which the sender is notified at once */
	RECEIPT_ASK_MS = 1000, /* a silent peer is asked for its count of received bytes: it may be gone */
	SESSIONS_MAX = 512, /* peers a shard keeps; a command's, or else the longest idle one, is dropped */
	FRAME_BYTES_MAX = 20 << 20,    /* one message; larger ones are dropped by the socket */
	FRAME_NODES_MAX = 1 << 20,     /* msgpack items in one message; MALFORMED */
	FRAME_DEPTH_MAX = 24,          /* msgpack containers nested; MALFORMED */
	CALL_DEADLINE_MS = 5000,       /* a shard drops a command not decided by then */
	CALL_DEADLINE_GRACE_MS = 1000, /* the caller waits this much longer than the shard */
	HEARTBEAT_EVERY_MS = 300,      /* timer to each shard */
	HEARTBEAT_LOST_MS =
	    1500, /* without one for this long the issuer is down; PASS_PROVIDER_UNAVAILABLE */

	/* Batches (a batch is the content of one journal record) */
	BATCH_COMMANDS_MAX = 256, /* commands; the rest waits its turn */
	BATCH_COMMANDS_MIN = 32,  /* on a quick disk: half of what callers wait for, but at least this */
	/* calls after which a frame is sent before the turn ends, so that the callee can begin; otherwise all would
	 * wait for each other in turn, one process at work and the others idle */
	FRAME_CALLS_FULL = 64,
	BATCH_BYTES_MAX = 1 << 20,  /* bytes of operations after which a record is closed */
	COMMIT_RECORDS_MAX = 128,   /* records applied before LMDB commits */
	COMMIT_BYTES_MAX = 1 << 20, /* bytes of records before it commits: large values are many pages */
	COMMIT_ROWS_MAX = 512,      /* distinct rows written (about dirty pages) before LMDB commits, */
	COMMIT_ROW_SYNC_US = 4, /* or after one for each so many microseconds of a sync, if these are more, */
	COMMIT_PAGES_BYTES_MAX = 16 << 20, /* but before their pages are larger than this */
	/* journal behind which the rows of late tables are written (a round): as many KiB as the table has rows, */
	LATE_ROUND_BYTES_MIN = 48 << 20,  /* at least this */
	LATE_ROUND_BYTES_MAX = 256 << 20, /* and at most this; decisions pause while two rounds are behind */
	LATE_ROUND_MS = 10000,            /* of real time, after which a round begins with less journal */
	LATE_SLICE_ROWS = 32,             /* rows of a round in one commit, */
	LATE_SLICE_ROWS_IDLE = 128,       /* while nobody calls, */
	LATE_SLICES_OWED_MAX = 8, /* and such slices due at once, after which decisions pause for one */
	/* ledger rows in memory, an eighth of it for written ones; at three quarters of the rest they are written ahead of
	 * their round, at all of it decisions pause for a slice */
	LATE_TAILS_BYTES_MAX = 64 << 20,
	LATE_ROWS_BYTES_MAX = 64 << 20, /* other rows of late tables in memory; likewise */
	LATE_AHEAD = 750,               /* thousandths: those three quarters */
	/* memory for passes that were used lately: so much of it may hold what is not in the tables yet, */
	LATE_HURRY_PERCENT = 50,    /* until a slice follows each record, */
	LATE_PAUSE_PERCENT = 75,    /* and so much until decisions pause for one */
	LATE_MEMORY_MIN = 64 << 20, /* bytes a shard */
	LATE_MEMORY_SHARE = 8,      /* by default: this part of the machine's memory, and */
	LATE_MEMORY_SHARE_ALL = 2,  /* for all shards together at most this part */
	STAGED_WRITES_MAX = 4096,   /* writes of one command; a bug if exceeded */
	BULK_WRITES_MAX =
	    64, /* writes of one command that works through a queue; gathered scans come on top */
	CLEAN_LOOKED_MAX = 256,   /* rows that one step of the background removal reads; the rest waits */
	CLEAN_STEP_MS = 20,       /* between two of its steps, */
	CLEAN_REST_MS = 10000,    /* and between two rounds in which nothing was due */
	ERASED_ID_KEPT_DAYS = 30, /* of service time: until then a second erasure of an id is recognised */
	REPLY_PART_BYTES_MAX = 256 << 10, /* bytes; a longer list is sent in parts */
	LIST_BYTES_MAX =
	    64 << 20, /* bytes of a list without pages: its share of ANSWERS_BYTES_MAX; OVERLOADED */
	ANSWERS_WAITING_BYTES_MAX = 16 << 20, /* bytes of full reply frames not yet sent; decisions pause */
};

/* Limits beyond the range of int. */
#define CLOCK_OFFSET_MAX \
	(INT64_C(100) * 365 * 86400 * 1000000) /* microseconds; how far a test clock may be ahead */
#define BALANCE_MAX               INT64_C(9007199254740991) /* 2^53 - 1; a pass's balance, plus or minus; INVALID_INPUT */
#define ASSIGNMENT_LIMIT_MAX      INT64_C(9007199254740991) /* 2^53 - 1, exact in every JSON reader */
#define REWARD_WINDOW_SECONDS_MAX INT64_C(3155760000)       /* 100 years of 365.25 days */
