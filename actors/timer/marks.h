#pragma once
#include <sys/types.h>
#include <time.h>

/* How a change of a file or folder is noticed: its mark from before differs, byte by byte. All 0: there is none. */
struct file_mark {
	dev_t           device;
	ino_t           inode;
	off_t           size;
	struct timespec modified, changed;
};

/* The marks of what the paths name now. */
void file_marks(const char *const paths[], unsigned count, struct file_mark marks[]);
