/* Rows of cards, readers, new scans, subscriptions, images and wallets: each key and value of their tables byte for byte,
 * in the order of keys. These bytes are on disks and in journals, so code changes must not change them. */
#include "tests/unit/support.h"

#include "store/card.h"
#include "store/db_inside.h"
#include "store/image_shape.h"
#include "store/reader_row.h"
#include "store/registration.h"
#include "store/scan_row.h"
#include "store/subscription.h"
#include "store/wallet_credential.h"
#include "store/wallet_due.h"
#include "store/pass_pictures.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"

#include <criterion/criterion.h>

#define ACCOUNT "\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9"
#define UUID    "\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf"
#define UUID_2  "\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf"
#define SECRET  "a secret, sealed: a nonce, as many bytes, and a tag --------"
_Static_assert(sizeof SECRET - 1 == WEBHOOK_SEALED_BYTES, "as long as a sealed secret");

SCRATCH_SUITE(row_bytes);
static const struct account_id account = {ACCOUNT};
static const wall_us           early = {0x0102030405060708}, late = {0x1112131415161718};

struct golden {
	struct span key, value;
};
#define BYTES(text)                                       \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
#define ROW(key, value)                          \
	{                                        \
		BYTES(ACCOUNT key), BYTES(value) \
	}

static void expect_bytes(const char *what, struct span got, struct span want)
{
	cr_expect_eq(got.size, want.size, "%s: %zu bytes, not %zu", what, got.size, want.size);
	for (size_t i = 0; i < got.size && i < want.size; i++)
		cr_expect_eq(got.at[i], want.at[i], "%s: byte %zu is %02x, not %02x", what, i, got.at[i],
		             want.at[i]);
}

/* The first row, or the one behind it; of a value in parts the whole. */
static enum err read_row(enum table table, bool first, struct view_row *row)
{
	static struct buffer room;
	struct span          begin = span_of("", 1);
	if (table_kind(table) == KIND_PARTED)
		return first ? view_parted_from(s.view, table, begin, &room, row)
		             : view_parted_next(s.view, table, &room, row);
	return first ? view_from(s.view, table, begin, row) : view_next(s.view, table, row);
}

