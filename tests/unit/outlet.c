/* Writing to a descriptor that is not read: the writer does not block, no line is torn, and others who share
 * the descriptor find its flags unchanged. A blocking write would end the test by its alarm. */
#include "actors/rt/outlet.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum { LINE_BYTES = 300, LINES = 20000, SMALL_PIPE = 4096 };

static int reader = -1, writer = -1, shell = -1; /* `shell` shares the open file with `writer` */

static void begin(void)
{
	alarm(60);
}

TestSuite(outlet, .init = begin, .timeout = 90);

static void use(int read_end, int write_end)
{
	reader = read_end;
	writer = write_end;
	cr_assert_geq(shell = dup(write_end), 0);
}

static struct span line_of(unsigned number)
{
	static char text[LINE_BYTES + 1];
	snprintf(text, sizeof text, "line=%08u %*s.\n", number, LINE_BYTES - 16, "");
	cr_assert_eq(strlen(text), (size_t)LINE_BYTES);
	return span_of(text, LINE_BYTES);
}

/* Writes until nothing is accepted for a while. Returns the number of accepted lines. */
static unsigned fill(void)
{
	unsigned written = 0;
	for (unsigned i = 0; i < LINES; i++)
		written += outlet_write(writer, line_of(written));
	return written;
}

/* Reads until `count` lines have arrived. Each must be complete and none missing. */
static void read_lines(unsigned count)
{
	static char bytes[1 << 20];
	size_t      have = 0, at = 0;
	for (unsigned i = 0; i < count; i++) {
		while (have - at < LINE_BYTES) {
			memmove(bytes, bytes + at, have - at);
			have -= at;
			at = 0;
			ssize_t got = read(reader, bytes + have, sizeof bytes - have);
			cr_assert_gt(got, 0, "after line %u: %s", i, strerror(errno));
			have += (size_t)got;
		}
		cr_assert_eq(memcmp(bytes + at, line_of(i).at, LINE_BYTES), 0, "line %u is torn", i);
		at += LINE_BYTES;
	}
}

static void expect_no_wait_and_whole_lines(void)
{
	int before = fcntl(shell, F_GETFL);
	cr_assert_eq(outlet_open(writer), OK);
	unsigned written = fill();
	cr_expect_gt(written, 0u);
	cr_expect_lt(written, (unsigned)LINES);
	read_lines(written);
	cr_expect_eq(fcntl(shell, F_GETFL), before, "the operator's own open file was changed");
	cr_expect(outlet_write(writer, line_of(0)), "there is room again");
	outlet_settle(2000);
	read_lines(1);
}

Test(outlet, writes_to_an_unread_pipe)
{
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	use(ends[0], ends[1]);
	expect_no_wait_and_whole_lines();
}

Test(outlet, writes_to_a_small_pipe_that_is_full_already)
{
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_gt(fcntl(ends[1], F_SETPIPE_SZ, SMALL_PIPE), 0);
	use(ends[0], ends[1]);
	for (unsigned i = 0; i < SMALL_PIPE / LINE_BYTES; i++)
		cr_assert_eq(write(shell, line_of(i).at, LINE_BYTES), LINE_BYTES);
	cr_assert_eq(outlet_open(writer), OK);
	cr_expect_eq(fill(), 0u); /* there is room for a part of a line */
	read_lines(SMALL_PIPE / LINE_BYTES);
	cr_expect(outlet_write(writer, line_of(0)));
	read_lines(1);
}

Test(outlet, writes_to_an_unread_stream_socket)
{
	int ends[2];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	use(ends[0], ends[1]);
	expect_no_wait_and_whole_lines();
}

Test(outlet, writes_to_a_terminal_that_is_stopped)
{
	int            controller, terminal;
	struct termios raw;
	cr_assert_eq(openpty(&controller, &terminal, NULL, NULL, NULL), 0);
	cr_assert_eq(tcgetattr(terminal, &raw), 0);
	cfmakeraw(&raw);
	cr_assert_eq(tcsetattr(terminal, TCSANOW, &raw), 0);
	use(controller, terminal);
	cr_assert_eq(tcflow(terminal, TCOOFF), 0);
	int before = fcntl(shell, F_GETFL);
	cr_assert_eq(outlet_open(writer), OK);
	unsigned written = fill();
	cr_expect(written > 0 && written < LINES);
	outlet_settle(50); /* it fails; closing succeeds anyway */
	cr_assert_eq(tcflow(shell, TCOON), 0);
	read_lines(written);
	cr_expect_eq(fcntl(shell, F_GETFL), before);
}

Test(outlet, leaves_the_flags_of_a_file)
{
	char path[] = "/tmp/stampede-outlet-XXXXXX";
	int  fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(outlet_open(fd), OK);
	cr_expect(outlet_write(fd, span_str("a\n")) && outlet_write(fd, span_str("b\n")));
	struct stat is;
	cr_assert(fstat(fd, &is) == 0 && is.st_size == 4);
	unlink(path);
}

/* As on a full disk: a part of a line was written, and the next line must not continue it. */
Test(outlet, begins_a_new_line_after_a_part_of_one)
{
	char          path[] = "/tmp/stampede-outlet-XXXXXX", text[64] = "";
	int           fd = mkstemp(path);
	struct rlimit limit = {6, RLIM_INFINITY};
	cr_assert_geq(fd, 0);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect(outlet_write(fd, span_str("one\n")));
	cr_expect_not(outlet_write(fd, span_str("two\n")));
	cr_expect_not(outlet_write(fd, span_str("three\n")));
	limit.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect(outlet_write(fd, span_str("four\n")));
	cr_expect(outlet_write(fd, span_str("five\n")));
	cr_assert_gt(pread(fd, text, sizeof text - 1, 0), 0);
	cr_expect_str_eq(text, "one\ntw\nfour\nfive\n");
	unlink(path);
}

Test(outlet, reports_a_closed_reader)
{
	int ends[2];
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(outlet_open(ends[1]), OK);
	cr_assert(outlet_write(ends[1], line_of(0)));
	close(ends[0]);
	cr_expect_not(outlet_write(ends[1], line_of(1)));
}

/* The only line on stdout is written when stdout is read, and nothing waits for it. */
Test(outlet, writes_one_line_without_waiting)
{
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_gt(fcntl(ends[1], F_SETPIPE_SZ, SMALL_PIPE), 0);
	use(ends[0], ends[1]);
	for (unsigned i = 0; i < SMALL_PIPE / LINE_BYTES; i++)
		cr_assert_eq(write(shell, line_of(i).at, LINE_BYTES), LINE_BYTES);
	char text[LINE_BYTES + 1];
	snprintf(text, sizeof text, "%.*s", LINE_BYTES, (const char *)line_of(SMALL_PIPE / LINE_BYTES).at);
	outlet_tell_once(writer, text);
	close(writer);
	close(shell);
	read_lines(SMALL_PIPE / LINE_BYTES + 1);
}
