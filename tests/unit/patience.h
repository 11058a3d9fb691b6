#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* The bound of a wait in milliseconds: `ms` on a quiet machine, times STAMPEDE_PATIENCE (1 to 10) on a slow
 * one. Passing tests take no longer with it. */
static inline int patience_ms(int ms)
{
	const char *factor = getenv("STAMPEDE_PATIENCE");
	double      times = factor ? strtod(factor, NULL) : 1;
	return (int)(ms * (times < 1 ? 1 : times > 10 ? 10 : times));
}

/* Repeats an expression for up to three seconds, until it is true. */
#define within_time(condition)                                                                 \
	({                                                                                     \
		bool held_ = false;                                                            \
		for (int try_ = 0; try_ < patience_ms(3000) && !(held_ = (condition)); try_++) \
			usleep(1000);                                                          \
		held_;                                                                         \
	})
