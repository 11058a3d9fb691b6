#pragma once
#include <stdbool.h>

/* libcurl, loaded at the first use. It depends on some thirty libraries, of LDAP, Kerberos, SSH and RTMP among others. Linked in
 * the usual way they took half of the time that a command needs to start, and lay in the memory of every process, although only
 * shards check URLs and only the timer calls them. Files that use libcurl include <curl/curl.h>; libcurl.c has the functions. */

/* False: it cannot be loaded, and `*fault` says why (static text). That is final for the process, so processes that need libcurl
 * load it when they start. curl_url() and curl_global_init() load it too, and fail with NULL and CURLE_FAILED_INIT; then nothing
 * but functions that free may be called. Threads may call it beside each other. */
bool libcurl_load(const char **fault);
