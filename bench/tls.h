#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* TLS as a client: 1.2 or later, and nobody but a server whose certificate for `host` leads to one of `ca_path`.
 * Errors: tls_client_new is false when the certificates cannot be read or there is no memory. */
struct tls_client;
struct ssl_st; /* OpenSSL's connection, so that not everybody needs its headers */

bool tls_client_new(struct tls_client **client, const char *ca_path, const char *host);
void tls_client_destroy(struct tls_client **client);

/* Why the last connection could not be made: a constant text. */
const char *tls_client_fault(const struct tls_client *client);

/* Shakes hands over a connected and still blocking socket, which stays the caller's. NULL: tls_client_fault says why. */
struct ssl_st *tls_begin(struct tls_client *client, int fd);
void           tls_end(struct ssl_st **tls);

/* As send and recv on a socket that does not block: -1 and EAGAIN for "later", 0 for the end, ECONNRESET for all else.
 * tls_recv goes on as long as something has arrived that it has room for, so that less than `size` means there is no more. */
ssize_t tls_send(struct ssl_st *tls, const char *bytes, size_t size);
ssize_t tls_recv(struct ssl_st *tls, char *bytes, size_t size);
