#include "actors/rt/slices.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void short_slices(void)
{
	struct { /* the kernel's sched_attr, whose header and the C library's exclude each other */
		uint32_t size, policy;
		uint64_t flags;
		int32_t  nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = {.size = sizeof attr, .nice = getpriority(PRIO_PROCESS, 0), .runtime_ns = SHORT_SLICE_NS};
	if (sched_getscheduler(0) != SCHED_OTHER) return;
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
