/* Creates and locks the data directory.
 *
 * The identity is created last: written under another name, synced and renamed. So a directory with an identity is complete.
 * One without is either foreign or was interrupted, and nothing was ever stored in it. The lock is taken before anything is
 * created, so two first starts cannot interfere. */
#include "actors/supervisor/datadir_setup.h"
#include "actors/rt/log.h"
#include "schemas/limits.h"
#include "schemas/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 500, ORPHAN_WAIT_MS = 5000 };

static void refuse_locked(const char *dir)
{
	log_fatal("locked", "data=\"%s\" reason=\"another stampede is at work on this directory\"", dir);
}

/* Waits a moment: a supervisor just killed may still hold its lock. */
static enum err take_lock(const char *dir, int dir_fd, struct datadir_setup *home)
{
	bool     is_new = faccessat(dir_fd, "lock", F_OK, 0) != 0;
	enum err err = datadir_lock(dir_fd, "lock", LOCK_WAIT_MS, &home->lock_fd);

	if (!err) {
		home->traces.lock = is_new;
		traces_look(dir_fd, &home->traces);
	}
	if (err == ERR_LOCKED)
		refuse_locked(dir);
	else if (err)
		log_fatal("lock_failed", "data=\"%s\" file=lock error=\"%s\"", dir, strerror(errno));
	return err;
}

/* Anyone who can read the key can open every secret that it seals. */
static enum err look_at_mode(const char *dir, int dir_fd)
{
	struct stat st;

	if (fstatat(dir_fd, "master.key", &st, 0) || !(st.st_mode & (S_IRWXG | S_IRWXO))) return OK;
	log_fatal(
	    "master_key_exposed",
	    "data=\"%s\" file=master.key mode=%04o wanted=0600 reason=\"others than its owner may read it\"",
	    dir, st.st_mode & 07777);
	return ERR_UNSUPPORTED;
}

static const char *why_no_key(enum err err)
{
	switch (err) {
	case ERR_NOT_FOUND: return "missing: put back the one that was here, as from a backup";
	case ERR_DAMAGED: return "not of 32 bytes";
	case ERR_FOREIGN_KEY: return "belongs to another user, who may replace it: make it the service's own";
	case ERR_OTHER_KEY:
		return "the identity names another key: put back the one whose sha256sum begins with wanted, "
		       "or see "
		       "stampede adopt --help";
	default: return "cannot be read";
	}
}

/* `identity` is NULL if there is none yet. */
static enum err refuse_key(const char *dir, const struct identity *identity, enum err err)
{
	char        wanted[2 * MASTER_KEY_ID + 1];
	const char *reason = why_no_key(err);

	if (identity) {
		hex_text(identity->key_id, MASTER_KEY_ID, wanted);
		log_fatal("master_key_unusable",
		          "data=\"%s\" file=master.key code=%s wanted=%s reason=\"%s\"", dir, err_code(err),
		          wanted, reason);
	} else {
		log_fatal("master_key_unusable", "data=\"%s\" file=master.key code=%s reason=\"%s\"", dir,
		          err_code(err), reason);
	}
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err; /* the directory exists, but is incomplete */
}

/* Checked before there are children: several need the key, and one line should report a fault. */
static enum err look_at_key(const char *dir, struct datadir *datadir)
{
	uint8_t  key[MASTER_KEY_BYTES];
	enum err err = datadir_master_key(datadir, key);

	if (err)
		err = refuse_key(dir, &datadir->identity, err);
	else
		err = look_at_mode(dir, datadir->fd);
	explicit_bzero(key, sizeof key);
	if (err) datadir_close(datadir);
	return err;
}

static enum err judge_entries(const char *dir, int dir_fd, uint32_t shards)
{
	char     why[ENTRY_TEXT];
	enum err err = datadir_judge(dir_fd, shards, why);

	if (err) log_fatal("bad_data_directory", "data=\"%s\" reason=\"%s\"", dir, why);
	return err;
}

