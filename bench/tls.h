#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* TLS as a client: 1.2 or later, only with a server whose certificate for `host` leads to one of `ca_path`. Errors:
 * tls_client_new: false: the certificates are unreadable or there is no memory. */
struct tls_client;
struct ssl_st; /* OpenSSL's connection, so that callers do not need its headers */

bool tls_client_new(struct tls_client **client, const char *ca_path, const char *host);
void tls_client_destroy(struct tls_client **client);

/* Why the last connection could not be made: a constant text. */
const char *tls_client_fault(const struct tls_client *client);

/* Does the handshake over a connected and still blocking socket, which stays the caller's. NULL: tls_client_fault says why. */
struct ssl_st *tls_begin(struct tls_client *client, int fd);
void           tls_end(struct ssl_st **tls);

/* As send and recv on a non-blocking socket: -1 and EAGAIN for "later", 0 for the end, ECONNRESET for all else. tls_recv
 * continues while bytes have arrived and it has room, so less than `size` means there is no more. */
ssize_t tls_send(struct ssl_st *tls, const char *bytes, size_t size);
ssize_t tls_recv(struct ssl_st *tls, char *bytes, size_t size);
