#pragma once
#include "schemas/span.h"

#include <sys/socket.h>

/* An address of a host: IPv6, or IPv4 as ::ffff:a.b.c.d. An IPv4 address embedded in an IPv6 one (NAT64, 6to4) is
 * kept as written; the functions below decode it. */
struct address {
	uint8_t byte[16];
};
enum { IP_TEXT = 46 };

/* Parsers and a printer. A socket's address of another family, or with a scope (valid only on this host's links), is
 * refused. Texts: the forms a resolver accepts without a lookup: IPv6 as in RFC 4291; IPv4 in one to four parts,
 * each decimal, octal or hexadecimal. Errors: false if invalid. */
bool address_of(const struct sockaddr *socket_address, struct address *address);
bool address_read_v4(const char *text, struct address *address);
bool address_read_v6(const char *text, struct address *address);
void address_text(const struct address *address, char text[IP_TEXT]);

/* A block of addresses. The text is ADDRESS/BITS, of either family, 0 to 32 or to 128 bits; bits of ADDRESS beyond
 * BITS are ignored. Errors: false if invalid. */
struct address_range {
	struct address from;
	unsigned       bits; /* of 128: an IPv4 range has 96 more than written */
};
bool address_range_read(const char *text, struct address_range *range);
bool address_range_has(const struct address_range *range, const struct address_range *part); /* all of it */

/* Which addresses may be called. Zeroed: public ones only. `allowed` and `allow_private` are the operator's
 * exceptions; `own` are addresses of this host, which only the operator may name. */
enum { ADDRESS_RANGES_MAX = 32, ADDRESS_OWN_MAX = 1024 };
struct address_rules {
	bool                 allow_private;
	unsigned             allowed_count, own_count;
	struct address_range allowed[ADDRESS_RANGES_MAX];
	struct address       own[ADDRESS_OWN_MAX];
};

/* May this address be dialled; may a URL name it? They differ for documentation addresses: no server answers there,
 * but naming one does no harm. An address with an embedded IPv4 address (mapped, NAT64, 6to4) is judged by that one;
 * an exception may name either. `rules` NULL: no exceptions. Units: none. Errors: none. */
bool address_may_dial(const struct address_rules *rules, const struct address *address);
bool address_may_name(const struct address_rules *rules, const struct address *address);

/* Is it an exception? For names that stand for an address without a lookup. Errors: none. */
bool address_is_allowed(const struct address_rules *rules, const struct address *address);
