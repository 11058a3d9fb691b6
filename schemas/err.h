#pragma once

/* The one error type. A fallible function returns `enum err`; OK (0) is success; the caller must check. The rows,
 * with HTTP status and message, are in errors.def. Units: none. Errors: these are them. */
enum err {
	OK = 0,
#define E(name, http, text) ERR_##name,
#define OURS(name, http, text)
#include "schemas/errors.def"
#undef E
#undef OURS
	ERR_INTERFACE_COUNT, /* those below it, and OK, are the interface's */
	ERR_INTERFACE_LAST = ERR_INTERFACE_COUNT - 1,
#define E(name, http, text)
#define OURS(name, http, text) ERR_##name,
#include "schemas/errors.def"
#undef E
#undef OURS
	ERR_COUNT
};

#define must_check __attribute__((warn_unused_result))

/* The code as the interface prints it ("INVALID_INPUT"), its HTTP status, its message. Any value is valid. */
const char *err_code(enum err err);
int         err_http(enum err err);
const char *err_message(enum err err);
/* The message for a response that names a field: it is about that value, not the whole request. */
const char *err_message_of_field(enum err err);

/* Why a step failed, for a log line: the text of errno where a system call set it (ERR_IO, ERR_NOT_FOUND), else the code. */
const char *err_cause(enum err err);

/* For our own bugs only: prints the place and aborts, in every build. Never for a peer's or a disk's bytes. */
#define must(x) ((x) ? (void)0 : must_failed(#x, __FILE__, __LINE__))
_Noreturn void must_failed(const char *what, const char *file, int line);

/* From now on such a failure calls `tell` before the abort, instead of printing a line to stderr. */
void must_tell(void (*tell)(const char *what, const char *file, int line));
