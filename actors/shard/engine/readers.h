#pragma once
#include "actors/shard/command.h"
#include "actors/shard/engine/session.h"
#include "store/store.h"

/* Reader threads: they answer SCAN messages from a snapshot of everything acknowledged, while the writer goes
 * on. A job is handed over once the writer has committed what it must see, which may be at once. Finished frames come
 * back through a queue and are sent by the writer, who owns the socket. A reader takes room in the session's window before it
 * puts a part there. */
struct readers;

/* Errors: ERR_NO_MEMORY, ERR_IO. */
must_check enum err readers_open(struct store *store, const struct shard_facts *facts,
                                 struct readers **readers);
void                readers_close(struct readers **readers);

enum {
	READER_JOBS_MAX = 512,         /* waiting or under way; OVERLOADED */
	READER_JOBS_ACCOUNT_MAX = 128, /* of one account, waiting; OVERLOADED */
	READER_JOBS_IMAGE_MAX = 64,    /* likewise, for an image: its holders leave room for its lists */
	READER_JOBS_IMAGES_MAX = 128,  /* for images, of all accounts; OVERLOADED */
};

/* Takes a copy of a SCAN call. It begins at once and is lent the accounts that it is about, or, without a lender, waits for
 * readers_release(). Errors: ERR_OVERLOADED, ERR_NO_MEMORY. */
struct lender {
	struct account_cache *accounts;
	struct view          *view; /* the writer's */
};
must_check enum err readers_add(struct readers *readers, const struct session *session,
                                const struct call *call, wall_us now, const struct lender *at_once);
bool                readers_waiting(const struct readers *readers);
/* The writer has committed: those that wait begin (NULL: nothing is lent). */
void readers_release(struct readers *readers, const struct lender *lender);

/* Has one met a damaged row? (Its caller was told; what is to become of the tables is the writer's affair.) */
bool readers_found_damage(const struct readers *readers);

int readers_fd(const struct readers *readers); /* readable when readers_next() may find something */

/* A finished frame of replies. Its bytes count in the window, which is that of the session that asked. */
struct result {
	struct peer       peer;
	bool              has_account;
	struct account_id account;
	struct window    *window;
	struct buffer     frame;
	struct result    *next; /* readers.c's */
};

/* The next one, the caller's to free; NULL: none. */
struct result *readers_next(struct readers *readers);
void           result_free(struct result **result);
