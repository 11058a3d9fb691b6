#include "actors/rt/config_file.h"
#include "actors/rt/named_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file with a zero byte: by its byte order mark, or else by its first character, a zero byte beside an ASCII one. */
static const char *why_zero(const char *text, size_t size)
{
	if (size >= 4 && (!memcmp(text, "\xff\xfe\0\0", 4) || !memcmp(text, "\0\0\xfe\xff", 4)))
		return "the file is UTF-32; UTF-8 is wanted";
	if (size >= 2 &&
	    (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2) || !text[0] != !text[1]))
		return "the file is UTF-16; UTF-8 is wanted";
	return "the file holds a zero byte";
}

enum err config_file_load(const char *path, struct options *options, char why[OPTION_WHY])
{
	mono_us     until;
	int         fd = named_file_open(path, &until);
	char       *room = NULL;
	struct stat st;
	size_t      size = 0;
	ssize_t     got = -1;

	if (fd >= 0 && (room = options->config_text = malloc(CONFIG_FILE_BYTES_MAX + 1)))
		while (size < CONFIG_FILE_BYTES_MAX &&
		       (got = named_file_read(fd, room + size, CONFIG_FILE_BYTES_MAX - size, until)) > 0)
			size += (size_t)got;
	if (got != 0)
		snprintf(why, OPTION_WHY, "--config: cannot read %.60s: %s", path,
		         size == CONFIG_FILE_BYTES_MAX ? "too large" : named_file_error(errno));
	options->config_is_dry = got == 0 && !size && !fstat(fd, &st) &&
	                         (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	if (fd >= 0) close(fd);
	if (got != 0) return ERR_BAD_OPTION;
	if (memchr(room, 0, size)) {
		snprintf(why, OPTION_WHY, "--config: %s", why_zero(room, size));
		return ERR_BAD_OPTION;
	}
	room[size] = 0;
	return OK;
}

/* Cuts white space at both ends, in place. */
static char *trim(char *text)
{
	size_t size;

	text += strspn(text, " \t\r");
	size = strlen(text);
	while (size && strchr(" \t\r", text[size - 1]))
		text[--size] = 0;
	return text;
}

static void cut_comment(char *line)
{
	for (char *at = line; (at = strchr(at, '#')); at++)
		if (at == line || at[-1] == ' ' || at[-1] == '\t') {
			*at = 0;
			return;
		}
}

bool config_file_next(char **rest, struct config_line *line)
{
	static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, which some editors write */
	char             *at;

	if (!line->number && *rest && !strncmp(*rest, mark, strlen(mark))) *rest += strlen(mark);
	while ((at = strsep(rest, "\n"))) {
		line->number++;
		cut_comment(at);
		at = trim(at);
		if (!*at) continue;
		line->value = strchr(at, '=');
		if (line->value) {
			*line->value++ = 0;
			line->value = trim(line->value);
		}
		line->name = trim(at);
		return true;
	}
	return false;
}
