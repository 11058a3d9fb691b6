/* The audit of webhook subscriptions: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/subscription.h"

TestSuite(audit_subscriptions, .init = make_shop, .fini = end);

static struct subscription some(uint8_t tag, const char *url)
{
	return (struct subscription){.id = {{tag}},
	                             .active = true,
	                             .generation = 1,
	                             .created = {10},
	                             .updated = {20},
	                             .kind_count = 1,
	                             .url = span_str(url)};
}

static void store(struct subscription row)
{
	must(!subscription_put(s.view, account, &row));
	scratch_save(&s);
}

static void patch_row(size_t offset, uint8_t byte)
{
	store(some(1, "https://a.example/"));
	patch(TABLE_SUBSCRIPTION, key_uuid(account, (struct uuid){{1}}), offset, &byte, 1);
}

static void break_version(void)
{
	patch_row(0, 2);
}
static void break_active(void)
{
	patch_row(1, 2);
}
static void break_kinds(void)
{
	patch_row(82, 9);
}
static void break_kind(void)
{
	patch_row(83, EVENT_KINDS);
}
static void break_created(void)
{
	patch_row(13, 0x80);
}
static void break_updated(void)
{
	patch_row(14, 9);
}
static void break_generation(void)
{
	patch_row(2, 0);
}
static void break_form(void)
{
	put(TABLE_SUBSCRIPTION, key_uuid(account, (struct uuid){{1}}), span_str("x"));
}
static void break_key(void)
{
	struct subscription row = some(1, "https://a.example/");
	uint8_t             value[SUBSCRIPTION_BYTES_MAX];
	put(TABLE_SUBSCRIPTION, key_u32(account, 1), span_of(value, subscription_write(&row, value)));
}
static void break_url(void)
{
	store(some(1, "ftp://a.example/"));
}
static void break_same_url(void)
{
	store(some(1, "https://a.example/"));
	store(some(2, "https://A.example:443#x"));
}
static void break_limit(void)
{
	static const char *const urls[] = {"https://a", "https://b", "https://c",
	                                   "https://d", "https://e", "https://f"};
	for (uint8_t i = 0; i < 6; i++)
		store(some((uint8_t)(6 - i), urls[i]));
}
static void break_account(void)
{
	put(TABLE_SUBSCRIPTION, key_u32(nobody, 1), span_str("x"));
}

static const struct breakage breakages[] = {
    B(version, "table subscription, " ACCOUNT "a row of a wrong form"),
    B(active, "a row of a wrong form"),
    B(kinds, "a row of a wrong form"),
    B(kind, "a row of a wrong form"),
    B(form, "table subscription, " ACCOUNT "a row of a wrong form"),
    B(key, "table subscription, " ACCOUNT "a row of a wrong form"),
    B(created, "01000000-0000-0000-0000-000000000000 has impossible times"),
    B(updated, "01000000-0000-0000-0000-000000000000 has impossible times"),
    B(generation, "01000000-0000-0000-0000-000000000000 is of no generation"),
    B(url, "01000000-0000-0000-0000-000000000000 has a URL that cannot be read"),
    B(same_url, "02000000-0000-0000-0000-000000000000 has the URL of another active one"),
    B(limit, "06000000-0000-0000-0000-000000000000 is active beyond the limit"),
    B(account, NOBODY "rows of an account that does not exist"),
};

Test(audit_subscriptions, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_subscriptions, finds_no_fault_in_valid_subscriptions)
{
	struct subscription paused = some(9, "https://a.example/");
	uint64_t            rows;
	look();
	cr_assert_eq(faults.count, 0);
	rows = audit.rows;
	paused.active = false;
	for (uint8_t i = 1; i <= WEBHOOKS_ACTIVE_MAX; i++) {
		char url[] = "https://?.example/";
		url[8] = (char)('a' + i - 1);
		store(some(i, url));
	}
	store(paused);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_expect_eq(audit.rows, rows + 6);
}
