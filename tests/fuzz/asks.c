/* Arguments chosen by name where the name has a meaning, else by type. */
#include "tests/fuzz/asks.h"

#include "actors/rt/token.h"
#include "schemas/delivery.h"
#include "schemas/ids.h"
#include "schemas/json.h"

#include <stdio.h>

static struct arena  arena;
static struct buffer scratch;

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char long_text[] =
    "a text of some length, which together with others of its kind fills more than one row";

struct account_id ask_account(unsigned account)
{
	return (struct account_id){{(uint8_t)(account + 1), 2, 3}};
}

void ask_key_hash(unsigned account, unsigned which, uint8_t hash[32])
{
	memset(hash, (int)(account * 16 + which + 1), 32);
}

struct span ask_pass_id(unsigned pass)
{
	static const char *const ids[ASK_PASSES] = {"ada",     "bob", "a/b", "\xc3\xa9t\xc3\xa9",
	                                            long_text, "ad"};
	return span_str(ids[pass]);
}

static const char *const objects[] = {
    "{}",
    "{\"holder\":\"Ada\"}",
    "{\"holder\":null}",
    "{\"holder\":\"\",\"born\":\"2026-01-31\"}",
    "{\"born\":\"2026-02-30\"}",
    "{\"points\":3}",
    "{\"n\":1e400,\"link\":\"https://example/x\"}",
    "{\"n\":\"1\"}",
    "{\"a\":[1,{\"b\":null}],\"c\":-0.10,\"d\":\"\\u0000\\\"\"}",
    "{\"a\":null,\"c\":null,\"z\":123456789012345678901234567890}",
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":null}",
    "{\"title\":\"T\",\"background_color\":\"#00ff7F\"}",
    "{\"title\":null,\"background_color\":null}",
    "{\"logo\":\"https://example/l.png\"}",
    "{\"logo\":\"ftp://example\"}",
};

static const char *const templates[] = {
    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"holder\",\"fields\":["
    "{\"key\":\"holder\",\"type\":\"text\",\"max_length\":20},{\"key\":\"born\",\"type\":\"date\"},"
    "{\"key\":\"points\",\"type\":\"number\",\"locked\":true}]}",
    "{\"name\":\"Stamps\",\"loyalty_type\":\"stamps\",\"min_balance\":-5,\"fields\":["
    "{\"key\":\"points\",\"type\":\"number\",\"locked\":true},{\"key\":\"n\",\"type\":\"number\"},"
    "{\"key\":\"link\",\"type\":\"url\"}]}",
    "{\"name\":\"Plain\",\"loyalty_type\":\"none\",\"fields\":[{\"key\":\"holder\",\"type\":\"text\","
    "\"required\":true}]}",
    "{\"name\":\"Wrong\",\"loyalty_type\":\"balance\",\"fields\":[]}",
    "{\"name\":\"Other\",\"loyalty_type\":\"balance\",\"qr\":true,\"name_field\":\"holder\",\"fields\":["
    "{\"key\":\"holder\",\"type\":\"text\"},{\"key\":\"points\",\"type\":\"number\",\"locked\":true}]}",
};

/* Values that a parameter of this name knows, and one that it does not. */
static const struct words {
	const char *name, *words[6];
} known_words[] = {
    {"event", {"installed", "uninstalled", "deactivated", "unblocked", "deleted"}},
    {"what", {"snapshot", "verify", "backup", "nothing"}},
    {"status", {"issued", "active", "removed", "deactivated", "creating", "gone"}},
    {"sort_by", {"created_at", "updated_at", "id", "name", "balance"}},
    {"sort_dir", {"asc", "desc", "up"}},
    {"image", {"logo", "banner", "title"}},
    {"q", {"ad", "3", "-", "\xc3\xa9", "b", ""}},
};

static const char *const texts[] = {"installed", "uninstalled", "deactivated", "unblocked",
                                    "snapshot",  "verify",      "backup",      "nothing",
                                    "",          long_text,     "0",           "ios"};

