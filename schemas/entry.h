#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* The types that the entries of a data directory must have. */
enum entry_type { ENTRY_FILE, ENTRY_DIRECTORY };
/* What to do about an entry of another type: it can go, or it stands where data was. */
enum entry_use { ENTRY_EXPENDABLE, ENTRY_DATA };
enum { ENTRY_TEXT = 272 };

/* Is `mode`, as of stat(), of that type? 0: a link that leads nowhere. False: `why` is one sentence that names the
 * entry, its type, the wanted one, and what to do. At most 80 bytes of `name` are shown. Errors: none. */
bool entry_fits(const char *name, mode_t mode, enum entry_type wanted, enum entry_use use,
                char why[ENTRY_TEXT]);
