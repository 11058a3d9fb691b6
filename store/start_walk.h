#pragma once
#include "store/db.h"
#include "store/faults.h"

/* The walk through all tables (walk.h) at a start, on a thread of its own. Its caller meanwhile reads what the walk has found
 * whole, and commits nothing. NULL is a walk that found nothing. */
struct start_walk;

/* `*walk` stays NULL if the tables are larger than `bytes_max`. If there is no thread, this call walks.
 * Errors: ERR_IO, ERR_NO_MEMORY. */
must_check enum err start_walk_begin(struct db *db, uint64_t bytes_max, struct start_walk **walk);

/* Waits until the walk has passed the table. META and late tables come first. False: it has found something, there or
 * before; start_walk_end() says what. */
bool start_walk_await(struct start_walk *walk, enum table table);

/* Waits for the end; takes the walk. Leaves errno as it is, or as the walk's error has set it. Errors: ERR_DAMAGED: `found` has
 * the first fault; otherwise it is unchanged; as walk_tables(). */
must_check enum err start_walk_end(struct start_walk **walk, char found[FAULT_TEXT]);
