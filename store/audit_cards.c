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
	bool leads_here = !err && uuid_same(found.id, card->id);
	if (card->linked && !leads_here) audit_fault(auditor, TABLE_CARD, "%s is not found by its code", id);
	if (!card->linked && leads_here)
		audit_fault(auditor, TABLE_CARD_CODE, "a code leads to %s, which is unlinked", id);
	return OK;
}

static enum err judge_card(struct auditor *auditor, const struct audit_rows *rows)
{
	struct card card;
	char        id[UUID_TEXT];
	if (rows->rest.size != CARD_REST || card_read(rows->value, &card)) return ERR_MALFORMED;
	card.pass_number = get_be32(rows->rest.at);
	memcpy(card.id.b, rows->rest.at + 4, sizeof card.id.b);
	uuid_text(card.id, id);
	if (card.pass_number >= auditor->pass_count)
		audit_fault(auditor, TABLE_CARD, "%s is of pass %u, which does not exist", id,
		            card.pass_number);
	enum err err = audit_erased(auditor, TABLE_CARD, card.pass_number);
	if (err) return err;
	if (card.created.v < 0) audit_fault(auditor, TABLE_CARD, "%s has an impossible time", id);
	err = judge_id(auditor, &card, id);
	return err ? err : judge_code(auditor, &card, id);
}

static enum err judge_card_code(struct auditor *auditor, const struct audit_rows *rows)
{
	struct card card;
	enum err    err = card_code_read(rows->value, &card);
	if (!err) err = card_row(auditor->reader, auditor->account, &card);
	if (err && !audit_is_fault(err)) return err;
	if (err || !span_equal(card.code, rows->rest))
		audit_fault(auditor, TABLE_CARD_CODE, "a code leads to no card of that code");
	return OK;
}

static enum err judge_card_id(struct auditor *auditor, const struct audit_rows *rows)
{
	struct card card;
	enum err    err = rows->rest.size == ID_REST ? card_id_read(rows->value, &card) : ERR_DAMAGED;
	if (!err) {
		memcpy(card.id.b, rows->rest.at, sizeof card.id.b);
		err = card_row(auditor->reader, auditor->account, &card);
	}
	if (err && !audit_is_fault(err)) return err;
	if (err) audit_fault(auditor, TABLE_CARD_ID, "an id leads to no card");
	return OK;
}

enum err audit_cards(struct auditor *auditor)
{
	enum err err = audit_each(auditor, TABLE_CARD, judge_card, NULL);
	if (!err) err = audit_each(auditor, TABLE_CARD_CODE, judge_card_code, NULL);
	return err ? err : audit_each(auditor, TABLE_CARD_ID, judge_card_id, NULL);
}
