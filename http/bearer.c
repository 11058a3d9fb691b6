/* The key a request carries, as far as its form tells. It is read twice: as soon as a head is whole, so that nobody
 * sends a body who has shown no key, and when the request is handled. */
#include "http/bearer.h"

#include <strings.h>

static const char scheme[] = "bearer ";

bool bearer_guards(struct span path)
{
	return path.size >= 3 && memcmp(path.at, "/v1", 3) == 0 && (path.size == 3 || path.at[3] == '/');
}

bool bearer_read(struct span authorization, struct account_id *account, uint8_t hash[32])
{
	size_t begin = sizeof scheme - 1;
	if (authorization.size < begin) return false;
	if (strncasecmp((const char *)authorization.at, scheme, begin) != 0) return false;
	while (begin < authorization.size && authorization.at[begin] == ' ')
		begin++;
	return api_key_read(span_of(authorization.at + begin, authorization.size - begin), account, hash);
}
