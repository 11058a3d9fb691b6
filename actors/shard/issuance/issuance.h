#pragma once
#include "actors/rt/channel.h"
#include "store/view.h"
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <sys/queue.h>

/* What the writer keeps in memory of the tables ISSUING, TEMPLATE_IMAGES and PASS_PICTURES, built at start and updated with every write:
 * passes being issued, templates and passes with images to fetch, the images, and the requests that wait for passes. An account's passes
 * take turns in order of creation, and accounts take turns. The number of images in progress for an account is limited, so one
 * whose images hang delays only itself. Passes with the same URL share its fetch. Nothing here is needed after the process
 * ends: the next one asks again. The writer thread owns it. Times are real.
 *
 * The places at the timer are shared likewise: accounts take turns, none has more places than it leaves free, and all accounts
 * whose images hang share half of the places. */

/* The state of an image. In each state the oldest comes first; NEW, AGAIN and HUNG are queues of its account. */
enum fetch_state {
	FETCH_NEW,     /* not asked yet */
	FETCH_AGAIN,   /* likewise: it failed, and its time runs */
	FETCH_HUNG,    /* likewise: another image of its host hung */
	FETCH_ASKED,   /* sent to the timer */
	FETCH_RESTING, /* failed temporarily */
	FETCH_ENDED,   /* stored or unobtainable: its passes must be examined */
	FETCH_STATES,
	FETCH_LINES = FETCH_ASKED
};

TAILQ_HEAD(fetch_list, fetch);
struct fetch {
	TAILQ_ENTRY(fetch) in_state;
	LIST_ENTRY(fetch) of_account;
	enum fetch_state        state;
	struct issuing_account *account;
	uint64_t                ask_id;
	mono_us                 due;  /* ASKED, RESTING: when that ends */
	uint32_t                host; /* a checksum of it */
	bool                    is_refused;
	bool                    is_tried;   /* it was asked for, and there was room to try it */
	bool                    has_failed; /* at least once */
	bool                    is_slow;    /* ASKED: for longer than EGRESS_SLOW_MS */
	enum fetch_state        line;       /* ASKED: from which queue */
	TAILQ_HEAD(, creating) passes;
	char   error[CREATION_ERROR_BYTES_MAX + 1]; /* of the last try; never empty */
	size_t url_size;
	char   url[];
};

/* A pass with the status `creating`; or a template, or an issued pass, with images to fetch, which is queued likewise. */
enum creating_kind { CREATING_PASS, CREATING_TEMPLATE, CREATING_PICTURES };
enum creating_place { CREATING_IN_LINE, CREATING_IN_FETCH, CREATING_IN_HAND, CREATING_IN_REST };
struct creating {
	LIST_ENTRY(creating) in_bucket;
	TAILQ_ENTRY(creating) in_place; /* its account's queue, its fetch's passes, or the resting ones */
	TAILQ_ENTRY(creating) by_begun, by_try;
	enum creating_kind      kind;
	enum creating_place     place;
	struct issuing_account *account;
	uint32_t                number;
	struct fetch           *fetch; /* IN_FETCH */
	const char             *image; /* which image of the pass that is; static */
	bool                    is_timed, is_tried;
	unsigned lacks;  /* images that are unobtainable this time, but of a new pass: SHAPE_OF_…, or'ed */
	unsigned logged; /* likewise, those that were logged */
	unsigned
	    fetched; /* likewise, of a template: those that have come, and that phones were not pushed to for */
	unsigned              too_long; /* likewise: those whose URL is */
	bool                  is_seen;  /* likewise: it was looked at in this process */
	unsigned              looks;    /* at images that are being reduced */
	mono_us               begun;    /* 0: before this process */
	mono_us               tried;    /* since when */
	mono_us               due;      /* IN_REST: until when */
	struct creating_list *rest;     /* likewise: its list */
	struct creation_wait *waits;
};

struct issuing_account {
	LIST_ENTRY(issuing_account) in_bucket;
	TAILQ_ENTRY(issuing_account) in_ring, in_asking;
	struct account_id id;
	bool              is_in_ring, is_in_asking;
	bool              is_known;    /* one of its images ended */
	bool              was_slow;    /* the last of its images that ended */
	bool              is_doubtful; /* was_slow, or one of those asked is slow */
	unsigned          pass_count, fetch_count, wait_count;
	unsigned          busy_count, asked_count, slow_count; /* of its fetches: NEW or ASKED; ASKED; slow */
	unsigned          asked_from[FETCH_LINES];             /* of those asked, by queue */
	unsigned          next_hung;
	uint32_t          hung[HOSTS_HUNG_MAX]; /* checksums of hosts that hung; 0: none */
	LIST_HEAD(, fetch) fetches;
	struct fetch_list lines[FETCH_LINES];
	TAILQ_HEAD(, creating) line;
};

