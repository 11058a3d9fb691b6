/* The sentence about a directory's entry of a wrong type. */
#include "schemas/entry.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case 0: return "a link to nothing";
	case S_IFREG: return "a file";
	case S_IFDIR: return "a directory";
	case S_IFIFO: return "a pipe";
	case S_IFSOCK: return "a socket";
	default: return "a device";
	}
}

bool entry_fits(const char *name, mode_t mode, enum entry_type wanted, enum entry_use use,
                char why[ENTRY_TEXT])
{
	const char *type = wanted == ENTRY_FILE ? "file" : "directory";
	if ((mode & S_IFMT) == (wanted == ENTRY_FILE ? S_IFREG : S_IFDIR)) return true;
	snprintf(why, ENTRY_TEXT, "%.80s is %s, not a %s: move it away%s", name, type_of(mode), type,
	         use == ENTRY_DATA ? ", and put back what was there" : "");
	return false;
}
