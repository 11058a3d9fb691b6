#pragma once
#include "actors/shard/pass/select.h"
#include "actors/shard/list/trigram_index.h"
#include "store/stream.h"

/* Searching blocks of folded text (store/text.h), 32 things a row: if q is nowhere in a row, that is all there is to do.
 * Errors: as view.h; ERR_OVERLOADED: the caller has given up, so that no search holds others up for long. */
struct text_search {
	struct request *request;
	enum table      table;
	struct span     q;

	bool is_first_part; /* what is behind a text's first SEARCHABLE_SEPARATOR does not count */

	/* Does the text of `number` hold q, which is not in its block? */
	enum err (*holds_elsewhere)(struct text_search *search, uint32_t number, bool *found);

	struct buffer         room; /* freed at the end */
	struct stream         stream;
	bool                  is_streaming;
	struct trigram_index *signs; /* NULL: none */
	struct sign_look      look;  /* of the rows that are searched now */
	uint32_t              searched;
	uint32_t              at; /* the number of the row read last */
	bool                  has_read;
};

/* Leaves in the selection, which has bits, what holds q; by `found` (may be NULL) some are known to. Bits behind the last
 * thing that was made are cleared. */
must_check enum err text_search(struct text_search *search, const uint64_t *found,
                                struct selection *selection);
