/* Hosts: their known addresses, and the places that all owners hold there together.
 *
 * A gateway that thousands of owners name must not hold every place when it falls silent, and a few owners must not keep
 * others from it. So endpoints for which it is slow share half of its places. Once half are taken, an owner gets at most a few
 * at a time. Two owners whose attempts all hang can fill one half, but it takes dozens to fill the other. */
#include "actors/timer/egress_inside.h"
#include "schemas/keyed_hash.h"
#include "schemas/limits.h"

#include <stdlib.h>
#include <string.h>

struct host *host_of(struct egress *egress, const struct url *url)
{
	struct host_bucket *bucket = &egress->host_bucket[keyed_hash(span_str(url->origin)) % BUCKET_COUNT];
	struct host        *host;

	LIST_FOREACH(host, bucket, in_bucket)
	if (!strcmp(host->origin, url->origin)) return host;
	host = calloc(1, sizeof *host);
	if (!host) return NULL;
	host->egress = egress;
	host->is_address = url->is_address;
	host->port = url->port;
	if (url->is_address) host->address[host->address_count++] = url->address;
	memcpy(host->name, url->name, sizeof host->name);
	memcpy(host->origin, url->origin, sizeof host->origin);
	TAILQ_INIT(&host->looking);
	LIST_INSERT_HEAD(bucket, host, in_bucket);
	return host;
}

bool host_has_room(const struct endpoint *endpoint)
{
	const struct host *host = endpoint->host;
	uint32_t           max = host->egress->options.host_max, half = max - max / 2;

	if (host->running >= max) return false;
	if (endpoint->is_doubtful && host->doubtful_running >= half) return false;
	return host->running < half || endpoint->running < EGRESS_CROWDED_MAX;
}

/* ---- addresses ---- */

static bool is_v4(const struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address->byte, mapped, sizeof mapped);
}

static bool has_address(const struct host *host, const struct address *address)
{
	for (unsigned i = 0; i < host->address_count; i++)
		if (!memcmp(&host->address[i], address, sizeof *address)) return true;
	return false;
}

/* Alternates the families, IPv6 first, so that a family without a route costs one step at a time (RFC 8305, section 4). The
 * order within a family stays. */
static void interleave(struct host *host)
{
	struct address of[2][RESOLVED_MAX];
	unsigned       count[2] = {0}, next[2] = {0};

	for (unsigned i = 0; i < host->address_count; i++) {
		bool v4 = is_v4(&host->address[i]);
		of[v4][count[v4]++] = host->address[i];
	}
	for (unsigned i = 0; i < host->address_count; i++) {
		bool v4 = i % 2;
		if (next[v4] == count[v4]) v4 = !v4;
		host->address[i] = of[v4][next[v4]++];
	}
}

void host_know(struct host *host, const struct resolved *resolved)
{
	mono_us until = mono_after(host->egress->now, resolved->lives);

	if (!host->is_heard) host->address_count = 0;
	host->is_heard = true;
	if (resolved->is_last) host->is_looked_up = false;
	host->why = resolved->why;
	if (!resolved->count) return;
	if (host->address_count == 0 || until.v < host->known_until.v) host->known_until = until;
	for (unsigned i = 0; i < resolved->count && host->address_count < RESOLVED_MAX; i++)
		if (!has_address(host, &resolved->address[i]))
			host->address[host->address_count++] = resolved->address[i];
	interleave(host);
}

bool host_awaits_family(const struct host *host)
{
	return host->is_looked_up && host->address_count && is_v4(&host->address[0]);
}

void host_ask(struct host *host)
{
	if (host->is_looked_up) return;
	host->is_looked_up = true;
	host->is_heard = false;
	host->asked_at = host->egress->now;
}

bool host_is_known(const struct host *host, mono_us now)
{
	return host->is_address || (host->is_heard && host->address_count && now.v < host->known_until.v);
}

/* ---- cleanup ---- */

static void host_free(struct host *host)
{
	LIST_REMOVE(host, in_bucket);
	free(host);
}

void host_settle(struct host *host)
{
	if (host->endpoint_count == 0 && !host->is_looked_up) host_free(host);
}

void hosts_free(struct egress *egress)
{
	struct host *host;

	for (unsigned i = 0; i < BUCKET_COUNT; i++)
		while ((host = LIST_FIRST(&egress->host_bucket[i])))
			host_free(host);
}
