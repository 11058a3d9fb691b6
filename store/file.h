#pragma once
#include "schemas/buffer.h"
#include "schemas/err.h"
#include "store/progress.h"

#include <dirent.h>

/* File operations that are complete or return an error. Names are relative to an open directory. Errors: ERR_IO
 * (details in errno), ERR_STORAGE_FULL (no space), ERR_NOT_FOUND where named, ERR_NO_MEMORY, and ERR_STOPPED where
 * there is a `progress`, which may be NULL. */

/* Opens a directory in `parent`, created durably if missing. */
must_check enum err file_open_dir(int parent, const char *name, int *fd);
must_check enum err file_sync_dir(int dir_fd);
/* Begins to list a directory in `parent`; closedir() ends it. Errors: also ERR_NOT_FOUND. */
must_check enum err file_list(int parent, const char *name, DIR **list);

must_check enum err file_write_all(int fd, const void *bytes, size_t size, uint64_t offset);

/* Replaces a small file durably: after a crash it has the old or the new content. */
must_check enum err file_replace(int dir_fd, const char *name, struct span bytes);
/* All of a small file, at most `max` bytes. Errors: ERR_NOT_FOUND; ERR_DAMAGED: larger. */
must_check enum err file_load(int dir_fd, const char *name, size_t max, struct buffer *out);

/* Copies all of `from_fd` to the beginning of `to_fd`, which the caller syncs. */
must_check enum err file_copy(int from_fd, int to_fd, struct progress *progress);

/* Checksums of a whole file. */
must_check enum err file_crc32c(int fd, uint32_t *crc);
must_check enum err file_sha256(int fd, uint8_t sha256[32], struct progress *progress);

/* Puts a part of a file that was never written into the page cache as single pages. Large writes would fill the
 * cache with large folios, and some kernels (ext4 from Linux 6.16 on) walk a whole folio on each small write: three
 * times slower. For speed alone: errors are not reported. */
void file_hold_pages(int fd, uint64_t at, uint64_t bytes);

/* errno of a call that has just failed by `err`, or EUCLEAN if the contents of a file were refused. */
int file_error(enum err err);

/* Has the file been deleted although it is open? */
bool file_is_removed(int fd);

/* Did a call fail because this file system, kernel or filter of system calls does not offer it? For calls that can be done
 * without. */
bool file_lacks_call(int error);

/* Bytes of a page of memory, and so of tables that this host makes. */
uint64_t page_bytes(void);

/* Frees the space of a file without a name piece by piece, at the pace of `progress`. At once it could delay every
 * sync on the disk. */
void file_release(int fd, struct progress *progress);

/* Removes a directory of ours and the files in it. A missing one is no error. */
must_check enum err file_remove_dir(int parent, const char *name);
