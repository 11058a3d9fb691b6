/* The credentials for wallets of one account, or the operator's: every row can be read and is under the number of its name, and
 * exactly where there are some, one of them makes new passes. Keys are sealed: whether they open, the shard finds out. */
#include "store/auditor.h"

#include "schemas/limits.h"
#include "store/wallet_credential.h"

/* Those of one kind so far. */
struct kept {
	unsigned count;
	uint64_t current; /* 0: not known */
	bool     has_current;
};

static void judge_credential(struct auditor *auditor, struct span value, enum wallet_kind kind,
                             uint64_t number)
{
	struct wallet_credential row;
	const char              *text = wallet_kind_text(kind);
	if (wallet_credential_read(value, &row))
		audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "a row of a wrong form, of %s", text);
	else if (wallet_number(row.name) != number)
		audit_fault(auditor, TABLE_WALLET_CREDENTIAL,
		            "a row of %s under a number that is not its own", text);
	else if (row.put.v < 0 || row.rests_until.v < 0)
		audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "a row of %s has impossible times", text);
	else if (row.not_after.v < row.not_before.v)
		audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "a row of %s ends before it begins", text);
}

static enum err judge_value(struct auditor *auditor, const struct audit_whole *found)
{
	struct kept     *kinds = found->context;
	enum wallet_kind kind;
	uint64_t         number;
	if (!wallet_key_read(span_of(found->key, WALLET_KEY_BYTES), &kind, &number)) {
		audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "a key of a wrong form");
		return OK;
	}
	struct kept *kept = &kinds[kind];
	if (!number) {
		if (wallet_current_read(found->value, &kept->current))
			audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "a row of a wrong form, of %s",
			            wallet_kind_text(kind));
		kept->has_current = false; /* until its row comes */
		return OK;
	}
	kept->count++;
	if (number == kept->current) kept->has_current = true;
	judge_credential(auditor, found->value, kind, number);
	return OK;
}

enum err audit_wallets(struct auditor *auditor)
{
	struct kept kinds[WALLET_KIND_END] = {{.count = 0}};
	enum err    err = audit_each_whole(auditor, TABLE_WALLET_CREDENTIAL, WALLET_KEY_BYTES, judge_value,
	                                   kinds);
	for (unsigned kind = WALLET_APPLE; kind < WALLET_KIND_END; kind++) {
		const struct kept *kept = &kinds[kind];
		if ((kept->count || kept->current) && !kept->has_current)
			audit_fault(auditor, TABLE_WALLET_CREDENTIAL, "no credential of %s makes new passes",
			            wallet_kind_text(kind));
		if (kept->count > WALLET_CREDENTIALS_MAX)
			audit_fault(auditor, TABLE_WALLET_CREDENTIAL,
			            "%u credentials of %s, beyond the limit", kept->count,
			            wallet_kind_text(kind));
	}
	return err;
}
