#pragma once
#include "schemas/cause.h"

/* Explains in one sentence why service_open() of data directory `dir` failed with `err`. Checks the directory as it is now,
 * and asks the kernel which process listens there; a silent supervisor is named by its process id. */
void reach_explain(const char *dir, enum err err, char text[REASON_TEXT]);
