/* Texts of the error table. Everything here is expanded from errors.def, so a new row needs no other code. */
#include "schemas/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *code;
	int         http;
	const char *message;
} rows[ERR_COUNT] = {
    [OK] = {"OK", 200, "Done."},
#define E(name, http, text) [ERR_##name] = {#name, http, text},
#define OURS                E
#include "schemas/errors.def"
#undef E
#undef OURS
};

static unsigned row_of(enum err err)
{
	return (unsigned)err < ERR_COUNT ? (unsigned)err : ERR_INTERNAL;
}

const char *err_code(enum err err)
{
	return rows[row_of(err)].code;
}

int err_http(enum err err)
{
	return rows[row_of(err)].http;
}

const char *err_message(enum err err)
{
	return rows[row_of(err)].message;
}

const char *err_message_of_field(enum err err)
{
	return err == ERR_INVALID_REQUEST ? "The field does not take this value." : err_message(err);
}

const char *err_cause(enum err err)
{
	return err == ERR_IO || err == ERR_NOT_FOUND ? strerror(errno) : err_code(err);
}

/* Set by a process that keeps a log; called once at most. */
static void (*teller)(const char *what, const char *file, int line);

void must_tell(void (*tell)(const char *what, const char *file, int line))
{
	teller = tell;
}

void must_failed(const char *what, const char *file, int line)
{
	void (*tell)(const char *, const char *, int) = teller;
	teller = NULL;
	if (tell)
		tell(what, file, line);
	else
		fprintf(stderr, "level=panic event=must_failed what=\"%s\" at=%s:%d\n", what, file, line);
	abort();
}
