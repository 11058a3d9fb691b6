/* Reads answers of name servers and of the hosts file. */
#include "actors/timer/resolver_inside.h"

#include <netdb.h>
#include <string.h>

static void gather_one(const struct sockaddr *from, int lives_s, struct resolved *resolved)
{
	dur_us lives;

	if (lives_s < DNS_KEPT_S_MIN) lives_s = DNS_KEPT_S_MIN;
	if (lives_s > DNS_KEPT_S_MAX) lives_s = DNS_KEPT_S_MAX;
	lives.v = lives_s * US_PER_SEC;
	if (resolved->count == RESOLVED_MAX || !address_of(from, &resolved->address[resolved->count])) return;
	if (resolved->count == 0 || lives.v < resolved->lives.v) resolved->lives = lives;
	resolved->count++;
}

/* The first addresses, in the server's order, and the shortest of their lifetimes. */
static int gather_four(const uint8_t *answer, int size, struct resolved *resolved)
{
	struct ares_addrttl found[RESOLVED_MAX];
	int                 count = RESOLVED_MAX, status;

	status = ares_parse_a_reply(answer, size, NULL, found, &count);
	for (int i = 0; !status && i < count; i++) {
		struct sockaddr_in one = {.sin_family = AF_INET, .sin_addr = found[i].ipaddr};
		gather_one((struct sockaddr *)&one, found[i].ttl, resolved);
	}
	return status;
}

static int gather_six(const uint8_t *answer, int size, struct resolved *resolved)
{
	struct ares_addr6ttl found[RESOLVED_MAX];
	int                  count = RESOLVED_MAX, status;

	status = ares_parse_aaaa_reply(answer, size, NULL, found, &count);
	for (int i = 0; !status && i < count; i++) {
		struct sockaddr_in6 one = {.sin6_family = AF_INET6};
		memcpy(&one.sin6_addr, &found[i].ip6addr, sizeof one.sin6_addr);
		gather_one((struct sockaddr *)&one, found[i].ttl, resolved);
	}
	return status;
}

int resolver_gather(int family, const uint8_t *answer, int size, struct resolved *resolved)
{
	return (family == AF_INET ? gather_four : gather_six)(answer, size, resolved);
}

void resolver_gather_hosts(const struct ares_addrinfo *info, struct resolved *resolved)
{
	for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next)
		gather_one(node->ai_addr, node->ai_ttl, resolved);
}

enum { HEADER_BYTES = 12, FLAGS_AT = 2, TRUNCATED_BIT = 2, UDP_BYTES_MAX = 512 };

/* Without an extension that the query did not use, an answer by UDP is at most 512 bytes. c-ares cuts longer ones. */
bool resolver_is_truncated(int status, const uint8_t *answer, int size)
{
	if (!answer || size < HEADER_BYTES) return false;
	return answer[FLAGS_AT] & TRUNCATED_BIT || (status == ARES_EBADRESP && size >= UDP_BYTES_MAX);
}

enum attempt_detail resolver_why(int status)
{
	switch (status) {
	case ARES_ENOTFOUND: return DETAIL_DNS_NO_NAME;
	case ARES_SUCCESS:
	case ARES_ENODATA: return DETAIL_DNS_NO_ADDRESS;
	case ARES_ETIMEOUT: return DETAIL_DNS_SILENT;
	default: return DETAIL_DNS_FAILED;
	}
}
