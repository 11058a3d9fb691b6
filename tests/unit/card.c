/* The HTML of a pass: every state, and omitted parts. Scenarios test whole pages. */
#include "http/card.h"

#include "schemas/lines.h"

#include <criterion/criterion.h>

static struct buffer      out;
static struct arena       arena;
static struct card_hashes hashes;
static struct card_reader reader = {.link = {(const uint8_t *)"TOKEN", 5}};

static struct pass_view sample(void)
{
	return (struct pass_view){.status = PASS_ISSUED,
	                          .balance = 25,
	                          .counter = 1,
	                          .name = span_str("Template"),
	                          .visible = span_str("{\"b\":\"second\",\"old\":true,\"a\":\"first\"}"),
	                          .field_count = 3,
	                          .fields = {{span_str("a"), span_str("A"), FIELD_TEXT},
	                                     {span_str("p"), span_str("Points"), FIELD_NUMBER},
	                                     {span_str("b"), span_str("B"), FIELD_URL}}};
}

static const char *render(const struct pass_view *shown)
{
	buffer_clear(&out);
	arena_reset(&arena);
	cr_assert_eq(card_render(shown, &reader, &arena, &out, &hashes), OK);
	buffer_byte(&out, 0);
	return (const char *)out.at;
}

/* True if `html` contains these texts in this order. */
static bool in_order(const char *html, const char *const *texts)
{
	for (; *texts; texts++) {
		html = strstr(html, *texts);
		if (!html) return false;
		html += strlen(*texts);
	}
	return true;
}

Test(card, shows_fields_in_the_templates_order_and_unknown_ones_last)
{
	struct pass_view         shown = sample();
	static const char *const order[] = {">Points<", ">25<",  ">A<",   ">first<", ">B<",
	                                    ">second<", ">old<", ">Yes<", NULL};
	cr_expect(in_order(render(&shown), order), "%s", (const char *)out.at);
	cr_expect_not(strstr((const char *)out.at, "<svg"));
	cr_expect_not(strstr((const char *)out.at, "<a "), "a text that is not a URL is no link");
	shown.counter = shown.field_count;
	cr_expect_not(strstr(render(&shown), ">25<"));
	shown.visible = span_str("{}");
	cr_expect_not(strstr(render(&shown), "<dl"));
}

Test(card, shows_every_state)
{
	static const struct {
		enum pass_status status;
		const char      *code, *says;
	} rows[] = {
	    {PASS_CREATING, "creating", "is being made"},
	    {PASS_CREATION_FAILED, "creation_failed", "could not be issued"},
	    {PASS_ISSUED, "issued", NULL},
	    {PASS_ACTIVE, "active", NULL},
	    {PASS_REMOVED, "removed", "has been removed"},
	    {PASS_DEACTIVATED, "deactivated", "has been deactivated"},
	};
	cr_assert_eq(sizeof rows / sizeof *rows, PASS_STATUSES);
	for (size_t i = 0; i < PASS_STATUSES; i++) {
		struct pass_view shown = sample();
		shown.status = rows[i].status;
		const char *html = render(&shown), *code = strstr(html, "data-status=\"");
		cr_assert(code);
		code += strlen("data-status=\"");
		cr_expect(!strncmp(code, rows[i].code, strlen(rows[i].code)) &&
		          code[strlen(rows[i].code)] == '"');
		const char *notice = strstr(html, "<p class=\"notice");
		cr_expect_eq(notice != NULL, rows[i].says != NULL, "%s", rows[i].code);
		if (rows[i].says) cr_expect(notice && strstr(notice, rows[i].says), "%s", rows[i].code);
	}
}

