#include "store/background.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

void background_thread(void)
{
	struct { /* the kernel's sched_attr, whose header and the C library's exclude each other */
		uint32_t size, policy;
		uint64_t flags;
		int32_t  nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = {.size = sizeof attr, .nice = BACKGROUND_NICE, .runtime_ns = BACKGROUND_SLICE_NS};
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
