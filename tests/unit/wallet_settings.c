/* schemas/wallet/settings.h: defaults, every member and its limits, and the member that an error names. */
#include "schemas/wallet/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena arena;
static struct template template;
static struct wallet_settings settings;

static void end(void)
{
	arena_free(&arena);
}

TestSuite(wallet_settings, .fini = end);

#define FIELDS                                                                          \
	"{\"key\":\"holder\",\"type\":\"text\"},{\"key\":\"since\",\"type\":\"date\"}," \
	"{\"key\":\"beans\",\"type\":\"number\",\"locked\":true},"                      \
	"{\"key\":\"site\",\"type\":\"url\"},{\"key\":\"vip\",\"type\":\"boolean\"},"   \
	"{\"key\":\"ends\",\"type\":\"date\"},{\"key\":\"note\",\"type\":\"text\"}"

/* Reads a template with this member. Returns the member at fault, or NULL. */
static const char *blamed(const char *wallet)
{
	static struct file_fault fault;
	static char              text[8192];
	struct json             *json;
	snprintf(text, sizeof text,
	         "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"fields\":[" FIELDS "]%s%s}",
	         *wallet ? ",\"wallet\":" : "", wallet);
	cr_assert_eq(json_parse(span_str(text), &arena, &json), OK, "%s", text);
	enum err err = wallet_template_read(json, &template, &settings, &fault);
	cr_assert(err == OK || (err == ERR_INVALID_INPUT && *fault.message), "%s", text);
	return err ? fault.field : NULL;
}

static void good(const char *wallet)
{
	const char *field = blamed(wallet);
	cr_assert_null(field, "%s is blamed in %s", field, wallet);
}

static void bad(const char *want, const char *wallet)
{
	const char *got = blamed(wallet);
	cr_expect(got && !strcmp(got, want), "%s is blamed instead of %s in %s", got ? got : "nothing", want,
	          wallet);
}

/* The keys of a place, each followed by a blank. */
static const char *placed(enum wallet_place place)
{
	static char text[400];
	size_t      size = 0;
	text[0] = 0;
	for (unsigned i = 0; i < settings.places[place].count; i++) {
		struct span key = template.fields[settings.places[place].of[i]].key;
		size += (size_t)snprintf(text + size, sizeof text - size, "%.*s ", (int)key.size,
		                         (const char *)key.at);
	}
	return text;
}

static void expect_defaults(bool is_given)
{
	cr_expect(settings.is_given == is_given && settings.style == WALLET_STORE_CARD);
	cr_expect(settings.barcode == WALLET_QR && settings.caption && settings.sharing);
	cr_expect(!settings.blocks_reinstall && !settings.notifies_balance && !settings.is_silent);
	cr_expect(span_is(settings.message_label, "News") && settings.max_distance == 0);
	cr_expect(!settings.organization.size && !settings.description.size && !settings.logo_text.size);
	cr_expect(!settings.foreground_color.size && !settings.label_color.size && !settings.icon.size);
	cr_expect(!settings.relevant.size && !settings.expires.size);
	cr_expect(settings.location_count == 0 && settings.link_count == 0);
	cr_expect_str_eq(placed(WALLET_HEADER), "beans ");
	cr_expect_str_eq(placed(WALLET_PRIMARY), "");
	cr_expect_str_eq(placed(WALLET_SECONDARY), "holder since ");
	cr_expect_str_eq(placed(WALLET_AUXILIARY), "site vip ");
	cr_expect_str_eq(placed(WALLET_BACK), "ends note ");
	for (unsigned i = 0; i < TEMPLATE_FIELDS_MAX; i++)
		cr_expect_eq(settings.changes[i].size, 0);
}

Test(wallet_settings, have_defaults)
{
	good("");
	expect_defaults(false);
	good("null");
	expect_defaults(false);
	good("{}");
	expect_defaults(true);
}

Test(wallet_settings, null_is_the_same_as_absence)
{
	static const char *const members[] = {
	    "organization",  "description",      "style",       "logo_text",    "header",
	    "primary",       "secondary",        "auxiliary",   "back",         "changes",
	    "message_label", "foreground_color", "label_color", "barcode",      "icon",
	    "sharing",       "reinstall",        "locations",   "max_distance", "links",
	    "expires_field", "relevant_field",   "google"};
	char text[200];
	for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
		snprintf(text, sizeof text, "{\"%s\":null}", members[i]);
		good(text);
		expect_defaults(true);
	}
	good("{\"barcode\":{\"format\":null,\"caption\":null},\"google\":{\"notify_balance\":null},"
	     "\"locations\":[{\"latitude\":1,\"longitude\":2,\"text\":null}]}");
	cr_expect(settings.location_count == 1 && !settings.locations[0].text.size);
}

