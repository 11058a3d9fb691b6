#pragma once
#include "schemas/cause.h"
#include "schemas/span.h"

/* What the guard has learnt of the head of a request so far. Zeroed: nothing yet. */
struct head {
	size_t size; /* with its empty line; 0: it is not whole yet */
	/* How the body is marked off: not at all (neither), by its length, or in chunks. */
	bool     chunked, has_length;
	uint64_t length;
	bool     expects; /* the client waits for "100 Continue" */
	/* Where the lines begin that say so (and Expect): whoever hands the head on may want to hide them. */
	uint16_t hidden[3];
	unsigned hidden_count;

	/* In the input, for whoever wants to know who asks before the body has come: the target's path, and the value of the
	 * last Authorization. */
	uint16_t path_at, path_size, authorization_at, authorization_size;
	unsigned authorizations;

	uint16_t front,
	    excess; /* bytes before the target; and of its scheme and authority, see guard_to_origin() */
	size_t        line, seen;            /* begin of the first line not yet taken; bytes looked at */
	bool          has_request_line, old; /* HTTP/1.0 */
	unsigned      headers, lengths, encodings, hosts, expectations;
	struct reason reason; /* of a refusal; a name in it lies in the input */
};

/* Looks over the raw head of a request, as far as it has come: `input` is the connection's bytes from the head on,
 * each time more of them (a body may follow), and `head` is carried from call to call. However the bytes are split,
 * the verdict is the same. Refuses every shape that two parsers could read differently, and whatever exceeds our
 * limits, as soon as it can be seen. Pure. Errors: that of head->reason, ERR_INVALID_REQUEST, ERR_URI_TOO_LONG or
 * ERR_HEAD_TOO_LARGE; the connection must then be closed. OK with head->size 0: more is needed. */
must_check enum err guard_take(struct head *head, struct span input);

/* The verdict on a head that is there as a whole; one that is not is an ERR_INVALID_REQUEST. */
must_check enum err guard_head(struct span input);

/* A target in absolute form (RFC 9112, 3.2.2) becomes one in origin form: its scheme and authority are taken out of the
 * head, which is whole and lies at `input`, an empty path is made "/", and `head` is told. What stood before the target
 * moves up to it, so that the head now begins further in. Returns how far; 0 for most. Errors: none. */
size_t guard_to_origin(struct head *head, uint8_t *input);

/* A header's value without the blanks and tabs around it, which do not belong to it. */
struct span guard_trim(struct span value);

/* One line of a header's form, in which no control character is: a name that is a token, a colon right behind it, and a
 * value, which comes without the blanks around it. CAUSE_NONE: it has that form; else the name is what stands before the
 * colon, if there is one. */
must_check enum cause guard_field(struct span line, struct span *name, struct span *value);
