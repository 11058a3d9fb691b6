#pragma once
#include <netinet/in.h>
#include <stdbool.h>

/* Where the servers of this folder listen: IPv4 addresses as "HOST:PORT"; port 0: a free one. */

/* False: `text` is no such address. */
bool address_read(const char *text, struct sockaddr_in *address);

/* A non-blocking listening socket, which can share its port with others; *address gets the port that the kernel chose. Errors:
 * -1 and errno. */
int listen_on(struct sockaddr_in *address);

/* Prints `ready NAME=HOST:PORT` to stdout, for the caller that waits for it. */
void ready_print(const char *name, const struct sockaddr_in *address);
