#pragma once
#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Fixed-width integers in bytes of any alignment. Little-endian in values and journal, big-endian in keys (so that
 * memcmp orders them). Units: none. Errors: none; the caller has checked the size. */
#define BYTES_ACCESS(name, type, to, from)                  \
	static inline void put_##name(void *at, type value) \
	{                                                   \
		value = to(value);                          \
		memcpy(at, &value, sizeof value);           \
	}                                                   \
	static inline type get_##name(const void *at)       \
	{                                                   \
		type value;                                 \
		memcpy(&value, at, sizeof value);           \
		return from(value);                         \
	}
BYTES_ACCESS(le16, uint16_t, htole16, le16toh)
BYTES_ACCESS(le32, uint32_t, htole32, le32toh)
BYTES_ACCESS(le64, uint64_t, htole64, le64toh)
BYTES_ACCESS(be16, uint16_t, htobe16, be16toh)
BYTES_ACCESS(be32, uint32_t, htobe32, be32toh)
BYTES_ACCESS(be64, uint64_t, htobe64, be64toh)
#undef BYTES_ACCESS
