/* Why a command could not reach its service, found out afterwards: no directory, another directory, no running service, or a
 * supervisor that does not answer or has lost its socket. */
#include "ops/cli/reach.h"
#include "actors/rt/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH_SHOWN = 120 }; /* bytes of a program's path, its last ones */

/* The process that listens on the supervisor's socket; 0: none. A stopped one listens too: the kernel accepts the connection
 * and reports whose socket it is. */
static int64_t listener_of(const struct datadir *datadir)
{
	static const char  scheme[] = "ipc://";
	char               endpoint[ENDPOINT_TEXT];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred       peer = {.pid = 0};
	socklen_t          size = sizeof peer;
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) return 0;
	datadir_supervisor_endpoint(datadir, endpoint);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", endpoint + sizeof scheme - 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

/* Does that process run another file than this one? Then the file's name; what version it is cannot be seen. */
static bool is_other_program(int64_t pid, char name[VERSION_TEXT], bool *is_there)
{
	static const char removed[] = " (deleted)";
	struct stat       own, other;
	char              link[64], path[PATH_MAX + sizeof removed];

	snprintf(link, sizeof link, "/proc/%" PRId64 "/exe", pid);
	if (stat("/proc/self/exe", &own) || stat(link, &other)) return false;
	if (own.st_dev == other.st_dev && own.st_ino == other.st_ino) return false;
	ssize_t size = readlink(link, path, sizeof path);
	if (size < 0) return false;
	*is_there = other.st_nlink > 0;
	if (!*is_there && size > (ssize_t)sizeof removed) size -= (ssize_t)sizeof removed - 1;
	ssize_t left_out = size > PATH_SHOWN ? size - PATH_SHOWN : 0;
	snprintf(name, VERSION_TEXT, "%s%.*s", left_out ? "..." : "", (int)(size - left_out),
	         path + left_out);
	return true;
}

static enum cause explain_silence(int64_t supervisor, struct reason *reason, char why[VERSION_TEXT])
{
	bool is_there;

	reason->least = supervisor;
	if (!is_other_program(supervisor, why, &is_there)) return CAUSE_SUPERVISOR_SILENT;
	reason->wanted = why;
	return is_there ? CAUSE_SERVICE_OTHER_VERSION : CAUSE_SERVICE_REPLACED;
}

/* Is it a directory? Otherwise the cause, and the system's message for the failed open. */
static enum cause look_at_name(const char *dir, struct reason *reason)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return CAUSE_NONE;
	}
	if (!*dir) return CAUSE_DATA_NAMELESS;
	reason->wanted = strerror(errno);
	return errno == ENOENT ? CAUSE_DATA_MISSING : CAUSE_DATA_UNREADABLE;
}

/* The manifest ends a backup, and no data directory has one. */
static bool is_backup(const char *dir)
{
	int  fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = fd >= 0 && !faccessat(fd, "manifest", F_OK, 0);

	if (fd >= 0) close(fd);
	return found;
}

static enum cause look_inside(const char *dir, struct reason *reason, char why[VERSION_TEXT])
{
	struct datadir datadir;
	enum cause     cause = CAUSE_SERVICE_STOPPED;
	enum err       err = datadir_look(dir, &datadir);

	if (err == ERR_NOT_FOUND) return is_backup(dir) ? CAUSE_DATA_BACKUP : CAUSE_DATA_OTHER;
	if (err == ERR_DAMAGED) return CAUSE_DATA_DAMAGED;
	if (err == ERR_UNSUPPORTED) {
		datadir_refusal(dir, why);
		reason->wanted = why;
		return CAUSE_DATA_VERSION;
	}
	datadir_close(&datadir);
	if (access("/proc/self/fd", X_OK)) return CAUSE_PROC_MISSING;
	err = datadir_open(dir, &datadir);
	int64_t supervisor = err ? 0 : listener_of(&datadir);
	if (supervisor)
		cause = explain_silence(supervisor, reason, why);
	else if (!err && faccessat(datadir.run_fd, "supervisor", F_OK, 0) && errno == ENOENT &&
	         datadir_is_locked(datadir.fd, "lock"))
		cause = CAUSE_SOCKET_REMOVED;
	else if (!err && datadir_is_locked(datadir.fd, "lock"))
		cause = CAUSE_DATA_BUSY;
	datadir_close(&datadir);
	if (err == ERR_NOT_FOUND) return CAUSE_DATA_RUNLESS;
	if (err != ERR_IO) return cause;
	reason->wanted = "its identity or its run directory is not readable";
	return CAUSE_DATA_UNREADABLE;
}

void reach_explain(const char *dir, enum err err, char text[REASON_TEXT])
{
	char          why[VERSION_TEXT];
	struct reason reason = {.given = span_str(dir)};

	reason.cause = look_at_name(dir, &reason);
	if (!reason.cause) reason.cause = look_inside(dir, &reason, why);
	if (err == ERR_NO_MEMORY) reason.cause = CAUSE_NO_MEMORY;
	reason_text(&reason, text);
}
