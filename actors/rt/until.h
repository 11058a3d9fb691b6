#pragma once
#include <time.h>

/* So many milliseconds from now by CLOCK_MONOTONIC, for pthread_cond_clockwait() and pthread_clockjoin_np(). Errors: none. */
struct timespec until_ms(unsigned ms);
