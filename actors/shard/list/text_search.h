#pragma once
#include "actors/shard/pass/select.h"
#include "actors/shard/list/cache.h"
#include "store/stream.h"

/* Searches blocks of folded text (store/text.h), 32 texts a row: a row without q needs no further work. Errors: as view.h;
 * ERR_OVERLOADED: the caller has given up, so that no search delays others for long. */
struct text_search {
	struct request *request;
	enum table      table;
	struct span     q;

	bool is_first_part; /* ignore what follows a text's first SEARCHABLE_SEPARATOR */

	/* Does the text of `number`, which is not in its block, contain q? */
	enum err (*holds_elsewhere)(struct text_search *search, uint32_t number, bool *found);

	struct buffer      room; /* freed at the end */
	struct stream      stream;
	bool               is_streaming;
	struct kept_texts *kept; /* NULL: none */
	struct kept_look   look; /* of the current rows */
	uint32_t           searched;
	uint32_t           at; /* the number of the row read last */
	bool               has_read;
};

/* Removes from the selection, which has bits, what does not contain q. `found` (may be NULL) are known to contain it. Bits
 * after the last existing number are cleared. */
must_check enum err text_search(struct text_search *search, const uint64_t *found,
                                struct selection *selection);
