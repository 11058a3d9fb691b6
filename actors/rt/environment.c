/* Removes environment variables that would change, unnoticed by the operator, what the service trusts, queries or sends. */
#include "actors/rt/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const names[] = {
#define E(name) name,
#include "actors/rt/environment.def"
#undef E
};

static bool is_ignored(const char *entry)
{
	size_t size = strcspn(entry, "=");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == size && !strncasecmp(names[i], entry, size)) return true;
	return false;
}

/* In place: unsetenv() needs the exact name, and these have several spellings. */
void environment_clean(void)
{
	char **to = environ;

	for (char **from = environ; from && *from; from++)
		if (!is_ignored(*from)) *to++ = *from;
	if (to) *to = NULL;
}
