/* The API key of a request, as far as its form shows. It is read twice: when the head is complete, so that a client without a
 * key cannot send a body, and when the request is handled. */
#include "http/bearer.h"

#include <strings.h>

static const char scheme[] = "bearer ";

bool bearer_guards(struct span path)
{
	return path.size >= 3 && memcmp(path.at, "/v1", 3) == 0 && (path.size == 3 || path.at[3] == '/');
}

static bool read_anew(struct span authorization, struct bearer *bearer)
{
	size_t begin = sizeof scheme - 1;
	if (authorization.size < begin) return false;
	if (strncasecmp((const char *)authorization.at, scheme, begin) != 0) return false;
	while (begin < authorization.size && authorization.at[begin] == ' ')
		begin++;
	return api_key_read(span_of(authorization.at + begin, authorization.size - begin), &bearer->account,
	                    bearer->key_hash);
}

bool bearer_read(struct span authorization, struct bearer *bearer)
{
	if (authorization.size && span_equal(authorization, span_of(bearer->text, bearer->text_size)))
		return true;
	bearer->text_size = 0;
	if (!read_anew(authorization, bearer)) return false;
	if (authorization.size > sizeof bearer->text) return true;
	memcpy(bearer->text, authorization.at, authorization.size);
	bearer->text_size = (uint8_t)authorization.size;
	return true;
}

enum cause bearer_judge(struct span authorization, unsigned count)
{
	size_t begin = sizeof scheme - 1;
	if (count == 0) return CAUSE_BEARER_MISSING;
	if (count > 1) return CAUSE_BEARER_TWICE;
	bool has_scheme = authorization.size >= begin &&
	                  strncasecmp((const char *)authorization.at, scheme, begin) == 0;
	return has_scheme ? CAUSE_BEARER_FORM : CAUSE_BEARER_SCHEME;
}
