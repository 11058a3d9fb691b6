/* Short time slices apply to the calling thread and the threads that it creates. */
#include "actors/rt/slices.h"
#include "schemas/thread_attr.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calling thread's slice; 0: this kernel has no slices per thread. */
static uint64_t slice_ns(void)
{
	struct thread_attr attr = {.size = sizeof attr};
	cr_assert_eq(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0), 0);
	return attr.runtime_ns;
}

static void *note_slice(void *slice)
{
	*(uint64_t *)slice = slice_ns();
	return NULL;
}

Test(slices, are_inherited_and_change_no_priority)
{
	pthread_t thread;
	uint64_t  inherited;
	int       before = getpriority(PRIO_PROCESS, 0);
	if (slice_ns() == 0) cr_skip_test("before Linux 6.12");
	cr_assert_neq(slice_ns(), SHORT_SLICE_NS);
	short_slices();
	cr_assert_eq(pthread_create(&thread, NULL, note_slice, &inherited), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(slice_ns(), SHORT_SLICE_NS);
	cr_expect_eq(inherited, SHORT_SLICE_NS);
	cr_expect_eq(getpriority(PRIO_PROCESS, 0), before);
}
