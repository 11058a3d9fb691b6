#pragma once
#include "schemas/span.h"

#include <sys/socket.h>

/* An address of a host: IPv6, or IPv4 as ::ffff:a.b.c.d. What is an IPv4 address in other clothes (NAT64, 6to4) is kept
 * as it was written; the functions below look underneath. */
struct address {
	uint8_t byte[16];
};
enum { IP_TEXT = 46 };

/* Readers and the writer. A socket's address of another family, or with a scope (then it means something on this
 * host's links alone), is none. Texts: what a resolver takes for an address without asking anybody: IPv6 as RFC 4291
 * has it; IPv4 in one to four parts, each decimal, octal or hexadecimal. Errors: false when it is none. */
bool address_of(const struct sockaddr *socket_address, struct address *address);
bool address_read_v4(const char *text, struct address *address);
bool address_read_v6(const char *text, struct address *address);
void address_text(const struct address *address, char text[IP_TEXT]);

/* A block of addresses. The text is ADDRESS/BITS, of either family, 0 to 32 or to 128 bits; what follows the
 * bits in ADDRESS is not looked at. Errors: false when it is none. */
struct address_range {
	struct address from;
	unsigned       bits; /* of 128: an IPv4 range has 96 more than were written */
};
bool address_range_read(const char *text, struct address_range *range);

/* Whom may we call? Zeroed: nobody but strangers. `allowed` and `allow_private` are the operator's exceptions;
 * `own` are addresses of this host, which nobody but the operator may name either. */
enum { ADDRESS_RANGES_MAX = 32, ADDRESS_OWN_MAX = 1024 };
struct address_rules {
	bool                 allow_private;
	unsigned             allowed_count, own_count;
	struct address_range allowed[ADDRESS_RANGES_MAX];
	struct address       own[ADDRESS_OWN_MAX];
};

/* May this address be dialled; may it be written in a URL? They differ in what is documentation's: nothing answers there,
 * but nobody is attacked by writing it down. An address that carries an IPv4 address (mapped, NAT64, 6to4) is judged by
 * that one; an exception may name either. `rules` NULL: no exceptions. Units: none. Errors: none. */
bool address_may_dial(const struct address_rules *rules, const struct address *address);
bool address_may_name(const struct address_rules *rules, const struct address *address);

/* Is it one of the exceptions? For names that stand for an address without a look-up. Errors: none. */
bool address_is_allowed(const struct address_rules *rules, const struct address *address);
