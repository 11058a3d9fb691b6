/* The data directory as every process opens it: by descriptors.
 *
 * A socket's path is limited to about a hundred bytes, and a data directory may be deeper or relative to a working directory.
 * So endpoints are named through /proc/self/fd, by the descriptor of DIR/run. Only the supervisor and a restore make
 * directories and write the identity. */
#include "actors/rt/datadir.h"

#include "schemas/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { IDENTITY_BYTES_MAX = 2048, LOCK_POLL_MS = 10 };

static enum err open_file(int dir_fd, const char *name, int *fd)
{
	/* A pipe reads as empty and does not block. */
	*fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return *fd >= 0 ? OK : errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
}

/* Reads at most `room` bytes of a file into `to`, and closes it. */
static enum err read_opened(int fd, void *to, size_t room, size_t *size)
{
	ssize_t got = 0;

	*size = 0;
	while (*size < room && (got = read(fd, (char *)to + *size, room - *size)) > 0)
		*size += (size_t)got;
	close(fd);
	return got < 0 ? ERR_IO : OK;
}

static enum err read_file(int dir_fd, const char *name, void *to, size_t room, size_t *size)
{
	int      fd;
	enum err err = open_file(dir_fd, name, &fd);

	return err ? err : read_opened(fd, to, room, size);
}

static enum err read_identity(int dir_fd, struct identity *identity)
{
	char     text[IDENTITY_BYTES_MAX];
	size_t   size;
	enum err err = read_file(dir_fd, "identity", text, sizeof text, &size);

	return err ? err : identity_read(span_of(text, size), identity);
}

void datadir_refusal(const char *dir, char why[VERSION_TEXT])
{
	char   text[IDENTITY_BYTES_MAX];
	size_t size = 0;
	int    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || read_file(fd, "identity", text, sizeof text, &size)) size = 0;
	identity_refusal(span_of(text, size), why);
	if (fd >= 0) close(fd);
}

bool datadir_entry_fits(int dir_fd, const char *path, enum entry_type wanted, enum entry_use use,
                        char why[ENTRY_TEXT])
{
	struct stat st;

	if (fstatat(dir_fd, path, &st, 0)) {
		if (errno != ENOENT || fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW)) return true;
		st.st_mode = 0;
	}
	return entry_fits(path, st.st_mode, wanted, use, why);
}

enum err datadir_judge(int dir_fd, uint32_t shards, char why[ENTRY_TEXT])
{
	static const struct {
		const char     *name;
		enum entry_type type;
		enum entry_use  use;
	} entries[] = {{"identity", ENTRY_FILE, ENTRY_DATA},
	               {"master.key", ENTRY_FILE, ENTRY_DATA},
	               {"lock", ENTRY_FILE, ENTRY_EXPENDABLE},
	               {"run", ENTRY_DIRECTORY, ENTRY_EXPENDABLE},
	               {"shards", ENTRY_DIRECTORY, ENTRY_DATA}};
	char path[DATADIR_PATH];

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!datadir_entry_fits(dir_fd, entries[i].name, entries[i].type, entries[i].use, why))
			return ERR_UNSUPPORTED;
	for (uint32_t i = 0; i < shards; i++) {
		datadir_shard_path(i, NULL, path);
		if (!datadir_entry_fits(dir_fd, path, ENTRY_DIRECTORY, ENTRY_DATA, why))
			return ERR_UNSUPPORTED;
		datadir_shard_path(i, "lock", path);
		if (!datadir_entry_fits(dir_fd, path, ENTRY_FILE, ENTRY_EXPENDABLE, why))
			return ERR_UNSUPPORTED;
	}
	return OK;
}

enum err datadir_look(const char *dir, struct datadir *datadir)
{
	enum err err;

	*datadir = (struct datadir){.fd = -1, .run_fd = -1};
	datadir->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (datadir->fd < 0) {
		err = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
		goto out;
	}
	err = read_identity(datadir->fd, &datadir->identity);
out:
	if (err) datadir_close(datadir);
	return err;
}

enum err datadir_open(const char *dir, struct datadir *datadir)
{
	enum err err = datadir_look(dir, datadir);

