/* The template file: accepted and refused files, the field that an error names, and which properties a
 * replacement may change. */
#include "schemas/template.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena arena;

static void end(void)
{
	arena_free(&arena);
}

TestSuite(template, .fini = end);

/* Reads a file. Returns the name of the member at fault, or NULL. */
static const char *blamed(const char *text, struct template *template)
{
	static struct file_fault fault;
	struct json             *json;
	cr_assert_eq(json_parse(span_str(text), &arena, &json), OK, "%s", text);
	enum err err = template_read(json, template, &fault);
	cr_assert(err == OK || (err == ERR_INVALID_INPUT && *fault.message));
	return err ? fault.field : NULL;
}

/* A template has pointers into itself, so it is never copied. */
static const struct template *good(const char *text)
{
	static struct template templates[2];
	static unsigned turn;
	struct template *template = &templates[turn++ % 2];
	const char *field = blamed(text, template);
	cr_assert_null(field, "%s is blamed in %s", field, text);
	return template;
}

#define COUNTER "{\"key\":\"points\",\"type\":\"number\",\"locked\":true}"

Test(template, reads_every_member)
{
	const struct template *t = good(
	    "{\"pass_template_id\":\"tpl_x\",\"name\":\"Coffee card\",\"loyalty_type\":\"balance\","
	    "\"qr\":true,\"name_field\":\"name\",\"min_balance\":-5,\"fields\":["
	    "{\"key\":\"name\",\"label\":\"Name\",\"type\":\"text\",\"required\":true,\"max_length\":80},"
	    "{\"key\":\"points\",\"label\":\"Points\",\"type\":\"number\",\"locked\":true}],"
	    "\"appearance\":{\"background_color\":\"#11aaFF\",\"title\":\"Coffee\","
	    "\"logo\":\"https://a.example/l.png\",\"banner\":\"http://a.example/b.png\"}}");
	cr_expect(span_is(t->name, "Coffee card") && span_is(t->name_field, "name"));
	cr_expect(t->loyalty == LOYALTY_BALANCE && t->qr && t->has_min_balance && t->min_balance == -5);
	cr_assert_eq(t->field_count, 2);
	cr_expect(span_is(t->fields[0].key, "name") && span_is(t->fields[0].label, "Name"));
	cr_expect(t->fields[0].kind == FIELD_TEXT && t->fields[0].required && !t->fields[0].locked);
	cr_expect_eq(t->fields[0].max_length, 80);
	cr_expect(t->counter == &t->fields[1] && t->fields[1].locked && t->fields[1].kind == FIELD_NUMBER);
	cr_expect_eq(template_field(t, span_str("points")), t->counter);
	cr_expect_null(template_field(t, span_str("point")));
}

Test(template, omits_absent_members)
{
	const struct template *t = good(
	    "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[{\"key\":\"k\",\"type\":\"url\"}]}");
	cr_expect(!t->qr && !t->has_min_balance && t->name_field.size == 0 && t->counter == NULL);
	cr_expect(!t->fields[0].required && !t->fields[0].locked && t->fields[0].max_length == 0);
	cr_expect(span_is(t->fields[0].label, "k"), "without a label the key is used");
	t = good("{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[],\"qr\":null,\"name_field\":null,"
	         "\"appearance\":null,\"min_balance\":null}");
	cr_expect_eq(t->field_count, 0);
}

