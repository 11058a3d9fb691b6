/* The audit of passes being issued and of images: each rule, broken alone in an otherwise sound shop, is
 * reported. */
#include "tests/unit/audit_look.h"

#include "schemas/sha256.h"
#include "store/image_shape.h"
#include "store/issuing.h"

TestSuite(audit_issuing, .init = make_shop, .fini = end);

enum { NUMBER = 3, BIG = IMAGE_PART_BYTES + 100 };
static uint8_t           bytes[BIG];
static const struct span url = {(const uint8_t *)"https://a/l", 11};

/* Returns the pass to its state before the issuance, with ledger and counts. */
static void set_creating(void)
{
	struct hot_at at;
	struct tally  tally;
	must(!hot_get(s.view, account, NUMBER, &at));
	struct hot after = at.now;
	after.status = 0;
	put_event((struct ledger_row){.number = NUMBER, .what = LEDGER_CREATED}, &after);
	must(!hot_get(s.view, account, NUMBER, &at));
	must(!hot_put(s.view, &at, &after));
	scratch_save(&s);
	must(!tally_get(s.view, account, &tally));
	tally.counts[ISSUED]--;
	tally.counts[0]++;
	must(!tally_put(s.view, account, &tally));
	scratch_save(&s);
}

static void store_row(uint32_t number)
{
	struct issuing row = {.begun = {5}, .logo = url};
	must(!issuing_put(s.view, account, number, &row));
	scratch_save(&s);
}

static struct image store_image(void)
{
	struct image image = {.size = BIG, .width = 1, .height = 1, .fetched = {1}};
	struct span  whole = span_of(bytes, BIG);
	memset(bytes, 7, sizeof bytes);
	sha256_of(&whole, 1, image.hash);
	must(!image_part_put(s.view, account, image.hash, 0, span_of(bytes, IMAGE_PART_BYTES)));
	scratch_save(&s);
	must(!image_part_put(s.view, account, image.hash, 1, span_of(bytes + IMAGE_PART_BYTES, 100)));
	scratch_save(&s);
	must(!image_url_put(s.view, account, url, &image));
	scratch_save(&s);
	return image;
}

static struct row_key key_of_part(const uint8_t hash[32], unsigned part)
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, hash, 32);
	put_be16(key.bytes + key.size + 32, (uint16_t)part);
	key.size += 34;
	return key;
}

static const struct shape_verdict all_made = {.made = SHAPE_BIT(SHAPE_ICON)};

/* A shape of a sound image that was made, one that is being made. */
static struct image store_shapes(void)
{
	struct image image = store_image();
	must(!shapes_want(s.view, account, &image, SHAPE_OF_LOGO));
	must(!image_shape_put(s.view, account, image.hash, SHAPE_ICON, span_str("PNG")));
	must(!shapes_end(s.view, account, image.hash, &all_made));
	must(!image_shape_put(s.view, account, image.hash, SHAPE_LOGO, span_str("PNG")));
	must(!shapes_want_all(s.view, account));
	scratch_save(&s);
	return image;
}

static struct row_key key_of_shape(const uint8_t hash[32], unsigned shape)
{
	struct row_key key = key_of_part(hash, 0);
	key.size--;
	key.bytes[key.size - 1] = (uint8_t)shape;
	return key;
}