static void pack_json(msgpack_packer *packer, const char *text)
{
	struct json *tree;
	must(json_parse(span_str(text), &arena, &tree) == OK);
	json_pack_object(tree, packer, &scratch);
	arena_reset(&arena);
}

/* Text chosen by a letter: one of the list, or the fuzzer's own bytes, limited to those that need no escape
 * in JSON. */
static void pack_any_text(struct supply *supply, msgpack_packer *packer)
{
	uint8_t how = supply_byte(supply);
	char    own[48];
	if (how < 200) {
		pack_text(packer, texts[how % COUNT(texts)]);
		return;
	}
	struct span bytes = supply_bytes(supply, how % sizeof own);
	for (size_t i = 0; i < bytes.size; i++)
		own[i] = (char)(' ' + bytes.at[i] % 95);
	pack_str(packer, span_of(own, bytes.size));
}

static void pack_pass_id(struct supply *supply, msgpack_packer *packer, struct ask *ask)
{
	uint8_t how = supply_byte(supply);
	if (how < 240) {
		ask->pass = how % ASK_PASSES;
		pack_str(packer, ask_pass_id((unsigned)ask->pass));
	} else if (how < 248) {
		pack_str(packer, span_of("\xff\x00..", how % 5));
	} else {
		pack_text(packer, ".");
	}
}

static void pack_template_id(struct supply *supply, msgpack_packer *packer, const struct ask *ask)
{
	uint8_t how = supply_byte(supply);
	char    id[TEMPLATE_ID_TEXT];
	template_id_text(ask_account(how & 128 ? ask->account : how % ASK_ACCOUNTS), how % 4, id);
	pack_text(packer, how == 127 ? "tpl_" : id);
}

static bool pack_word(struct supply *supply, const char *name, msgpack_packer *packer)
{
	for (size_t i = 0; i < COUNT(known_words); i++) {
		const struct words *known = &known_words[i];
		unsigned            count = 0;
		if (strcmp(name, known->name)) continue;
		while (count < COUNT(known->words) && known->words[count])
			count++;
		pack_text(packer, known->words[supply_byte(supply) % count]);
		return true;
	}
	return false;
}

/* Made with the engine's key, which is all zeros, and sometimes with a wrong bit. */
static void pack_token(struct supply *supply, msgpack_packer *packer, struct ask *ask)
{
	static const struct token_keys keys = {.count = 1};
	uint8_t                        how = supply_byte(supply), token[TOKEN_BYTES];
	char                           text[TOKEN_TEXT];
	ask->token_account = how & 128 ? ask->account : how % ASK_ACCOUNTS;
	token_make(&keys, ask_account(ask->token_account), how % 16, token);
	if (how % 32 == 31) token[how / 32] ^= 1;
	token_text(token, text);
	pack_text(packer, text);
}

enum { IDS_KEPT = 32 };
static char     ids[IDS_KEPT][UUID_TEXT];
static unsigned id_count;

void ask_note_ids(const msgpack_object *answer)
{
	if (answer->type != MSGPACK_OBJECT_MAP) return;
	for (uint32_t i = 0; i < answer->via.map.size; i++) {
		struct uuid           id;
		const msgpack_object *value = &answer->via.map.ptr[i].val;
		if (value->type == MSGPACK_OBJECT_STR && uuid_read(arg_span(value), &id))
			uuid_text(id, ids[id_count++ % IDS_KEPT]);
	}
}

/* An id of the kind that the service creates: mostly one that it has returned, for whatever object. */
static bool pack_given_id(struct supply *supply, const char *name, msgpack_packer *packer)
{
	static const char *const names[] = {"audience_id", "card_id", "entitlement_id", "notification_id",
	                                    "rule_id",     "scan_id", "subscription_id"};
	unsigned                 count = id_count < IDS_KEPT ? id_count : IDS_KEPT;
	for (size_t i = 0; count && i < COUNT(names); i++) {
		if (strcmp(name, names[i])) continue;
		pack_text(packer, ids[supply_byte(supply) % count]);
		return true;
	}
	return false;
}