/* All committed rows of the table. */
static void expect_rows(enum table table, const struct golden *rows, size_t count)
{
	struct view_row row;
	char            what[48];
	enum err        err = read_row(table, true, &row);
	for (size_t i = 0; i < count; i++) {
		snprintf(what, sizeof what, "table %d, row %zu", table, i);
		cr_assert_eq(err, OK, "%s is missing", what);
		expect_bytes(what, row.key, rows[i].key);
		expect_bytes(what, row.value, rows[i].value);
		err = read_row(table, false, &row);
	}
	cr_expect_eq(err, ERR_NOT_FOUND, "table %d: more than %zu rows", table, count);
}
#define EXPECT(NAME, ...)                                                    \
	do {                                                                 \
		static const struct golden rows[] = {__VA_ARGS__};           \
		expect_rows(TABLE_##NAME, rows, sizeof rows / sizeof *rows); \
	} while (0)
#define EXPECT_NONE(NAME) expect_rows(TABLE_##NAME, NULL, 0)

/* Cards --------------------------------------------------------------------------------------------------- */

static struct card linked_card(void)
{
	return (struct card){.id = {UUID},
	                     .pass_number = 0x21222324,
	                     .linked = true,
	                     .created = early,
	                     .code = span_str("CODE-1")};
}

static struct card unlinked_card(void)
{
	return (struct card){
	    .id = {UUID_2}, .pass_number = 0x21222324, .created = late, .code = span_str("CODE-2")};
}

Test(row_bytes, cards)
{
	struct card linked = linked_card(), unlinked = unlinked_card();
	cr_assert_eq(card_put(s.view, account, &linked), OK);
	cr_assert_eq(card_put(s.view, account, &unlinked), OK);
	scratch_save(&s);
	EXPECT(CARD, ROW("\x21\x22\x23\x24" UUID, "\1\1\x08\7\6\5\4\3\2\1CODE-1"),
	       ROW("\x21\x22\x23\x24" UUID_2, "\1\0\x18\x17\x16\x15\x14\x13\x12\x11"
	                                      "CODE-2"));
	EXPECT(CARD_CODE, ROW("CODE-1", "\x24\x23\x22\x21" UUID));
	EXPECT(CARD_ID, ROW(UUID, "\x24\x23\x22\x21"), ROW(UUID_2, "\x24\x23\x22\x21"));
	linked.linked = false;
	cr_assert_eq(card_put(s.view, account, &linked), OK);
	cr_assert_eq(card_del(s.view, account, &unlinked), OK);
	scratch_save(&s);
	EXPECT(CARD, ROW("\x21\x22\x23\x24" UUID, "\1\0\x08\7\6\5\4\3\2\1CODE-1"));
	EXPECT_NONE(CARD_CODE);
	EXPECT(CARD_ID, ROW(UUID, "\x24\x23\x22\x21"));
}

Test(row_bytes, a_deleted_card_leaves_nothing)
{
	struct card linked = linked_card();
	cr_assert_eq(card_put(s.view, account, &linked), OK);
	scratch_save(&s);
	cr_assert_eq(card_del(s.view, account, &linked), OK);
	scratch_save(&s);
	EXPECT_NONE(CARD);
	EXPECT_NONE(CARD_CODE);
	EXPECT_NONE(CARD_ID);
}

/* Readers ------------------------------------------------------------------------------------------------- */

static struct reader_row silent_reader(void)
{
	return (struct reader_row){.number = 0x31323334, .scans = 0x41424344, .id = span_str("door")};
}

static struct reader_row named_reader(void)
{
	return (struct reader_row){.number = 0x51525354,
	                           .scans = 0x61626364,
	                           .named = true,
	                           .named_at = early,
	                           .id = span_str("till"),
	                           .name = span_str("The Till")};
}

Test(row_bytes, readers)
{
	struct reader_row silent = silent_reader(), named = named_reader();
	cr_assert_eq(reader_row_put(s.view, account, &silent), OK);
	cr_assert_eq(reader_row_put(s.view, account, &named), OK);
	scratch_save(&s);
	EXPECT(READER, ROW("door", "\x34\x33\x32\x31\x44\x43\x42\x41"),
	       ROW("till", "\x54\x53\x52\x51\x64\x63\x62\x61"));
	EXPECT(READER_NUMBER, ROW("\x31\x32\x33\x34", "door"), ROW("\x51\x52\x53\x54", "till"));
	EXPECT(READER_NAME, ROW("till", "\x54\x53\x52\x51\x08\7\6\5\4\3\2\1The Till"));
	silent.scans = 0;
	cr_assert_eq(reader_row_count(s.view, account, &silent), OK);
	cr_assert_eq(reader_name_del(s.view, account, &named), OK);
	scratch_save(&s);
	EXPECT(READER, ROW("door", "\x34\x33\x32\x31\0\0\0\0"),
	       ROW("till", "\x54\x53\x52\x51\x64\x63\x62\x61"));
	EXPECT_NONE(READER_NAME);
}

Test(row_bytes, a_deleted_reader_leaves_nothing)
{
	struct reader_row silent = silent_reader(), named = named_reader();
	named.scans = 0;
	cr_assert_eq(reader_row_put(s.view, account, &silent), OK);
	cr_assert_eq(reader_row_put(s.view, account, &named), OK);
	scratch_save(&s);
	cr_assert_eq(reader_row_del(s.view, account, &silent), OK);
	cr_assert_eq(reader_name_del(s.view, account, &named), OK);
	scratch_save(&s);
	EXPECT_NONE(READER);
	EXPECT_NONE(READER_NUMBER);
	EXPECT_NONE(READER_NAME);
}

/* New scans ----------------------------------------------------------------------------------------------- */

Test(row_bytes, a_new_scan)
{
	struct account_ends   ends = {.ledger = 0x0102030405060708, .scans = 0x11121314};
	const struct scan_row scan = {
	    .id = {UUID}, .pass = 0x21222324, .reader = 0x31323334, .verdict = SCAN_DOUBLE_SCAN};
	struct scan_tally tally = {.made = 0x11121314,
	                           .counts = {1, 2, 3, 4, 5, 6, 7},
	                           .readers = 0x41424344,
	                           .readers_named = 0x51525354};
	cr_assert_eq(scan_tally_put(s.view, account, &tally), OK);
	cr_assert_eq(scan_row_add(s.view, account, &ends, &scan), OK);
	scratch_save(&s);
	EXPECT(LEDGER, ROW("\1\2\3\4\5\6\7\x09", "\x24\x23\x22\x21\x0e\0\0\3"
	                                         "\xb5\xe4\xf9\x0d\x22\x36\xb2\x02"
	                                         "\x14\x13\x12\x11\x34\x33\x32\x31" UUID));
	EXPECT(SCAN_TALLY, ROW("", "\x14\x13\x12\x11\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7\0\0\0"
	                           "\x44\x43\x42\x41\x54\x53\x52\x51\x09\7\6\5\4\3\2\1"));
	EXPECT_NONE(SCAN);
}

/* Subscriptions ------------------------------------------------------------------------------------------- */

static struct subscription active_subscription(void)
{
	struct subscription row = {.id = {UUID},
	                           .active = true,
	                           .generation = 0x71727374,
	                           .created = early,
	                           .updated = late,
	                           .kind_count = 2,
	                           .kinds = {EVENT_SCAN_CREATED, EVENT_PASS_CREATED},
	                           .url = span_str("https://a.example/")};
	memcpy(row.secret, SECRET, sizeof row.secret);
	return row;
}

static struct subscription paused_subscription(void)
{
	struct subscription row = {.id = {UUID_2},
	                           .generation = 1,
	                           .kind_count = 1,
	                           .kinds = {EVENT_PASS_BALANCE_UPDATE},
	                           .url = span_str("u")};
	memcpy(row.secret, SECRET, sizeof row.secret);
	return row;
}

Test(row_bytes, subscriptions)
{
	struct subscription active = active_subscription(), paused = paused_subscription();
	cr_assert_eq(subscription_put(s.view, account, &active), OK);
	cr_assert_eq(subscription_put(s.view, account, &paused), OK);
	scratch_save(&s);
	EXPECT(SUBSCRIPTION,
	       ROW(UUID, "\1\1\x74\x73\x72\x71\x08\7\6\5\4\3\2\1\x18\x17\x16\x15\x14\x13\x12\x11" SECRET
	                 "\2\2\0https://a.example/"),
	       ROW(UUID_2, "\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" SECRET "\1\1u"));
	cr_assert_eq(subscription_del(s.view, account, active.id), OK);
	cr_assert_eq(subscription_del(s.view, account, paused.id), OK);
	scratch_save(&s);
	EXPECT_NONE(SUBSCRIPTION);
}

#define EARLY "\x08\7\6\5\4\3\2\1"
#define LATE  "\x18\x17\x16\x15\x14\x13\x12\x11"
#define NEVER "\0\0\0\0\0\0\0\0"

/* Wallets ------------------------------------------------------------------------------------------------- */

Test(row_bytes, wallet_credentials)
{
	struct wallet_credential apple = {.account = account,
	                                  .kind = WALLET_APPLE,
	                                  .number = 0x2122232425262728,
	                                  .generation = 0x31323334,
	                                  .warnings = 1,
	                                  .put = early,
	                                  .not_before = early,
	                                  .not_after = late,
	                                  .issuer_not_after = late,
	                                  .rests_until = early,
	                                  .rest_s = 60,
	                                  .name = span_str("pass.a"),
	                                  .owner = span_str("TEAM"),
	                                  .key_id = span_str("KEY"),
	                                  .certificate = span_str("cert"),
	                                  .issuer = span_str("wwdr"),
	                                  .last_error = span_str("no"),
	                                  .sealed = span_str("sealed")};
	struct wallet_credential google = {.account = account,
	                                   .kind = WALLET_GOOGLE,
	                                   .number = 1,
	                                   .generation = 1,
	                                   .name = span_str("33"),
	                                   .owner = span_str("a@b"),
	                                   .token_uri = span_str("https://t"),
	                                   .sealed = span_str("S")};
	cr_assert_eq(wallet_credential_put(s.view, &apple), OK);
	cr_assert_eq(wallet_current_put(s.view, account, WALLET_APPLE, apple.number), OK);
	cr_assert_eq(wallet_credential_put(s.view, &google), OK);
	cr_assert_eq(wallet_current_put(s.view, account, WALLET_GOOGLE, 1), OK);
	scratch_save(&s);
	EXPECT(WALLET_CREDENTIAL, ROW("\1\0\0\0\0\0\0\0\0", "\1\x28\x27\x26\x25\x24\x23\x22\x21"),
	       ROW("\1\x21\x22\x23\x24\x25\x26\x27\x28",
	           "\1\1\x34\x33\x32\x31" EARLY EARLY LATE LATE EARLY "\x3c\0\0\0"
	           "\6\0\4\0\3\0\4\0\4\0\0\0\2\0\6\0pass.aTEAMKEYcertwwdrnosealed"),
	       ROW("\2\0\0\0\0\0\0\0\0", "\1\1\0\0\0\0\0\0\0"),
	       ROW("\2\0\0\0\0\0\0\0\1", "\1\0\1\0\0\0" NEVER NEVER NEVER NEVER NEVER "\0\0\0\0"
	                                 "\2\0\3\0\0\0\0\0\0\0\x09\0\0\0\1\0"
	                                 "33a@bhttps://tS"));
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), OK);
	scratch_save(&s);
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_GOOGLE), OK);
	scratch_save(&s);
	EXPECT_NONE(WALLET_CREDENTIAL);
}

