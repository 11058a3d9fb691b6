#pragma once
#include "actors/shard/command.h"
#include "actors/shard/engine/handover.h"
#include "actors/shard/engine/session.h"
#include "store/store.h"

/* Reader threads answer SCAN messages from a snapshot of everything acknowledged, while the writer continues. A job starts
 * once the writer has committed what it must see, which may be at once. Finished frames return through a queue; the writer
 * sends them, because it owns the socket. A reader reserves room in the session's window before it queues a part. */
struct readers;

/* Two groups of threads work so, each with a queue of its own. Lists have three threads, of which one takes no jobs of
 * accounts: calls about the whole shard, such as rendering deliveries, never wait for long lists. Packages for wallets have one,
 * the signer: a signature takes as long as a hundred reads. */
struct readers_plan {
	unsigned threads;   /* READER_THREADS_MAX at most */
	bool     has_quick; /* the first takes no jobs of accounts, and runs at full priority */
	unsigned jobs_max,
	    account_max; /* waiting or in progress; waiting, of one account; above: OVERLOADED */
	unsigned       public_max, public_account_max; /* likewise, of what anybody may ask for */
	struct signer *signer;                         /* for its handlers; NULL: none */
};
extern const struct readers_plan readers_of_lists, readers_of_packages;

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err readers_open(struct store *store, const struct shard_facts *facts,
                                 const struct readers_plan *plan, struct readers **readers);
void                readers_close(struct readers **readers);

enum {
	READER_THREADS_MAX = 3,
	READER_JOBS_MAX = 512,         /* of lists: waiting or in progress; above: OVERLOADED */
	READER_JOBS_ACCOUNT_MAX = 128, /* likewise, waiting, of one account */
	READER_JOBS_IMAGES_MAX = 128,  /* for images and kits of all accounts; above: OVERLOADED */
	READER_JOBS_IMAGE_MAX = 64,    /* likewise, waiting, of one account: leaves room for its lists */
};

/* Copies a SCAN call. With a lender, the job starts at once and is lent its accounts. Without one, it waits for
 * readers_release(). Errors: ERR_OVERLOADED, ERR_NO_MEMORY. */
struct lender {
	struct account_cache *accounts;
	struct view          *view; /* of the writer */
};
must_check enum err readers_add(struct readers *readers, const struct session *session,
                                const struct call *call, wall_us now, const struct lender *at_once);
bool                readers_waiting(const struct readers *readers);
/* The writer has committed: held jobs start. NULL: nothing is lent. */
void readers_release(struct readers *readers, const struct lender *lender);

/* Has a reader met a damaged row? Its caller has the error; the writer decides what happens to the tables. */
bool readers_found_damage(const struct readers *readers);

int readers_fd(const struct readers *readers); /* readable when readers_next() may return something */

/* A finished frame of replies. Its bytes are counted in `window`, of the session that asked. */
struct result {
	struct handover_item item; /* used by readers.c */
	struct peer          peer;
	bool                 has_account;
	struct account_id    account;
	struct window       *window;
	struct buffer        frame;
};

/* The next result, which the caller frees; NULL: none. */
struct result *readers_next(struct readers *readers);
void           result_free(struct result **result);
