#pragma once

/* Takes out of this process' environment, and so out of its children's, what environment.def names. First of all, before any
 * library has read it and before there are threads. */
void environment_clean(void);
