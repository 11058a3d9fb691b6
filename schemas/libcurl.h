#pragma once
#include <stdbool.h>

/* libcurl, loaded at the first use. It depends on some thirty libraries, of LDAP, Kerberos, SSH and RTMP among others. Linked in
 * the usual way they took half of the time that a command needs to start, and lay in the memory of every process, although only
 * the timer calls URLs. Files that use libcurl include <curl/curl.h>; libcurl.c has the functions. */

/* False: it cannot be loaded, and `*fault` says why (static text). curl_url() and curl_global_init() try it too: they then return
 * NULL and CURLE_FAILED_INIT. Threads may call it beside each other. */
bool libcurl_load(const char **fault);
