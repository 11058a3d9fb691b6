/* Makes the file of a socket again after its removal.
 *
 * The old listening socket cannot get a name again. So the channel gets a second one, and its connections stay. The old one
 * costs a descriptor until the process ends, which SOCKET_REBINDS_MAX limits. */
#include "actors/rt/socket_file.h"
#include "actors/rt/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 1000, SOCKET_REBINDS_MAX = 100 };

static const char scheme[] = "ipc://";

enum err socket_file_bind(struct socket_file *file, const char *endpoint, struct channel **channel)
{
	enum err err = channel_bind(channel, endpoint);

	*file = (struct socket_file){.channel = err ? NULL : *channel};
	snprintf(file->endpoint, sizeof file->endpoint, "%s", endpoint);
	return err;
}

static bool is_removed(const struct socket_file *file)
{
	return access(file->endpoint + strlen(scheme), F_OK) && errno == ENOENT;
}

static void give_up(struct socket_file *file, const char *name, const char *error)
{
	if (file->is_given_up) return;
	file->is_given_up = true;
	log_fatal(
	    "socket_lost",
	    "socket=run/%s error=\"%s\" reason=\"its file was removed and cannot be made again: no process "
	    "can connect, restart the service\"",
	    name, error);
}

void socket_file_look(struct socket_file *file, mono_us now)
{
	const char *name = strrchr(file->endpoint, '/') + 1;

	if (now.v < file->look_due.v) return;
	file->look_due = mono_after(now, (dur_us){LOOK_EVERY_MS * US_PER_MS});
	if (!is_removed(file)) return;
	if (file->rebound == SOCKET_REBINDS_MAX) {
		give_up(file, name, "removed too often");
	} else if (channel_bind_again(file->channel, file->endpoint)) {
		give_up(file, name, strerror(errno));
	} else {
		file->rebound++;
		file->is_given_up = false;
		log_warn("socket_removed", "socket=run/%s next=\"made again\"", name);
	}
}