	if (err) return err;
	datadir->run_fd = openat(datadir->fd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (datadir->run_fd < 0) err = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	if (err) datadir_close(datadir);
	return err;
}

void datadir_close(struct datadir *datadir)
{
	if (datadir->run_fd >= 0) close(datadir->run_fd);
	if (datadir->fd >= 0) close(datadir->fd);
	datadir->fd = datadir->run_fd = -1;
}

void datadir_shard_endpoint(const struct datadir *datadir, uint32_t shard, char text[ENDPOINT_TEXT])
{
	snprintf(text, ENDPOINT_TEXT, "ipc:///proc/self/fd/%d/shard-%u", datadir->run_fd, shard);
}

void datadir_supervisor_endpoint(const struct datadir *datadir, char text[ENDPOINT_TEXT])
{
	snprintf(text, ENDPOINT_TEXT, "ipc:///proc/self/fd/%d/supervisor", datadir->run_fd);
}

enum err datadir_master_key(const struct datadir *datadir, uint8_t key[MASTER_KEY_BYTES])
{
	const struct identity *identity = &datadir->identity;
	uint8_t                id[MASTER_KEY_ID];
	enum err               err = datadir_read_key(datadir->fd, key);

	if (err) return err;
	master_key_id(key, id);
	if (!memcmp(id, identity->key_id, sizeof id)) return OK;
	explicit_bzero(key, MASTER_KEY_BYTES);
	return ERR_OTHER_KEY;
}

/* A file's owner can read and replace it at any time. Root can do so anyway, and works on the directories of others. */
static enum err judge_owner(int dir_fd, int fd)
{
	struct stat dir, file;
	uid_t       own = geteuid();

	if (fstat(fd, &file) || fstat(dir_fd, &dir)) return ERR_IO;
	if (file.st_uid == own || file.st_uid == 0) return OK;
	return own == 0 && file.st_uid == dir.st_uid ? OK : ERR_FOREIGN_KEY;
}

enum err datadir_read_key(int dir_fd, uint8_t key[MASTER_KEY_BYTES])
{
	uint8_t  bytes[MASTER_KEY_BYTES + 1]; /* one more than allowed, to notice a longer file */
	size_t   size;
	int      fd;
	enum err err = open_file(dir_fd, "master.key", &fd);

	if (err) return err;
	if ((err = judge_owner(dir_fd, fd))) {
		close(fd);
		return err;
	}
	err = read_opened(fd, bytes, sizeof bytes, &size);
	if (!err && size != MASTER_KEY_BYTES) err = ERR_DAMAGED;
	for (size_t i = 0; !err && i < MASTER_KEY_BYTES; i++)
		key[i] = bytes[i];
	explicit_bzero(bytes, sizeof bytes);
	return err;
}

/* Waits for the lock of an open file, and subtracts the time from *wait_ms. */
static enum err lock_file(int fd, int *wait_ms)
{
	/* An open-file lock: it survives another open and close of the file in this process. */
	struct flock    whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timespec poll = {.tv_nsec = LOCK_POLL_MS * 1000000L};

	while (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
		bool busy = errno == EAGAIN || errno == EACCES;
		if (!busy || *wait_ms <= 0) return busy ? ERR_LOCKED : ERR_IO;
		nanosleep(&poll, NULL);
		*wait_ms -= LOCK_POLL_MS;
	}
	return OK;
}

/* The holder may have removed the file meanwhile: then the lock is useless, because nothing finds that file again. */
static bool is_named(int dir_fd, const char *name, int fd)
{
	struct stat open_one, named;

	return !fstat(fd, &open_one) && !fstatat(dir_fd, name, &named, 0) &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

enum err datadir_lock(int dir_fd, const char *name, int wait_ms, int *lock_fd)
{
	for (;;) {
		int      fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		enum err err = fd < 0 ? ERR_IO : lock_file(fd, &wait_ms);

		*lock_fd = err ? -1 : fd;
		if (!err && is_named(dir_fd, name, fd)) return OK;
		if (fd >= 0) close(fd);
		if (err) return err;
	}
}

/* F_UNLCK, F_WRLCK; -1: it cannot be looked at. */
static int lock_of(int dir_fd, const char *name)
{
	struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int          fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	int          type = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &whole) ? whole.l_type : -1;

	if (fd >= 0) close(fd);
	return type;
}

bool datadir_is_locked(int dir_fd, const char *name)
{
	return lock_of(dir_fd, name) == F_WRLCK;
}

bool datadir_is_free(int dir_fd, const char *name)
{
	return lock_of(dir_fd, name) == F_UNLCK;
}

enum err datadir_lock_dir(int dir_fd, int wait_ms)
{
	struct timespec poll = {.tv_nsec = LOCK_POLL_MS * 1000000L};

