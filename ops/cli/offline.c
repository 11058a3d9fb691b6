/* The process for offline work: this program, run through /proc, with a pipe for its output. */
#include "ops/cli/offline.h"
#include "schemas/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16, PIECE_BYTES = 4096, NOT_BEGUN = 126, EXEC_FAILED = 127, SAID_BYTES_MAX = 1 << 20 };

static void arguments(const struct offline *work, char index[12], const char *argv[ARGUMENTS_MAX])
{
	const struct {
		const char *name, *value;
	} options[] = {{"--data", work->data},
	               {"--from", work->from},
	               {"--lineage", work->lineage},
	               {"--table", work->table}};
	unsigned count = 0;

	snprintf(index, 12, "%u", work->index);
	argv[count++] = "stampede";
	argv[count++] = "actor";
	argv[count++] = work->role;
	argv[count++] = index;
	for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
		if (!options[i].value) continue;
		argv[count++] = options[i].name;
		argv[count++] = options[i].value;
	}
	argv[count] = NULL;
}

/* In the child: only calls that are safe after a fork. */
_Noreturn static void become(const struct offline *work, const char *const argv[ARGUMENTS_MAX], int out,
                             pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(out, work->prints ? STDERR_FILENO : STDOUT_FILENO) < 0)
		_exit(NOT_BEGUN);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(EXEC_FAILED);
}

static bool show_progress(struct span line, struct bar *bar)
{
	struct arena arena = {0};
	struct json *value;
	int64_t      done, total;
	bool         is_progress = !json_parse(line, &arena, &value) && value->kind == JSON_OBJECT &&
	                   json_member(value, "done") && json_member(value, "total") &&
	                   json_integer(json_member(value, "done"), &done) &&
	                   json_integer(json_member(value, "total"), &total);

	if (is_progress) bar_show(bar, (uint64_t)done, (uint64_t)total);
	arena_free(&arena);
	return is_progress;
}

/* Takes whole lines from `said`: progress is shown, anything else is the outcome. */
static void take_lines(struct buffer *said, struct bar *bar, struct buffer *outcome)
{
	size_t         begin = 0;
	const uint8_t *end;

	while (begin < said->size && (end = memchr(said->at + begin, '\n', said->size - begin))) {
		struct span line = span_of(said->at + begin, (size_t)(end - said->at) - begin);
		begin += line.size + 1;
		if (show_progress(line, bar)) continue;
		buffer_clear(outcome);
		buffer_append(outcome, line.at, line.size);
	}
	if (begin) memmove(said->at, said->at + begin, said->size - begin);
	said->size -= begin;
}

static enum err listen_to(int fd, struct bar *bar, struct buffer *outcome)
{
	struct buffer said = {0};
	ssize_t       n = 1;

	while (n > 0 && said.size < SAID_BYTES_MAX) {
		uint8_t *room = buffer_reserve(&said, PIECE_BYTES);
		if (!room) break;
		n = read(fd, room, PIECE_BYTES);
		if (n > 0) said.size += (size_t)n;
		if (n < 0 && errno == EINTR) n = 1; /* nothing was read */
		take_lines(&said, bar, outcome);
	}
	bool failed = said.failed || outcome->failed;
	buffer_free(&said);
	if (failed) return ERR_NO_MEMORY;
	return n == 0 ? OK : ERR_IO;
}

enum err offline_run(const struct offline *work, struct bar *bar, struct buffer *outcome, bool *done,
                     int *signal)
{
	const char *argv[ARGUMENTS_MAX];
	char        index[12];
	int         ends[2], status;
	pid_t       parent = getpid(), pid;
	enum err    err;

	buffer_clear(outcome);
	arguments(work, index, argv);
	if (pipe2(ends, O_CLOEXEC)) return ERR_IO;
	pid = fork();
	if (pid == 0) become(work, argv, ends[1], parent);
	close(ends[1]);
	err = pid < 0 ? ERR_IO : listen_to(ends[0], bar, outcome);
	close(ends[0]);
	if (pid < 0) return err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) return ERR_IO;
	*signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	*done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (err) return err;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXEC_FAILED) return ERR_UNSUPPORTED;
	return *signal || !outcome->size ? ERR_PEER_GONE : OK;
}

enum outcome offline_fail(struct cli *cli, struct span refusal)
{
	struct arena       arena = {0};
	struct json       *value;
	const struct json *code, *message;
	char               text[sizeof cli->message];
	enum err           err = ERR_IO;

	if (json_parse(refusal, &arena, &value) || value->kind != JSON_OBJECT ||
	    !(code = json_member(value, "code")) || !(message = json_member(value, "message"))) {
		cli_fail(cli, ERR_MALFORMED, NULL);
	} else {
		for (unsigned i = 1; i < ERR_COUNT; i++)
			if (span_is(code->text, err_code((enum err)i))) err = (enum err)i;
		snprintf(text, sizeof text, "%.*s", (int)message->text.size, (const char *)message->text.at);
		cli_fail(cli, err, text);
	}
	arena_free(&arena);
	return FAILED;
}
