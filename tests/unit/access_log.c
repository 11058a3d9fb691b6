/* The writer of the access log: putting a line never blocks, no line is torn, lost lines are counted, and a
 * file that was renamed is replaced by a new one. */
#include "http/access_log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 30000 };

static char               dir[] = "/tmp/stampede-access-XXXXXX", path[64], moved[80];
static struct access_log *access_log;

static void begin(void)
{
	alarm(60);
	signal(SIGPIPE, SIG_IGN);
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/log", dir);
	snprintf(moved, sizeof moved, "%s/log.1", dir);
}

static void end(void)
{
	access_log_close(&access_log);
	unlink(path);
	unlink(moved);
	rmdir(dir);
}

TestSuite(access_log, .init = begin, .fini = end, .timeout = 90);

static void put_number(unsigned number)
{
	char text[64];
	access_log_put(access_log,
	               span_of(text, (size_t)snprintf(text, sizeof text, "{\"n\":%u,\"fill\":\"%040u\"}\n",
	                                              number, number)));
}

/* Checks that every line of the file is complete and that the numbers rise. Returns the number of lines, or
 * -1 if one is torn. */
static int lines_of(const char *file)
{
	FILE    *in = fopen(file, "r");
	char     line[256];
	unsigned n, fill, last = 0;
	int      count = 0;
	if (!in) return 0;
	while (count >= 0 && fgets(line, sizeof line, in)) {
		bool good = sscanf(line, "{\"n\":%u,\"fill\":\"%u\"}\n", &n, &fill) == 2 && n == fill &&
		            n > last;
		count = good && line[strlen(line) - 1] == '\n' ? count + 1 : -1;
		last = n;
	}
	fclose(in);
	return count;
}

static bool comes_to(const char *file, int count)
{
	for (int i = 0; i < 5000; i++) {
		if (lines_of(file) == count) return true;
		usleep(1000);
	}
	return false;
}

/* Puts lines until one is dropped. The number that fits depends on when the writing thread takes lines
 * out. */
static int put_too_many(void)
{
	int lines = 0;
	while (access_log_dropped(access_log) == 0 && lines < 8 * LINES)
		put_number((unsigned)++lines);
	cr_expect_gt(access_log_dropped(access_log), 0u);
	return lines;
}

Test(access_log, writes_every_line_with_mode_640)
{
	struct stat is;
	umask(0);
	cr_assert_eq(access_log_open(path, &access_log), OK);
	for (unsigned i = 1; i <= 1000; i++)
		put_number(i);
	cr_expect(comes_to(path, 1000));
	cr_assert_eq(stat(path, &is), 0);
	cr_expect_eq(is.st_mode & 0777, 0640u);
	cr_expect_eq(access_log_dropped(access_log), 0);
}

Test(access_log, is_written_to_its_end_when_closed)
{
	cr_assert_eq(access_log_open(path, &access_log), OK);
	for (unsigned i = 1; i <= 5000; i++)
		put_number(i);
	access_log_close(&access_log);
	cr_expect_null(access_log);
	cr_expect_eq(lines_of(path), 5000);
}

Test(access_log, follows_a_file_that_was_moved)
{
	cr_assert_eq(access_log_open(path, &access_log), OK);
	put_number(1);
	cr_assert(comes_to(path, 1));
	cr_assert_eq(rename(path, moved), 0);
	put_number(2);
	cr_expect(comes_to(moved, 2), "the old file before the switch");
	cr_assert_eq(access_log_reopen(access_log, path), OK);
	for (int i = 0; i < 5000 && access(path, F_OK); i++)
		usleep(1000);
	cr_expect_eq(access(path, F_OK), 0, "the file exists before its first line");
	put_number(3);
	cr_expect(comes_to(path, 1));
	cr_expect_eq(lines_of(moved), 2);
}

Test(access_log, switches_to_another_file)
{
	cr_assert_eq(access_log_open(path, &access_log), OK);
	put_number(1);
	cr_assert(comes_to(path, 1));
	cr_assert_eq(access_log_reopen(access_log, "-"), OK);
	cr_assert_eq(access_log_reopen(access_log, moved), OK); /* the last call decides */
	for (int i = 0; i < 5000 && access(moved, F_OK); i++)
		usleep(1000);
	put_number(2);
	cr_expect(comes_to(moved, 1));
	cr_expect_eq(lines_of(path), 1);
	cr_assert_eq(access_log_reopen(access_log, path), OK);
	put_number(3);
	access_log_close(&access_log);
	cr_expect_eq(lines_of(path) + lines_of(moved), 3);
}

/* A full disk accepts part of a line. The rest is lost and counted; all other lines are complete in the new
 * file. */
Test(access_log, switches_from_a_full_disk_to_another_file)
{
	enum { ROOM = 1000, PUT = 200 };
	struct stat is;
	signal(SIGXFSZ, SIG_IGN);
	int fd = open(path, O_WRONLY | O_CREAT, 0640);
	cr_assert_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){(1 << 20) + ROOM, RLIM_INFINITY}), 0);
	cr_assert_eq(access_log_open(path, &access_log), OK);
	for (unsigned i = 1; i <= PUT; i++)
		put_number(i);
	for (int i = 0; i < 5000 && (stat(path, &is) || is.st_size < (1 << 20) + ROOM); i++)
		usleep(1000);
	cr_assert_eq(is.st_size, (1 << 20) + ROOM);
	cr_assert_eq(access_log_reopen(access_log, moved), OK);
	int size = snprintf(NULL, 0, "{\"n\":%u,\"fill\":\"%040u\"}\n", 10, 10);
	int whole = 9 + (ROOM - 9 * (size - 1)) / size; /* the first nine numbers are a digit shorter */
	cr_expect(comes_to(moved, PUT - whole - 1));
	cr_expect_eq(access_log_dropped(access_log), 1);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
}

Test(access_log, retries_a_failed_open_and_counts_dropped_lines)
{
	cr_assert_eq(mkdir(path, 0700), 0); /* a directory has its name */
	cr_assert_eq(access_log_open(path, &access_log), OK);
	int      lines = put_too_many();
	uint64_t dropped = access_log_dropped(access_log);
	cr_assert_eq(rmdir(path), 0);
	cr_expect(comes_to(path, lines - (int)dropped));
}

Test(access_log, never_blocks_on_a_pipe_and_tears_no_line)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_geq(reader, 0);
	cr_assert_eq(access_log_open(path, &access_log), OK);
	int      lines = put_too_many();
	uint64_t dropped = access_log_dropped(access_log);
	FILE    *kept = fopen(moved, "w");
	char     bytes[65536];
	for (int idle = 0; idle < 400; idle++) {
		ssize_t got = read(reader, bytes, sizeof bytes);
		if (got > 0) idle = 0;
		if (got > 0) fwrite(bytes, 1, (size_t)got, kept);
		if (got <= 0) usleep(1000);
	}
	fclose(kept);
	cr_expect_eq(lines_of(moved), lines - (int)dropped);
	close(reader);
}

Test(access_log, closes_in_time_when_the_pipe_is_not_read)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_eq(access_log_open(path, &access_log), OK);
	for (unsigned i = 1; i <= LINES; i++)
		put_number(i);
	access_log_close(&access_log);
	close(reader);
}
