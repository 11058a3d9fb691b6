/* Where commands may write files of a service. */
#include "ops/cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 256 };

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Is `below`, a child of `fd`, a directory in which a data directory has its own files? */
static bool is_for_files(int fd, const struct stat *below)
{
	static const char *const names[] = {"shards", "run"};
	struct stat              st;

	if (faccessat(fd, "identity", F_OK, 0)) return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) && is_same(&st, below)) return true;
	return false;
}

/* Walks up to the root. What cannot be read above a directory is none of this user's data. */
static bool is_inside(int fd)
{
	struct stat below, here;
	bool        found = false;
	int         at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (at < 0 || fstat(at, &below)) {
		if (at >= 0) close(at);
		return false;
	}
	for (unsigned i = 0; !found && i < ANCESTORS_MAX; i++) {
		int up = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		if ((at = up) < 0) return false;
		if (fstat(at, &here) || is_same(&here, &below)) break; /* the root is above itself */
		found = is_for_files(at, &below);
		below = here;
	}
	close(at);
	return found;
}

enum outcome target_check_place(struct cli *cli, int fd, const char *path)
{
	char message[256];

	if (!is_inside(fd)) return DONE;
	snprintf(message, sizeof message,
	         "The directory `%.150s` is among the files of a data directory: choose one outside.", path);
	return cli_fail(cli, ERR_INVALID_INPUT, message);
}

enum outcome target_check_owner(struct cli *cli, int fd, const char *name, const char *path)
{
	struct stat st;
	char        message[256];

	if (name ? fstatat(fd, name, &st, 0) : fstat(fd, &st))
		return cli_fail_at(cli, "Cannot look at", path);
	if (st.st_uid == geteuid() || st.st_uid == 0) return DONE; /* root reads everything */
	snprintf(
	    message, sizeof message,
	    "The directory `%.150s` belongs to user %u, who could not read files of user %u: run this as "
	    "its owner.",
	    path, st.st_uid, geteuid());
	return cli_fail(cli, ERR_INVALID_INPUT, message);
}
