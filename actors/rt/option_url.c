#include "actors/rt/option_url.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char separator[] = "://";

bool option_is_url(const char *value)
{
	const char *host = strstr(value, separator);

	if (!host || (strncasecmp(value, "http://", 7) && strncasecmp(value, "https://", 8))) return false;
	host += strlen(separator);
	return *host && *host != '/' && host[strlen(host) - 1] != '/' && !strpbrk(host, " \t\"<>?#");
}

const char *option_url_settle(char *value)
{
	char *host = strstr(value, separator);

	if (!host) return NULL;
	for (char *at = value; at < host; at++)
		if (isupper((unsigned char)*at)) *at = (char)tolower((unsigned char)*at);
	host += strlen(separator);
	if (!memchr(host, '@', strcspn(host, "/"))) return NULL;
	return "the URL holds a user name or a password, which would be shown: give it without them";
}