/* `read`: datadir_open or datadir_look. */
static enum err read_identity(enum err (*read)(const char *, struct datadir *), const char *dir,
                              struct datadir *datadir)
{
	char     why[VERSION_TEXT];
	enum err err = read(dir, datadir);

	if (!err && (datadir->identity.shards < 1 || datadir->identity.shards > SHARDS_MAX)) {
		datadir_close(datadir);
		err = ERR_DAMAGED;
	}
	snprintf(why, sizeof why, "%s",
	         err == ERR_IO || err == ERR_NOT_FOUND ? strerror(errno) : err_message(err));
	if (err == ERR_UNSUPPORTED) datadir_refusal(dir, why);
	if (err)
		log_fatal("bad_data_directory", "data=\"%s\" file=identity code=%s reason=\"%s\"", dir,
		          err_code(err), why);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err; /* it has just vanished: no place for a new one */
}

/* Checked before anything is created beside it: the directory may be foreign. */
static enum err look_at_identity(const char *dir)
{
	struct datadir looked;
	enum err       err = read_identity(datadir_look, dir, &looked);

	if (err) return err;
	err = judge_entries(dir, looked.fd, looked.identity.shards);
	datadir_close(&looked);
	return err;
}

static enum err open_identity(const char *dir, struct datadir *datadir)
{
	enum err err = read_identity(datadir_open, dir, datadir);

	if (err) return err;
	if ((err = datadir_lock_dir(datadir->fd, LOCK_WAIT_MS))) {
		if (err == ERR_LOCKED)
			refuse_locked(dir);
		else
			log_fatal("lock_failed", "data=\"%s\" file=. error=\"%s\"", dir, strerror(errno));
		datadir_close(datadir);
		return err;
	}
	return look_at_key(dir, datadir);
}

/* Uses DIR's descriptor, while its lock is held. */
static void undo(struct datadir_setup *home, const char *dir, int dir_fd)
{
	if (home->lock_fd >= 0) traces_remove(dir_fd, &home->traces);
	if (home->traces.dir) (void)rmdir(dir);
	home->traces = (struct traces){.looked = false};
}

void datadir_setup_undo(struct datadir_setup *home, const char *dir)
{
	if (home->datadir.fd >= 0) undo(home, dir, home->datadir.fd);
}

/* For sockets only: a restored directory may lack it. */
static enum err make_run(const char *dir, int dir_fd)
{
	if ((!mkdirat(dir_fd, "run", 0700) || errno == EEXIST) &&
	    !faccessat(dir_fd, "run/.", W_OK | X_OK, AT_EACCESS))
		return OK;
	log_fatal("bad_data_directory", "data=\"%s\" file=run error=\"%s\"", dir, strerror(errno));
	return ERR_IO;
}

/* Root may serve any directory, and another user one that lets it write. */
static void look_at_owner(const char *dir, const struct stat *identity)
{
	if (identity->st_uid == geteuid() || identity->st_uid == 0) return;
	log_warn("data_directory_of_other",
	         "data=\"%s\" owner=%u user=%u reason=\"files made from now on belong to this process's "
	         "user: its owner may be unable to serve it afterwards\"",
	         dir, identity->st_uid, geteuid());
}

enum err datadir_setup_open(const char *dir, struct datadir_setup *home)
{
	struct stat identity;
	int         dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err    err = OK;

