#pragma once
#include "tests/crash/recorder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What the recorder's files share: recorder.c keeps the trace, recorder_calls.c stands for the calls that change files,
 * recorder_lies.c for those that ask. Nobody else includes this. */

/* A call under both of its names: the one for 64-bit offsets is what most callers are compiled to. */
#define STANDS_FOR(type, name, ...) type record_##name(__VA_ARGS__) __asm__(#name)
#define STANDS_FOR_64(type, name, ...)                                                         \
	type record_##name##64(__VA_ARGS__) __asm__(#name "64") __attribute__((alias(#name))); \
	STANDS_FOR(type, name, __VA_ARGS__)

_Noreturn void recorder_give_up(const char *what);

/* Around a deed that may have to be told, so that a process which dies by recorder_die_after() has told all it did.
 * `fd` < 0: it is about a name. What enter() returns is for leave(). */
bool recorder_enter(int fd);
void recorder_leave(bool recorded);

/* Between the two. */
void recorder_emit(struct trace_head head, const char *name, const char *new_name, struct span bytes);

/* Descriptors: told apart when they are opened, by their path; `from` < 0: it is closed. tracked: its inode, if what
 * happens to it is recorded. */
void recorder_track(int fd, int flags);
int  recorder_became(int fd, int from);
bool recorder_is_tracked(int fd, struct stat *st);
bool recorder_is_dsync(int fd);

/* Where a name is: the directory's inode and the last part of the name. False: not below the root. */
struct place_of {
	uint64_t dir;
	char     name[256];
};
bool recorder_place_below(int dir_fd, const char *path, struct place_of *test_dir);
bool recorder_true_stat(int fd, const char *path, int flags, struct stat *st);
void recorder_emit_root(int dir_fd, const char *path); /* if it is the root */

/* How long a sync is to take. */
dur_us recorder_sync_time(void);

/* A descriptor with what is to be read instead; -1: nothing. */
int recorder_lie(const char *path);
