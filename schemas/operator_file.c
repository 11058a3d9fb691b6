/* Members of the operator's files, with a reader for each type. */
#include "schemas/operator_file.h"
#include "schemas/cause.h"

#include <stdio.h>

enum { MEMBER_BYTES_MAX = 64, KEYS_MAX = 32 }; /* of an unknown key, in a fault; known to an object */

bool file_wrong_key(struct file_fault *fault, const char *in, struct span name, const char *message)
{
	name = utf8_cut(name, MEMBER_BYTES_MAX);
	snprintf(fault->field, sizeof fault->field, "%s%s%.*s", in, *in ? "." : "", (int)name.size,
	         (const char *)name.at);
	fault->message = message;
	return false;
}

bool file_wrong(struct file_fault *fault, const char *in, const char *name, const char *message)
{
	return file_wrong_key(fault, in, span_str(name), message);
}

bool file_wrong_whole(struct file_fault *fault, const char *what, const char *message)
{
	return file_wrong(fault, "", what, message);
}

bool file_must(struct file_fault *fault, const char *in, const char *name, const char *wanted,
               const char *list)
{
	file_wrong(fault, in, name, fault->text);
	snprintf(fault->text, sizeof fault->text, "`%s` must be %s%s.", fault->field, wanted,
	         list ? list : "");
	return false;
}

static bool unknown_key(struct file_fault *fault, const char *in, struct span key, const char *const *keys,
                        const char *message)
{
	struct span known[KEYS_MAX];
	unsigned    count = 0;
	char        hint[HINT_TEXT];
	for (; count < KEYS_MAX && keys[count]; count++)
		known[count] = span_str(keys[count]);
	hint_text(key, known, count, hint);
	snprintf(fault->text, sizeof fault->text, "%s: %s.", message, hint);
	return file_wrong_key(fault, in, key, fault->text);
}

bool file_knows(const struct json *object, const char *const *keys, const char *in, const char *message,
                struct file_fault *fault)
{
	for (const struct json *member = object->child; member; member = member->next) {
		unsigned i = 0;
		while (keys[i] && !span_is(member->key, keys[i]))
			i++;
		if (!keys[i]) return unknown_key(fault, in, member->key, keys, message);
	}
	return true;
}

bool file_has(const struct json *object, const char *key)
{
	const struct json *value = json_member(object, key);
	return value && value->kind != JSON_NULL;
}

bool file_text(const struct json *object, const char *key, struct span *to)
{
	const struct json *value = json_member(object, key);
	if (!file_has(object, key)) return true;
	*to = value->text;
	return value->kind == JSON_STRING && value->text.size > 0;
}

bool file_flag(const struct json *object, const char *key, bool *to)
{
	const struct json *value = json_member(object, key);
	if (!file_has(object, key)) return true;
	*to = value->kind == JSON_TRUE;
	return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
}

bool file_integer(const struct json *object, const char *key, int64_t *to)
{
	const struct json *value = json_member(object, key);
	return !file_has(object, key) || json_integer(value, to);
}

bool file_choice(const struct json *object, const char *key, const char *const *texts, unsigned count,
                 unsigned *to)
{
	const struct json *value = json_member(object, key);
	if (!value || value->kind != JSON_STRING) return false;
	for (*to = 0; *to < count; ++*to)
		if (span_is(value->text, texts[*to])) return true;
	return false;
}
