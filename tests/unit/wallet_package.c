/* schemas/wallet/package.h and zip.h: an archive to the byte, which other programs read too, and kits. */
#include "schemas/wallet/icon.h"
#include "schemas/wallet/package.h"

#include "schemas/png.h"
#include "tests/unit/support.h"
#include "tests/unit/wallet_programs.h"

#include <criterion/criterion.h>

static struct buffer kit_bytes, between, behind, whole;

static void end(void)
{
	buffer_free(&kit_bytes);
	buffer_free(&between);
	buffer_free(&behind);
	buffer_free(&whole);
}

TestSuite(wallet_package, .fini = end);

static const struct package_own own = {
    {(const uint8_t *)"{\"a\":1}", 7}, {(const uint8_t *)"{}", 2}, {(const uint8_t *)"signed", 6}};

/* Puts a package of the pictures together in `whole`. */
static void make(const struct package_pictures *pictures, const struct span *bytes, struct package_kit *kit)
{
	buffer_clear(&kit_bytes);
	buffer_clear(&between);
	buffer_clear(&behind);
	buffer_clear(&whole);
	package_kit_of(pictures, span_of(NULL, 0), kit);
	package_kit_write(pictures, bytes, &kit_bytes);
	cr_assert_eq(kit_bytes.size, kit->local_size + kit->central_size);
	package_write(kit, &own, &between, &behind);
	buffer_append(&whole, kit_bytes.at, kit->local_size);
	buffer_append(&whole, between.at, between.size);
	buffer_append(&whole, kit_bytes.at + kit->local_size, kit->central_size);
	buffer_append(&whole, behind.at, behind.size);
	cr_expect_eq(whole.size, package_size(kit, &own));
}

static void take_icons(struct package_pictures *pictures, struct span bytes[WALLET_ICONS])
{
	pictures->count = WALLET_ICONS;
	for (unsigned i = 0; i < WALLET_ICONS; i++) {
		bytes[i] = wallet_icons[i].png;
		pictures->of[i] = package_picture_of(wallet_icons[i].file, bytes[i]);
	}
}

Test(wallet_package, is_an_archive_to_the_byte)
{
	static const char want[] =
	    "PK\3\4\n\0\0\0\0\0\0\0!Z\xaf\xac\x1bV\7\0\0\0\7\0\0\0\t\0\0\0pass.json{\"a\":1}"
	    "PK\3\4\n\0\0\0\0\0\0\0!ZC\xbf\xa6\xa3\2\0\0\0\2\0\0\0\r\0\0\0manifest.json{}"
	    "PK\3\4\n\0\0\0\0\0\0\0!Z\xc3\xd8\xbb\x1e\6\0\0\0\6\0\0\0\t\0\0\0signaturesigned"
	    "PK\1\2\x1e\3\n\0\0\0\0\0\0\0!"
	    "Z\xaf\xac\x1bV\7\0\0\0\7\0\0\0\t\0\0\0\0\0\0\0\0\0\0\0\xa4\x81\0\0\0\0pass.json";
	const struct package_pictures none = {0};
	struct package_kit            kit;
	make(&none, NULL, &kit);
	cr_assert_geq(whole.size, sizeof want - 1);
	for (size_t i = 0; i < sizeof want - 1; i++)
		cr_assert_eq(whole.at[i], (uint8_t)want[i], "byte %zu", i);
}

Test(wallet_package, is_read_by_other_programs)
{
	struct package_pictures pictures;
	struct span             bytes[WALLET_ICONS];
	struct package_kit      kit;
	struct test_dir         dir;
	char                    path[600];
	take_icons(&pictures, bytes);
	make(&pictures, bytes, &kit);
	test_dir_make(&dir);
	file_write(&dir, "a.pkpass", 0, buffer_span(&whole));
	snprintf(path, sizeof path, "%s/a.pkpass", dir.path);
	cr_expect_eq(run_program((const char *const[]){"unzip", "-tqq", path, NULL}), 0);
	file_flip(&dir, "a.pkpass", 60, 1);
	cr_expect_neq(run_program((const char *const[]){"unzip", "-tqq", path, NULL}), 0,
	              "a planted fault is noticed");
	test_dir_remove(&dir);
}

Test(wallet_package, manifest_names_every_other_file)
{
	struct package_pictures pictures = {1, {package_picture_of("icon.png", span_str("abc"))}};
	struct buffer           out = {0};
	package_manifest(&pictures, span_of(NULL, 0), &out);
	cr_expect(span_is(buffer_span(&out), "{\"icon.png\":\"a9993e364706816aba3e25717850c26c9cd0d89d\","
	                                     "\"pass.json\":\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"}"));
	buffer_free(&out);
}

/* Everything that a manifest or a head of the archive says of pictures is in the name of their kit. */
Test(wallet_package, kits_differ_if_anything_does)
{
	struct package_pictures pictures;
	struct span             bytes[WALLET_ICONS];
	struct package_kit      kit, other;
	take_icons(&pictures, bytes);
	package_kit_of(&pictures, span_of(NULL, 0), &kit);
	package_kit_of(&pictures, span_str("acc"), &other);
	cr_expect(memcmp(kit.hash, other.hash, sizeof kit.hash), "of another owner");
	for (unsigned i = 0; i < 4; i++) {
		struct package_pictures changed = pictures;
		if (i == 0) changed.of[1].sha1[19] ^= 1;
		if (i == 1) changed.of[1].file.crc ^= 1;
		if (i == 2) changed.of[1].file.size ^= 1;
		if (i == 3) changed.of[1].file.name = "logo.png";
		package_kit_of(&changed, span_of(NULL, 0), &other);
		cr_expect(memcmp(kit.hash, other.hash, sizeof kit.hash), "%u", i);
	}
	pictures.count--;
	package_kit_of(&pictures, span_of(NULL, 0), &other);
	cr_expect(memcmp(kit.hash, other.hash, sizeof kit.hash), "with fewer");
}

Test(wallet_package, neutral_icons_are_pictures_of_three_sizes)
{
	static const uint32_t sides[WALLET_ICONS] = {29, 58, 87};
	for (unsigned i = 0; i < WALLET_ICONS; i++) {
		struct png_size size;
		cr_expect_null(png_fault(wallet_icons[i].png, &size));
		cr_expect(size.width == sides[i] && size.height == sides[i]);
	}
	cr_expect_str_eq(wallet_icons[2].file, "icon@3x.png");
}