/* Images -------------------------------------------------------------------------------------------------- */

#define HASH                                                                                               \
	"\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7" \
	"\xe8\xe9\xea\xeb\xec\xed\xee\xef"
#define NO_HASH "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

Test(row_bytes, shapes_of_images)
{
	struct image               image = {.size = 0x0001f2e3};
	const struct shape_verdict made = {SHAPE_GOOD, SHAPE_BIT(SHAPE_STRIP_2X)},
	                           bad = {SHAPE_INTERLACED, SHAPE_BIT(SHAPE_EVENT_STRIP_2X)};
	memcpy(image.hash, HASH, sizeof image.hash);
	cr_assert_eq(shapes_want(s.view, account, &image, SHAPE_OF_BANNER), OK);
	cr_assert_eq(shapes_want_all(s.view, account), OK);
	cr_assert_eq(image_shape_put(s.view, account, image.hash, SHAPE_STRIP_2X, span_str("PNG")), OK);
	scratch_save(&s);
	EXPECT(SHAPE_DUE, ROW(NO_HASH, ACCOUNT NO_HASH), ROW(HASH, "\x80\1\xe3\xf2\1\0"));
	EXPECT(IMAGE_SHAPE, ROW(HASH "\7", "PNG"));
	cr_assert_eq(shapes_end(s.view, account, image.hash, &made), OK);
	scratch_save(&s);
	EXPECT(SHAPE_DUE, ROW(NO_HASH, ACCOUNT NO_HASH), ROW(HASH, "\0\1\xe3\xf2\1\0"));
	EXPECT(IMAGE_SHAPE, ROW(HASH "\0", "\1\0\x80\0"), ROW(HASH "\7", "PNG"));
	cr_assert_eq(shapes_end(s.view, account, image.hash, &bad), OK);
	scratch_save(&s);
	EXPECT(SHAPE_DUE, ROW(NO_HASH, ACCOUNT NO_HASH));
	EXPECT(IMAGE_SHAPE, ROW(HASH "\0", "\1\2\x80\1"), ROW(HASH "\7", "PNG"));
	cr_assert_eq(image_shapes_del(s.view, account, image.hash), OK);
	scratch_save(&s);
	EXPECT_NONE(IMAGE_SHAPE);
}

