#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Borrowed bytes: `size` bytes at `at`, valid at least for the call. No terminator is implied. Units: bytes. Errors:
 * none. */
struct span {
	const uint8_t *at;
	size_t         size;
};

static inline struct span span_of(const void *at, size_t size)
{
	return (struct span){at, size};
}
static inline struct span span_str(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}
static inline bool span_equal(struct span a, struct span b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}
/* Order of bytes: below 0, 0, above 0. A prefix sorts before the longer span; `at` is unused for size 0. */
static inline int span_order(struct span a, struct span b)
{
	size_t both = a.size < b.size ? a.size : b.size;
	int    order = both ? memcmp(a.at, b.at, both) : 0;
	return order ? order : (a.size > b.size) - (a.size < b.size);
}
static inline bool span_is(struct span a, const char *text)
{
	return span_equal(a, span_str(text));
}
/* The same in lower or upper case, of ASCII. */
static inline bool span_is_caseless(struct span a, const char *text)
{
	return a.size == strlen(text) && (a.size == 0 || !strncasecmp((const char *)a.at, text, a.size));
}
