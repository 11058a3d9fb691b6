/* A background thread lowers its own priority and that of no other thread. */
#include "store/background.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/resource.h>

static void *step_back(void *nice)
{
	background_thread();
	*(int *)nice = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

Test(background, only_the_calling_thread_gets_the_lower_priority)
{
	pthread_t thread;
	int       before = getpriority(PRIO_PROCESS, 0), nice = -1;
	cr_assert_eq(pthread_create(&thread, NULL, step_back, &nice), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(nice, before + BACKGROUND_NICE < 19 ? before + BACKGROUND_NICE : 19);
	cr_expect_eq(getpriority(PRIO_PROCESS, 0), before);
}
