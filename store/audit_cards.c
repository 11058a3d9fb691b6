/* The cards of one account: each is of a pass that there is, its id leads to it, and its code does if it is linked; what an
 * id or a code leads to is there. Rows are looked up in the other tables only, since a look moves the walk through its own. */
#include "store/auditor.h"

#include "store/card.h"

enum { CARD_REST = 20, ID_REST = 16 };

static enum err judge_id(struct auditor *auditor, const struct card *card, const char *id)
{
	struct card found = {.id = card->id};
	enum err    err = card_id_row(auditor->reader, auditor->account, &found);
	if (err && !audit_is_fault(err)) return err;
	if (err || found.pass_number != card->pass_number)
		audit_fault(auditor, TABLE_CARD, "%s is not found by its id", id);
	return OK;
}

static enum err judge_code(struct auditor *auditor, const struct card *card, const char *id)
{
	struct card found;
	enum err    err = card_code_row(auditor->reader, auditor->account, card->code, &found);
	if (err && !audit_is_fault(err)) return err;
	bool leads_here = !err && !memcmp(found.id.b, card->id.b, sizeof card->id.b);
	if (card->linked && !leads_here) audit_fault(auditor, TABLE_CARD, "%s is not found by its code", id);
	if (!card->linked && leads_here)
		audit_fault(auditor, TABLE_CARD_CODE, "a code leads to %s, which is unlinked", id);
	return OK;
}

static enum err audit_rows_of_cards(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_CARD};
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		struct card card;
		char        id[UUID_TEXT];
		if (rows.rest.size != CARD_REST || card_read(rows.value, &card)) {
			audit_fault(auditor, TABLE_CARD, "a row of a wrong form");
			continue;
		}
		card.pass_number = get_be32(rows.rest.at);
		memcpy(card.id.b, rows.rest.at + 4, sizeof card.id.b);
		uuid_text(card.id, id);
		if (card.pass_number >= auditor->pass_count)
			audit_fault(auditor, TABLE_CARD, "%s is of pass %u, which does not exist", id,
			            card.pass_number);
		if ((err = audit_erased(auditor, TABLE_CARD, card.pass_number))) return err;
		if (card.created.v < 0) audit_fault(auditor, TABLE_CARD, "%s has an impossible time", id);
		if ((err = judge_id(auditor, &card, id)) || (err = judge_code(auditor, &card, id)))
			return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err audit_codes(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_CARD_CODE};
	struct card       card;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		if (!(err = card_code_read(rows.value, &card)))
			err = card_row(auditor->reader, auditor->account, &card);
		if (err && !audit_is_fault(err)) return err;
		if (err || !span_equal(card.code, rows.rest))
			audit_fault(auditor, TABLE_CARD_CODE, "a code leads to no card of that code");
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err audit_ids(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_CARD_ID};
	struct card       card;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		err = rows.rest.size == ID_REST ? card_id_read(rows.value, &card) : ERR_DAMAGED;
		if (!err) {
			memcpy(card.id.b, rows.rest.at, sizeof card.id.b);
			err = card_row(auditor->reader, auditor->account, &card);
		}
		if (err && !audit_is_fault(err)) return err;
		if (err) audit_fault(auditor, TABLE_CARD_ID, "an id leads to no card");
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err audit_cards(struct auditor *auditor)
{
	enum err err = audit_rows_of_cards(auditor);
	if (!err) err = audit_codes(auditor);
	return err ? err : audit_ids(auditor);
}