/* A request that waits for the end of a creation, at most for ISSUANCE_WAIT_MS. */
struct creation_wait {
	struct creation_wait *next;
	struct account_id     account;
	uint32_t              number;
	struct peer           peer;
	uint64_t              call_id;
	unsigned              flags;
	bool                  has_key_id; /* as in struct call */
	struct uuid           key_id;
};

enum { CREATING_BUCKETS = 1 << 13, ISSUING_ACCOUNT_BUCKETS = 1 << 10, RESTS_MAX = 4 };
TAILQ_HEAD(creating_list, creating);
TAILQ_HEAD(issuing_ring, issuing_account);
LIST_HEAD(creating_bucket, creating);
LIST_HEAD(issuing_account_bucket, issuing_account);

struct issuance {
	struct creating_bucket        passes[CREATING_BUCKETS];
	struct issuing_account_bucket accounts[ISSUING_ACCOUNT_BUCKETS];
	struct issuing_ring           ring;  /* accounts with a queue, and room for another image */
	struct creating_list          timed; /* begun less than ISSUANCE_WAIT_MS ago, oldest first */
	struct rest {
		dur_us               rest;
		struct creating_list list;           /* the earliest to be looked at again first */
	} resting[RESTS_MAX];                        /* no new passes; by how long they rest */
	bool                  is_turn_of_rested;     /* they and those in the ring take turns */
	struct creating_list  tried;                 /* those whose images are being fetched, likewise */
	struct issuing_ring   asking[2];             /* accounts with an image to ask for: sound, doubtful */
	struct fetch_list     fetches[FETCH_STATES]; /* except NEW and AGAIN */
	struct fetch         *first_young;           /* ASKED, and not slow yet */
	unsigned              asked_max;
	unsigned              asked_count, doubtful_count; /* ASKED; of doubtful accounts */
	unsigned              pass_count, wait_count;
	uint64_t              next_ask_id;
	struct creation_wait *ended, **ended_last; /* waits that are over */
	char                  error[CREATION_ERROR_BYTES_MAX + 1];
};

/* Reads the table; earlier waits for these passes are gone. `asked_max`: images asked for at once. Errors: ERR_NO_MEMORY, and
 * as view.h. */
must_check enum err issuance_load(struct issuance *issuance, struct view *view, unsigned asked_max);
void                issuance_free(struct issuance *issuance);

/* Call after a command's writes have been applied. Errors: ERR_NO_MEMORY. */
must_check enum err issuance_on_writes(struct issuance *issuance, const struct writes *writes, mono_us now);

/* Lets a call wait for a pass within the pass's time. False: the time is over, or too many wait. */
bool issuance_wait(struct issuance *issuance, const struct creation_wait *wait);
/* The next wait that is over; NULL: none. The caller frees it. */
struct creation_wait *issuance_next_ended(struct issuance *issuance, mono_us now);

/* The next pass to examine, now in the caller's hand; NULL: none. With *error NULL its images may be there: issue it, or name
 * the missing one with issuance_want(). Otherwise it cannot be issued, and *error says why (until the next call). The write of
 * its end removes the pass; issuance_drop() is for one that could not be written. */
struct creating    *issuance_next(struct issuance *issuance, mono_us now, const char **error);
must_check enum err issuance_want(struct issuance *issuance, struct creating *pass, const char *image,
                                  struct span url, mono_us now);
void                issuance_drop(struct issuance *issuance, struct creating *pass);
/* Call for what is in the caller's hand and no new pass: it comes again after a while. At most RESTS_MAX different times are in
 * use at once. */
void issuance_rest(struct issuance *issuance, struct creating *pass, dur_us rest, mono_us now);

/* The next image to ask the timer for, with its ask_id; it counts as asked then. NULL: none, or enough are asked. */
struct fetch *issuance_next_fetch(struct issuance *issuance, mono_us now);
/* The timer's answer: OK, ERR_IMAGE_REFUSED (permanent), ERR_OVERLOADED (not tried), or any other, which may be temporary;
 * `text` says why. */
void issuance_fetched(struct issuance *issuance, uint64_t ask_id, enum err err, struct span text,
                      mono_us now);

/* Another timer: images that the earlier one was asked for are asked for again. */
void issuance_forget_asked(struct issuance *issuance);
/* Nothing could be tried for a while: the time limits start again. */
void issuance_resume(struct issuance *issuance, mono_us now);
/* The writer was away for `by`: answers may be unread in the channel, so that time does not count. */
void issuance_delay(struct issuance *issuance, dur_us by, mono_us now);
