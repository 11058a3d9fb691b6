#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "store/progress.h"

/* Files as the store needs them: whole, or with the error. Names are relative to an open directory.
 * Errors: ERR_IO (errno says more), ERR_STORAGE_FULL (no space), ERR_NOT_FOUND where named, ERR_NO_MEMORY, and
 * ERR_STOPPED where there is a `progress`, which may be NULL. */

/* A directory in `parent`, made if need be, durably. */
must_check enum err file_open_dir(int parent, const char *name, int *fd);
must_check enum err file_sync_dir(int dir_fd);

must_check enum err file_write_all(int fd, const void *bytes, size_t size, uint64_t offset);

/* Replaces a small file durably: after a crash it is the old one or the new one. */
must_check enum err file_replace(int dir_fd, const char *name, struct span bytes);
/* All of a small file, at most `max` bytes. Errors: ERR_NOT_FOUND; ERR_DAMAGED: larger. */
must_check enum err file_load(int dir_fd, const char *name, size_t max, struct buffer *out);

/* Copies all of `from_fd` behind the beginning of `to_fd`; synced is the caller's affair. */
must_check enum err file_copy(int from_fd, int to_fd, struct progress *progress);

/* Sums over a whole file. */
must_check enum err file_crc32c(int fd, uint32_t *crc);
must_check enum err file_sha256(int fd, uint8_t sha256[32], struct progress *progress);

/* Has the system's memory hold a part of a file as single pages, before it is written for the first time. What comes in
 * large writes would else be held in large pieces; and a small write into such a piece goes through all of it in some
 * kernels (ext4 from Linux 6.16 on), which makes it three times as slow. For speed alone: nothing is said of errors. */
void file_hold_pages(int fd, uint64_t at, uint64_t bytes);

/* Gives the space of a file that has no name any more back piece by piece, at the pace of `progress`: all at once it may
 * hold up everybody's syncs. */
void file_release(int fd, struct progress *progress);

/* Removes a directory of ours and the files in it; it is no error when it is not there. */
must_check enum err file_remove_dir(int parent, const char *name);
