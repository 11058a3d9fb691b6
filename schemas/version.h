#pragma once
#include <stdint.h>

/* Format versions: the one sentence that refuses a file of a version which this program does not know. It names the
 * file, the version found, the version known, and what to do. Errors: none. */
enum { VERSION_TEXT = 272 };

/* Files of a data directory become readable by a backup and its restore; a backup does not. */
enum version_of { VERSION_OF_DATA, VERSION_OF_BACKUP };

/* `file`: as people find it, at most 80 bytes of it are shown. */
void version_refusal(enum version_of of, const char *file, uint64_t found, uint64_t known,
                     char text[VERSION_TEXT]);
