#pragma once
#include <fcntl.h>
#include <stddef.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a program, without its output, and returns its exit status; -1: it could not be run, or was killed. */
static inline int run_program(const char *const argv[])
{
	posix_spawn_file_actions_t actions;
	extern char              **environ;
	pid_t                      child;
	int                        status = -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ) ||
	    waitpid(child, &status, 0) != child || !WIFEXITED(status))
		status = -1;
	posix_spawn_file_actions_destroy(&actions);
	return status < 0 ? -1 : WEXITSTATUS(status);
}