Test(row_bytes, wallets_of_google)
{
	struct wallet_google row = {.pass_number = 0x01020304,
	                            .state = WALLET_GOOGLE_GONE,
	                            .issuer = 0x2122232425262728,
	                            .callback_ms = late.v,
	                            .message = 0x31323334,
	                            .notices = {early, {0}, late},
	                            .token = "0123456789abcde",
	                            .quiet = early};
	cr_assert_eq(wallet_google_row_put(s.view, account, &row), OK);
	scratch_save(&s);
	EXPECT(WALLET_GOOGLE,
	       ROW("\1\2\3\4", "\1\2\x28\x27\x26\x25\x24\x23\x22\x21" LATE "\x34\x33\x32\x31" EARLY
	                       "\0\0\0\0\0\0\0\0" LATE "0123456789abcde\0" EARLY));
	struct wallet_google got = {.pass_number = 1};
	cr_assert_eq(wallet_google_row_from(s.view, account, &got), OK);
	cr_expect_eq(got.pass_number, row.pass_number);
	cr_expect_eq(wallet_google_row_next(s.view, account, &got), ERR_NOT_FOUND);
	cr_assert_eq(wallet_google_row_del(s.view, account, row.pass_number), OK);
	scratch_save(&s);
	EXPECT_NONE(WALLET_GOOGLE);
}

Test(row_bytes, pictures)
{
	struct pass_pictures row = {.begun = early,
	                            .is_given_up = true,
	                            .wanted = {span_str("a"), {NULL, 0}},
	                            .kept = {span_str("bc"), span_str("d")}};
	cr_assert_eq(pass_pictures_put(s.view, account, 0x01020304, &row), OK);
	scratch_save(&s);
	EXPECT(PASS_PICTURES, ROW("\1\2\3\4", "\1\1\1\0\0\0\2\0\1\0" EARLY "abcd"));
	cr_assert_eq(pass_pictures_del(s.view, account, 0x01020304), OK);
	scratch_save(&s);
	EXPECT_NONE(PASS_PICTURES);
}

