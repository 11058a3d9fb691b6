#pragma once
#include "schemas/err.h"

#include <stddef.h>
#include <stdint.h>

/* Things to do by time: a binary heap of entries that live in their owners' structs. The unit of time is the owner's. Not
 * shared between threads. Zeroed is empty. */
struct agenda_entry {
	int64_t  at;
	uint64_t then;  /* of equal times the lower one comes first; the owner sets it before agenda_put() */
	size_t   place; /* 1 + its index in the heap; 0: it is in none */
};

struct agenda {
	struct agenda_entry **heap; /* each is no later than the two below it */
	size_t                count, room;
};

/* Adds the entry, or moves it to another time. Errors: ERR_NO_MEMORY: it is in none. */
must_check enum err agenda_put(struct agenda *agenda, struct agenda_entry *entry, int64_t at);
void                agenda_drop(struct agenda *agenda, struct agenda_entry *entry); /* in none: nothing */
/* Room for that many entries: agenda_put() fails only beyond it. Errors: ERR_NO_MEMORY. */
must_check enum err agenda_reserve(struct agenda *agenda, size_t count);
/* The earliest; NULL: none. */
struct agenda_entry *agenda_first(const struct agenda *agenda);
/* The struct that has the entry at `offset`; NULL: no entry. */
void *agenda_owner(struct agenda_entry *entry, size_t offset);
/* The entries are the owner's. */
void agenda_free(struct agenda *agenda);
