#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Calls of the store that fail on request. The linker redirects every call named in calls.def here, and from
 * here to the real one. Thread-safe: the store's threads call too. Errors: none. */
#define CALL_CLASSES(X)  \
	X(MEMORY)        \
	X(OPEN)          \
	X(DIRECTORY)     \
	X(READ)          \
	X(WRITE)         \
	X(SYNC)          \
	X(NAME)          \
	X(SPACE)         \
	X(THREAD)        \
	X(TABLES_OPEN)   \
	X(TABLES_BEGIN)  \
	X(TABLES_READ)   \
	X(TABLES_WRITE)  \
	X(TABLES_COMMIT) \
	X(TABLES_SYNC)
enum call_class {
#define CALL_CLASS_ID(name) CALLS_##name,
	CALL_CLASSES(CALL_CLASS_ID)
#undef CALL_CLASS_ID
	    CALL_CLASS_COUNT,
};

enum { SHORT_WRITE = -1 }; /* a separate kind: only half is written, and reported so */

struct injection {
	enum call_class class;
	int      kind;          /* an errno, LMDB's number, or SHORT_WRITE */
	unsigned nth;           /* the first to fail, from 1; 0: none */
	bool     for_good;      /* all later ones fail too */
	bool     newest_thread; /* only calls of the thread that was created last */
};

void inject_arm(const struct injection *injection);
void inject_disarm(void);
bool inject_fired(void); /* true if a call has failed since it was armed */

/* What the store has allocated and not released: blocks of memory, and (of the whole process) open files and
 * threads. */
unsigned inject_memory_held(void);
unsigned inject_files_held(void);
unsigned inject_threads_held(void);
