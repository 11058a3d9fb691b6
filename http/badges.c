/* Two small files, read once: no request may wait for a disk. */
#include "http/badges.h"

#include "actors/rt/log.h"
#include "actors/rt/named_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* One of the two may be left out. A folder that is not there is a mistake. */
static void log_missing(const char *folder, const char *path, const char *reason)
{
	bool has_folder = !access(folder, X_OK);
	if (has_folder && access(path, F_OK) < 0)
		log_info("wallet_badge_missing", "file=\"%s\" reason=\"%s\"", path, reason);
	else
		log_warn("wallet_badge_missing", "file=\"%s\" reason=\"%s\"", path, reason);
}

static void read_badge(const char *folder, enum wallet_kind kind, struct buffer *badge)
{
	char     path[4096];
	mono_us  until;
	ssize_t  got = 1;
	uint8_t *room = NULL;
	int      size = snprintf(path, sizeof path, "%s/%s.svg", folder, wallet_kind_text(kind));
	int      fd = size > 0 && (size_t)size < sizeof path ? named_file_open(path, &until) : -1;
	if (fd < 0) {
		log_missing(folder, path, named_file_error(errno));
		return;
	}
	while (got > 0 && badge->size <= BADGE_BYTES_MAX && (room = buffer_reserve(badge, 16384)))
		if ((got = named_file_read(fd, room, 16384, until)) > 0) badge->size += (size_t)got;
	close(fd);
	if (got == 0 && !badge->failed && badge->size <= BADGE_BYTES_MAX) return;
	log_missing(folder, path,
	            badge->size > BADGE_BYTES_MAX ? "it is larger than 256 KiB" : "it cannot be read");
	buffer_clear(badge);
}

void badges_read(struct service *service)
{
	const char *folder = service->options->wallet_badges;
	for (unsigned kind = 1; folder && kind < WALLET_KIND_END; kind++)
		read_badge(folder, (enum wallet_kind)kind, &service->badges[kind]);
}

void badges_free(struct service *service)
{
	for (unsigned kind = 0; kind < WALLET_KIND_END; kind++)
		buffer_free(&service->badges[kind]);
}

struct span badge_of(const struct service *service, enum wallet_kind kind)
{
	return buffer_span(&service->badges[kind]);
}
