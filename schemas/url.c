/* Which URLs may be called, and when two are equal.
 * URL parsers differ, and attacks exploit a difference between the parser that checks and the one that dials. So
 * there is one parser, libcurl's, combined with strict rules of our own. Its result is serialised again (url_write),
 * so that the dialler sees exactly what was checked. Every form that a resolver takes for an address without a
 * lookup (one number, octal, hexadecimal, missing parts, digits of other scripts) is read as an address; a text that
 * only resembles one is refused. */
#include "schemas/url.h"
#include "schemas/limits.h"

#include <curl/curl.h>
#include <idn2.h>
#include <stdio.h>
#include <stdlib.h>

enum { PORT_HTTP = 80, PORT_HTTPS = 443, LABEL_BYTES_MAX = 63, NAME_BYTES_MAX = 253 };
static const char scheme[] = "https://", plain_scheme[] = "http://";

/* Requires printable ASCII behind the host; the host may have other characters. Parsers differ most about control
 * characters and blanks, and some take a backslash for a slash. */
static enum cause check_bytes(struct span text, size_t host_end)
{
	for (size_t i = 0; i < text.size; i++) {
		uint8_t byte = text.at[i];
		if (byte <= ' ' || byte == 0x7f || byte == '\\') return CAUSE_URL_BLANK;
		if (byte > 0x7f && i >= host_end) return CAUSE_URL_LETTERS;
	}
	return CAUSE_NONE;
}

static size_t find_any(struct span text, size_t from, const char *set)
{
	while (from < text.size && !strchr(set, text.at[from]))
		from++;
	return from;
}

/* Non-empty labels of letters, digits, - and _. The caller cuts one final dot. */
static bool is_name(const char *name)
{
	size_t label = 0, size = strlen(name);

	for (size_t i = 0; i < size; i++) {
		if (name[i] == '.') {
			if (label == 0) return false;
			label = 0;
		} else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", name[i]) ||
		           ++label > LABEL_BYTES_MAX) {
			return false;
		}
	}
	return label > 0 && size <= NAME_BYTES_MAX;
}

/* No top-level domain is a number: such a name is a misspelt address, or a trick. */
static bool ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x') return !last[2 + strspn(last + 2, "0123456789abcdef")];
	return !last[strspn(last, "0123456789")];
}

static void cut_final_dot(char *name)
{
	size_t size = strlen(name);

	if (size > 0 && name[size - 1] == '.') name[size - 1] = 0;
}

static enum cause take_v6(const char *host, struct url *url)
{
	size_t size = strlen(host);
	char   inside[IP_TEXT];

	if (size < 2 || host[size - 1] != ']' || size - 2 >= sizeof inside) return CAUSE_URL_HOST;
	memcpy(inside, host + 1, size - 2);
	inside[size - 2] = 0;
	url->is_address = address_read_v6(inside, &url->address);
	return url->is_address ? CAUSE_NONE : CAUSE_URL_HOST;
}

/* Has it characters that need an A-label, or is it one? Other names bypass libidn2, which is stricter about hyphens
 * than the registries. */
static bool is_foreign(const char *host)
{
	for (const char *at = host; *at; at++)
		if ((uint8_t)*at > 0x7f || ((at == host || at[-1] == '.') && !strncasecmp(at, "xn--", 4)))
			return true;
	return false;
}

/* In lower case, as A-labels, with digits and dots of other scripts as ASCII. */
static enum cause take_name(const char *host, struct url *url)
{
	char *label = NULL;
	int   status = IDN2_OK;

	if (is_foreign(host)) status = idn2_to_ascii_8z(host, &label, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (status == IDN2_MALLOC) return CAUSE_NO_MEMORY;
	if (status != IDN2_OK) return CAUSE_URL_HOST;
	snprintf(url->name, sizeof url->name, "%s", label ? label : host);
	idn2_free(label);
	for (char *at = url->name; *at; at++)
		if (*at >= 'A' && *at <= 'Z') *at = (char)(*at - 'A' + 'a');
	return CAUSE_NONE;
}

static enum cause take_host(const char *host, struct url *url)
{
	enum cause cause;
	char       text[URL_NAME_TEXT];

	if (strlen(host) >= sizeof text) return CAUSE_URL_HOST;
	if (*host == '[') return take_v6(host, url);
	if ((cause = take_name(host, url))) return cause;
	memcpy(text, url->name, sizeof text);
	cut_final_dot(text);
	if (!is_name(text)) return CAUSE_URL_HOST;
	url->is_address = address_read_v4(text, &url->address);
	return url->is_address || !ends_in_number(text) ? CAUSE_NONE : CAUSE_URL_HOST;
}

/* libcurl's parse of the part between the scheme and the path. */
static enum cause take_authority(const char *authority, struct url *url)
{
	enum cause  cause = CAUSE_NO_MEMORY;
	CURLU      *reading = curl_url();
	char       *host = NULL, *port = NULL, *zone = NULL;
	CURLUcode   status;
	const char *colon;

