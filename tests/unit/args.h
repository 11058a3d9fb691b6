/* Arguments and answers of commands as msgpack values. What they point to is borrowed. */
#pragma once
#include "schemas/buffer.h"

#include <criterion/criterion.h>

static inline msgpack_object value_nil(void)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_NIL};
}

static inline msgpack_object value_boolean(bool value)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_BOOLEAN, .via.boolean = value};
}

static inline msgpack_object value_integer(uint64_t value)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = value};
}

static inline msgpack_object value_text(const char *text)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_STR, .via.str = {(uint32_t)strlen(text), text}};
}

static inline msgpack_object value_bin(const void *at, size_t size)
{
	return (msgpack_object){.type = MSGPACK_OBJECT_BIN, .via.bin = {(uint32_t)size, at}};
}

/* The first value of an answer; what it consists of is in `zone`. */
static inline msgpack_object value_unpacked(const struct buffer *bytes, msgpack_zone *zone)
{
	msgpack_object value;
	size_t         at = 0;
	cr_assert_eq(msgpack_unpack((const char *)bytes->at, bytes->size, &at, zone, &value),
	             MSGPACK_UNPACK_SUCCESS);
	return value;
}
