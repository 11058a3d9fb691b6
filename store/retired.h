#pragma once
#include <stdint.h>

/* Memory that readers may still look at: it is freed when those who may do so have ended (cells_epoch.c). */
struct retired {
	struct retired *next;
	uint64_t        epoch; /* in which it was retired */
};

struct retired_list {
	struct retired *first, *last;
};
