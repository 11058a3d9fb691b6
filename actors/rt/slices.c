#include "actors/rt/slices.h"

#include "schemas/thread_attr.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void short_slices(void)
{
	struct thread_attr attr = {
	    .size = sizeof attr, .nice = getpriority(PRIO_PROCESS, 0), .runtime_ns = SHORT_SLICE_NS};
	if (sched_getscheduler(0) != SCHED_OTHER) return;
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