Test(wallet_settings, stamps_stand_first_and_no_counter_makes_a_generic_pass)
{
	struct json      *json;
	struct file_fault fault;
	cr_assert(!json_parse(
	    span_str("{\"name\":\"n\",\"loyalty_type\":\"stamps\",\"fields\":[" FIELDS "]}"), &arena, &json));
	cr_assert(!wallet_template_read(json, &template, &settings, &fault));
	cr_expect_str_eq(placed(WALLET_PRIMARY), "beans ");
	cr_expect_str_eq(placed(WALLET_HEADER), "");
	cr_assert(
	    !json_parse(span_str("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[]}"), &arena, &json));
	cr_assert(!wallet_template_read(json, &template, &settings, &fault));
	cr_expect_eq(settings.style, WALLET_GENERIC);
}

Test(wallet_settings, reads_every_member)
{
	good(
	    "{\"organization\":\"Cafe\",\"description\":\"Card\",\"style\":\"coupon\",\"logo_text\":\"Logo\","
	    "\"header\":[\"beans\"],\"primary\":[],\"secondary\":[\"holder\"],\"auxiliary\":[\"since\"],"
	    "\"back\":[\"note\"],"
	    "\"changes\":{\"beans\":\"Now %@ beans, 100 % "
	    "fresh.\",\"since\":null},\"message_label\":\"Post\","
	    "\"foreground_color\":\"#ffffff\",\"label_color\":\"#e2e8e8\",\"barcode\":{\"format\":\"aztec\","
	    "\"caption\":false},"
	    "\"icon\":\"https://a.example/i.png\",\"sharing\":false,\"reinstall\":\"block\","
	    "\"locations\":[{\"latitude\":19.4326,\"longitude\":-99.1332,\"text\":\"A "
	    "coffee?\"}],\"max_distance\":200,"
	    "\"relevant_field\":\"since\",\"expires_field\":\"ends\","
	    "\"links\":[{\"label\":\"Website\",\"url\":\"https://cafe.example/"
	    "\"}],\"google\":{\"notify_balance\":true}}");
	cr_expect(span_is(settings.organization, "Cafe") && span_is(settings.description, "Card"));
	cr_expect(settings.style == WALLET_COUPON && span_is(settings.logo_text, "Logo"));
	cr_expect(span_is(settings.changes[2], "Now %@ beans, 100 % fresh.") && !settings.changes[1].size);
	cr_expect(span_is(settings.message_label, "Post") && settings.barcode == WALLET_AZTEC);
	cr_expect(span_is(settings.foreground_color, "#ffffff") && span_is(settings.label_color, "#e2e8e8"));
	cr_expect(!settings.caption && !settings.sharing && settings.blocks_reinstall);
	cr_expect(span_is(settings.icon, "https://a.example/i.png") && settings.max_distance == 200);
	cr_expect(span_is(settings.locations[0].latitude, "19.4326"));
	cr_expect(span_is(settings.locations[0].longitude, "-99.1332"));
	cr_expect(span_is(settings.locations[0].text, "A coffee?") && settings.location_count == 1);
	cr_expect(span_is(settings.relevant, "since") && span_is(settings.expires, "ends"));
	cr_expect(settings.link_count == 1 && span_is(settings.links[0].label, "Website"));
	cr_expect(span_is(settings.links[0].url, "https://cafe.example/") && settings.notifies_balance);
	cr_expect_str_eq(placed(WALLET_BACK), "note site vip ends ");
}

Test(wallet_settings, with_one_place_given_the_others_are_empty_and_the_back_takes_the_rest)
{
	good("{\"header\":[]}");
	for (unsigned place = 0; place < WALLET_BACK; place++)
		cr_expect_str_eq(placed((enum wallet_place)place), "");
	cr_expect_str_eq(placed(WALLET_BACK), "holder since beans site vip ends note ");
	good("{\"back\":[\"note\",\"beans\"]}");
	cr_expect_str_eq(placed(WALLET_BACK), "note beans holder since site vip ends ");
}

Test(wallet_settings, a_silent_counter_is_said_by_null)
{
	good("{\"changes\":{\"beans\":null}}");
	cr_expect(settings.is_silent);
	good("{\"changes\":{\"holder\":null}}");
	cr_expect_not(settings.is_silent);
}

