/* Requests as bytes. Everything that is the same in all requests of a run is laid out once; for each request only the pass's
 * number is written between the pieces. A number in the body would change Content-Length with its digits, so a body with
 * numbers is padded to a fixed length with blanks, which JSON ignores. */
#include "bench/request.h"
#include "schemas/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *option, *method, *path, *authorization, *body;
	int         good, also_good;
} ops[OP_COUNT] = {
#define O(name, option, method, path, authorization, body, good, also_good) \
	[OP_##name] = {option, method, path, authorization, body, good, also_good},
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

bool op_has(enum op op, char mark)
{
	return op != OP_MIXED && strchr(ops[op].path, mark);
}

static uint32_t count_char(const char *text, char c)
{
	uint32_t count = 0;

	for (; *text; text++)
		count += *text == c;
	return count;
}

/* What a mark stands for in all requests; NULL: nothing was given for it. Any other character stands for itself. */
static const char *text_of(const char *mark, const char *key, const struct request_subject *subject)
{
	static char itself[2];

	switch (*mark) {
	case '#': return subject->id_prefix;
	case '%': return "";
	case '!': return key;
	case '~': return subject->account;
	case '^': return subject->tag;
	default: itself[0] = *mark; return itself;
	}
}

/* Leaves room for a word of the names. */
static bool append_word(struct request_form *form, uint32_t *used, bool is_second)
{
	const struct request_names *names = &form->names;
	struct request_word         word = {.at = *used,
	                                    .after = form->piece_count,
	                                    .from = is_second ? names->word_bytes + 1 : 0,
	                                    .bytes = names->word_bytes};

	if (is_second) word.bytes = names->line_bytes > word.from ? names->line_bytes - word.from : 0;
	must(form->word_count < REQUEST_WORDS_MAX);
	if (!word.bytes || word.bytes > sizeof(form->text) - *used) return false;
	form->words[form->word_count++] = word;
	memset(form->text + *used, 0, word.bytes);
	*used += word.bytes;
	return true;
}

/* Copies `text` to the form, with what its marks stand for. A number is the end of a piece. False: it does not fit, or a mark
 * stands for nothing. */
static bool append(struct request_form *form, uint32_t *used, const char *text, const char *key,
                   const struct request_subject *subject)
{
	for (; *text; text++) {
		const char *from = text_of(text, key, subject);
		size_t      size = from ? strlen(from) : 0;

		if (*text == '@' || *text == '$') {
			if (!append_word(form, used, *text == '$')) return false;
			continue;
		}
		if (!from || size > sizeof(form->text) - *used) return false;
		if (*text == '!') {
			form->key_at = *used;
			form->key_after = form->piece_count;
			form->key_bytes = (uint32_t)size;
		}
		memcpy(form->text + *used, from, size);
		*used += (uint32_t)size;
		if (*text == '#' || *text == '%') form->piece_end[form->piece_count++] = *used;
		must(form->piece_count < REQUEST_PIECES_MAX);
	}
	return true;
}

/* The size of a body, whose numbers are all as long as the longest. */
static size_t body_size(const char *body, const char *id_prefix)
{
	return strlen(body) + count_char(body, '#') * (strlen(id_prefix) + NUMBER_DIGITS_MAX - 1) +
	       count_char(body, '%') * (NUMBER_DIGITS_MAX - 1);
}

bool request_form_make(struct request_form *form, enum op op, const char *host, const char *key,
                       const struct request_subject *subject)
{
	const char *body = ops[op].body, *authorization = ops[op].authorization;
	uint32_t    used = 0;
	char        line[REQUEST_BYTES_MAX];
	int size = snprintf(line, sizeof(line), "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s%s", ops[op].method,
	                    ops[op].path, host, *authorization ? "Authorization: " : "", authorization,
	                    *authorization ? "\r\n" : "");

	*form = (struct request_form){.padded_count = count_char(body, '#') + count_char(body, '%'),
	                              .names = subject->names};
	if (size < 0 || (size_t)size >= sizeof(line) || !append(form, &used, line, key, subject))
		return false;
	if (*body) {
		snprintf(line, sizeof(line), "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		         body_size(body, subject->id_prefix));
		if (!append(form, &used, line, key, subject)) return false;
	}
	if (!append(form, &used, "\r\n", key, subject) || !append(form, &used, body, key, subject))
		return false;
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
	if (about->key && form->key_bytes)
		memcpy(bytes + form->key_at + form->key_after * digit_count, about->key, form->key_bytes);
	for (uint32_t i = 0; i < form->word_count; i++) {
		const struct request_word *word = &form->words[i];
		memcpy(bytes + word->at + word->after * digit_count,
		       form->names.lines + about->index * form->names.line_bytes + word->from, word->bytes);
	}
	return (uint32_t)(at + blanks - bytes);
}
