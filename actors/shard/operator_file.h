#pragma once
#include "actors/shard/command.h"
#include "schemas/operator_file.h"

/* A file of the operator as a command's argument: what it replaces, and its content. Lives as long as the command. */
struct operator_file {
	const msgpack_object *id;   /* of what is replaced; NULL: nothing */
	struct span           text; /* the file without that member, as JSON text */
	struct json          *json;
	struct file_fault     fault; /* filled in by the code that finds one */
};

/* `key`: the name of the member that says what is replaced. Errors: ERR_INVALID_REQUEST, ERR_PAYLOAD_TOO_LARGE, ERR_NO_MEMORY. */
must_check enum err operator_file_take(struct request *request, const msgpack_object *argument,
                                       const char *key, struct operator_file **file);

/* Reports the fault: ERR_INVALID_INPUT. */
must_check enum err operator_file_blame(struct outcome *outcome, const struct operator_file *file);