static void pack_string(struct supply *supply, const struct field *field, msgpack_packer *packer,
                        struct ask *ask)
{
	if (!strcmp(field->name, "pass_id"))
		pack_pass_id(supply, packer, ask);
	else if (!strcmp(field->name, "token"))
		pack_token(supply, packer, ask);
	else if (!strcmp(field->name, "pass_template_id"))
		pack_template_id(supply, packer, ask);
	else if (!pack_given_id(supply, field->name, packer) && !pack_word(supply, field->name, packer))
		pack_any_text(supply, packer);
}

static void pack_strings(struct supply *supply, const struct field *field, msgpack_packer *packer)
{
	unsigned count = supply_byte(supply) % 4;
	msgpack_pack_array(packer, count);
	for (unsigned i = 0; i < count; i++)
		if (!pack_word(supply, field->name, packer)) pack_any_text(supply, packer);
}

/* Around the time when the passes are created, before it, after it, or any time. */
static void pack_time(struct supply *supply, msgpack_packer *packer)
{
	uint8_t how = supply_byte(supply);
	pack_int(packer,
	         how < 200 ? 1000 * US_PER_SEC + (how - 100) * US_PER_SEC / 20 : supply_integer(supply));
}

static void pack_integer(struct supply *supply, const struct field *field, msgpack_packer *packer,
                         struct ask *ask)
{
	uint8_t how = supply_byte(supply);
	int64_t value = how < 32 ? field->min - (how == 0) : how < 64 ? field->max : supply_integer(supply);
	if (how == 32 && field->max < INT64_MAX) value++;
	if (how >= 192) value %= 1000;
	if (!strcmp(field->name, "balance_to_add")) ask->delta = value;
	if (!strcmp(field->name, "bound")) ask->has_bound = true;
	if (!strcmp(field->name, "instance")) value = 1 + how / 100; /* mostly of one life of the timer */
	pack_int(packer, value);
}

enum { LEASES_KEPT = 64 };
static uint8_t  leases[LEASES_KEPT][LEASE_BYTES];
static unsigned lease_count;

void ask_forget(void)
{
	lease_count = 0;
	id_count = 0;
}

void ask_note_leases(struct span given)
{
	for (size_t at = 0; at < given.size; at += LEASE_BYTES)
		memcpy(leases[lease_count++ % LEASES_KEPT], given.at + at, LEASE_BYTES);
}

/* One that was given out, whatever has happened to it; sometimes with a wrong bit. */
static void take_lease(struct supply *supply, uint8_t to[LEASE_BYTES])
{
	uint8_t  how = supply_byte(supply);
	unsigned count = lease_count < LEASES_KEPT ? lease_count : LEASES_KEPT;
	memset(to, how, LEASE_BYTES);
	if (count) memcpy(to, leases[how % count], LEASE_BYTES);
	if (how >= 240) to[supply_byte(supply) % LEASE_BYTES] ^= 1;
}

static void pack_leases(struct supply *supply, msgpack_packer *packer)
{
	uint8_t  bytes[LEASES_PER_CALL_MAX * LEASE_BYTES], how = supply_byte(supply);
	unsigned count = 1 + how % 8;
	for (unsigned i = 0; i < count; i++)
		take_lease(supply, bytes + i * LEASE_BYTES);
	pack_bin(packer, span_of(bytes, count * LEASE_BYTES - (how == 255)));
}

static void pack_reports(struct supply *supply, msgpack_packer *packer)
{
	static const uint16_t statuses[] = {200, 200, 299, 404, 503, 0};
	uint8_t               bytes[REPORTS_PER_CALL_MAX * ATTEMPT_REPORT_BYTES], how = supply_byte(supply);
	unsigned              count = 1 + how % REPORTS_PER_CALL_MAX;
	for (unsigned i = 0; i < count; i++) {
		uint8_t              *at = bytes + i * ATTEMPT_REPORT_BYTES, end = supply_byte(supply);
		struct attempt_report report = {.what = end < 192 ? ATTEMPT_MADE : end % 4,
		                                .error = end % 8 == 7 ? end / 8 % (ATTEMPT_ERRORS + 1) : 0,
		                                .status = statuses[end % COUNT(statuses)],
		                                .latency_ms = end * 20u};
		attempt_report_write(&report, at);
		take_lease(supply, at);
	}
	pack_bin(packer, span_of(bytes, count * ATTEMPT_REPORT_BYTES - (how == 255)));
}

