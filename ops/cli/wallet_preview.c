/* wallet preview. The package, where it is wanted, comes in parts before the preview itself. */
#include "ops/cli/taken.h"
#include "schemas/api/wallet.h"
#include "schemas/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct preview {
	struct cli   *cli;
	struct buffer package;
};

static void on_preview(void *user, uint32_t shard, const struct reply *reply)
{
	struct preview *preview = user;

	(void)shard;
	if (!cli_part_ok(preview->cli, reply)) return;
	if (reply->flags & REPLY_MORE) {
		struct span part = arg_span(reply->payload);
		buffer_append(&preview->package, part.at, part.size);
	} else if (json_render(reply->payload, &preview->cli->out)) {
		cli_fail(preview->cli, ERR_MALFORMED, NULL);
	}
}

/* The value of --out, which the caller frees; NULL: out of memory. */
static char *path_of(const struct taken *taken)
{
	const char      *value = (const char *)taken->bytes.at + taken->of[ARG_WALLET_PREVIEW_out].at;
	char            *path = NULL;
	msgpack_unpacked unpacked;

	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, value, taken->of[ARG_WALLET_PREVIEW_out].size, NULL) ==
	    MSGPACK_UNPACK_SUCCESS) {
		struct span text = arg_span(&unpacked.data);
		path = text.size ? strndup((const char *)text.at, text.size) : strdup("");
	}
	msgpack_unpacked_destroy(&unpacked);
	return path;
}

/* Only a file is replaced. A link may lead anywhere, as /dev/stdout does, and is left as it is. */
static enum outcome take_away(struct cli *cli, const char *path)
{
	struct stat st;
	char        message[256];

	if (!lstat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(message, sizeof message, "%.150s exists and is no file: name another place.", path);
		return cli_fail(cli, ERR_EXISTS, message);
	}
	return !unlink(path) || errno == ENOENT ? DONE : cli_fail_at(cli, "Cannot replace", path);
}

/* The package holds the token by which the pass is updated, so nobody but its owner may read it. An old file may be open
 * elsewhere, so a new one is made. */
static enum outcome write_file(struct cli *cli, const char *path, struct span package)
{
	enum outcome outcome = take_away(cli, path);
	bool         good;
	int          fd;

	if (outcome != DONE) return outcome;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	good = fd >= 0;
	while (good && package.size) {
		ssize_t size = write(fd, package.at, package.size);
		good = size > 0;
		if (good) package = span_of(package.at + size, package.size - (size_t)size);
	}
	if (fd >= 0 && close(fd)) good = false;
	return good ? DONE : cli_fail_at(cli, "Cannot write", path);
}

enum outcome wallet_preview(struct cli *cli)
{
	struct taken   taken;
	struct preview preview = {.cli = cli};
	char          *path = NULL;
	enum outcome   outcome = taken_read(cli, MSG_WALLET_PREVIEW, &taken);

	if (outcome == DONE && taken.of[ARG_WALLET_PREVIEW_out].size && !(path = path_of(&taken)))
		outcome = cli_fail(cli, ERR_NO_MEMORY, NULL);
	if (outcome == DONE) outcome = taken_call(cli, &taken, on_preview, &preview);
	if (outcome == DONE && preview.package.failed) outcome = cli_fail(cli, ERR_NO_MEMORY, NULL);
	if (outcome == DONE && path && !preview.package.size)
		outcome = cli_fail(cli, ERR_RESOURCE_NOT_FOUND,
		                   "There is no package: no Apple credential serves the account.");
	if (outcome == DONE && path) outcome = write_file(cli, path, buffer_span(&preview.package));
	free(path);
	taken_free(&taken);
	buffer_free(&preview.package);
	return outcome;
}
