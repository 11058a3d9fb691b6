/* The data directory: opening, refusals, endpoints, the key, the lock. */
#include "actors/rt/datadir.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void put(const char *name, const void *bytes, size_t size)
{
	char  path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "w");
	cr_assert(file);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

static void make(void)
{
	snprintf(dir, sizeof dir, "/tmp/stampede-datadir-XXXXXX");
	cr_assert(mkdtemp(dir));
}

static const uint8_t right_key[MASTER_KEY_BYTES] = {9, 8, 7};

static void furnish(void)
{
	struct identity identity = {.lineage = {1, 2, 3}, .shards = 2, .state = IDENTITY_WHOLE};
	struct buffer   text = {0};
	char            run[128];

	master_key_id(right_key, identity.key_id);
	identity_write(&identity, &text);
	put("identity", text.at, text.size);
	buffer_free(&text);
	snprintf(run, sizeof run, "%s/run", dir);
	cr_assert_eq(mkdir(run, 0700), 0);
}

static void clear(void)
{
	static const char *const names[] = {"identity", "master.key", "held", "note", "note.new", "victim"};
	char                     path[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/run", dir);
	rmdir(path);
	rmdir(dir);
}

TestSuite(datadir, .init = make, .fini = clear);

Test(datadir, opens_with_its_identity)
{
	struct datadir datadir;

	furnish();
	cr_assert_eq(datadir_open(dir, &datadir), OK);
	cr_expect_eq(datadir.identity.shards, 2);
	cr_expect_eq(datadir.identity.state, IDENTITY_WHOLE);
	cr_expect_eq(datadir.identity.lineage[2], 3);
	cr_expect_neq(fcntl(datadir.fd, F_GETFD) & FD_CLOEXEC, 0);
	cr_expect_neq(fcntl(datadir.run_fd, F_GETFD) & FD_CLOEXEC, 0);
	datadir_close(&datadir);
	cr_expect_eq(datadir.fd, -1);
	cr_expect_eq(datadir.run_fd, -1);
}

Test(datadir, is_not_found_without_identity_or_directory)
{
	struct datadir datadir;

	cr_expect_eq(datadir_open(dir, &datadir), ERR_NOT_FOUND);
	cr_expect_eq(datadir_open("/nonexistent/at/all", &datadir), ERR_NOT_FOUND);
	cr_expect_eq(datadir.fd, -1);
}

Test(datadir, with_a_changed_identity_is_damaged)
{
	struct datadir datadir;

	furnish();
	put("identity", "stampede-data=2\nshards=3\n", 25);
	cr_expect_eq(datadir_open(dir, &datadir), ERR_DAMAGED);
}

Test(datadir, names_endpoints_that_lead_into_its_run_directory)
{
	struct datadir datadir;
	char           endpoint[ENDPOINT_TEXT];
	struct stat    by_name, by_fd;
	char          *slash;

	furnish();
	cr_assert_eq(datadir_open(dir, &datadir), OK);
	cr_assert_eq(chdir("/"), 0);
	datadir_shard_endpoint(&datadir, 4000000000u, endpoint);
	cr_assert_eq(strncmp(endpoint, "ipc:///", 7), 0);
	slash = strrchr(endpoint, '/');
	cr_expect_str_eq(slash, "/shard-4000000000");
	*slash = 0;
	cr_assert_eq(stat(endpoint + 6, &by_name), 0);
	cr_assert_eq(fstat(datadir.run_fd, &by_fd), 0);
	cr_expect_eq(by_name.st_ino, by_fd.st_ino);
	datadir_supervisor_endpoint(&datadir, endpoint);
	cr_expect_str_eq(strrchr(endpoint, '/'), "/supervisor");
	datadir_close(&datadir);
}

Test(datadir, key_of_another_size_is_damaged)
{
	static const uint8_t bytes[MASTER_KEY_BYTES + 1] = {9, 8, 7};
	uint8_t              key[32];
	struct datadir       datadir;

	furnish();
	cr_assert_eq(datadir_open(dir, &datadir), OK);
	cr_expect_eq(datadir_master_key(&datadir, key), ERR_NOT_FOUND);
	put("master.key", bytes, 31);
	cr_expect_eq(datadir_master_key(&datadir, key), ERR_DAMAGED);
	put("master.key", bytes, 33);
	cr_expect_eq(datadir_master_key(&datadir, key), ERR_DAMAGED);
	put("master.key", bytes, 32);
	cr_assert_eq(datadir_master_key(&datadir, key), OK);
	cr_expect_eq(memcmp(key, bytes, 32), 0);
	datadir_close(&datadir);
}

Test(datadir, key_must_match_the_identity)
{
	static const uint8_t none[MASTER_KEY_BYTES];
	uint8_t              key[MASTER_KEY_BYTES], other[MASTER_KEY_BYTES];
	struct datadir       datadir;

	furnish();
	cr_assert_eq(datadir_open(dir, &datadir), OK);
	for (size_t i = 0; i < sizeof right_key; i++) {
		memcpy(other, right_key, sizeof other);
		other[i] ^= 0x40;
		put("master.key", other, sizeof other);
		cr_expect_eq(datadir_master_key(&datadir, key), ERR_OTHER_KEY, "byte %zu", i);
		cr_expect_arr_eq(key, none, sizeof key, "it stays in memory");
		cr_assert_eq(datadir_read_key(datadir.fd, key), OK);
		cr_expect_arr_eq(key, other, sizeof key);
	}
	datadir_close(&datadir);
}

/* Another user may have made the file, and may keep it open. */
Test(datadir, write_takes_no_file_that_is_there)
{
	char        path[128], byte;
	struct stat st;
	int         dir_fd = open(dir, O_RDONLY | O_DIRECTORY), opened;

	snprintf(path, sizeof path, "%s/note.new", dir);
	put("note.new", "old", 3);
	cr_assert_eq(chmod(path, 0666), 0);
	opened = open(path, O_RDWR);
	cr_assert_eq(datadir_write(dir_fd, "note", span_str("secret")), OK);
	cr_assert_eq(fstatat(dir_fd, "note", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(pread(opened, &byte, 1, 0), 1);
	cr_expect_eq(byte, 'o');
	close(opened);
	close(dir_fd);
}

Test(datadir, write_follows_no_link)
{
	char        path[128];
	struct stat st;
	int         dir_fd = open(dir, O_RDONLY | O_DIRECTORY);

	put("victim", "kept", 4);
	snprintf(path, sizeof path, "%s/note.new", dir);
	cr_assert_eq(symlink("victim", path), 0);
	cr_assert_eq(datadir_write(dir_fd, "note", span_str("secret")), OK);
	cr_assert_eq(fstatat(dir_fd, "victim", &st, 0), 0);
	cr_expect_eq(st.st_size, 4);
	cr_assert_eq(fstatat(dir_fd, "note", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect(S_ISREG(st.st_mode));
	close(dir_fd);
}

static void expect_key(int dir_fd, uid_t user, enum err wanted)
{
	uint8_t key[MASTER_KEY_BYTES];

	cr_assert_eq(seteuid(user), 0);
	cr_expect_eq(datadir_read_key(dir_fd, key), wanted, "as user %u", (unsigned)user);
	cr_assert_eq(seteuid(0), 0);
}

Test(datadir, key_must_be_ones_own)
{
	enum { ONE = 65533, OTHER = 65534 };
	static const struct {
		uid_t    dir, key, user;
		enum err wanted;
	} rows[] = {{0, 0, 0, OK},
	            {0, OTHER, 0, ERR_FOREIGN_KEY},
	            {ONE, OTHER, 0, ERR_FOREIGN_KEY},
	            {ONE, 0, 0, OK},
	            {ONE, ONE, 0, OK},
	            {ONE, ONE, ONE, OK},
	            {OTHER, ONE, ONE, OK},
	            {ONE, 0, ONE, OK},
	            {ONE, OTHER, ONE, ERR_FOREIGN_KEY},
	            {OTHER, OTHER, ONE, ERR_FOREIGN_KEY}};
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);

	if (geteuid() != 0) cr_skip_test("only root may give files to somebody else");
	put("master.key", right_key, sizeof right_key);
	cr_assert(!fchmod(dir_fd, 0755) && !fchmodat(dir_fd, "master.key", 0644, 0));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert(!fchown(dir_fd, rows[i].dir, (gid_t)-1) &&
		          !fchownat(dir_fd, "master.key", rows[i].key, (gid_t)-1, 0));
		expect_key(dir_fd, rows[i].user, rows[i].wanted);
	}
	close(dir_fd);
}

Test(datadir, lock_is_held_by_one_descriptor)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY), first, second;

	cr_assert_eq(datadir_lock(dir_fd, "held", 0, &first), OK);
	cr_expect_neq(fcntl(first, F_GETFD) & FD_CLOEXEC, 0);
	/* Also within one process: the lock belongs to the open file. */
	cr_expect_eq(datadir_lock(dir_fd, "held", 30, &second), ERR_LOCKED);
	cr_expect_eq(second, -1);
	cr_expect(datadir_is_locked(dir_fd, "held"));
	close(first);
	cr_expect_not(datadir_is_locked(dir_fd, "held") || datadir_is_locked(dir_fd, "missing"));
	cr_expect(datadir_is_free(dir_fd, "held") && !datadir_is_free(dir_fd, "missing"));
	cr_expect_eq(datadir_lock(dir_fd, "held", 0, &second), OK);
	close(second);
	close(dir_fd);
}

Test(datadir, lock_follows_the_file_name)
{
	int  dir_fd = open(dir, O_RDONLY | O_DIRECTORY), lock, held[2], seen[2];
	char byte = 0;

	cr_assert(!pipe(held) && !pipe(seen));
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) { /* deletes the file while the other one waits for it */
		if (datadir_lock(dir_fd, "held", 0, &lock)) _exit(1);
		if (write(held[1], &byte, 1) != 1 || read(seen[0], &byte, 1) != 1) _exit(1);
		usleep(100000);
		_exit(unlinkat(dir_fd, "held", 0) ? 1 : 0);
	}
	struct stat mine, named;
	cr_assert_eq(read(held[0], &byte, 1), 1);
	cr_assert_eq(write(seen[1], &byte, 1), 1);
	cr_assert_eq(datadir_lock(dir_fd, "held", 5000, &lock), OK);
	cr_assert_eq(fstat(lock, &mine), 0);
	cr_assert_eq(fstatat(dir_fd, "held", &named, 0), 0, "the lock has no name");
	cr_expect_eq(mine.st_ino, named.st_ino);
	close(lock);
	close(dir_fd);
}

Test(datadir, lock_waits_for_its_holder)
{
	int  dir_fd = open(dir, O_RDONLY | O_DIRECTORY), lock, held[2], seen[2];
	char byte = 0;

	cr_assert(!pipe(held) && !pipe(seen));
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		if (datadir_lock(dir_fd, "held", 0, &lock)) _exit(1);
		if (write(held[1], &byte, 1) != 1 || read(seen[0], &byte, 1) != 1) _exit(1);
		usleep(100000);
		_exit(0);
	}
	cr_assert_eq(read(held[0], &byte, 1), 1);
	cr_expect_eq(datadir_lock(dir_fd, "held", 0, &lock), ERR_LOCKED);
	cr_assert_eq(write(seen[1], &byte, 1), 1);
	cr_expect_eq(datadir_lock(dir_fd, "held", 5000, &lock), OK);
	close(lock);
	close(dir_fd);
}