Test(card, takes_its_look_from_the_pass_then_the_template_then_defaults)
{
	static const struct {
		const char *appearance, *title, *colour, *want_title, *want_colours;
	} rows[] = {
	    {"{\"title\":\"P\",\"background_color\":\"#FFffff\"}", "T", "#000000", "P",
	     "--card:#FFffff;--ink:#000}"},
	    {"{\"title\":\"P\"}", "T", "#000000", "P", "--card:#000000;--ink:#fff}"},
	    {"{\"title\":\"\"}", "T", "", "T", "--card:#1f3a5f;--ink:#fff}"},
	    {"", "T", "#ffff00", "T", "--card:#ffff00;--ink:#000}"},
	    {"", "", "", "Template", "--card:#1f3a5f;--ink:#fff}"},
	    {"{\"title\":5,\"background_color\":\"red;}\"}", "", "", "Template",
	     "--card:#1f3a5f;--ink:#fff}"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pass_view shown = sample();
		char             h1[64];
		shown.appearance = span_str(rows[i].appearance);
		shown.title = span_str(rows[i].title);
		shown.background_color = span_str(rows[i].colour);
		snprintf(h1, sizeof h1, "<h1><bdi>%s</bdi></h1>", rows[i].want_title);
		cr_expect(strstr(render(&shown), h1), "row %zu", i);
		cr_expect(strstr((const char *)out.at, rows[i].want_colours), "row %zu", i);
	}
}

Test(card, refuses_what_is_not_an_object)
{
	static const char *const texts[] = {"", "[]", "{", "{\"a\":1,\"a\":2}", "null"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct pass_view shown = sample();
		shown.visible = span_str(texts[i]);
		cr_expect_eq(card_render(&shown, &reader, &arena, &out, &hashes), ERR_MALFORMED, "%s",
		             texts[i]);
		shown = sample();
		shown.appearance = span_str(texts[i]);
		enum err want = i ? ERR_MALFORMED : OK; /* no appearance is valid */
		cr_expect_eq(card_render(&shown, &reader, &arena, &out, &hashes), want, "%s", texts[i]);
	}
}

Test(card, refusals_have_their_own_texts)
{
	static const struct {
		int         status;
		const char *want;
	} rows[] = {{404, "No such pass"},
	            {405, "looked at"},
	            {410, "deleted"},
	            {503, "try again in a moment"},
	            {500, "later"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buffer_clear(&out);
		card_refusal(rows[i].status, &out, &hashes);
		buffer_byte(&out, 0);
		cr_expect(strstr((const char *)out.at, rows[i].want), "%d", rows[i].status);
	}
}

Test(card, links_existing_images_by_relative_paths)
{
	struct pass_view         shown = sample();
	static const char *const both[] = {"<main>",
	                                   "class=\"banner\"",
	                                   "src=\"TOKEN/banner\"",
	                                   "width=\"640\"",
	                                   "height=\"200\"",
	                                   "<header>",
	                                   "class=\"logo\"",
	                                   "src=\"TOKEN/logo\"",
	                                   "width=\"50\"",
	                                   "height=\"60\"",
	                                   "<h1>",
	                                   NULL};
	cr_expect_not(strstr(render(&shown), "<img"));
	cr_expect_not(hashes.has_images);
	shown.images[PAGE_IMAGE_LOGO].width = 50;
	shown.images[PAGE_IMAGE_LOGO].height = 60;
	cr_expect(strstr(render(&shown), "/logo") && !strstr((const char *)out.at, "/banner"));
	cr_expect(hashes.has_images);
	shown.images[PAGE_IMAGE_BANNER].width = 640;
	shown.images[PAGE_IMAGE_BANNER].height = 200;
	cr_expect(in_order(render(&shown), both), "%s", (const char *)out.at);
	cr_expect(hashes.has_images);
	shown.images[PAGE_IMAGE_LOGO].width = 200; /* a wide logo is placed above the title */
	cr_expect(strstr(render(&shown), "class=\"logo across\""));
	card_refusal(404, &out, &hashes);
	cr_expect_not(hashes.has_images);
}

/* Wallets ------------------------------------------------------------------------------------------------- */

#define APPLE   "<a class=\"wallet-apple\" href=\"/p/TOKEN/pass.pkpass\">"
#define GOOGLE  "<a class=\"wallet-google\" href=\"/p/TOKEN/google\">"
#define BROWSER "<p class=\"wallet-browser\">"

Test(card, offers_the_wallets_of_the_readers_system)
{
	enum { A = WALLET_BIT(WALLET_APPLE), G = WALLET_BIT(WALLET_GOOGLE) };
	static const struct {
		unsigned   wallets;
		enum agent agent;
		bool       apple, google, browser;
	} rows[] = {
	    {0, AGENT_APPLE, false, false, false},    {0, AGENT_IN_APP, false, false, false},
	    {A | G, AGENT_APPLE, true, false, false}, {A | G, AGENT_ANDROID, false, true, false},
	    {A | G, AGENT_OTHER, true, true, false},  {A | G, AGENT_IN_APP, false, false, true},
	    {A, AGENT_ANDROID, true, false, false},   {G, AGENT_APPLE, false, true, false},
	    {A, AGENT_OTHER, true, false, false},     {G, AGENT_IN_APP, false, false, true},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pass_view shown = sample();
		shown.wallets = rows[i].wallets;
		shown.may_be_put = true;
		reader.agent = rows[i].agent;
		const char *html = render(&shown);
		cr_expect_eq(strstr(html, APPLE) != NULL, rows[i].apple, "row %u", i);
		cr_expect_eq(strstr(html, GOOGLE) != NULL, rows[i].google, "row %u", i);
		cr_expect_eq(strstr(html, BROWSER) != NULL, rows[i].browser, "row %u", i);
		shown.may_be_put = false;
		cr_expect_not(strstr(render(&shown), "wallet"), "row %u: of a pass that may not be put", i);
	}
}

Test(card, has_badges_where_the_operator_has_them)
{
	struct pass_view shown = sample();
	shown.wallets = WALLET_BITS_ALL;
	shown.may_be_put = true;
	cr_expect(strstr(render(&shown), APPLE "<span>Add to Apple Wallet</span></a>"));
	cr_expect_not(hashes.has_images);
	reader.badges[WALLET_GOOGLE] = true;
	const char *html = render(&shown);
	cr_expect(strstr(html, APPLE "<span>Add to Apple Wallet</span></a>"));
	cr_expect(
	    strstr(html, GOOGLE "<img src=\"/wallet/badges/google.svg\" alt=\"Add to Google Wallet\"></a>"));
	cr_expect(hashes.has_images);
}

/* Pages of accounts without wallets are, byte for byte, what they were before there were any. */
Test(card, without_wallets_is_as_ever)
{
	static const char want[] = "bd1ca21a21fac6e56986c749c0b35afdbc7412f2ef934d38250720f7900483ce";
	struct pass_view  shown = sample();
	uint8_t           hash[SHA256_BYTES];
	char              text[2 * SHA256_BYTES + 1];
	for (unsigned agent = AGENT_OTHER; agent <= AGENT_IN_APP; agent++) {
		reader.agent = (enum agent)agent;
		shown.may_be_put = true;
		render(&shown);
		struct span html = span_of(out.at, out.size - 1);
		sha256_of(&html, 1, hash);
		hex_text(hash, sizeof hash, text);
		text[2 * SHA256_BYTES] = 0;
		cr_expect_str_eq(text, want);
	}
}
