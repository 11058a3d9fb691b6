/* Packing objects member by member (schemas/object_msgpack.h). */
#include "schemas/object_msgpack.h"

#include <criterion/criterion.h>

static size_t members_read(const struct buffer *bytes)
{
	msgpack_unpacked item;
	msgpack_unpacked_init(&item);
	cr_assert_eq(msgpack_unpack_next(&item, (const char *)bytes->at, bytes->size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	cr_assert_eq(item.data.type, MSGPACK_OBJECT_MAP);
	const size_t members = item.data.via.map.size;
	msgpack_unpacked_destroy(&item);
	return members;
}

static void pack_members(bool wide, unsigned count)
{
	struct buffer  bytes = {0};
	msgpack_packer pk = buffer_packer(&bytes);
	const size_t   map = wide ? map_begin_wide(&pk) : map_begin(&pk);
	for (unsigned i = 0; i < count; i++) {
		map_key(&pk, map, "key");
		msgpack_pack_nil(&pk);
	}
	cr_expect_eq(members_read(&bytes), count, "%u members", count);
	buffer_free(&bytes);
}

Test(object_msgpack, a_map_counts_its_members)
{
	pack_members(false, 0);
	pack_members(false, 15);
}

Test(object_msgpack, a_wide_map_counts_more_than_15_members)
{
	pack_members(true, 0);
	pack_members(true, 15);
	pack_members(true, 16);
	pack_members(true, 300);
}
