#pragma once
#include "schemas/span.h"

#include <stdbool.h>
#include <stdint.h>

/* What a phone knows of its passes, in a text that it gives back with its next question: "LINEAGE.SEQ.LOOK". A pass has changed
 * since if its newest ledger row is beyond SEQ, or its template or the account's name beyond LOOK. It is no time, so nothing is
 * missed between two changes of one moment. Pure. */
enum { WALLET_TAG_TEXT = 16 + 1 + 20 + 1 + 10 + 1 };

/* After a restore the numbers of a tag mean nothing, nor do those of another account's. */
struct wallet_tag {
	uint64_t lineage; /* of the data directory and the account */
	uint64_t seq;     /* the account's newest ledger row */
	uint32_t look;    /* account_row.h: looks */
};

void wallet_tag_text(const struct wallet_tag *tag, char text[WALLET_TAG_TEXT]);
/* Each tag has one text. Errors: false: it is none of ours. */
bool wallet_tag_read(struct span text, struct wallet_tag *tag);