static void break_stray(void)
{
	store_row(NUMBER);
}
static void break_unmade(void)
{
	store_row(PASSES);
}
static void break_missing(void)
{
	set_creating();
}
static void break_form(void)
{
	set_creating();
	put(TABLE_ISSUING, key_u32(account, NUMBER), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_ISSUING, key_account(account), span_str("x"));
}
static void break_owner(void)
{
	put(TABLE_ISSUING, key_u32(nobody, 1), span_str("x"));
}
static void break_template(void)
{
	struct issuing row = {.begun = {5}, .logo = url};
	must(!template_images_put(s.view, account, 77, &row));
	scratch_save(&s);
}
static void break_template_form(void)
{
	put(TABLE_TEMPLATE_IMAGES, key_u32(account, 1), span_str("x"));
}
static void break_shape_image(void)
{
	static const uint8_t hash[32] = {0xab};
	put(TABLE_IMAGE_SHAPE, key_of_shape(hash, 0), span_str("\1"));
}
static void break_shape_wanted(void)
{
	struct image image = store_shapes();
	put(TABLE_IMAGE_SHAPE, key_of_shape(image.hash, SHAPE_STRIP_2X), span_str("PNG"));
}
static void break_shape_number(void)
{
	struct image image = store_shapes();
	put(TABLE_IMAGE_SHAPE, key_of_shape(image.hash, SHAPE_END), span_str("PNG"));
}
static void break_shape_empty(void)
{
	struct image image = store_shapes();
	put(TABLE_IMAGE_SHAPE, key_of_shape(image.hash, SHAPE_ICON), span_of(NULL, 0));
}
static void break_verdict(void)
{
	struct image image = store_shapes();
	put(TABLE_IMAGE_SHAPE, key_of_shape(image.hash, 0), span_str("\1\7\2"));
}
static void break_due(void)
{
	struct image   image = store_shapes();
	struct row_key key = key_of_shape(image.hash, 0);
	key.size--;
	put(TABLE_SHAPE_DUE, key, span_str("x"));
}
static void break_due_image(void)
{
	static const uint8_t hash[32] = {0xab};
	struct row_key       key = key_of_shape(hash, 0);
	key.size--;
	put(TABLE_SHAPE_DUE, key, span_of("\2\0\1\0\0\0", 6));
}
static void break_part(void)
{
	struct image image = store_image();
	del(TABLE_IMAGE, key_of_part(image.hash, 1));
}
static void break_bytes(void)
{
	struct image image = store_image();
	bytes[0] ^= 1;
	put(TABLE_IMAGE, key_of_part(image.hash, 1), span_of(bytes, 100));
}
static void break_number(void)
{
	uint8_t hash[32] = {0xab};
	put(TABLE_IMAGE, key_of_part(hash, IMAGE_PARTS_MAX), span_of(bytes, 100));
}
static void break_size(void)
{
	uint8_t hash[32] = {0xab};
	put(TABLE_IMAGE, key_of_part(hash, 0), span_of(bytes, IMAGE_PART_BYTES + 1));
}
static void break_empty(void)
{
	uint8_t hash[32] = {0xab};
	put(TABLE_IMAGE, key_of_part(hash, 0), span_of(bytes, 0));
}
static void break_image_key(void)
{
	put(TABLE_IMAGE, key_u32(account, 1), span_str("x"));
}
static void break_url(void)
{
	struct row_key key = key_of_part(bytes, 0);
	key.size -= 2;
	put(TABLE_IMAGE_URL, key, span_str("x"));
}
static void break_url_key(void)
{
	put(TABLE_IMAGE_URL, key_u32(account, 1), span_str("x"));
}

static const struct breakage breakages[] = {
    B(stray, "table issuing, " ACCOUNT "pass 3 is not being created"),
    B(unmade, "table issuing, " ACCOUNT "pass 45 is not being created"),
    B(missing, "table issuing, " ACCOUNT "pass 3 is being created, but has no row"),
    B(form, "table issuing, " ACCOUNT "pass 3: a row of a wrong form"),
    B(template, "table template_images, " ACCOUNT "template 77 does not exist"),
    B(template_form, "table template_images, " ACCOUNT "template 1: a row of a wrong form"),
    B(key, "table issuing, " ACCOUNT "a key of 12 bytes"),
    B(owner, NOBODY "rows of an account that does not exist"),
    B(part, "table image_url, " ACCOUNT "the image "),
    B(bytes, "table image_url, " ACCOUNT "the image "),
    B(number, "table image, " ACCOUNT "image ab000000: part 32"),
    B(size, "table image, " ACCOUNT "image ab000000: a part of 65537 bytes"),
    B(empty, "table image, " ACCOUNT "image ab000000: a part of 0 bytes"),
    B(image_key, "table image, " ACCOUNT "a key of 16 bytes"),
    B(url, "table image_url, " ACCOUNT "a row of a wrong form"),
    B(url_key, "table image_url, " ACCOUNT "a row of a wrong form"),
    B(shape_image, "table image_shape, " ACCOUNT "image ab000000 does not exist"),
    B(shape_wanted, "nobody wanted the shape 7"),
    B(shape_number, "nobody wanted the shape 9"),
    B(shape_empty, "a shape of 0 bytes"),
    B(verdict, "a verdict of a wrong form"),
    B(due, "table shape_due, " ACCOUNT "a row of a wrong form"),
    B(due_image, "table shape_due, " ACCOUNT "image ab000000 does not exist"),
};

Test(audit_issuing, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_issuing, finds_no_fault_in_rows_of_the_shard)
{
	set_creating();
	store_row(NUMBER);
	store_shapes();
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}

Test(audit_issuing, ignores_parts_left_by_an_interrupted_fetch)
{
	uint8_t hash[32] = {0xab};
	must(!image_part_put(s.view, account, hash, 1, span_of(bytes, IMAGE_PART_BYTES)));
	must(!image_keep(s.view, account, hash, (wall_us){1}));
	scratch_save(&s);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
