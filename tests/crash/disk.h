#pragma once
#include "tests/crash/recorder.h"

/* The disk after a trace, and the states that it may have after a crash. README.md says what counts as
 * possible. Errors: none; failures abort. */
struct disk;

struct disk *disk_new(void);
void         disk_free(struct disk **disk);

/* Reads the files below `path`, all of them durable. */
void disk_load(struct disk *disk, const char *path);

/* Applies one entry. Its bytes are borrowed as long as the disk lives. */
void disk_apply(struct disk *disk, const struct trace_entry *entry);

/* How the machine ended: after a kill of all processes everything written stays; after a power cut synced
 * changes stay, and random numbers decide about the others. */
enum crash { CRASH_KILL, CRASH_POWER };

/* Makes the state in the directory `path`, which must be empty. Its files keep their identity
 * (recorder_alias). `*luck` is the state of the random numbers. */
void disk_build(const struct disk *disk, enum crash crash, uint64_t *luck, const char *path);

/* Deletes everything below `path`. */
void directory_clear(const char *path);
