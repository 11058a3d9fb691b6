/* adopt: makes the master.key in an offline directory the directory's own, if the right one is lost. Only the identity is
 * rewritten; what another key has encrypted stays unreadable. */
#include "actors/rt/datadir.h"
#include "ops/cli/target.h"
#include "schemas/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum outcome refuse_identity(struct cli *cli, enum err err)
{
	char why[VERSION_TEXT], message[VERSION_TEXT + 1];

	if (err == ERR_UNSUPPORTED) {
		datadir_refusal(cli->data, why);
		snprintf(message, sizeof message, "%s.", why);
		return cli_fail(cli, err, message);
	}
	return cli_fail(cli, err,
	                err == ERR_NOT_FOUND ? "There is no data directory, or it has no identity."
	                : err == ERR_DAMAGED ? "The directory's identity is damaged."
	                                     : "The directory's identity cannot be read.");
}

/* Takes both locks of a running service. They are released with the descriptors. */
static enum outcome take_locks(struct cli *cli, const struct datadir *datadir, int *lock_fd)
{
	enum err err = datadir_lock(datadir->fd, "lock", 0, lock_fd);
	char     message[256];

	if (!err) err = datadir_lock_dir(datadir->fd, 0);
	if (!err) return DONE;
	snprintf(message, sizeof message,
	         err == ERR_LOCKED
	             ? "A service or another command uses the directory `%.150s`: stop it first."
	             : "The directory `%.150s` cannot be locked.",
	         cli->data);
	return cli_fail(cli, err, message);
}

/* The identity may have changed before the locks were taken. */
static enum outcome read_again(struct cli *cli, struct datadir *datadir)
{
	struct datadir now;
	enum err       err = datadir_look(cli->data, &now);

	if (err) return refuse_identity(cli, err);
	datadir->identity = now.identity;
	datadir_close(&now);
	return DONE;
}

static enum outcome take_key(struct cli *cli, const struct datadir *datadir)
{
	struct identity identity = datadir->identity;
	uint8_t         key[MASTER_KEY_BYTES];
	char            id[2 * MASTER_KEY_ID + 1], message[96];
	enum err        err = datadir_read_key(datadir->fd, key);

	if (err)
		return cli_fail(cli, err,
		                err == ERR_NOT_FOUND     ? "There is no master.key in the directory."
		                : err == ERR_DAMAGED     ? "The directory's master.key is not of 32 bytes."
		                : err == ERR_FOREIGN_KEY ? NULL
		                                         : "The directory's master.key cannot be read.");
	master_key_id(key, identity.key_id);
	explicit_bzero(key, sizeof key);
	if ((err = datadir_write_identity(datadir->fd, &identity))) {
		snprintf(message, sizeof message, "The identity cannot be written: %s.", strerror(errno));
		return cli_fail(cli, err, message);
	}
	hex_text(identity.key_id, sizeof identity.key_id, id);
	buffer_text(&cli->out, "{\"master_key\":\"");
	buffer_text(&cli->out, id);
	buffer_text(&cli->out, "\"}");
	return DONE;
}

enum outcome adopt_alone(struct cli *cli)
{
	struct datadir datadir;
	int            lock_fd = -1;
	enum outcome   outcome;
	enum err       err;

	if (!args_end(&cli->args)) return MISUSED;
	if ((err = datadir_look(cli->data, &datadir))) return refuse_identity(cli, err);
	if ((outcome = target_check_owner(cli, datadir.fd, "identity", cli->data)) == DONE &&
	    (outcome = take_locks(cli, &datadir, &lock_fd)) == DONE &&
	    (outcome = read_again(cli, &datadir)) == DONE)
		outcome = take_key(cli, &datadir);
	if (lock_fd >= 0) close(lock_fd);
	datadir_close(&datadir);
	return outcome;
}
