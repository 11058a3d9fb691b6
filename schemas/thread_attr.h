#pragma once
#include <stdint.h>

/* Scheduling attributes of a thread for sched_setattr(2), declared here because its own header and the C library's
 * exclude each other. `runtime_ns` of an ordinary thread is its slice length, from Linux 6.12 on. */
struct thread_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t  nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};
_Static_assert(sizeof(struct thread_attr) == 48, "the first version of the kernel's");
