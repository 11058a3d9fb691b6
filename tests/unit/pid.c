/* Our replacement of getpid(): cached, and right in a child. */
#include <criterion/criterion.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Called from the program itself, where libzmq finds it too. */
Test(pid, is_the_kernels)
{
	cr_expect_eq(getpid(), (pid_t)syscall(SYS_getpid));
	cr_expect_eq(getpid(), (pid_t)syscall(SYS_getpid));
}

Test(pid, is_a_childs_own_after_a_fork)
{
	int   status = -1;
	pid_t parent = getpid(), child = fork();
	if (child == 0) {
		bool own = getpid() == (pid_t)syscall(SYS_getpid) && getpid() != parent;
		_exit(own ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect_eq(getpid(), parent);
}
