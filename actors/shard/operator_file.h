#pragma once
#include "actors/shard/command.h"
#include "schemas/operator_file.h"

/* A file of the operator's as a command takes it: what it replaces, and what it says. Lives as long as the command. */
struct operator_file {
	const msgpack_object *id;   /* of what is replaced; NULL: nothing is */
	struct span           text; /* the file without that member, as JSON text */
	struct json          *json;
	struct file_fault     fault; /* to be filled in by whoever finds one */
};

/* `key` is the name of the member that says what is replaced. Errors: ERR_INVALID_REQUEST, ERR_PAYLOAD_TOO_LARGE,
 * ERR_NO_MEMORY. */
must_check enum err operator_file_take(struct request *request, const msgpack_object *argument,
                                       const char *key, struct operator_file **file);

/* Names the fault: ERR_INVALID_INPUT. */
must_check enum err operator_file_blame(struct outcome *outcome, const struct operator_file *file);
