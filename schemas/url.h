#pragma once
#include "schemas/address.h"
#include "schemas/buffer.h"
#include "schemas/cause.h"

/* An endpoint's URL, as text; nothing is looked up. `text` is what a caller wrote, of any bytes.
 *
 * url_check(): may an account name it? https alone; no credentials; no name that means this host or a private network
 * (localhost, .internal); no address, in whatever spelling, that `rules` do not let be named (NULL: no exceptions).
 * A range among the exceptions lifts the refusal of localhost when it holds the loopback's address, and that of
 * .internal in any case: there the address that is dialled decides. allow_private lifts both.
 * Units: at most URL_BYTES_MAX bytes. Errors: ERR_INVALID_WEBHOOK_URL, ERR_NO_MEMORY. */
must_check enum err url_check(struct span text, const struct address_rules *rules);
/* The same of an image's, which may be http too. */
must_check enum err url_check_image(struct span text, const struct address_rules *rules);

/* The same, by its cause, whose error it is; CAUSE_NONE: none. */
enum cause url_fault(struct span text, const struct address_rules *rules);

/* Appends the form in which two URLs of one endpoint are equal, and which is what is dialled: the scheme and the host in
 * lower case, the host as A-label or as an address in its usual form, no default port, "/" for an empty path, no
 * fragment; path and query as they were written. It checks the form, not the rules. Errors: as above. */
must_check enum err url_normal(struct span text, struct buffer *out);

/* The same, taken apart. `name` is the host without brackets and without a final dot, `origin` HOST:PORT with brackets as
 * curl's lists of hosts want them. Errors: as above. */
enum { URL_NAME_TEXT = 256, URL_ORIGIN_TEXT = URL_NAME_TEXT + 8 };
struct url {
	char           name[URL_NAME_TEXT];
	char           origin[URL_ORIGIN_TEXT];
	bool           is_address;
	struct address address;  /* only if is_address */
	bool           is_plain; /* http: an image's alone may be */
	uint16_t       port;
	struct span    rest; /* path and query, borrowed from the text; may lack the path */
};
must_check enum err url_read(struct span text, struct url *url);
must_check enum err url_read_image(struct span text, struct url *url);
void                url_write(const struct url *url, struct buffer *out);
