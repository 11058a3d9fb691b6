/* Classifies addresses: public servers, or addresses of this host, its network or special use.
 * A webhook goes to an address chosen by an account, from inside the operator's network. A free choice would reach
 * services that are closed to the account. So only addresses that the registries allocate for public use are
 * allowed. An IPv4 address has several spellings in IPv6; each is decoded before it is judged. */
#include "schemas/address.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum kind { PUBLIC, DOCUMENTATION, PRIVATE };
enum { BITS_OF_MAPPED = 96 };

struct row {
	uint8_t   from[16];
	unsigned  bits;
	enum kind kind;
};

#define BYTES(group) (group) >> 8, (group)&0xff
#define V4(a, b, c, d, bits, kind, what) \
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, BITS_OF_MAPPED + (bits), kind},
#define V6(a, b, c, d, bits, kind, what) {{BYTES(a), BYTES(b), BYTES(c), BYTES(d)}, bits, kind},
static const struct row rows[] = {
#include "schemas/address.def"
};
#undef V4
#undef V6

static const struct address_range mapped = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}, BITS_OF_MAPPED};
static const struct address_range nat64 = {{{0, 0x64, 0xff, 0x9b}}, 96};
static const struct address_range six_to_four = {{{0x20, 0x02}}, 16};
static const struct address_range given_out = {{{0x20}}, 3};

static bool begins_like(const uint8_t *address, const uint8_t *from, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(address, from, whole) != 0) return false;
	return rest == 0 || ((address[whole] ^ from[whole]) >> (8 - rest)) == 0;
}

static bool is_in(const struct address *address, const struct address_range *range)
{
	return begins_like(address->byte, range->from.byte, range->bits);
}

/* The operator's range. An IPv6 range wide enough to contain the mapped addresses does not apply to IPv4. */
static bool is_in_exception(const struct address *address, const struct address_range *range)
{
	return is_in(address, range) && (range->bits >= BITS_OF_MAPPED || !is_in(address, &mapped));
}

static struct address map(const void *four_bytes)
{
	struct address address = mapped.from;

	memcpy(address.byte + 12, four_bytes, 4);
	return address;
}

/* The IPv4 address that packets to `address` finally reach, or `address` itself. */
static struct address embedded_v4(const struct address *address)
{
	if (is_in(address, &nat64)) return map(address->byte + 12);
	if (is_in(address, &six_to_four)) return map(address->byte + 2);
	return *address;
}

/* ---- parsers and the printer ---- */

bool address_of(const struct sockaddr *socket_address, struct address *address)
{
	struct sockaddr_in  v4;
	struct sockaddr_in6 v6;

	if (socket_address->sa_family == AF_INET) {
		memcpy(&v4, socket_address, sizeof v4);
		*address = map(&v4.sin_addr);
		return true;
	}
	if (socket_address->sa_family != AF_INET6) return false;
	memcpy(&v6, socket_address, sizeof v6);
	memcpy(address->byte, &v6.sin6_addr, sizeof address->byte);
	return v6.sin6_scope_id == 0;
}

bool address_read_v4(const char *text, struct address *address)
{
	struct in_addr v4;

	/* inet_aton() also accepts white space and anything behind it as the end of an address. */
	if (text[strspn(text, "0123456789abcdefxABCDEFX.")] || !inet_aton(text, &v4)) return false;
	*address = map(&v4);
	return true;
}

bool address_read_v6(const char *text, struct address *address)
{
	return inet_pton(AF_INET6, text, address->byte) == 1;
}

void address_text(const struct address *address, char text[IP_TEXT])
{
	if (is_in(address, &mapped))
		inet_ntop(AF_INET, address->byte + 12, text, IP_TEXT);
	else
		inet_ntop(AF_INET6, address->byte, text, IP_TEXT);
}

bool address_range_has(const struct address_range *range, const struct address_range *part)
{
	return part->bits >= range->bits && is_in(&part->from, range);
}

bool address_range_read(const char *text, struct address_range *range)
{
	char        from[IP_TEXT];
	const char *slash = strchr(text, '/');
	size_t      size = slash ? (size_t)(slash - text) : sizeof from;
	char       *end = NULL;
	uint8_t     v4[4];
	long        bits;

	if (size >= sizeof from || !(slash[1] >= '0' && slash[1] <= '9')) return false;
	memcpy(from, text, size);
	from[size] = 0;
	bits = strtol(slash + 1, &end, 10);
	if (*end || bits > 128) return false;
	if (inet_pton(AF_INET, from, v4) == 1) {
		*range = (struct address_range){map(v4), (unsigned)bits + BITS_OF_MAPPED};
		return bits <= 32;
	}
	range->bits = (unsigned)bits;
	return address_read_v6(from, &range->from);
}

/* ---- verdicts ---- */

static enum kind kind_of(const struct address *address)
{
	struct address inside = embedded_v4(address);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (begins_like(inside.byte, rows[i].from, rows[i].bits)) return rows[i].kind;
	return is_in(&inside, &mapped) || is_in(&inside, &given_out) ? PUBLIC : PRIVATE;
}

static bool is_own(const struct address_rules *rules, const struct address *address)
{
	struct address inside = embedded_v4(address);

	for (unsigned i = 0; i < rules->own_count; i++)
		if (!memcmp(&rules->own[i], address, sizeof *address) ||
		    !memcmp(&rules->own[i], &inside, sizeof inside))
			return true;
	return false;
}

bool address_is_allowed(const struct address_rules *rules, const struct address *address)
{
	struct address inside = embedded_v4(address);

	if (!rules) return false;
	for (unsigned i = 0; i < rules->allowed_count; i++)
		if (is_in_exception(address, &rules->allowed[i]) ||
		    is_in_exception(&inside, &rules->allowed[i]))
			return true;
	return rules->allow_private;
}

bool address_may_dial(const struct address_rules *rules, const struct address *address)
{
	if (address_is_allowed(rules, address)) return true;
	return kind_of(address) == PUBLIC && !(rules && is_own(rules, address));
}

bool address_may_name(const struct address_rules *rules, const struct address *address)
{
	return kind_of(address) != PRIVATE || address_is_allowed(rules, address);
}
