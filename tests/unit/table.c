/* The status as a table for terminals. */
#include "ops/cli/table.h"
#include "schemas/date.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena  arena;
static struct buffer out;

/* Made from a status in which ' stands for ". */
static const char *table_of(const char *text)
{
	static char  json[4096];
	struct json *status;
	wall_us      now;

	snprintf(json, sizeof json, "%s", text);
	for (char *at = json; (at = strchr(at, '\'')); at++)
		*at = '"';
	cr_assert(rfc3339_read(span_str("2026-11-26T12:00:00Z"), &now));
	cr_assert_eq(json_parse(span_str(json), &arena, &status), OK);
	buffer_clear(&out);
	status_table(status, now, &out);
	buffer_byte(&out, 0);
	cr_assert_not(out.failed);
	return (const char *)out.at;
}

static void forget(void)
{
	buffer_free(&out);
	arena_free(&arena);
}

#define WELL                                                                                                \
	"{'processes':[{'role':'shard','index':0,'pid':11,'state':'ready','epoch':3},"                      \
	"{'role':'http','index':0,'pid':12345,'state':'ready','epoch':0}],'deliveries':'on','root_"         \
	"certificates':true,"                                                                               \
	"'certificate':null,'shards':[{'index':0,'accounts':2,'passes':1234567,'journal_seq':9,"            \
	"'journal_bytes':33554432,'snapshot_age_seconds':null,'free_bytes':64970633216,'due_deliveries':0," \
	"'oldest_due_seconds':0,'accepts':'all','issuer':'up','failing_subscriptions':[]}]}"

Test(table, labels_columns_and_aligns_them, .fini = forget)
{
	const char *text = table_of(WELL);

	cr_expect(strstr(text, "  ROLE   INDEX  PID    STATE  EPOCH\n"
	                       "  shard      0     11  ready      3\n"
	                       "  http       0  12345  ready      0\n"),
	          "%s", text);
	cr_expect(strstr(text, "SHARD  ACCOUNTS  PASSES "), "%s", text);
	cr_expect(strstr(text, "1234567"), "%s", text);
	cr_expect(strstr(text, "34 MB"), "%s", text);
	cr_expect(strstr(text, "65 GB"), "%s", text);
}

Test(table, warns_of_nothing_in_a_healthy_status, .fini = forget)
{
	cr_expect_not(strstr(table_of(WELL), "Warnings"));
	cr_expect_not(strstr(table_of(WELL), "ENDPOINT"));
}

Test(table, warns_of_problems, .fini = forget)
{
	static const struct {
		const char *status, *want;
	} cases[] = {
	    {"{'processes':[{'role':'shard','index':1,'pid':1,'state':'silent','epoch':1}]}",
	     "shard 1 is silent"},
	    {"{'shards':[{'index':1,'error':'SHARD_UNAVAILABLE'}]}", "shard 1 does not answer"},
	    {"{'shards':[{'index':1,'error':'SHARD_UNAVAILABLE'}]}", "no answer: SHARD_UNAVAILABLE"},
	    {"{'shards':[{'index':0,'accepts':'deletions'}]}", "nearly full"},
	    {"{'shards':[{'index':0,'snapshot_failures':2}]}", "snapshots failed (2)"},
	    {"{'shards':[{'index':0,'tables_rebuilt':1}]}", "rebuilt its tables"},
	    {"{'shards':[{'index':0,'issuer':'down'}]}", "does not hear the timer"},
	    {"{'shards':[{'index':0,'issuer':'paused'}]}", "issuing is paused"},
	    {"{'shards':[{'index':0,'oldest_due_seconds':61}]}", "due for 61 s"},
	    {"{'shards':[{'index':0,'wallet_credentials':[{'account':'acc_a','kind':'apple','seconds_left':"
	     "900000}]}]}",
	     "wallets of acc_a: the apple credential expires in 10 days"},
	    {"{'shards':[{'index':0,'wallet_credentials':[{'account':'default','kind':'apple','seconds_left':"
	     "-1}]}]}",
	     "wallets of default: the apple credential has expired"},
	    {"{'root_certificates':false}", "no root certificates"},
	    {"{'deliveries':'off'}", "--no-deliveries"},
	    {"{'certificate':{'not_after':'2026-11-26T11:59:59Z'}}", "the certificate has expired"},
	    {"{'certificate':{'not_after':'2026-12-01T12:00:00Z'}}", "expires in 5 days"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = table_of(cases[i].status);
		cr_expect(strstr(text, cases[i].want), "%s\n%s", cases[i].status, text);
		cr_expect(strstr(text, "Warnings\n"), "%s", cases[i].status);
	}
	cr_expect_not(strstr(table_of("{'certificate':{'not_after':'2027-02-01T12:00:00Z'}}"), "Warnings"));
	cr_expect_not(
	    strstr(table_of("{'shards':[{'index':0,'wallet_credentials':[{'account':'a','kind':'apple',"
	                    "'seconds_left':2592000}]}]}"),
	           "Warnings"));
}

Test(table, shows_the_endpoints_with_the_most_retries, .fini = forget)
{
	const char *text = table_of("{'shards':[{'index':0,'failing_subscriptions':[{'account_id':'acc_x',"
	                            "'subscription_id':'s','endpoint':'hooks.example:443','retries':4,"
	                            "'last_status':null,'last_error':'timeout'}]}]}");

	cr_expect(strstr(text, "hooks.example:443"), "%s", text);
	cr_expect(strstr(text, "timeout"), "%s", text);
	cr_expect(strstr(text, "acc_x"), "%s", text);
}

Test(table, handles_a_status_of_any_form, .fini = forget)
{
	static const char *const forms[] = {"{}", "{'processes':3,'shards':{}}",
	                                    "{'processes':[1,[]],'shards':['x']}",
	                                    "{'certificate':{'not_after':'soon'}}", "{'certificate':7}"};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		cr_expect(*table_of(forms[i]));
}
