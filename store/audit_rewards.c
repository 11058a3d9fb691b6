/* The rewards of one account: each has its slug and its newest version, which agrees with it; none is newer.
 * Versions of a deleted reward are removed, or have a background removal. The same holds for versions replaced
 * before their assignment, which is checked with the entitlements. Counts match the rows. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/json.h"
#include "schemas/slug.h"
#include "store/reward.h"

enum { FAMILY_REST = 4, VERSION_REST = 8 };

/* Rewards ------------------------------------------------------------------------------------------------- */

/* Not by reward_by_slug(), which would move the cursor over the rewards. */
static enum err judge_slug(struct auditor *auditor, const struct reward *row)
{
	struct row_key key = key_reward_slug(auditor->account, row->slug);
	struct span    value;
	enum err       err = view_get(auditor->reader, TABLE_REWARD_SLUG, key_span(&key), &value);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || value.size != 4 || get_le32(value.at) != row->family)
		audit_fault(auditor, TABLE_REWARD, "reward %u is not found by its slug", row->family);
	return OK;
}

static enum err judge_newest(struct auditor *auditor, const struct reward *row)
{
	struct reward_version newest;
	enum err err = reward_version_in(auditor->reader, auditor->account, row, &auditor->whole, &newest);
	if (err && err != ERR_DAMAGED) return err;
	if (err)
		audit_fault(auditor, TABLE_REWARD, "reward %u has no version %u that can be read",
		            row->family, row->version);
	else if (!uuid_same(newest.family_id, row->family_id) || !span_equal(newest.slug, row->slug) ||
	         newest.created.v != row->created.v || newest.made.v > row->updated.v)
		audit_fault(auditor, TABLE_REWARD, "reward %u is not what its newest version says",
		            row->family);
	return OK;
}

static enum err judge_reward(struct auditor *auditor, const struct audit_rows *rows)
{
	uint32_t     *count = rows->context;
	struct reward row;
	++*count;
	if (rows->rest.size != FAMILY_REST || reward_read(rows->value, &row)) return ERR_MALFORMED;
	row.family = get_be32(rows->rest.at);
	if (row.created.v < 0 || row.updated.v < row.created.v)
		audit_fault(auditor, TABLE_REWARD, "reward %u has impossible times", row.family);
	if (row.family == 0 || row.family > auditor->family_count)
		audit_fault(auditor, TABLE_REWARD, "reward %u, but %u have been made", row.family,
		            auditor->family_count);
	if (!slug_is_valid(row.slug))
		audit_fault(auditor, TABLE_REWARD, "reward %u has a slug of a wrong form", row.family);
	enum err err = judge_slug(auditor, &row);
	return err ? err : judge_newest(auditor, &row);
}

static enum err audit_catalogue(struct auditor *auditor, uint32_t counted)
{
	uint32_t count = 0;
	enum err err = audit_each(auditor, TABLE_REWARD, judge_reward, &count);
	if (!err && count != counted)
		audit_fault(auditor, TABLE_REWARD_TALLY, "%u rewards, but %u are counted", count, counted);
	return err;
}

/* Their slugs --------------------------------------------------------------------------------------------- */

static enum err judge_slug_row(struct auditor *auditor, const struct audit_rows *rows)
{
	struct reward row;
	if (!slug_is_valid(rows->rest) || rows->value.size != 4) return ERR_MALFORMED;
	uint32_t family = get_le32(rows->value.at);
	enum err err = reward_get(auditor->reader, auditor->account, family, &row);
	if (err && !audit_is_fault(err)) return err;
	if (err || !span_equal(row.slug, rows->rest))
		audit_fault(auditor, TABLE_REWARD_SLUG, "a slug of reward %u, which does not have it",
		            family);
	return OK;
}

/* Their versions ------------------------------------------------------------------------------------------ */

/* The versions of one family read so far. */
struct family {
	uint32_t    number, newest; /* 0: none yet */
	struct uuid id;
	wall_us     created, made;
};

/* Has the family versions that its reward does not know? */
static enum err end_deleted(struct auditor *auditor, const struct family *family)
{
	bool     left;
	enum err err = audit_is_left(
	    auditor, cleanup_of_number(auditor->account, CLEANUP_REWARD, family->number), &left);
	if (!err && !left)
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u is deleted, and its versions stay",
		            family->number);
	return err;
}

static enum err end_family(struct auditor *auditor, const struct family *family)
{
	struct reward row;
	if (family->number == 0) return OK;
	enum err err = reward_get(auditor->reader, auditor->account, family->number, &row);
	if (err == ERR_NOT_FOUND) return end_deleted(auditor, family);
	if (audit_is_fault(err)) return OK; /* reported above */
	if (err) return err;
	if (row.version != family->newest)
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u has a version %u, and says %u",
		            family->number, family->newest, row.version);
	return OK;
}

static void judge_version(struct auditor *auditor, struct family *family, const struct reward_version *row)
{
	if (family->newest == 0) {
		family->id = row->family_id;
		family->created = family->made = row->created;
	}
	if (!uuid_same(family->id, row->family_id) || family->created.v != row->created.v)
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u: version %u is of another", row->family,
		            row->version);
	if (row->created.v < 0 || row->made.v < family->made.v)
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u: version %u has impossible times",
		            row->family, row->version);
	if (!slug_is_valid(row->slug) || !utf8_is_valid(row->name) || !utf8_is_valid(row->description))
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u: version %u has texts that are none",
		            row->family, row->version);
	family->newest = row->version;
	family->made = row->made;
}

static enum err next_family(struct auditor *auditor, struct family *family, uint32_t number)
{
	enum err err = end_family(auditor, family);
	if (number == 0 || number > auditor->family_count)
		audit_fault(auditor, TABLE_REWARD_TALLY, "reward %u has versions, but %u have been made",
		            number, auditor->family_count);
	*family = (struct family){.number = number};
	return err;
}

static enum err audit_versions(struct auditor *auditor)
{
	struct audit_rows     rows = {.table = TABLE_REWARD_VERSION, .key_size = VERSION_REST};
	struct audit_whole    found;
	struct family         family = {.number = 0};
	struct reward_version row;
	enum err              err;
	buffer_clear(&auditor->versions);
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (found.number != family.number && (err = next_family(auditor, &family, found.number)))
			return err;
		if (reward_version_read(found.value, &row)) {
			audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u: a version that cannot be read",
			            found.number);
			continue;
		}
		row.family = found.number;
		row.version = get_be32(found.key + FAMILY_REST);
		judge_version(auditor, &family, &row);
		struct version_seen seen = {.family = row.family, .version = row.version};
		buffer_append(&auditor->versions, &seen, sizeof seen);
		if (auditor->versions.failed) return ERR_NO_MEMORY;
	}
	return err == ERR_NOT_FOUND ? end_family(auditor, &family) : err;
}

/* ---------------------------------------------------------------------------------------------------------- */

static enum err take_tally(struct auditor *auditor, const struct audit_rows *rows)
{
	(void)auditor;
	return rows->rest.size || reward_tally_read(rows->value, rows->context) ? ERR_MALFORMED : OK;
}

enum err audit_rewards(struct auditor *auditor)
{
	struct reward_tally tally = {0};
	enum err            err = audit_each(auditor, TABLE_REWARD_TALLY, take_tally, &tally);
	auditor->family_count = tally.families;
	if (err || (err = audit_catalogue(auditor, tally.rewards))) return err;
	if ((err = audit_each(auditor, TABLE_REWARD_SLUG, judge_slug_row, NULL))) return err;
	return audit_versions(auditor);
}
