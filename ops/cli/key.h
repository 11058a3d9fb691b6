#pragma once
#include "actors/rt/random.h"
#include "ops/cli/taken.h"

/* Makes an API key for taken->account, and sets its hash as the argument. */
void cli_key_make(struct random_pool *pool, struct taken *taken, unsigned argument, char key[API_KEY_TEXT]);
