#pragma once
#include "tests/crash/recorder.h"

/* What a trace leaves on a disk, and what may be left of it after a crash. README.md says what is taken to be possible.
 * Errors: none; what it cannot do aborts. */
struct disk;

struct disk *disk_new(void);
void         disk_free(struct disk **disk);

/* Takes up what lies below `path` already, all of it durable. */
void disk_load(struct disk *disk, const char *path);

/* Moves on by one entry. Its bytes are borrowed for as long as the disk lives. */
void disk_apply(struct disk *disk, const struct trace_entry *entry);

/* How the machine ended: killed processes leave all they did; a cut leaves what was synced, and chance decides about
 * the rest. */
enum crash { CRASH_KILL, CRASH_POWER };

/* Makes the state in the directory `path`, which must be empty, and has its files keep their identity (recorder_alias).
 * `*luck` decides: see chance(). */
void disk_build(const struct disk *disk, enum crash crash, uint64_t *luck, const char *path);

/* Removes what is below `path`. */
void directory_clear(const char *path);
