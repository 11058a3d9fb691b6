#pragma once
#include "schemas/address.h"
#include "schemas/buffer.h"
#include "schemas/cause.h"

/* An endpoint's URL as text, without lookups. `text` is the caller's, of any bytes.
 * url_check(): may an account name it? https alone; no credentials; no name of this host or a private network
 * (localhost, .internal); no address, in any spelling, that `rules` forbid (NULL: no exceptions). An exception with
 * the loopback address permits localhost; any exception permits .internal, where the dialled address decides.
 * allow_private permits both. Units: at most URL_BYTES_MAX bytes. Errors: ERR_INVALID_WEBHOOK_URL, ERR_NO_MEMORY. */
must_check enum err url_check(struct span text, const struct address_rules *rules);
/* The same for an image's URL, which may also be http. */
must_check enum err url_check_image(struct span text, const struct address_rules *rules);

/* The same, returning the cause of the error; CAUSE_NONE: none. */
enum cause url_fault(struct span text, const struct address_rules *rules);

/* Appends the normal form, which is equal for two URLs of one endpoint and is the one dialled: scheme and host in
 * lower case, the host as A-label or as an address in its usual form, no default port, "/" for an empty path, no
 * fragment; path and query as written. Checks the form, not the rules. Errors: as above. */
must_check enum err url_normal(struct span text, struct buffer *out);

/* The same, split into parts. `name` is the host without brackets and final dot, `origin` is HOST:PORT with brackets
 * as curl's host lists require. Errors: as above. */
enum { URL_NAME_TEXT = 256, URL_ORIGIN_TEXT = URL_NAME_TEXT + 8 };
struct url {
	char           name[URL_NAME_TEXT];
	char           origin[URL_ORIGIN_TEXT];
	bool           is_address;
	struct address address;  /* only if is_address */
	bool           is_plain; /* http: only for images */
	uint16_t       port;
	struct span    rest; /* path and query, borrowed from the text; may lack the path */
};
must_check enum err url_read(struct span text, struct url *url);
must_check enum err url_read_image(struct span text, struct url *url);
void                url_write(const struct url *url, struct buffer *out);
