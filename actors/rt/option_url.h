#pragma once
#include <stdbool.h>

/* Values of options that are URLs: http(s)://HOST[:PORT][/PATH], with a scheme in any case. */
bool option_is_url(const char *value);

/* Writes a URL's scheme in lower case, in place: links and origins are compared and shown as they are stored. Returns the fault
 * of a URL that names a user, as a sentence without the value; NULL: none. */
const char *option_url_settle(char *value);