Test(row_bytes, wallet_messages)
{
	struct wallet_message row = {.pass_number = 0x01020304,
	                             .notification = 0x21222324,
	                             .flags = WALLET_MESSAGE_IS_MARKED,
	                             .sent = late};
	struct wallet_message got = {.pass_number = row.pass_number};
	cr_assert_eq(wallet_message_put(s.view, account, &row), OK);
	scratch_save(&s);
	EXPECT(WALLET_MESSAGE, ROW("\1\2\3\4", "\1\1\x24\x23\x22\x21" LATE));
	cr_assert_eq(wallet_message_get(s.view, account, &got), OK);
	cr_expect_eq(got.notification, row.notification);
	cr_expect_eq(got.flags, row.flags);
	cr_expect_eq(got.sent.v, late.v);
	cr_assert_eq(wallet_message_del(s.view, account, row.pass_number), OK);
	scratch_save(&s);
	EXPECT_NONE(WALLET_MESSAGE);
}

Test(row_bytes, wallet_classes)
{
	struct wallet_class row = {.template_number = 0x01020304, .issuer = 0x2122232425262728};
	struct wallet_class got = {.template_number = row.template_number};
	cr_assert_eq(wallet_class_put(s.view, account, &row), OK);
	scratch_save(&s);
	EXPECT(WALLET_CLASS, ROW("\1\2\3\4", "\1\x28\x27\x26\x25\x24\x23\x22\x21"));
	cr_assert_eq(wallet_class_get(s.view, account, &got), OK);
	cr_expect_eq(got.issuer, row.issuer);
	cr_assert_eq(wallet_class_del(s.view, account, row.template_number), OK);
	scratch_save(&s);
	EXPECT_NONE(WALLET_CLASS);
}

Test(row_bytes, registrations)
{
	struct registration row = {.pass_number = 0x01020304,
	                           .device = "0123456789abcdef",
	                           .credential = 0x2122232425262728,
	                           .since = early,
	                           .push_token = span_str("beef")};
	struct wallet_due   due = {
	      .account = account, .kind = WALLET_DUE_REMOVAL, .number = 0x01020304, .due = late};
	cr_assert_eq(registration_put(s.view, account, &row), OK);
	cr_assert_eq(wallet_due_put(s.view, &due), OK);
	scratch_save(&s);
#define DEVICE "0123456789abcdef\x21\x22\x23\x24\x25\x26\x27\x28"
	EXPECT(REGISTRATION, ROW("\1\2\3\4" DEVICE, "\1" EARLY "beef"));
	EXPECT(REGISTRATION_DEVICE, ROW(DEVICE "\1\2\3\4", ""));
	EXPECT(WALLET_DUE, ROW("\1\1\2\3\4", "\1" LATE));
	struct wallet_due push = {.account = account,
	                          .kind = WALLET_DUE_PUSH,
	                          .number = 0x01020304,
	                          .due = late,
	                          .since = early,
	                          .tries = 7,
	                          .flags = WALLET_DUE_IS_BULK};
	struct wallet_due touch = {.account = account,
	                           .kind = WALLET_DUE_TOUCH,
	                           .number = WALLET_EVERY_TEMPLATE,
	                           .due = early,
	                           .position = 0x21222324};
	cr_assert_eq(wallet_due_del(s.view, &due), OK);
	cr_assert_eq(wallet_due_put(s.view, &push), OK);
	scratch_save(&s);
	EXPECT(WALLET_DUE, ROW("\2\1\2\3\4", "\1" LATE EARLY "\7\1"));
	cr_assert_eq(wallet_due_del(s.view, &push), OK);
	push.kind = WALLET_DUE_CLASS;
	cr_assert_eq(wallet_due_put(s.view, &push), OK);
	scratch_save(&s);
	EXPECT(WALLET_DUE, ROW("\7\1\2\3\4", "\1" LATE EARLY "\7\1"));
	cr_assert_eq(wallet_due_del(s.view, &push), OK);
	cr_assert_eq(wallet_due_put(s.view, &touch), OK);
	scratch_save(&s);
	EXPECT(WALLET_DUE, ROW("\4\xff\xff\xff\xff", "\1" EARLY "\x24\x23\x22\x21"));
	cr_assert_eq(wallet_due_del(s.view, &touch), OK);
	cr_assert_eq(wallet_due_put(s.view, &due), OK);
	scratch_save(&s);
	cr_assert_eq(registration_del(s.view, account, &row), OK);
	cr_assert_eq(wallet_due_del(s.view, &due), OK);
	scratch_save(&s);
	EXPECT_NONE(REGISTRATION);
	EXPECT_NONE(REGISTRATION_DEVICE);
	EXPECT_NONE(WALLET_DUE);
}