static void pack_bytes(struct supply *supply, const struct field *field, msgpack_packer *packer,
                       const struct ask *ask)
{
	if (!strcmp(field->name, "leases")) {
		pack_leases(supply, packer);
		return;
	}
	if (!strcmp(field->name, "reports")) {
		pack_reports(supply, packer);
		return;
	}
	uint8_t hash[32], how = supply_byte(supply);
	ask_key_hash(ask->account, how % 4, hash);
	pack_bin(packer, span_of(hash, how == 255 ? 31 : sizeof hash));
}

/* Values that the handler checks itself: mostly a few valid ones, so that calls share them. */
static void pack_value(struct supply *supply, const struct field *field, msgpack_packer *packer)
{
	static const char *const kinds[] = {"[\"pass.created\"]",
	                                    "[\"scan.created\",\"pass.balanceUpdate\"]",
	                                    "[]",
	                                    "[\"x\"]",
	                                    "[1",
	                                    "{}",
	                                    ""};
	uint8_t                  how = supply_byte(supply);
	char                     url[] = "https://?.example/";
	url[8] = (char)('a' + how % 8);
	if (!strcmp(field->name, "event_types"))
		pack_bin(packer, span_str(kinds[how < 192 ? how % 2 : how % COUNT(kinds)]));
	else if (how < 224)
		pack_text(packer, url);
	else
		pack_any_text(supply, packer);
}

static void pack_argument(struct supply *supply, const struct field *field, msgpack_packer *packer,
                          struct ask *ask)
{
	uint8_t how = supply_byte(supply);
	if (how % 8 == 7 && (field->need == NEED_OPTIONAL || how == 255)) {
		msgpack_pack_nil(packer);
		return;
	}
	switch (field->type) {
	case TYPE_STRING: pack_string(supply, field, packer, ask); return;
	case TYPE_INTEGER: pack_integer(supply, field, packer, ask); return;
	case TYPE_BOOLEAN:
		if (!strcmp(field->name, "include_deleted")) ask->include_deleted = how & 1;
		if (how & 1)
			msgpack_pack_true(packer);
		else
			msgpack_pack_false(packer);
		return;
	case TYPE_NULLABLE:
		if (how < 32) {
			pack_bin(packer, span_of("", 0));
			return;
		}
		/* fallthrough */
	case TYPE_OBJECT:
		pack_json(packer, strcmp(field->name, "file") ? objects[how / 8 % COUNT(objects)]
		                                              : templates[how / 8 % COUNT(templates)]);
		return;
	case TYPE_STRINGS: pack_strings(supply, field, packer); return;
	case TYPE_TIME: pack_time(supply, packer); return;
	case TYPE_BYTES: pack_bytes(supply, field, packer, ask); return;
	case TYPE_PLATFORM: pack_text(packer, how & 1 ? "ios" : "android"); return;
	case TYPE_UUID:
		if (!pack_given_id(supply, field->name, packer)) pack_any_text(supply, packer);
		return;
	case TYPE_VALUE: pack_value(supply, field, packer); return;
	}
}

void ask_make(struct supply *supply, struct call *head, struct frame_out *out, struct ask *ask)
{
	unsigned            count;
	const struct field *fields = message_fields(head->message, &count);
	*ask = (struct ask){.message = head->message, .account = ask->account, .pass = -1};
	frame_call(out, head);
	msgpack_packer packer = frame_out_packer(out);
	msgpack_pack_array(&packer, count);
	for (unsigned i = 0; i < count; i++)
		pack_argument(supply, &fields[i], &packer, ask);
}