static const struct {
	const char *blame, *wallet;
} refusals[] = {
    {"wallet", "[]"},
    {"wallet", "true"},
    {"wallet.colour", "{\"colour\":1}"},
    {"wallet.organization", "{\"organization\":\"\"}"},
    {"wallet.description", "{\"description\":1}"},
    {"wallet.logo_text", "{\"logo_text\":[]}"},
    {"wallet.message_label", "{\"message_label\":\"\"}"},
    {"wallet.style", "{\"style\":\"boardingPass\"}"},
    {"wallet.style", "{\"style\":1}"},
    {"wallet.header", "{\"header\":\"beans\"}"},
    {"wallet.header", "{\"header\":[\"beans\",\"holder\",\"since\",\"site\"]}"},
    {"wallet.header[0]", "{\"header\":[\"bean\"]}"},
    {"wallet.header[0]", "{\"header\":[1]}"},
    {"wallet.header[1]", "{\"header\":[\"beans\",\"beans\"]}"},
    {"wallet.primary", "{\"primary\":[\"beans\",\"holder\"]}"},
    {"wallet.primary[0]", "{\"header\":[\"beans\"],\"primary\":[\"beans\"]}"},
    {"wallet.secondary", "{\"secondary\":[\"beans\",\"holder\",\"since\",\"site\",\"vip\"]}"},
    {"wallet.auxiliary", "{\"auxiliary\":[\"beans\",\"holder\",\"since\",\"site\",\"vip\"]}"},
    {"wallet.back", "{\"back\":{}}"},
    {"wallet.changes", "{\"changes\":[]}"},
    {"wallet.changes.bean", "{\"changes\":{\"bean\":\"%@\"}}"},
    {"wallet.changes.beans", "{\"changes\":{\"beans\":\"none\"}}"},
    {"wallet.changes.beans", "{\"changes\":{\"beans\":\"%@ and %@\"}}"},
    {"wallet.changes.beans", "{\"changes\":{\"beans\":\"\"}}"},
    {"wallet.changes.beans", "{\"changes\":{\"beans\":5}}"},
    {"wallet.foreground_color", "{\"foreground_color\":\"white\"}"},
    {"wallet.label_color", "{\"label_color\":\"#2f4f4g\"}"},
    {"wallet.barcode", "{\"barcode\":\"qr\"}"},
    {"wallet.barcode.format", "{\"barcode\":{\"format\":\"QR\"}}"},
    {"wallet.barcode.caption", "{\"barcode\":{\"caption\":1}}"},
    {"wallet.barcode.text", "{\"barcode\":{\"text\":1}}"},
    {"wallet.icon", "{\"icon\":\"icon.png\"}"},
    {"wallet.sharing", "{\"sharing\":\"no\"}"},
    {"wallet.reinstall", "{\"reinstall\":\"never\"}"},
    {"wallet.locations", "{\"locations\":{}}"},
    {"wallet.locations[0]", "{\"locations\":[1]}"},
    {"wallet.locations[0].latitude", "{\"locations\":[{\"longitude\":1}]}"},
    {"wallet.locations[0].latitude", "{\"locations\":[{\"latitude\":90.0001,\"longitude\":1}]}"},
    {"wallet.locations[0].latitude", "{\"locations\":[{\"latitude\":\"1\",\"longitude\":1}]}"},
    {"wallet.locations[0].longitude", "{\"locations\":[{\"latitude\":1,\"longitude\":-180.5}]}"},
    {"wallet.locations[0].longitude", "{\"locations\":[{\"latitude\":1,\"longitude\":1e3}]}"},
    {"wallet.locations[0].longitude", "{\"locations\":[{\"latitude\":1,\"longitude\":1e400}]}"},
    {"wallet.locations[1].text",
     "{\"locations\":[{\"latitude\":1,\"longitude\":1},{\"latitude\":1,\"longitude\":1,\"text\":\"\"}]}"},
    {"wallet.locations[0].altitude", "{\"locations\":[{\"latitude\":1,\"longitude\":1,\"altitude\":1}]}"},
    {"wallet.max_distance", "{\"max_distance\":0}"},
    {"wallet.max_distance", "{\"max_distance\":100001}"},
    {"wallet.max_distance", "{\"max_distance\":1.5}"},
    {"wallet.relevant_field", "{\"relevant_field\":\"holder\"}"},
    {"wallet.relevant_field", "{\"relevant_field\":1}"},
    {"wallet.expires_field", "{\"expires_field\":\"none\"}"},
    {"wallet.links", "{\"links\":\"https://a.example/\"}"},
    {"wallet.links[0]", "{\"links\":[\"https://a.example/\"]}"},
    {"wallet.links[0].label", "{\"links\":[{\"url\":\"https://a.example/\"}]}"},
    {"wallet.links[0].url", "{\"links\":[{\"label\":\"a\"}]}"},
    {"wallet.links[0].url", "{\"links\":[{\"label\":\"a\",\"url\":\"ftp://a.example/\"}]}"},
    {"wallet.links[0].text", "{\"links\":[{\"label\":\"a\",\"url\":\"https://a.example/\",\"text\":1}]}"},
    {"wallet.google", "{\"google\":1}"},
    {"wallet.google.class", "{\"google\":{\"class\":1}}"},
    {"wallet.google.notify_balance", "{\"google\":{\"notify_balance\":\"yes\"}}"},
};

