/* The sentence about a format version that is not known. */
#include "schemas/version.h"

#include <inttypes.h>
#include <stdio.h>

static const char *what_to_do(enum version_of of, uint64_t found, uint64_t known)
{
	if (found > known) return "use the program that wrote it, or a newer one";
	return of == VERSION_OF_BACKUP ? "restore this backup with the program that wrote it"
	                               : "back up the data directory with the program that wrote it, and "
	                                 "restore that backup with this one";
}

void version_refusal(enum version_of of, const char *file, uint64_t found, uint64_t known,
                     char text[VERSION_TEXT])
{
	snprintf(text, VERSION_TEXT,
	         "%.80s has format version %" PRIu64 ", this program knows %" PRIu64 ": %s", file, found,
	         known, what_to_do(of, found, known));
}
