/* The thread has a view of its own, begun by the caller. LMDB allows that beside the caller's write transaction, since
 * transactions are not tied to threads (MDB_NOTLS). */
#include "store/start_walk.h"

#include "store/walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct start_walk {
	struct view   *view;
	struct arena   arena;
	struct faults  faults;       /* the thread's until its end */
	enum err       err;          /* likewise */
	int            system_error; /* of that: likewise */
	pthread_t      thread;
	bool           has_thread;
	pthread_cond_t news;

	pthread_mutex_t mutex; /* of what follows */
	uint64_t        whole; /* TABLE_BIT() of each */
	bool            is_over;
};

static void on_whole(void *user, enum table table)
{
	struct start_walk *walk = user;
	pthread_mutex_lock(&walk->mutex);
	walk->whole |= TABLE_BIT(table);
	pthread_cond_signal(&walk->news);
	pthread_mutex_unlock(&walk->mutex);
}

static void *run(void *user)
{
	struct start_walk         *walk = user;
	const struct walk_listener listener = {.on_whole = on_whole, .user = walk};
	walk->err = walk_tables_notify(walk->view, &walk->faults, &listener);
	walk->system_error = errno;
	pthread_mutex_lock(&walk->mutex);
	walk->is_over = true;
	pthread_cond_signal(&walk->news);
	pthread_mutex_unlock(&walk->mutex);
	return NULL;
}

static void drop(struct start_walk *walk)
{
	if (walk->view) db_reader_end(walk->view);
	db_reader_close(&walk->view);
	arena_free(&walk->arena);
	pthread_cond_destroy(&walk->news);
	pthread_mutex_destroy(&walk->mutex);
	free(walk);
}

enum err start_walk_begin(struct db *db, uint64_t bytes_max, struct start_walk **out)
{
	struct start_walk *walk = calloc(1, sizeof *walk);
	*out = NULL;
	if (!walk) return ERR_NO_MEMORY;
	pthread_mutex_init(&walk->mutex, NULL);
	pthread_cond_init(&walk->news, NULL);
	enum err err = db_reader_open(db, &walk->arena, &walk->view);
	if (!err && (err = db_reader_begin(walk->view))) db_reader_close(&walk->view);
	if (err || view_used_bytes(walk->view) > bytes_max) {
		drop(walk);
		return err;
	}
	walk->has_thread = pthread_create(&walk->thread, NULL, run, walk) == 0;
	if (!walk->has_thread) (void)run(walk);
	*out = walk;
	return OK;
}

bool start_walk_await(struct start_walk *walk, enum table table)
{
	if (!walk) return true;
	pthread_mutex_lock(&walk->mutex);
	while (!(walk->whole & TABLE_BIT(table)) && !walk->is_over)
		pthread_cond_wait(&walk->news, &walk->mutex);
	bool is_whole = (walk->whole & TABLE_BIT(table)) != 0;
	pthread_mutex_unlock(&walk->mutex);
	return is_whole;
}

enum err start_walk_end(struct start_walk **walk_p, char found[FAULT_TEXT])
{
	struct start_walk *walk = *walk_p;
	int                system_error = errno; /* the caller's own, perhaps not yet reported */
	*walk_p = NULL;
	if (!walk) return OK;
	if (walk->has_thread) pthread_join(walk->thread, NULL);
	enum err err = walk->err;
	if (walk->faults.count) snprintf(found, FAULT_TEXT, "%s", walk->faults.texts[0]);
	if (!err && walk->faults.count) err = ERR_DAMAGED;
	if (err) system_error = walk->system_error;
	drop(walk);
	errno = system_error;
	return err;
}
