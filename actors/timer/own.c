/* This host's addresses. Its public addresses are refused like loopback: a service there may trust callers on the same host.
 * Private addresses are refused anyway and need no entry. */
#include "actors/timer/own.h"

#include <ifaddrs.h>
#include <stddef.h>

enum err own_addresses(struct address_rules *rules)
{
	struct ifaddrs *interfaces = NULL;
	struct address  own[ADDRESS_OWN_MAX];
	unsigned        count = 0;
	enum err        err = OK;

	if (getifaddrs(&interfaces)) return ERR_IO;
	for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next) {
		struct address address;
		if (!one->ifa_addr || !address_of(one->ifa_addr, &address)) continue;
		if (!address_may_dial(NULL, &address)) continue;
		if (count == ADDRESS_OWN_MAX) {
			err = ERR_TOO_LARGE;
			break;
		}
		own[count++] = address;
	}
	memcpy(rules->own, own, count * sizeof *own);
	rules->own_count = count;
	freeifaddrs(interfaces);
	return err;
}
