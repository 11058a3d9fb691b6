/* Hosts: the addresses that are known of each, and the places that all its owners hold there together.
 *
 * A gateway that thousands of owners name must not hold every place there is when it falls silent, nor may a few owners
 * keep the others from it. So those it is slow for share half of its places, and once half of them are taken nobody else
 * gets more than a few at a time: two owners who let every attempt hang may fill one half, but it takes dozens to fill
 * the other. */
#include "actors/timer/egress_inside.h"
#include "schemas/keyed_hash.h"
#include "schemas/limits.h"

#include <stdio.h>
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

/* Without the leading + libcurl would keep what it is told for ever. */
void host_know(struct host *host, const struct resolved *resolved)
{
	size_t size = sizeof host->origin + RESOLVED_MAX * (IP_TEXT + 3), used;

	free(host->known);
	host->known = resolved->count ? malloc(size) : NULL;
	host->known_until = mono_after(host->egress->now, resolved->lives);
	if (!host->known) return;
	used = (size_t)snprintf(host->known, size, "+%s:", host->origin);
	for (unsigned i = 0; i < resolved->count; i++) {
		char text[IP_TEXT];
		address_text(&resolved->address[i], text);
		used += (size_t)snprintf(host->known + used, size - used,
		                         strchr(text, ':') ? "%s[%s]" : "%s%s", i ? "," : "", text);
	}
}

bool host_is_known(const struct host *host, mono_us now)
{
	return host->is_address || (host->known && now.v < host->known_until.v);
}

/* ---- the end ---- */

static void host_free(struct host *host)
{
	LIST_REMOVE(host, in_bucket);
	free(host->known);
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
