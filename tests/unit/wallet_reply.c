/* schemas/wallet/package_reply.h: what the shard answers is read as it was written, and nothing else is read. */
#include "schemas/wallet/package_reply.h"

#include <criterion/criterion.h>

static struct buffer    bytes;
static msgpack_unpacked unpacked;

static void begin(void)
{
	msgpack_unpacked_init(&unpacked);
}

static void end(void)
{
	msgpack_unpacked_destroy(&unpacked);
	buffer_free(&bytes);
}

TestSuite(wallet_reply, .init = begin, .fini = end);

static enum err opened(struct package_reply *reply)
{
	msgpack_unpacked_destroy(&unpacked);
	msgpack_unpacked_init(&unpacked);
	cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)bytes.at, bytes.size, NULL),
	             MSGPACK_UNPACK_SUCCESS);
	return package_reply_open(&unpacked.data, reply);
}

static struct package_reply made = {
    .fate = PACKAGE_MADE,
    .kit = {.hash = {1, 2, 3}, .count = 3, .local_size = 1000, .central_size = 200},
    .own = {{(const uint8_t *)"{}", 2}, {(const uint8_t *)"[]", 2}, {(const uint8_t *)"x", 1}},
    .modified_s = 1234567890};

Test(wallet_reply, is_read_as_it_was_written)
{
	struct package_reply got;
	package_reply_pack(&made, &bytes);
	cr_assert_eq(opened(&got), OK);
	cr_expect(got.fate == PACKAGE_MADE && !memcmp(&got.kit, &made.kit, sizeof made.kit) &&
	          got.modified_s == made.modified_s);
	cr_expect(span_is(got.own.pass_json, "{}") && span_is(got.own.manifest, "[]") &&
	          span_is(got.own.signature, "x"));
	for (unsigned fate = PACKAGE_MADE + 1; fate < PACKAGE_FATES; fate++) {
		buffer_clear(&bytes);
		package_reply_pack(&(struct package_reply){.fate = (enum package_fate)fate}, &bytes);
		cr_assert_eq(opened(&got), OK);
		cr_expect_eq(got.fate, fate);
	}
}

Test(wallet_reply, other_forms_are_refused)
{
	struct package_reply got, wrong = made;
	wrong.kit.local_size = PACKAGE_KIT_BYTES_MAX + 1;
	package_reply_pack(&wrong, &bytes);
	cr_expect_eq(opened(&got), ERR_MALFORMED);
	wrong = made;
	wrong.kit.count = PACKAGE_PICTURES_MAX + 1;
	buffer_clear(&bytes);
	package_reply_pack(&wrong, &bytes);
	cr_expect_eq(opened(&got), ERR_MALFORMED);
	static const struct span bad[] = {
	    {(const uint8_t *)"\x90", 1},     {(const uint8_t *)"\xc0", 1},
	    {(const uint8_t *)"\x91\x00", 2}, {(const uint8_t *)"\x91\x06", 2},
	    {(const uint8_t *)"\x91\xff", 2}, {(const uint8_t *)"\x92\x01\xc0", 3},
	    {(const uint8_t *)"\x05", 1}};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		buffer_clear(&bytes);
		buffer_append(&bytes, bad[i].at, bad[i].size);
		cr_expect_eq(opened(&got), ERR_MALFORMED, "%u", i);
	}
}
