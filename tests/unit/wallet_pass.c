/* schemas/wallet/pass_json.h: pass.json to the byte for a pass that has everything, and what each fact changes in it. */
#include "schemas/wallet/pass_json.h"

#include "schemas/wallet/edited.h"
#include "schemas/wallet/google_pass.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena arena;
static struct template template;
static struct wallet_settings settings;
static struct wallet_pass     pass;
static struct buffer          out;

static void end(void)
{
	buffer_free(&out);
	arena_free(&arena);
}

TestSuite(wallet_pass, .fini = end);

/* Begins a pass of this template. */
static void begin(const char *file)
{
	struct json      *json;
	struct file_fault fault;
	cr_assert_eq(json_parse(span_str(file), &arena, &json), OK, "%s", file);
	cr_assert_eq(wallet_template_read(json, &template, &settings, &fault), OK);
	pass = (struct wallet_pass){
	    .template = &template,
	    .settings = &settings,
	    .account_name = span_str("Demo cafe"),
	    .pass_type = span_str("pass.example.stampede"),
	    .team = span_str("ABCDE12345"),
	    .serial = span_str("K9ydpZdMjBaxniYsEXl2yg"),
	    .auth = span_str("3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
	    .service_url = span_str("https://passes.example/wallet/apple/acc_0123456789abcdef"),
	    .pass_id = span_str("ada"),
	    .visible = span_str("{}"),
	    .balance = 25};
}

static const char *written(void)
{
	buffer_clear(&out);
	cr_assert_eq(wallet_pass_json(&pass, &arena, &out), OK);
	buffer_byte(&out, 0);
	struct json *json;
	cr_assert_eq(json_parse(span_str((const char *)out.at), &arena, &json), OK, "%s",
	             (const char *)out.at);
	return (const char *)out.at;
}

#define HAS(text)   cr_expect(strstr(written(), text), "%s lacks %s", (const char *)out.at, text)
#define LACKS(text) cr_expect_not(strstr(written(), text), "%s has %s", (const char *)out.at, text)

#define CAFE                                                                                                 \
	"{\"name\":\"Demo cafe loyalty "                                                                     \
	"card\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"holder\",\"fields\":["             \
	"{\"key\":\"holder\",\"label\":\"Holder\",\"type\":\"text\"},{\"key\":\"since\",\"label\":\"Member " \
	"since\",\"type\":\"date\"},"                                                                        \
	"{\"key\":\"beans\",\"label\":\"Beans\",\"type\":\"number\",\"locked\":true},"                       \
	"{\"key\":\"site\",\"label\":\"Website\",\"type\":\"url\"},{\"key\":\"vip\",\"type\":\"boolean\"},"  \
	"{\"key\":\"kilos\",\"type\":\"number\"}],"                                                          \
	"\"appearance\":{\"background_color\":\"#2f4f4f\",\"title\":\"Demo cafe\"}"

Test(wallet_pass, is_written_to_the_byte)
{
	begin(CAFE ",\"wallet\":{\"organization\":\"Demo "
	           "\\\"cafe\\\"\",\"header\":[\"beans\"],\"secondary\":[\"holder\"],"
	           "\"auxiliary\":[\"since\"],\"changes\":{\"beans\":\"You now have %@ "
	           "beans.\"},\"label_color\":\"#e2E8e8\","
	           "\"sharing\":false,\"locations\":[{\"latitude\":19.4326,\"longitude\":-99.1332,\"text\":"
	           "\"A coffee?\"},"
	           "{\"latitude\":0,\"longitude\":1e1}],\"max_distance\":200,\"relevant_field\":\"since\","
	           "\"links\":[{\"label\":\"More\",\"url\":\"https://cafe.example/?a=1&b=2\"}]}}");
	pass.visible = span_str(
	    "{\"holder\":\"Ada\",\"since\":\"2026-11-21\",\"site\":\"https://cafe.example/\","
	    "\"vip\":true,\"kilos\":1.50,\"gone\":\"x\"}");
	pass.message = span_str("A coffee is on us.");
	cr_expect_str_eq(
	    written(),
	    "{\"formatVersion\":1,\"passTypeIdentifier\":\"pass.example.stampede\",\"teamIdentifier\":"
	    "\"ABCDE12345\","
	    "\"serialNumber\":\"K9ydpZdMjBaxniYsEXl2yg\",\"organizationName\":\"Demo \\\"cafe\\\"\","
	    "\"description\":\"Demo cafe loyalty card\",\"logoText\":\"Demo "
	    "cafe\",\"backgroundColor\":\"rgb(47, 79, 79)\","
	    "\"foregroundColor\":\"rgb(255, 255, 255)\",\"labelColor\":\"rgb(226, 232, "
	    "232)\",\"sharingProhibited\":true,"
	    "\"webServiceURL\":\"https://passes.example/wallet/apple/acc_0123456789abcdef\","
	    "\"authenticationToken\":\"3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
	    "\"barcodes\":[{\"format\":\"PKBarcodeFormatQR\",\"message\":\"ada\",\"messageEncoding\":\"iso-"
	    "8859-1\","
	    "\"altText\":\"ada\"}],\"storeCard\":{"
	    "\"headerFields\":[{\"key\":\"beans\",\"label\":\"Beans\",\"value\":25,\"changeMessage\":\"You "
	    "now have %@ beans.\"}],"
	    "\"secondaryFields\":[{\"key\":\"holder\",\"label\":\"Holder\",\"value\":\"Ada\"}],"
	    "\"auxiliaryFields\":[{\"key\":\"since\",\"label\":\"Member "
	    "since\",\"value\":\"2026-11-21T00:00:00Z\","
	    "\"dateStyle\":\"PKDateStyleMedium\",\"timeStyle\":\"PKDateStyleNone\",\"ignoresTimeZone\":true}]"
	    ","
	    "\"backFields\":[{\"key\":\"stampede.message\",\"label\":\"News\",\"value\":\"A coffee is on "
	    "us.\","
	    "\"dataDetectorTypes\":[]},{\"key\":\"site\",\"label\":\"Website\",\"value\":\"https://"
	    "cafe.example/\","
	    "\"attributedValue\":\"<a href=\\\"https://cafe.example/\\\">https://cafe.example/</a>\"},"
	    "{\"key\":\"vip\",\"label\":\"vip\",\"value\":\"Yes\",\"dataDetectorTypes\":[]},"
	    "{\"key\":\"kilos\",\"label\":\"kilos\",\"value\":1.50,\"dataDetectorTypes\":[]},"
	    "{\"key\":\"stampede.link.1\",\"label\":\"More\",\"value\":\"https://cafe.example/?a=1&b=2\","
	    "\"attributedValue\":\"<a "
	    "href=\\\"https://cafe.example/?a=1&amp;b=2\\\">https://cafe.example/?a=1&amp;b=2</a>\"}]},"
	    "\"locations\":[{\"latitude\":19.4326,\"longitude\":-99.1332,\"relevantText\":\"A coffee?\"},"
	    "{\"latitude\":0,\"longitude\":1e1}],\"maxDistance\":200,\"relevantDate\":\"2026-11-21T00:00:"
	    "00Z\"}");
}

Test(wallet_pass, of_a_template_without_settings_has_defaults)
{
	begin("{\"name\":\"Card\",\"loyalty_type\":\"none\",\"fields\":[]}");
	pass.service_url = span_of(NULL, 0);
	cr_expect_str_eq(written(), "{\"formatVersion\":1,\"passTypeIdentifier\":\"pass.example.stampede\","
	                            "\"teamIdentifier\":\"ABCDE12345\","
	                            "\"serialNumber\":\"K9ydpZdMjBaxniYsEXl2yg\",\"organizationName\":\"Demo "
	                            "cafe\",\"description\":\"Card\","
	                            "\"logoText\":\"Card\",\"generic\":{}}");
}

/* The pass's own title, the one for wallets, the template's, its name. */
Test(wallet_pass, title_goes_by_precedence)
{
	begin(CAFE ",\"wallet\":{\"logo_text\":\"Beans!\"}}");
	HAS("\"logoText\":\"Beans!\"");
	pass.appearance = span_str("{\"title\":\"Ada's\"}");
	HAS("\"logoText\":\"Ada's\"");
	begin(CAFE "}");
	HAS("\"logoText\":\"Demo cafe\"");
}

Test(wallet_pass, colours_need_a_background)
{
	begin("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[],\"wallet\":{\"foreground_color\":\"#"
	      "010203\"}}");
	LACKS("Color");
	pass.appearance = span_str("{\"background_color\":\"#fffff0\"}");
	HAS("\"backgroundColor\":\"rgb(255, 255, 240)\",\"foregroundColor\":\"rgb(1, 2, 3)\",\"");
	begin(CAFE "}");
	HAS("\"backgroundColor\":\"rgb(47, 79, 79)\",\"foregroundColor\":\"rgb(255, 255, 255)\"");
	pass.appearance = span_str("{\"background_color\":\"#ffffff\"}");
	HAS("\"foregroundColor\":\"rgb(0, 0, 0)\"");
	LACKS("labelColor");
}

Test(wallet_pass, barcode_holds_the_id_in_the_smallest_encoding)
{
	begin(CAFE ",\"wallet\":{\"barcode\":{\"format\":\"code128\",\"caption\":false}}}");
	HAS("\"barcodes\":[{\"format\":\"PKBarcodeFormatCode128\",\"message\":\"ada\",\"messageEncoding\":"
	    "\"iso-8859-1\"}]");
	pass.pass_id = span_str("ad\xc3\xa1-\xc3\xbf");
	HAS("\"messageEncoding\":\"iso-8859-1\"");
	pass.pass_id = span_str("ad\xc4\x80");
	HAS("\"messageEncoding\":\"utf-8\"");
	begin("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}");
	LACKS("barcode");
}

Test(wallet_pass, voided_has_no_service)
{
	begin(CAFE "}");
	pass.is_voided = true;
	HAS("\"voided\":true");
	LACKS("webServiceURL");
	LACKS("authenticationToken");
}

Test(wallet_pass, tells_one_change)
{
	begin(CAFE ",\"wallet\":{\"changes\":{\"holder\":\"Hello %@\"}}}");
	pass.visible = span_str("{\"holder\":\"Ada\"}");
	pass.message = span_str("News!");
	HAS("\"value\":25,\"changeMessage\":\"Beans: %@\"");
	LACKS("Hello");
	pass.announces = WALLET_ANNOUNCES_MESSAGE;
	HAS("\"value\":\"News!\",\"changeMessage\":\"%@\"");
	LACKS("Beans: %@");
	pass.announces = WALLET_ANNOUNCES_FIELD;
	pass.announced_field = 0;
	HAS("\"value\":\"Ada\",\"changeMessage\":\"Hello %@\"");
	LACKS("Beans: %@");
	pass.announces = WALLET_ANNOUNCES_NOTHING;
	LACKS("changeMessage");
}

static unsigned edited(const char *before, const char *after)
{
	uint8_t                  field = 99;
	const struct wallet_edit edit = {.template = &template,
	                                 .settings = &settings,
	                                 .before = span_str(before),
	                                 .after = span_str(after)};
	cr_assert_eq(wallet_edited_field(&edit, &arena, &field), OK);
	return field;
}

Test(wallet_pass, an_edit_announces_the_first_field_with_a_text)
{
	begin(CAFE ",\"wallet\":{\"changes\":{\"since\":\"Since %@\",\"site\":\"At %@\"}}}");
	cr_expect_eq(edited("{\"site\":\"a\",\"since\":\"b\"}", "{\"site\":\"c\",\"since\":\"d\"}"), 2);
	unsigned site = edited("{\"site\":\"a\",\"since\":\"b\"}", "{\"since\":\"b\",\"site\":\"c\"}");
	cr_expect_gt(site, 2);
	cr_expect_eq(edited("", "{\"site\":\"c\"}"), site, "it had no data");
	cr_expect_eq(edited("{\"site\":\"c\"}", ""), site);
	cr_expect_eq(edited("{\"site\":null}", "{}"), 0, "none before, none after");
	cr_expect_eq(edited("{\"site\":\"1\"}", "{\"site\":1}"), site, "another type");
	cr_expect_eq(edited("{\"site\":true}", "{\"site\":false}"), site);
	cr_expect_eq(edited("{\"site\":true}", "{\"site\":true}"), 0);
	cr_expect_eq(edited("{\"holder\":\"a\"}", "{\"holder\":\"b\"}"), 0, "no text");
	cr_expect_eq(edited("{\"other\":\"a\"}", "{\"other\":\"b\"}"), 0, "no field of the template");
}

Test(wallet_pass, damaged_edits_are_an_error)
{
	uint8_t            field;
	struct wallet_edit edit = {.template = &template, .settings = &settings, .after = span_str("[]")};
	begin(CAFE "}");
	cr_expect_eq(wallet_edited_field(&edit, &arena, &field), ERR_DAMAGED);
	edit.after = span_str("{");
	cr_expect_eq(wallet_edited_field(&edit, &arena, &field), ERR_DAMAGED);
}

Test(wallet_pass, counter_may_be_silent)
{
	begin(CAFE ",\"wallet\":{\"changes\":{\"beans\":null}}}");
	LACKS("changeMessage");
	HAS("\"value\":25");
}

Test(wallet_pass, label_with_the_mark_stands_not_before_the_value)
{
	begin("{\"name\":\"n\",\"loyalty_type\":\"balance\",\"fields\":[{\"key\":\"b\",\"label\":\"%@!\","
	      "\"type\":\"number\","
	      "\"locked\":true}]}");
	HAS("\"changeMessage\":\"%@\"");
}

Test(wallet_pass, dates_have_seconds_and_their_offset)
{
	static const struct {
		const char *value, *want;
	} rows[] = {
	    {"2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"},
	    {"2026-11-21t10:00:00.123456789z", "2026-11-21T10:00:00Z"},
	    {"2026-11-21T10:00:00.5-06:00", "2026-11-21T10:00:00-06:00"},
	    {"2026-11-21T10:00:00+05:30", "2026-11-21T10:00:00+05:30"},
	    {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
	    {"2016-12-31T18:59:60.7-05:00", "2017-01-01T00:00:00Z"},
	};
	char visible[100], want[160];
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin(CAFE ",\"wallet\":{\"expires_field\":\"since\"}}");
		snprintf(visible, sizeof visible, "{\"since\":\"%s\"}", rows[i].value);
		pass.visible = span_str(visible);
		snprintf(want, sizeof want,
		         "\"value\":\"%s\",\"dateStyle\":\"PKDateStyleMedium\",\"timeStyle\":"
		         "\"PKDateStyleShort\"}",
		         rows[i].want);
		HAS(want);
		LACKS("ignoresTimeZone");
		snprintf(want, sizeof want, "\"expirationDate\":\"%s\"", rows[i].want);
		HAS(want);
	}
}

Test(wallet_pass, values_go_by_their_own_type)
{
	begin(CAFE "}");
	pass.visible = span_str(
	    "{\"holder\":5,\"since\":\"soon\",\"site\":\"none\",\"vip\":false,\"kilos\":\"1 kg\"}");
	HAS("\"key\":\"holder\",\"label\":\"Holder\",\"value\":5}");
	HAS("\"key\":\"since\",\"label\":\"Member since\",\"value\":\"soon\"}");
	HAS("\"key\":\"site\",\"label\":\"Website\",\"value\":\"none\"}");
	HAS("\"key\":\"vip\",\"label\":\"vip\",\"value\":\"No\"}");
	HAS("\"key\":\"kilos\",\"label\":\"kilos\",\"value\":\"1 kg\",\"dataDetectorTypes\":[]}");
}

Test(wallet_pass, keys_of_the_template_never_clash_with_ours)
{
	begin("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[{\"key\":\"stampede.message\",\"type\":"
	      "\"text\"},"
	      "{\"key\":\"field:stampede.message\",\"type\":\"text\"}]}");
	pass.visible = span_str("{\"stampede.message\":\"a\",\"field:stampede.message\":\"b\"}");
	pass.message = span_str("c");
	HAS("\"key\":\"field:stampede.message\",\"label\":\"stampede.message\",\"value\":\"a\"");
	HAS("\"key\":\"field:field:stampede.message\",\"label\":\"field:stampede.message\",\"value\":\"b\"");
	HAS("\"key\":\"stampede.message\",\"label\":\"News\",\"value\":\"c\"");
}

Test(wallet_pass, links_are_escaped)
{
	begin(CAFE "}");
	pass.visible = span_str("{\"site\":\"https://a.example/?q='<b>\\\"&\"}");
	HAS("\"attributedValue\":\"<a href=\\\"https://a.example/?q=&#39;&lt;b&gt;&quot;&amp;\\\">"
	    "https://a.example/?q=&#39;&lt;b&gt;&quot;&amp;</a>\"");
}

Test(wallet_pass, damaged_data_are_an_error)
{
	begin(CAFE "}");
	pass.visible = span_str("{\"holder\":");
	buffer_clear(&out);
	cr_expect_eq(wallet_pass_json(&pass, &arena, &out), ERR_DAMAGED);
	pass.visible = span_str("[]");
	cr_expect_eq(wallet_pass_json(&pass, &arena, &out), ERR_DAMAGED);
}

static char told[400];

static void tell(void *user, const char *text)
{
	(void)user;
	snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

Test(wallet_pass, warns_of_what_the_holder_would_miss)
{
	begin(CAFE "}");
	cr_assert_eq(wallet_pass_warn(&pass, &arena, tell, NULL), OK);
	cr_expect_str_eq(told, "");
	begin("{\"name\":\"n\",\"loyalty_type\":\"none\",\"qr\":true,\"fields\":[],"
	      "\"wallet\":{\"label_color\":\"#000000\",\"barcode\":{\"format\":\"code128\"}}}");
	pass.service_url = span_of(NULL, 0);
	pass.pass_id = span_str("\xc3\xa1");
	cr_assert_eq(wallet_pass_warn(&pass, &arena, tell, NULL), OK);
	cr_expect(strstr(told, "colours") && strstr(told, "code128") && strstr(told, "https"), "%s", told);
}

/* ---- Google ---- */

static struct google_pass google;

static const char *google_text(enum err (*write)(const struct google_pass *, struct arena *, struct buffer *))
{
	struct json *json;
	google.pass = &pass;
	google.issuer = span_str("3388000000012345678");
	google.template_number = 7;
	if (!google.public_url) google.public_url = "https://passes.example";
	buffer_clear(&out);
	cr_assert_eq(write(&google, &arena, &out), OK);
	buffer_byte(&out, 0);
	cr_assert_eq(json_parse(span_str((const char *)out.at), &arena, &json), OK, "%s",
	             (const char *)out.at);
	return (const char *)out.at;
}

#define OBJECT_HAS(text) cr_expect(strstr(google_text(google_object_json), text), "%s", (const char *)out.at)
#define OBJECT_LACKS(text) \
	cr_expect_not(strstr(google_text(google_object_json), text), "%s", (const char *)out.at)
#define CLASS_HAS(text) cr_expect(strstr(google_text(google_class_json), text), "%s", (const char *)out.at)
#define CLASS_LACKS(text) \
	cr_expect_not(strstr(google_text(google_class_json), text), "%s", (const char *)out.at)

Test(wallet_pass, at_google_is_a_loyalty_card)
{
	begin(CAFE "}");
	pass.visible = span_str("{\"holder\":\"A\\\"da\",\"since\":\"2026-01-02\",\"site\":null}");
	OBJECT_HAS(
	    "{\"id\":\"3388000000012345678.K9ydpZdMjBaxniYsEXl2yg\",\"classId\":\"3388000000012345678.tpl_");
	OBJECT_HAS("\"state\":\"ACTIVE\",\"accountId\":\"ada\",\"accountName\":\"A\\\"da\"");
	OBJECT_HAS("\"loyaltyPoints\":{\"label\":\"Beans\",\"balance\":{\"int\":25}}");
	OBJECT_HAS(
	    "\"textModulesData\":[{\"id\":\"since\",\"header\":\"Member since\",\"body\":\"2026-01-02\"}]");
	OBJECT_LACKS("notifyPreference");
	CLASS_HAS("\"issuerName\":\"Demo cafe\"");
	CLASS_HAS("\"reviewStatus\":\"UNDER_REVIEW\"");
	CLASS_HAS("\"callbackOptions\":{\"url\":\"https://passes.example/wallet/google/acc_");
	CLASS_LACKS("accountId");
	pass.is_voided = true;
	pass.balance = INT64_C(1) << 31;
	OBJECT_HAS("\"state\":\"INACTIVE\"");
	OBJECT_HAS("\"balance\":{\"string\":\"2147483648\"}");
	pass.balance = -(INT64_C(1) << 31);
	OBJECT_HAS("\"balance\":{\"int\":-2147483648}");
	google.public_url = "http://passes.example";
	CLASS_LACKS("callbackOptions");
}

Test(wallet_pass, at_google_may_notify_of_points)
{
	begin(CAFE ",\"wallet\":{\"google\":{\"notify_balance\":true}}}");
	OBJECT_HAS("\"notifyPreference\":\"NOTIFY_ON_UPDATE\"");
	begin(CAFE "}");
	google.is_update = true;
	OBJECT_HAS("\"notifyPreference\":null");
}

Test(wallet_pass, at_google_an_erased_pass_keeps_no_message)
{
	begin(CAFE "}");
	google.is_update = true;
	OBJECT_LACKS("messages");
	pass.pass_id = span_of(NULL, 0);
	OBJECT_HAS("\"messages\":[]");
}

Test(wallet_pass, at_google_damaged_data_are_an_error)
{
	begin(CAFE "}");
	(void)google_text(google_object_json);
	pass.visible = span_str("[]");
	cr_expect_eq(google_object_json(&google, &arena, &out), ERR_DAMAGED);
	pass.visible = span_str("{");
	cr_expect_eq(google_object_json(&google, &arena, &out), ERR_DAMAGED);
	cr_expect_eq(google_class_json(&google, &arena, &out), OK, "it shows nothing of the pass");
}
