#include "store/background.h"

#include "schemas/thread_attr.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void background_thread(void)
{
	enum { NICE_MAX = 19 };
	int                nice = getpriority(PRIO_PROCESS, 0) + BACKGROUND_NICE;
	struct thread_attr attr = {.size = sizeof attr,
	                           .nice = nice < NICE_MAX ? nice : NICE_MAX,
	                           .runtime_ns = BACKGROUND_SLICE_NS};
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
