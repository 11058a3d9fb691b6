/* The background removals of one account: every row can be decoded, and none removes data in use. The reverse, that
 * unused data has a row here, is checked by the audits of that data. */
#include "store/auditor.h"

#include "store/hot.h"
#include "store/reward.h"

enum err audit_is_left(struct auditor *auditor, struct cleanup row, bool *left)
{
	row.account = auditor->account;
	enum err err = cleanup_get(auditor->reader, &row);
	*left = !err;
	return audit_is_fault(err) ? OK : err;
}

enum err audit_erased(struct auditor *auditor, enum table table, uint32_t number)
{
	bool left;
	if (number >= auditor->pass_count || !(auditor->passes[number].hot_flags & HOT_ERASED)) return OK;
	enum err err = audit_is_left(auditor, cleanup_of_number(auditor->account, CLEANUP_PASS, number),
	                             &left);
	if (!err && !left) audit_fault(auditor, table, "pass %u is erased, and not all of it", number);
	return err;
}

static enum err judge_reward(struct auditor *auditor, uint32_t family)
{
	struct reward row;
	enum err      err = reward_get(auditor->reader, auditor->account, family, &row);
	if (err && !audit_is_fault(err)) return err;
	if (!err || family == 0 || family > auditor->family_count)
		audit_fault(auditor, TABLE_CLEANUP, "reward %u is not one that was deleted", family);
	return OK;
}

/* A version that is assigned or the newest must not be removed. */
static enum err judge_version(struct auditor *auditor, const struct cleanup *row)
{
	struct reward reward;
	uint32_t      family = row->subject_size == 8 ? get_be32(row->subject) : 0;
	uint32_t      version = family ? get_be32(row->subject + 4) : 0;
	enum err      err = reward_get(auditor->reader, auditor->account, family, &reward);
	if (err && !audit_is_fault(err)) return err;
	const struct version_seen *seen = audit_version(auditor, family, version);
	if (!family || family > auditor->family_count || (!err && version >= reward.version) ||
	    (seen && seen->assigned))
		audit_fault(auditor, TABLE_CLEANUP, "version %u of reward %u is not one to be removed",
		            version, family);
	return OK;
}

static enum err judge_row(struct auditor *auditor, const struct audit_rows *rows)
{
	struct cleanup row;
	if (cleanup_read(rows->row.key, rows->value, &row)) return ERR_MALFORMED;
	uint32_t number = cleanup_number(&row);
	bool     is_erased = number < auditor->pass_count && auditor->passes[number].hot_flags & HOT_ERASED;
	if (row.kind == CLEANUP_PASS && !is_erased)
		audit_fault(auditor, TABLE_CLEANUP, "pass %u is not erased", number);
	if (row.kind == CLEANUP_REWARD) return judge_reward(auditor, number);
	return row.kind == CLEANUP_REWARD_VERSION ? judge_version(auditor, &row) : OK;
}

enum err audit_cleanup(struct auditor *auditor)
{
	return audit_each(auditor, TABLE_CLEANUP, judge_row, NULL);
}
