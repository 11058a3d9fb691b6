#pragma once
#include "schemas/address.h"

/* Begins a TCP connection to one address. Every connection of the timer is made here, and each address is judged just before
 * its socket is made. What is written is sent at once, however small it is. */
enum dialled {
	DIAL_BEGUN,     /* *fd is non-blocking, and writable once it is connected or has failed */
	DIAL_FORBIDDEN, /* the rules do not allow the address */
	DIAL_FAILED,    /* errno says why; also if this host lacks the family */
	DIAL_LACKED,    /* likewise: no descriptor or no memory for a socket */
};
/* `rules` as for address_may_dial(). Sets *fd to -1 unless it returns DIAL_BEGUN. */
enum dialled socket_dial(const struct address_rules *rules, const struct address *address, uint16_t port,
                         int *fd);
