#pragma once
#include "schemas/buffer.h"

/* Text that others wrote, as HTML shows it. Right between tags and in quoted attributes: what could end either is escaped,
 * and characters that HTML forbids (controls, noncharacters) become U+FFFD. `text` is UTF-8. Pure. */
void html_text(struct buffer *out, struct span text);

/* The same in <bdi>, which keeps the direction of `text`, marks that turn it included, away from what stands around. */
void html_apart(struct buffer *out, struct span text);

/* The same for <title>, which holds no elements: marks of direction are left out. */
void html_plain(struct buffer *out, struct span text);

/* An absolute URL for a quoted attribute: what may not stand in one as it is becomes %XX, as a browser would send it. A
 * backslash too, which browsers would take for a slash. */
void html_url(struct buffer *out, struct span url);