	*home = (struct datadir_setup){.datadir = {.fd = -1, .run_fd = -1}, .lock_fd = -1};
	if (dir_fd < 0 && errno == ENOENT) return ERR_NOT_FOUND;
	if (dir_fd < 0) {
		log_fatal("bad_data_directory", "data=\"%s\" error=\"%s\"", dir, strerror(errno));
		return ERR_IO;
	}
	if ((err = judge_entries(dir, dir_fd, 0))) goto out;
	if (fstatat(dir_fd, "identity", &identity, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		err = ERR_NOT_FOUND;
		goto out;
	}
	if ((err = look_at_identity(dir)) || (err = take_lock(dir, dir_fd, home)) ||
	    (err = make_run(dir, dir_fd)))
		goto out;
	if (!(err = open_identity(dir, &home->datadir))) look_at_owner(dir, &identity);
out:
	if (err) undo(home, dir, dir_fd);
	if (dir_fd >= 0) close(dir_fd);
	if (err) datadir_setup_close(home);
	return err;
}

/* ---- first start ---- */

/* Does it hold anything that an interrupted creation does not leave? That leaves the shards' directories empty: anything in one
 * is data, or of an unfinished restore. Errors: ERR_EXISTS: `found` is the first such entry; ERR_IO. */
static enum err look_for_contents(int dir_fd, char found[DATADIR_NAME])
{
	static const char *const names[] = {"journal", "snapshots", "db"};
	enum err                 err = datadir_has_strangers(dir_fd, NULL, found);
	struct stat              st;

	_Static_assert((int)DATADIR_NAME >= (int)DATADIR_PATH, "a path has no place");
	for (uint32_t i = 0; !err && i < SHARDS_MAX * 3; i++) {
		datadir_shard_path(i / 3, names[i % 3], found);
		if (!fstatat(dir_fd, found, &st, 0)) err = ERR_EXISTS;
	}
	return err;
}

static enum err refuse_contents(const char *dir, const char *found, enum err err)
{
	if (err == ERR_EXISTS && !strncmp(found, DATADIR_RESTORING, strlen(DATADIR_RESTORING)))
		log_fatal("bad_data_directory",
		          "data=\"%s\" reason=\"an unfinished restore: run restore again\"", dir);
	else if (err == ERR_EXISTS && !strcmp(found, "manifest"))
		log_fatal("bad_data_directory",
		          "data=\"%s\" reason=\"a backup: stampede restore makes a data directory of it\"",
		          dir);
	else if (err == ERR_EXISTS)
		log_fatal("bad_data_directory", "data=\"%s\" reason=\"has no identity but holds %s\"", dir,
		          found);
	else
		log_fatal("bad_data_directory", "data=\"%s\" error=\"%s\"", dir, strerror(errno));
	return err;
}

/* An existing key is kept: it may be the only copy. */
static enum err find_key(const char *dir, int dir_fd, bool *is_found, uint8_t key[MASTER_KEY_BYTES])
{
	enum err err = datadir_read_key(dir_fd, key);

	*is_found = !err;
	if (err == ERR_NOT_FOUND) return OK;
	return err ? refuse_key(dir, NULL, err) : look_at_mode(dir, dir_fd);
}

/* Creates everything inside DIR except the key, the identity last. */
static enum err furnish(int dir_fd, const struct identity *identity)
{
	char     path[DATADIR_PATH];
	enum err err;

	if ((err = datadir_mkdir(dir_fd, "run")) || (err = datadir_mkdir(dir_fd, "shards"))) return err;
	for (uint32_t i = 0; i < identity->shards; i++) {
		datadir_shard_path(i, NULL, path);
		if ((err = datadir_mkdir(dir_fd, path))) return err;
	}
	return datadir_write_identity(dir_fd, identity);
}

static bool fill_randomly(void *bytes, size_t size)
{
	return getrandom(bytes, size, 0) == (ssize_t)size;
}

/* DIR is synced in its parent, so that it survives a crash of the machine. */
static enum err make(const char *dir, int dir_fd, uint32_t shards)
{
	struct identity identity = {.shards = shards};
	uint8_t         key[MASTER_KEY_BYTES] = {0};
	bool            is_found;
	enum err        err = find_key(dir, dir_fd, &is_found, key);

