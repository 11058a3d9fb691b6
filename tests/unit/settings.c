/* Settings sent by the supervisor to a process, and the process's acknowledgement. */
#include "actors/rt/settings.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void open_ends(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}

/* `options` needs only --data. */
static int sealed(uint64_t generation, const char *origin, const struct span files[SETTINGS_FILE_COUNT])
{
	struct options options;
	char           why[OPTION_WHY];
	int            fd = -1;
	char          *words[] = {"--data", "d", "--cors-origin", (char *)origin};

	cr_assert_eq(options_read(4, words, &options, why), OK, "%s", why);
	cr_assert_eq(settings_seal(generation, &options, files, &fd), OK);
	return fd;
}

static const struct span no_files[SETTINGS_FILE_COUNT];

Test(settings, arrive_unchanged, .init = open_ends, .fini = close_ends)
{
	static uint8_t large[1 << 20];
	struct span    files[SETTINGS_FILE_COUNT] = {
	       [SETTINGS_CERT] = span_str("certificate"), [SETTINGS_KEY] = span_of(large, sizeof large)};
	struct settings settings;
	int             fd;

	memset(large, 'k', sizeof large);
	fd = sealed(7, "https://a", files);
	cr_assert_eq(settings_send(ends[0], fd), OK);
	close(fd);
	cr_assert_eq(settings_receive(ends[1], &settings), OK);
	cr_expect_eq(settings.generation, 7);
	cr_assert_eq(settings.options.cors_origin_count, 1);
	cr_expect_str_eq(settings.options.cors_origins[0], "https://a");
	cr_expect(span_is(settings.files[SETTINGS_CERT], "certificate"));
	cr_expect_eq(settings.files[SETTINGS_KEY].size, sizeof large);
	cr_expect_eq(memcmp(settings.files[SETTINGS_KEY].at, large, sizeof large), 0);
	cr_expect_eq(settings.files[SETTINGS_CA].size, 0);
	settings_free(&settings);
	cr_expect_eq(settings_receive(ends[1], &settings), ERR_WOULD_BLOCK);
}

Test(settings, can_be_sent_again_and_again, .init = open_ends, .fini = close_ends)
{
	struct settings settings;
	int             fd = sealed(1, "https://a", no_files);

	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(settings_send(ends[0], fd), OK);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(settings_receive(ends[1], &settings), OK);
		cr_expect_str_eq(settings.options.cors_origins[0], "https://a");
		settings_free(&settings);
	}
	close(fd);
}

Test(settings, cannot_be_changed_once_sealed)
{
	int fd = sealed(1, "https://a", no_files);

	cr_expect_eq(write(fd, "x", 1), -1);
	cr_expect_eq(ftruncate(fd, 0), -1);
	close(fd);
}

Test(settings, do_not_block_on_a_process_that_does_not_read, .init = open_ends, .fini = close_ends)
{
	int      fd = sealed(1, "https://a", no_files);
	enum err err = OK;

	for (unsigned i = 0; !err && i < 100000; i++)
		err = settings_send(ends[0], fd);
	cr_expect_neq(err, OK);
	close(fd);
}

Test(settings, report_a_closed_peer, .init = open_ends)
{
	struct settings settings;
	uint64_t        generation;
	int             fd = sealed(1, "https://a", no_files);

	close(ends[1]);
	cr_expect_eq(settings_send(ends[0], fd), ERR_PEER_GONE);
	cr_expect_eq(settings_receive(ends[0], &settings), ERR_PEER_GONE);
	cr_expect_eq(settings_hear_taken(ends[0], &generation), ERR_PEER_GONE);
	close(fd);
	close(ends[0]);
}

Test(settings, are_acknowledged, .init = open_ends, .fini = close_ends)
{
	uint64_t generation = 0;

	cr_expect_eq(settings_hear_taken(ends[0], &generation), ERR_WOULD_BLOCK);
	cr_assert_eq(settings_tell_taken(ends[1], 5), OK);
	cr_assert_eq(settings_hear_taken(ends[0], &generation), OK);
	cr_expect_eq(generation, 5);
}

Test(settings, of_another_form_are_refused, .init = open_ends, .fini = close_ends)
{
	struct settings settings;
	int             fd = memfd_create("test", MFD_CLOEXEC);

	cr_assert_eq(settings_send(ends[0], fd), OK);
	cr_expect_eq(settings_receive(ends[1], &settings), ERR_MALFORMED);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_assert_eq(settings_send(ends[0], fd), OK);
	cr_expect_eq(settings_receive(ends[1], &settings), ERR_MALFORMED);
	close(fd);
	cr_assert_eq(send(ends[0], "x", 1, 0), 1);
	cr_expect_eq(settings_receive(ends[1], &settings), ERR_MALFORMED);
}
