#pragma once
#include <netinet/in.h>
#include <stdbool.h>

/* Where the servers of this folder listen: IPv4 addresses as "HOST:PORT", port 0 for one that is free. */

/* Errors: false when `text` is no such address. */
bool address_read(const char *text, struct sockaddr_in *address);

/* A listening socket, non-blocking, beside others on the same port; *address gets the port that the kernel chose.
 * Errors: -1 and errno. */
int listen_on(struct sockaddr_in *address);

/* One line to stdout, for whoever started the program and waits: `ready NAME=HOST:PORT`. */
void ready_print(const char *name, const struct sockaddr_in *address);
