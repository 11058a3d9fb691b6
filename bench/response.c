/* Reads answers: finds the end of the head, then the status and three headers. It keeps no state, so a head that arrives in
 * parts is read again from the start; that is rare. */
#include "bench/response.h"

#include <string.h>
#include <strings.h>

enum { STATUS_LINE_BYTES_MIN = 13 }; /* "HTTP/1.1 200\r\n" without its last byte */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool status_read(const char *line, size_t size, int *status)
{
	const char *digit = line + 9;

	if (size < STATUS_LINE_BYTES_MIN || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ') return false;
	if (!is_digit(digit[0]) || !is_digit(digit[1]) || !is_digit(digit[2])) return false;
	*status = (digit[0] - '0') * 100 + (digit[1] - '0') * 10 + (digit[2] - '0');
	return *status >= 200 && *status <= 599;
}

/* The value of the header `name` ("content-length:") in this line; NULL: another header. */
static const char *value_of(const char *line, size_t size, const char *name)
{
	size_t name_bytes = strlen(name);

	if (size <= name_bytes || strncasecmp(line, name, name_bytes) != 0) return NULL;
	for (line += name_bytes; *line == ' '; line++)
		;
	return line;
}

static bool length_read(const char *value, uint64_t *length)
{
	if (!is_digit(*value)) return false;
	for (*length = 0; is_digit(*value); value++) {
		if (*length > UINT64_MAX / 100) return false;
		*length = *length * 10 + (uint64_t)(*value - '0');
	}
	return *value == '\r';
}

/* Reads one line of the head. False: the answer is unreadable. */
static bool line_read(const char *line, size_t size, struct response *response, bool *has_length)
{
	const char *value;

	if ((value = value_of(line, size, "content-length:"))) {
		bool is_first = !*has_length;

		*has_length = true;
		return is_first && length_read(value, &response->body_bytes);
	}
	if ((value = value_of(line, size, "connection:")))
		response->closes = strncasecmp(value, "close", 5) == 0;
	return !value_of(line, size, "transfer-encoding:");
}

enum response_read response_head_read(const char *bytes, size_t size, struct response *response)
{
	const char     *head_end = memmem(bytes, size, "\r\n\r\n", 4);
	struct response read = {0};
	bool            has_length = false;

	if (!head_end) return RESPONSE_PARTIAL;
	read.head_bytes = (size_t)(head_end + 4 - bytes);
	if (!status_read(bytes, read.head_bytes, &read.status)) return RESPONSE_BROKEN;
	for (const char *line = bytes, *next; line < head_end; line = next) {
		next = (const char *)memchr(line, '\n', (size_t)(head_end + 4 - line)) + 1;
		if (!line_read(line, (size_t)(next - line), &read, &has_length)) return RESPONSE_BROKEN;
	}
	if (read.status == 204 || read.status == 304)
		read.body_bytes = 0;
	else if (!has_length)
		return RESPONSE_BROKEN;
	*response = read;
	return RESPONSE_WHOLE_HEAD;
}
