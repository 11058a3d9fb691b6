/* Requests as bytes. Everything that is the same in all requests of a run is laid out once; for each request only the pass's
 * number is written between the pieces. A number in the body would change Content-Length with its digits, so a body with
 * numbers is padded to a fixed length with blanks, which JSON ignores. */
#include "bench/request.h"
#include "schemas/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *option, *method, *path, *body;
	int         good, also_good;
} ops[OP_COUNT] = {
#define O(name, option, method, path, body, good, also_good) \
	[OP_##name] = {option, method, path, body, good, also_good},
#include "bench/ops.def"
};

const char *op_name(enum op op)
{
	must(op <= OP_MIXED);
	return op == OP_MIXED ? "mixed" : ops[op].option;
}

bool op_by_name(const char *name, enum op *op)
{
	for (*op = 0; *op <= OP_MIXED; (*op)++)
		if (strcmp(op_name(*op), name) == 0) return true;
	return false;
}

bool op_is_good(enum op op, int status)
{
	return status == ops[op].good || status == ops[op].also_good;
}

bool op_has_names(enum op op)
{
	return op != OP_MIXED && strchr(ops[op].path, '@');
}

static uint32_t count_char(const char *text, char c)
{
	uint32_t count = 0;

	for (; *text; text++)
		count += *text == c;
	return count;
}

/* Copies `text` to the form. Each '#' becomes the prefix and the end of a piece, each '@' the room for a name. False: it does
 * not fit. */
static bool append(struct request_form *form, uint32_t *used, const char *text, const char *id_prefix)
{
	for (; *text; text++) {
		static const char room[NAME_BYTES] = {0};
		const char       *from = *text == '#' ? id_prefix : *text == '@' ? room : text;
		size_t            size = *text == '#' ? strlen(id_prefix) : *text == '@' ? sizeof(room) : 1;

		if (size > sizeof(form->text) - *used) return false;
		memcpy(form->text + *used, from, size);
		if (*text == '@') {
			form->has_name = true;
			form->name_at = *used;
			form->name_after = form->piece_count;
		}
		*used += (uint32_t)size;
		if (*text == '#') form->piece_end[form->piece_count++] = *used;
		must(form->piece_count < REQUEST_PIECES_MAX);
	}
	return true;
}

bool request_form_make(struct request_form *form, enum op op, const char *host, const char *key,
                       const struct request_subject *subject)
{
	const char *body = ops[op].body, *id_prefix = subject->id_prefix;
	uint32_t    slots = count_char(body, '#');
	size_t      body_bytes = strlen(body) + slots * (strlen(id_prefix) + NUMBER_DIGITS_MAX - 1);
	uint32_t    used = 0;
	char        line[REQUEST_BYTES_MAX];
	int         size;

	*form = (struct request_form){.padded_count = slots, .names = subject->names};
	if (op_has_names(op) && !subject->names) return false;
	size = snprintf(line, sizeof(line), "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer ",
	                ops[op].method, ops[op].path, host);
	if (size < 0 || (size_t)size >= sizeof(line) || !append(form, &used, line, id_prefix)) return false;
	form->key_at = used;
	form->key_after = form->piece_count;
	form->key_bytes = (uint32_t)strlen(key);
	if (!append(form, &used, key, "") || !append(form, &used, "\r\n", "")) return false;
	if (*body) {
		snprintf(line, sizeof(line), "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		         body_bytes);
		if (!append(form, &used, line, "")) return false;
	}
	if (!append(form, &used, "\r\n", "") || !append(form, &used, body, id_prefix)) return false;
	form->piece_end[form->piece_count++] = used;
	return used + REQUEST_PIECES_MAX * NUMBER_DIGITS_MAX <= REQUEST_BYTES_MAX;
}

/* The decimal digits of `number`, ending at `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return end;
}

uint32_t request_write(const struct request_form *form, const struct request_about *about, char *bytes)
{
	char        scratch[NUMBER_DIGITS_MAX];
	const char *digits = digits_before(scratch + sizeof(scratch), about->number);
	size_t      digit_count = (size_t)(scratch + sizeof(scratch) - digits);
	size_t      blanks = form->padded_count * (sizeof(scratch) - digit_count);
	uint32_t    from = 0;
	char       *at = bytes;

	for (uint32_t piece = 0; piece < form->piece_count; piece++) {
		if (piece > 0) {
			memcpy(at, digits, digit_count);
			at += digit_count;
		}
		memcpy(at, form->text + from, form->piece_end[piece] - from);
		at += form->piece_end[piece] - from;
		from = form->piece_end[piece];
	}
	memset(at, ' ', blanks);
	if (about->key)
		memcpy(bytes + form->key_at + form->key_after * digit_count, about->key, form->key_bytes);
	if (form->has_name)
		memcpy(bytes + form->name_at + form->name_after * digit_count,
		       form->names + about->index * NAME_BYTES, NAME_BYTES);
	return (uint32_t)(at + blanks - bytes);
}
