#pragma once
#include "tests/crash/recorder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Shared by the recorder's files: recorder.c keeps the trace, recorder_calls.c replaces the calls that change
 * files, recorder_lies.c those that query. No other file includes this. */

/* A call under both of its names: most callers are compiled to the one for 64-bit offsets. */
#define STANDS_FOR(type, name, ...) type record_##name(__VA_ARGS__) __asm__(#name)
#define STANDS_FOR_64(type, name, ...)                                                         \
	type record_##name##64(__VA_ARGS__) __asm__(#name "64") __attribute__((alias(#name))); \
	STANDS_FOR(type, name, __VA_ARGS__)

_Noreturn void recorder_give_up(const char *what);

/* Around an action that may have to be recorded, so that a process which dies by recorder_die_after() has
 * recorded all its actions. `fd` < 0: the action is about a name. Pass the result of enter() to leave(). */
bool recorder_enter(int fd);
void recorder_leave(bool recorded);

/* Between the two. */
void recorder_emit(struct trace_head head, const char *name, const char *new_name, struct span bytes);

/* Descriptors: classified by their path when they are opened; `from` < 0: closed. tracked: its inode, if it
 * is recorded. */
void recorder_track(int fd, int flags);
int  recorder_became(int fd, int from);
bool recorder_is_tracked(int fd, struct stat *st);
bool recorder_is_dsync(int fd);

/* The directory's inode and the last part of a name. False: not below the root. */
struct place_of {
	uint64_t dir;
	char     name[256];
};
bool recorder_place_below(int dir_fd, const char *path, struct place_of *test_dir);
bool recorder_true_stat(int fd, const char *path, int flags, struct stat *st);
void recorder_emit_root(int dir_fd, const char *path); /* if it is the root */

/* How long a sync takes, and whether it is made at all. */
dur_us recorder_sync_time(void);
bool   recorder_spares_disk(void);

/* A descriptor with the bytes to be read instead; -1: none. */
int recorder_lie(const char *path);
