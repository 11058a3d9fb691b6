#pragma once
#include "schemas/clock.h"

/* Logs that a program of another version wanted a session, at most once in ten seconds: it says HELLO again and again. `logged` is
 * the last time, 0 at first. Errors: none. */
void other_version_log(mono_us *logged, mono_us now);
