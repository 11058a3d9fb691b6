/* Two small files, read once: no request may wait for a disk. */
#include "http/badges.h"

#include "actors/rt/named_file.h"

#include <stdio.h>
#include <unistd.h>

static void read_badge(const char *folder, enum wallet_kind kind, struct buffer *badge)
{
	char     path[4096];
	mono_us  until;
	ssize_t  got = 1;
	uint8_t *room = NULL;
	int      size = snprintf(path, sizeof path, "%s/%s.svg", folder, wallet_kind_text(kind));
	int      fd = size > 0 && (size_t)size < sizeof path ? named_file_open(path, &until) : -1;
	if (fd < 0) return;
	while (got > 0 && badge->size <= BADGE_BYTES_MAX && (room = buffer_reserve(badge, 16384)))
		if ((got = named_file_read(fd, room, 16384, until)) > 0) badge->size += (size_t)got;
	close(fd);
	if (got != 0 || badge->failed || badge->size > BADGE_BYTES_MAX) buffer_clear(badge);
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
