#pragma once
#include "schemas/cause.h"

/* Why the service of data directory `dir` could not be opened, after service_open() has failed with `err`: one sentence. Looks
 * at the directory as it is now, and asks the kernel who listens there; a supervisor that is silent is named by its process id. */
void reach_explain(const char *dir, enum err err, char text[REASON_TEXT]);