	while (flock(dir_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || wait_ms <= 0) return errno == EWOULDBLOCK ? ERR_LOCKED : ERR_IO;
		nanosleep(&poll, NULL);
		wait_ms -= LOCK_POLL_MS;
	}
	return OK;
}

/* ---- creation ---- */

static enum err failed(void)
{
	return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
}

void datadir_shard_path(uint32_t shard, const char *name, char path[DATADIR_PATH])
{
	snprintf(path, DATADIR_PATH, "shards/%u%s%s", shard, name ? "/" : "", name ? name : "");
}

enum err datadir_sync(int dir_fd, const char *name)
{
	int      fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err err = fd >= 0 && fsync(fd) == 0 ? OK : ERR_IO;

	/* A parent that may be entered but not listed, such as a home of mode 0711: all of the disk instead. */
	if (fd < 0 && errno == EACCES) err = syncfs(dir_fd) ? ERR_IO : OK;
	if (fd >= 0) close(fd);
	return err;
}

enum err datadir_mkdir(int dir_fd, const char *name)
{
	char        parent[DATADIR_PATH];
	const char *slash = strrchr(name, '/');

	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST) return failed();
	snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
	return datadir_sync(dir_fd, parent);
}

enum err datadir_write(int dir_fd, const char *name, struct span bytes)
{
	char     fresh[DATADIR_PATH];
	size_t   done = 0;
	enum err err = ERR_IO;
	int      fd;

	snprintf(fresh, sizeof fresh, "%s.new", name);
	/* A file that is there already may be open elsewhere, have another mode and owner, or be a link. */
	if (unlinkat(dir_fd, fresh, 0) && errno != ENOENT) return failed();
	fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) return failed();
	while (done < bytes.size) {
		ssize_t put = write(fd, bytes.at + done, bytes.size - done);
		if (put <= 0) goto out;
		done += (size_t)put;
	}
	if (fsync(fd) == 0 && renameat(dir_fd, fresh, dir_fd, name) == 0 && fsync(dir_fd) == 0) err = OK;
out:
	if (err) err = failed();
	close(fd);
	return err;
}

enum err datadir_write_identity(int dir_fd, const struct identity *identity)
{
	struct buffer text = {0};
	enum err      err = ERR_NO_MEMORY;

	identity_write(identity, &text);
	if (!text.failed) err = datadir_write(dir_fd, "identity", buffer_span(&text));
	buffer_free(&text);
	return err;
}

enum err datadir_read(int dir_fd, const char *name, size_t max, struct buffer *out)
{
	uint8_t *room = buffer_reserve(out, max + 1);
	size_t   size = 0;
	enum err err = room ? read_file(dir_fd, name, room, max + 1, &size) : ERR_NO_MEMORY;

	if (!err && size > max) err = ERR_DAMAGED;
	if (!err) out->size += size;
	return err;
}

/* The same, or as datadir_write() makes it at first. */
static bool is_file(const char *name, const char *wanted)
{
	size_t size = strlen(wanted);

	return !strncmp(name, wanted, size) && (!name[size] || !strcmp(name + size, ".new"));
}

static bool is_ours(const char *name)
{
	static const char *const names[] = {
	    ".", "..", "lock", "run", "shards", "master.key", "master.key.new", "identity.new", "lost+found"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) return true;
	return false;
}

static DIR *list_dir(int dir_fd, const char *name)
{
	int  fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0) close(fd);
	return list;
}

bool datadir_is_empty(int dir_fd, const char *name)
{
	DIR           *list = list_dir(dir_fd, name);
	struct dirent *entry;
	bool           empty = true;

	if (!list) return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
	while (empty && (entry = readdir(list)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		        !strcmp(entry->d_name, "lost+found");
	closedir(list);
	return empty;
}

enum err datadir_has_strangers(int dir_fd, const char *but, char stranger[DATADIR_NAME])
{
	DIR           *list = list_dir(dir_fd, ".");
	struct dirent *entry;
	enum err       err = OK;

	if (!list) return ERR_IO;
	while (!err && (entry = readdir(list))) {
		if (is_ours(entry->d_name) || (but && is_file(entry->d_name, but))) continue;
		snprintf(stranger, DATADIR_NAME, "%.60s", entry->d_name);
		err = ERR_EXISTS;
	}
	closedir(list);
	return err;
}
