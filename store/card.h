#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Physical cards of passes: each of an incarnation of a pass, linked until it is unlinked, found by its id and, while it is
 * linked, by its code. CARD row, little-endian: version u8 (1) | linked u8 | created i64 | code. CARD_CODE row, of a linked
 * one: number of the pass u32 | id 16. CARD_ID row: number of the pass u32. Rows are put and deleted, never patched.
 * Errors: as view.h. */
enum { CARD_BYTES_MAX = 10 + CARD_CODE_BYTES_MAX };

struct card {
	struct uuid id;
	uint32_t    pass_number;
	bool        linked;
	wall_us     created;
	struct span code;
};

/* The card of an id; the one that is linked by a code. */
must_check enum err card_get(struct view *view, struct account_id account, struct uuid id, struct card *card);
must_check enum err card_of_code(struct view *view, struct account_id account, struct span code,
                                 struct card *card);

/* The three rows by themselves: where its id leads to, where a code does, and the card there (its number and id given).
 * For the audit. */
must_check enum err card_id_row(struct view *view, struct account_id account, struct card *card);
must_check enum err card_code_row(struct view *view, struct account_id account, struct span code,
                                  struct card *card);
must_check enum err card_row(struct view *view, struct account_id account, struct card *card);

/* Stages a card in all three tables: the only writer of these. A linked card takes its code; a card that had the code has to be
 * unlinked first. */
must_check enum err card_put(struct view *view, struct account_id account, const struct card *card);

/* Stages that it is gone from all three. */
must_check enum err card_del(struct view *view, struct account_id account, const struct card *card);

/* The pass's newest card, or (with `found` the one before) the next older. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err card_newest(struct view *view, struct account_id account, uint32_t pass_number,
                                struct card *card);
must_check enum err card_older(struct view *view, struct account_id account, struct card *card);
/* The newest before the one of that pass and id, whether or not that is there. Likewise. */
must_check enum err card_before(struct view *view, struct account_id account, struct card *card);

/* The account's newest card made before the one of that id, whether or not that is there. A range read. Errors:
 * ERR_NOT_FOUND: no more. */
must_check enum err card_made_before(struct view *view, struct account_id account, struct card *card);

/* Stored values and back; what a key says is left out. The code points into `value`. Errors: ERR_DAMAGED. */
must_check enum err card_read(struct span value, struct card *card);
must_check enum err card_code_read(struct span value, struct card *card);
must_check enum err card_id_read(struct span value, struct card *card);
size_t              card_write(const struct card *card, uint8_t value[CARD_BYTES_MAX]);
