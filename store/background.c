#include "store/background.h"

#include "schemas/thread_attr.h"

#include <sys/syscall.h>
#include <unistd.h>

void background_thread(void)
{
	struct thread_attr attr = {
	    .size = sizeof attr, .nice = BACKGROUND_NICE, .runtime_ns = BACKGROUND_SLICE_NS};
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}
