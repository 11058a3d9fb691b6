/* Runs commands of the command line that it reads from stdin, each in a fork of itself. This avoids the
 * start-up time of a new process for each command, of which a random run has many thousands.
 *
 * Request: the number of words u32, each word as size u32 and bytes, then the command's stdin in the same
 * form. Answer, in the order of requests: exit status u32, then stdout and stderr, each as size u32 and
 * bytes. All numbers are little-endian; an absent value has size 0. Exits at the end of its own stdin. */
#include "ops/cli/cli.h"
#include "schemas/err.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 1 << 16 };

struct command {
	uint32_t count, input_size;
	char   **words, *input; /* the words end with a NULL */
};

static bool read_all(void *into, size_t size)
{
	return fread(into, 1, size, stdin) == size;
}

static bool read_text(char **text, uint32_t *size)
{
	if (!read_all(size, sizeof *size)) return false;
	*text = calloc(1, (size_t)*size + 1);
	return *text && read_all(*text, *size);
}

static bool read_command(struct command *command)
{
	uint32_t size;
	if (!read_all(&command->count, sizeof command->count) || command->count > WORDS_MAX) return false;
	command->words = calloc(command->count + 1, sizeof *command->words);
	must(command->words);
	for (uint32_t i = 0; i < command->count; i++)
		if (!read_text(&command->words[i], &size)) return false;
	return read_text(&command->input, &command->input_size);
}

static void free_command(struct command *command)
{
	for (uint32_t i = 0; i < command->count; i++)
		free(command->words[i]);
	free(command->words);
	free(command->input);
}

/* An in-memory file that becomes the child's `fd`. */
static int memory_file(void)
{
	int fd = memfd_create("command", MFD_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static void write_file(int fd)
{
	off_t    end = lseek(fd, 0, SEEK_END);
	uint32_t size = (uint32_t)end;
	char    *bytes = malloc((size_t)end + 1);
	must(end >= 0 && bytes && pread(fd, bytes, (size_t)end, 0) == end);
	fwrite(&size, sizeof size, 1, stdout);
	fwrite(bytes, 1, size, stdout);
	free(bytes);
	close(fd);
}

static _Noreturn void be(const struct command *command, const int fds[3])
{
	for (int i = 0; i < 3; i++)
		must(dup2(fds[i], i) == i);
	must(!fseek(stdin, 0, SEEK_SET));
	int status = cli_main((int)command->count, (char **)command->words);
	fflush(NULL);
	_exit(status);
}

int main(void)
{
	struct command command;
	signal(SIGPIPE, SIG_IGN);
	while (read_command(&command)) {
		int      fds[3] = {memory_file(), memory_file(), memory_file()}, status;
		uint32_t code;
		must(write(fds[0], command.input, command.input_size) == (ssize_t)command.input_size);
		must(lseek(fds[0], 0, SEEK_SET) == 0);
		pid_t child = fork();
		must(child >= 0);
		if (child == 0) be(&command, fds);
		must(waitpid(child, &status, 0) == child);
		code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 255;
		fwrite(&code, sizeof code, 1, stdout);
		write_file(fds[1]);
		write_file(fds[2]);
		must(!fflush(stdout));
		close(fds[0]);
		free_command(&command);
	}
	return 0;
}
