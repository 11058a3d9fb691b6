#pragma once

/* Removes the names in environment.def from this process's environment, and so from its children's. Call it first, before any
 * library has read the environment and before there are threads. */
void environment_clean(void);