	if (!reading) return CAUSE_NO_MEMORY;
	status = curl_url_set(reading, CURLUPART_URL, authority, CURLU_DISALLOW_USER | CURLU_PATH_AS_IS);
	if (!status) status = curl_url_get(reading, CURLUPART_HOST, &host, 0);
	if (!status) status = curl_url_get(reading, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	if (status == CURLUE_OUT_OF_MEMORY) goto out;
	cause = status == CURLUE_BAD_PORT_NUMBER ? CAUSE_URL_PORT : CAUSE_URL_HOST;
	/* A zone names a link of this host; libcurl strips it from the host. */
	if (status || !curl_url_get(reading, CURLUPART_ZONEID, &zone, 0)) goto out;
	url->port = (uint16_t)strtoul(port, NULL, 10);
	cause = CAUSE_URL_PORT;
	if (url->port == 0) goto out;
	if ((cause = take_host(host, url))) goto out;
	if (url->is_address) address_text(&url->address, url->name);
	cut_final_dot(url->name);
	colon = strchr(url->name, ':');
	snprintf(url->origin, sizeof url->origin, colon ? "[%s]:%u" : "%s:%u", url->name, url->port);
out:
	curl_free(host);
	curl_free(port);
	curl_free(zone);
	curl_url_cleanup(reading);
	return cause;
}

static bool begins_with(struct span text, const char *begin)
{
	size_t size = strlen(begin);
	return text.size >= size && !strncasecmp((const char *)text.at, begin, size);
}

static enum cause read_url(struct span text, bool may_be_plain, struct url *url)
{
	char        authority[URL_BYTES_MAX + 1];
	const char *begin = scheme;
	size_t      host_end, fragment;
	enum cause  cause;

	*url = (struct url){.is_plain = may_be_plain && begins_with(text, plain_scheme)};
	if (url->is_plain) begin = plain_scheme;
	if (text.size > URL_BYTES_MAX) return CAUSE_URL_LONG;
	if (!begins_with(text, begin))
		return text.size && *text.at <= ' ' ? CAUSE_URL_BLANK : CAUSE_URL_SCHEME;
	host_end = find_any(text, strlen(begin), "/?#");
	if ((cause = check_bytes(text, host_end))) return cause;
	memcpy(authority, text.at, host_end);
	authority[host_end] = 0;
	/* libcurl ignores an empty name before the @, which still is not part of a host. */
	if (strchr(authority, '@')) return CAUSE_URL_CREDENTIALS;
	if (host_end == strlen(begin) || text.at[strlen(begin)] == ':') return CAUSE_URL_NO_HOST;
	fragment = find_any(text, host_end, "#");
	url->rest = span_of(text.at + host_end, fragment - host_end);
	return take_authority(authority, url);
}

enum err url_read(struct span text, struct url *url)
{
	return cause_err(read_url(text, false, url));
}

enum err url_read_image(struct span text, struct url *url)
{
	return cause_err(read_url(text, true, url));
}

void url_write(const struct url *url, struct buffer *out)
{
	buffer_text(out, url->is_plain ? plain_scheme : scheme);
	if (url->port == (url->is_plain ? PORT_HTTP : PORT_HTTPS))
		buffer_append(out, url->origin, (size_t)(strrchr(url->origin, ':') - url->origin));
	else
		buffer_text(out, url->origin);
	if (url->rest.size == 0 || url->rest.at[0] != '/') buffer_byte(out, '/');
	buffer_append(out, url->rest.at, url->rest.size);
}

enum err url_normal(struct span text, struct buffer *out)
{
	struct url url;
	enum err   err = url_read(text, &url);

	if (err) return err;
	url_write(&url, out);
	return out->failed ? ERR_NO_MEMORY : OK;
}

/* ---- the rules ---- */

/* `name` itself, or a name under it. */
static bool is_under(const char *name, const char *top)
{
	size_t size = strlen(name), top_size = strlen(top);

	if (size < top_size || strcmp(name + size - top_size, top) != 0) return false;
	return size == top_size || name[size - top_size - 1] == '.';
}

static bool allows_loopback(const struct address_rules *rules)
{
	struct address v4, v6;

	must(address_read_v4("127.0.0.1", &v4) && address_read_v6("::1", &v6));
	return address_is_allowed(rules, &v4) || address_is_allowed(rules, &v6);
}

/* Names under .internal stand for hosts of a private network: an exception for this host alone is none for them. */
static bool allows_networks(const struct address_rules *rules)
{
	struct address_range v4, v6;

	if (!rules || rules->allow_private) return rules != NULL;
	must(address_range_read("127.0.0.0/8", &v4) && address_range_read("::1/128", &v6));
	for (unsigned i = 0; i < rules->allowed_count; i++) {
		const struct address_range *range = &rules->allowed[i];
		if (!address_range_has(&v4, range) && !address_range_has(&v6, range)) return true;
	}
	return false;
}

static enum cause check(const struct url *url, const struct address_rules *rules)
{
	if (url->is_address) return address_may_name(rules, &url->address) ? CAUSE_NONE : CAUSE_URL_ADDRESS;
	if (is_under(url->name, "localhost") && !allows_loopback(rules)) return CAUSE_URL_LOCALHOST;
	if (is_under(url->name, "internal") && !allows_networks(rules)) return CAUSE_URL_INTERNAL;
	return CAUSE_NONE;
}

enum cause url_fault(struct span text, const struct address_rules *rules)
{
	struct url url;
	enum cause cause = read_url(text, false, &url);

	return cause ? cause : check(&url, rules);
}

enum err url_check(struct span text, const struct address_rules *rules)
{
	return cause_err(url_fault(text, rules));
}

enum err url_check_image(struct span text, const struct address_rules *rules)
{
	struct url url;
	enum cause cause = read_url(text, true, &url);

	return cause_err(cause ? cause : check(&url, rules));
}