Test(template, accepts_every_type)
{
	static const char *const kinds[FIELD_KINDS] = {"text", "number", "date", "url", "boolean"};
	static const char *const loyalties[] = {"none", "balance", "stamps"};
	char                     text[300];
	for (unsigned i = 0; i < FIELD_KINDS; i++) {
		snprintf(
		    text, sizeof text,
		    "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[{\"key\":\"k\",\"type\":\"%s\"}]}",
		    kinds[i]);
		cr_expect_eq((unsigned)good(text)->fields[0].kind, i);
		cr_expect_str_eq(field_kind_text((enum field_kind)i), kinds[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		snprintf(text, sizeof text, "{\"name\":\"n\",\"loyalty_type\":\"%s\",\"fields\":[%s]}",
		         loyalties[i], i ? COUNTER : "");
		cr_expect_eq((unsigned)good(text)->loyalty, i);
		cr_expect_str_eq(loyalty_text((enum loyalty)i), loyalties[i]);
	}
}

#define TEXT_40  "0123456789012345678901234567890123456789"
#define TEXT_200 TEXT_40 TEXT_40 TEXT_40 TEXT_40 TEXT_40

Test(template, limits_names_titles_and_labels_to_200_bytes)
{
	const struct template *t = good("{\"name\":\"" TEXT_200 "\",\"loyalty_type\":\"none\","
	                                "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"label\":\"" TEXT_200
	                                "\"}],"
	                                "\"appearance\":{\"title\":\"" TEXT_200 "\"}}");
	cr_expect(t->name.size == 200 && t->title.size == 200 && t->fields[0].label.size == 200);
}

/* In a file that is valid except for `member`, or without `drop`. */
static const struct {
	const char *blame, *member;
} bad_members[] = {
    {"colour", "\"colour\":1"},
    {"name", "\"name\":null"},
    {"name", "\"name\":\"\""},
    {"name", "\"name\":5"},
    {"loyalty_type", "\"loyalty_type\":\"points\""},
    {"loyalty_type", "\"loyalty_type\":null"},
    {"loyalty_type", "\"loyalty_type\":1"},
    {"qr", "\"qr\":1"},
    {"qr", "\"qr\":\"true\""},
    {"fields", "\"fields\":null"},
    {"fields", "\"fields\":{}"},
    {"fields[0]", "\"fields\":[1]"},
    {"fields[0].key", "\"fields\":[{}]"},
    {"fields[0].type", "\"fields\":[{\"key\":\"k\"}]"},
    {"fields[0].key", "\"fields\":[{\"type\":\"text\"}]"},
    {"fields[0].key", "\"fields\":[{\"key\":\"\",\"type\":\"text\"}]"},
    {"fields[0].key", "\"fields\":[{\"key\":1,\"type\":\"text\"}]"},
    {"fields[0].type", "\"fields\":[{\"key\":\"k\",\"type\":\"colour\"}]"},
    {"fields[0].label", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"label\":1}]"},
    {"fields[0].required", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"required\":1}]"},
    {"fields[0].locked", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"locked\":\"no\"}]"},
    {"fields[0].max_length", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"max_length\":-1}]"},
    {"fields[0].max_length", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"max_length\":1.0}]"},
    {"fields[0].colour", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"colour\":1}]"},
    {"fields[1].key", "\"fields\":[{\"key\":\"k\",\"type\":\"text\"},{\"key\":\"k\",\"type\":\"url\"}]"},
    {"fields[0].locked", "\"fields\":[" COUNTER "]"}, /* a counter without loyalty */
    {"name_field", "\"name_field\":\"nobody\""},
    {"name_field", "\"name_field\":1"},
    {"name_field", "\"name_field\":\"\""},
    {"appearance", "\"appearance\":[]"},
    {"appearance", "\"appearance\":\"red\""},
    {"appearance.color", "\"appearance\":{\"color\":\"#112233\"}"},
    {"appearance.background_color", "\"appearance\":{\"background_color\":\"112233\"}"},
    {"appearance.logo", "\"appearance\":{\"logo\":\"ftp://a.example/l.png\"}"},
    {"appearance.banner", "\"appearance\":{\"banner\":\"l.png\"}"},
    {"appearance.title", "\"appearance\":{\"title\":5}"},
    {"name", "\"name\":\"" TEXT_200 "x\""},
    {"fields[0].label", "\"fields\":[{\"key\":\"k\",\"type\":\"text\",\"label\":\"" TEXT_200 "x\"}]"},
    {"appearance.title", "\"appearance\":{\"title\":\"" TEXT_200 "x\"}"},
    {"min_balance", "\"min_balance\":-1"}, /* without loyalty */
};

/* The valid file's members; each is left out when the invalid one has its name. */
static void file_with(const char *member, char text[900])
{
	static const char *const members[] = {"\"name\":\"n\"", "\"loyalty_type\":\"none\"",
	                                      "\"fields\":[{\"key\":\"k\",\"type\":\"text\"}]"};
	size_t                   at = (size_t)snprintf(text, 900, "{%s", member);
	size_t                   name = strcspn(member, ":");
	for (unsigned i = 0; i < 3; i++)
		if (strncmp(member, members[i], name))
			at += (size_t)snprintf(text + at, 900 - at, "%s%s", at > 1 ? "," : "", members[i]);
	snprintf(text + at, 900 - at, "}");
}

Test(template, names_the_invalid_member)
{
	struct template template;
	char text[900];
	file_with("\"qr\":false", text);
	(void)good(text);
	for (unsigned i = 0; i < sizeof bad_members / sizeof *bad_members; i++) {
		file_with(bad_members[i].member, text);
		const char *field = blamed(text, &template);
		cr_expect(field && !strcmp(field, bad_members[i].blame), "%s blamed in %s",
		          field ? field : "nothing", text);
	}
}

Test(template, names_missing_and_contradicting_members)
{
	static const struct {
		const char *blame, *text;
	} rows[] = {
	    {"file", "[]"},
	    {"file", "\"text\""},
	    {"name", "{}"},
	    {"loyalty_type", "{\"name\":\"n\",\"fields\":[]}"},
	    {"fields", "{\"name\":\"n\",\"loyalty_type\":\"none\"}"},
	    {"fields", "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"fields\":[]}"},
	    {"fields",
	     "{\"name\":\"n\",\"loyalty_type\":\"stamps\",\"fields\":[{\"key\":\"a\",\"type\":\"number\"}]}"},
	    {"fields[1].locked", "{\"name\":\"n\",\"loyalty_type\":\"stamps\",\"fields\":[" COUNTER
	                         ",{\"key\":\"b\",\"type\":\"number\",\"locked\":true}]}"},
	    {"name_field",
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"name_field\":\"points\",\"fields\":[" COUNTER
	     "]}"},
	    {"min_balance",
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":1,\"fields\":[" COUNTER "]}"},
	    {"min_balance",
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":\"-1\",\"fields\":[" COUNTER "]}"},
	    {"min_balance",
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":-1.5,\"fields\":[" COUNTER "]}"},
	    {NULL,
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"min_balance\":0,\"fields\":[" COUNTER "]}"},
	};
	struct template template;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *field = blamed(rows[i].text, &template);
		bool        right = rows[i].blame ? field && !strcmp(field, rows[i].blame) : !field;
		cr_expect(right, "%s blamed in %s", field ? field : "nothing", rows[i].text);
	}
}

/* `count` fields; the last key has `key_size` bytes. */
static const char *blamed_with(unsigned count, int key_size)
{
	static char text[TEMPLATE_FIELDS_MAX * 64];
	struct template template;
	size_t at = (size_t)snprintf(text, sizeof text,
	                             "{\"name\":\"n\",\"loyalty_type\":\"none\",\"fields\":[");
	for (unsigned i = 1; i < count; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "{\"key\":\"k%u\",\"type\":\"text\"},",
		                       i);
	snprintf(text + at, sizeof text - at, "{\"key\":\"%0*d\",\"type\":\"text\"}]}", key_size, 7);
	return blamed(text, &template);
}

Test(template, has_limits)
{
	cr_expect_null(blamed_with(TEMPLATE_FIELDS_MAX, 100));
	cr_expect_str_eq(blamed_with(TEMPLATE_FIELDS_MAX + 1, 10), "fields");
	cr_expect_str_eq(blamed_with(1, 101), "fields[0].key");
}

Test(template, is_replaced_only_without_changes_that_passes_depend_on)
{
	static const char before[] =
	    "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"a\",\"fields\":["
	    "{\"key\":\"a\",\"type\":\"text\"}," COUNTER "]}";
	static const struct {
		const char *fixed, *after;
	} rows[] = {
	    {NULL, before},
	    {NULL,
	     "{\"name\":\"other\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"a\",\"min_"
	     "balance\":0,\"fields\":["
	     "{\"key\":\"b\",\"type\":\"url\"},{\"key\":\"a\",\"type\":\"text\",\"required\":true}," COUNTER
	     "]}"},
	    {"loyalty_type",
	     "{\"name\":\"n\",\"loyalty_type\":\"stamps\",\"qr\":true,\"name_field\":\"a\",\"fields\":["
	     "{\"key\":\"a\",\"type\":\"text\"}," COUNTER "]}"},
	    {"loyalty_type",
	     "{\"name\":\"n\",\"loyalty_type\":\"none\",\"qr\":true,\"name_field\":\"a\",\"fields\":["
	     "{\"key\":\"a\",\"type\":\"text\"}]}"},
	    {"qr", "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"name_field\":\"a\",\"fields\":["
	           "{\"key\":\"a\",\"type\":\"text\"}," COUNTER "]}"},
	    {"name_field", "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"qr\":true,\"fields\":["
	                   "{\"key\":\"a\",\"type\":\"text\"}," COUNTER "]}"},
	    {"locked",
	     "{\"name\":\"n\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"a\",\"fields\":["
	     "{\"key\":\"a\",\"type\":\"text\"},{\"key\":\"p\",\"type\":\"number\",\"locked\":true}]}"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct template *was = good(before), *is = good(rows[i].after);
		const char            *fixed = template_fixed(was, is);
		if (rows[i].fixed)
			cr_expect(fixed && strstr(fixed, rows[i].fixed), "row %u: %s", i, fixed);
		else
			cr_expect_null(fixed, "row %u: %s", i, fixed);
	}
}

Test(template, checks_colours_and_urls)
{
	static const char *const colours[] = {"#000000", "#ffffff", "#FFFFFF", "#09aF5c"};
	static const char *const no_colours[] = {"",
	                                         "#",
	                                         "#12345",
	                                         "#1234567",
	                                         "112233",
	                                         "#11223g",
	                                         "#11223@",
	                                         "#1122 3",
	                                         "##11223",
	                                         "#\x10"
	                                         "12345"};
	static const char *const urls[] = {"http://a", "https://a.example/x?y#z", "HTTPS://A",
	                                   "http://\xc3\xa9.example", "https://user@a"};
	static const char *const no_urls[] = {
	    "",          "http://", "https://", "http:///x",   "https://?q",  "https://#f",    "ftp://a",
	    "a.example", "//a",     "http:/a",  "https://a b", "https://a\n", "https://a\x7f", " https://a",
	    "xhttps://a"};
	for (unsigned i = 0; i < sizeof colours / sizeof *colours; i++)
		cr_expect(is_colour(span_str(colours[i])), "%s", colours[i]);
	for (unsigned i = 0; i < sizeof no_colours / sizeof *no_colours; i++)
		cr_expect_not(is_colour(span_str(no_colours[i])), "%s", no_colours[i]);
	for (unsigned i = 0; i < sizeof urls / sizeof *urls; i++)
		cr_expect(is_web_url(span_str(urls[i])), "%s", urls[i]);
	for (unsigned i = 0; i < sizeof no_urls / sizeof *no_urls; i++)
		cr_expect_not(is_web_url(span_str(no_urls[i])), "%s", no_urls[i]);
}