	if (err) return err;
	if (!fill_randomly(identity.lineage, sizeof identity.lineage) ||
	    (!is_found && !fill_randomly(key, sizeof key)))
		err = ERR_IO;
	if (!err && !is_found) err = datadir_write(dir_fd, "master.key", span_of(key, sizeof key));
	master_key_id(key, identity.key_id);
	explicit_bzero(key, sizeof key);
	if (err || (err = furnish(dir_fd, &identity)) || (err = datadir_sync(dir_fd, "..")))
		log_fatal("cannot_create", "data=\"%s\" error=\"%s\"", dir, strerror(errno));
	return err;
}

/* Under the lock: makes what is missing. Another start may have created it all meanwhile. */
static enum err complete(const char *dir, int dir_fd, uint32_t shards)
{
	struct stat identity;
	char        found[DATADIR_NAME];
	enum err    err;

	if (!fstatat(dir_fd, "identity", &identity, 0)) return OK;
	if ((err = look_for_contents(dir_fd, found))) return refuse_contents(dir, found, err);
	return make(dir, dir_fd, shards);
}

enum err datadir_setup_create(const char *dir, uint32_t shards, struct datadir_setup *home)
{
	int      dir_fd = -1;
	char     found[DATADIR_NAME];
	enum err err;

	*home = (struct datadir_setup){.datadir = {.fd = -1, .run_fd = -1}, .lock_fd = -1};
	home->traces.dir = mkdir(dir, 0700) == 0;
	if ((!home->traces.dir && errno != EEXIST) ||
	    (dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		log_fatal("cannot_create", "data=\"%s\" error=\"%s\"", dir, strerror(errno));
		err = ERR_IO;
		goto out;
	}
	/* A foreign directory gets no lock. Another start or a restore takes the lock before it makes anything else. */
	if ((err = look_for_contents(dir_fd, found)) && faccessat(dir_fd, "lock", F_OK, 0)) {
		err = refuse_contents(dir, found, err);
		goto out;
	}
	if ((err = take_lock(dir, dir_fd, home)) || (err = complete(dir, dir_fd, shards))) goto out;
	err = open_identity(dir, &home->datadir);
out:
	if (err) undo(home, dir, dir_fd);
	if (dir_fd >= 0) close(dir_fd);
	if (err) datadir_setup_close(home);
	return err;
}

/* ---- later starts ---- */

enum err datadir_setup_await_orphans(const struct datadir_setup *home)
{
	int      left_ms = ORPHAN_WAIT_MS;
	enum err err;

	for (uint32_t i = 0; i < home->datadir.identity.shards; i++) {
		char path[DATADIR_PATH];
		int  lock_fd;

		datadir_shard_path(i, "lock", path);
		if (faccessat(home->datadir.fd, path, F_OK, 0) < 0) continue; /* never started */
		while ((err = datadir_lock(home->datadir.fd, path, 100, &lock_fd)) == ERR_LOCKED &&
		       left_ms > 0)
			left_ms -= 100;
		if (err) {
			log_fatal(
			    "shard_locked", "shard=%u file=%s code=%s reason=\"%s\"", i, path, err_code(err),
			    err == ERR_LOCKED ? "a shard of an earlier run is still alive" : strerror(errno));
			return err;
		}
		close(lock_fd);
	}
	return OK;
}

enum err home_settle(struct datadir_setup *home)
{
	const struct identity *found = &home->datadir.identity;
	struct identity        identity = *found;
	enum err               err;

	if (found->state == IDENTITY_WHOLE && found->version == IDENTITY_VERSION) return OK;
	identity.version = IDENTITY_VERSION;
	identity.state = IDENTITY_WHOLE;
	if (!(err = datadir_write_identity(home->datadir.fd, &identity)))
		home->datadir.identity = identity;
	else
		log_fatal("identity_not_written", "error=\"%s\"", strerror(errno));
	return err;
}

void datadir_setup_close(struct datadir_setup *home)
{
	datadir_close(&home->datadir);
	if (home->lock_fd >= 0) close(home->lock_fd);
	home->lock_fd = -1;
}
