#pragma once
#include "schemas/buffer.h"

/* Escapes untrusted text for HTML, between tags and in quoted attributes. Characters that HTML forbids (controls,
 * noncharacters) become U+FFFD. `text` is UTF-8. Pure. */
void html_text(struct buffer *out, struct span text);

/* The same in <bdi>, so that the text's direction, including its direction marks, does not affect the surroundings. */
void html_apart(struct buffer *out, struct span text);

/* The same for <title>, which allows no elements: direction marks are left out. */
void html_plain(struct buffer *out, struct span text);

/* An absolute URL for a quoted attribute. Forbidden characters become %XX, as a browser sends them. So does a backslash, which
 * browsers would take for a slash. */
void html_url(struct buffer *out, struct span url);