Test(wallet_settings, refuse_what_is_wrong_and_name_it)
{
	for (unsigned i = 0; i < sizeof refusals / sizeof *refusals; i++)
		bad(refusals[i].blame, refusals[i].wallet);
}

/* `before`, `count` characters of two bytes each, `after`. */
static const char *with_text(const char *before, unsigned count, const char *after)
{
	static char text[2048];
	size_t      size = (size_t)snprintf(text, sizeof text, "%s", before);
	for (unsigned i = 0; i < count; i++)
		size += (size_t)snprintf(text + size, sizeof text - size, "\xc3\xa9");
	snprintf(text + size, sizeof text - size, "%s", after);
	return text;
}

Test(wallet_settings, texts_are_counted_in_characters)
{
	static const struct {
		const char *blame, *before, *after;
		unsigned    most;
	} rows[] = {
	    {"wallet.organization", "{\"organization\":\"", "\"}", 200},
	    {"wallet.description", "{\"description\":\"", "\"}", 200},
	    {"wallet.logo_text", "{\"logo_text\":\"", "\"}", 200},
	    {"wallet.message_label", "{\"message_label\":\"", "\"}", 200},
	    {"wallet.changes.note", "{\"changes\":{\"note\":\"%@", "\"}}", 198},
	    {"wallet.locations[0].text", "{\"locations\":[{\"latitude\":-90,\"longitude\":180,\"text\":\"",
	     "\"}]}", 200},
	    {"wallet.links[0].label", "{\"links\":[{\"url\":\"http://a.example\",\"label\":\"", "\"}]}", 80},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		good(with_text(rows[i].before, rows[i].most, rows[i].after));
		bad(rows[i].blame, with_text(rows[i].before, rows[i].most + 1, rows[i].after));
	}
}

Test(wallet_settings, lists_have_a_most)
{
	char   text[2048];
	size_t size;
	for (unsigned count = 10; count <= 11; count++) {
		size = (size_t)snprintf(text, sizeof text,
		                        "{\"locations\":[{\"latitude\":1,\"longitude\":1}");
		for (unsigned i = 1; i < count; i++)
			size += (size_t)snprintf(text + size, sizeof text - size,
			                         ",{\"latitude\":1,\"longitude\":1}");
		snprintf(text + size, sizeof text - size, "]}");
		count == 10 ? good(text) : bad("wallet.locations", text);
		size = (size_t)snprintf(text, sizeof text,
		                        "{\"links\":[{\"label\":\"a\",\"url\":\"https://a.example\"}");
		for (unsigned i = 1; i < count; i++)
			size += (size_t)snprintf(text + size, sizeof text - size,
			                         ",{\"label\":\"a\",\"url\":\"https://a.example\"}");
		snprintf(text + size, sizeof text - size, "]}");
		count == 10 ? good(text) : bad("wallet.links", text);
	}
}

Test(wallet_settings, fields_beyond_twenty_on_the_back_are_left_out)
{
	char              text[4096];
	struct json      *json;
	struct file_fault fault;
	size_t            size = (size_t)snprintf(text, sizeof text,
	                                          "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[");
	for (unsigned i = 0; i < 30; i++)
		size += (size_t)snprintf(text + size, sizeof text - size,
		                         "%s{\"key\":\"k%u\",\"type\":\"text\"}", i ? "," : "", i);
	snprintf(text + size, sizeof text - size, "],\"wallet\":{\"header\":[\"k29\"]}}");
	cr_assert(!json_parse(span_str(text), &arena, &json));
	cr_assert(!wallet_template_read(json, &template, &settings, &fault));
	cr_expect_eq(settings.places[WALLET_BACK].count, WALLET_BACK_FIELDS_MAX);
	cr_expect_eq(settings.places[WALLET_BACK].of[19], 19);
	cr_expect_str_eq(placed(WALLET_HEADER), "k29 ");
}
