/* The entitlements of one account: the pass and reward version of each exist, its redemptions add up to the redeemed
 * amount, and every count includes it. A count shared by many (a pass and family, a span of time) is compared
 * through a sum of hashes, which needs no memory for each. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "store/entitlement.h"
#include "store/expiry.h"
#include "store/redemption.h"
#include "store/reward.h"

#include <inttypes.h>

enum { HELD_REST = 8, HELD_BYTES = 4 };

/* Sums over the rows of ENTITLEMENT. */
struct added {
	struct reward_tally counts;
	uint64_t            taken;                 /* redemptions of all of them */
	uint64_t            held;                  /* hashes of passes and families */
	uint64_t            assigned;              /* hashes of families */
	uint64_t            expiry[EXPIRY_LEVELS]; /* hashes of spans of time, of the open ones */
};

/* Sums of such hashes differ if their terms differ, except with negligible probability. */
static uint64_t mark_of(uint64_t a, uint64_t b)
{
	uint64_t mark = a * UINT64_C(0x9e3779b97f4a7c15) + b + 1;
	mark = (mark ^ mark >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	mark = (mark ^ mark >> 27) * UINT64_C(0x94d049bb133111eb);
	return mark ^ mark >> 31;
}

/* ENTITLEMENT -------------------------------------------------------------------------------------------- */

static bool has_possible_state(const struct entitlement *row)
{
	if (row->allowance == 0 || row->remaining > row->allowance) return false;
	return (row->remaining == 0) == (row->state == ENTITLEMENT_REDEEMED);
}

/* An expired one cannot change. */
static bool has_possible_times(const struct entitlement *row)
{
	if (row->created.v <= 0 || row->updated.v < row->created.v) return false;
	return !row->expires.v || row->updated.v < row->expires.v;
}

static enum err judge_version(struct auditor *auditor, const struct entitlement *row, const char *id)
{
	struct reward_version version;
	enum err err = reward_version_get(auditor->reader, auditor->account, row->family, row->version,
	                                  &version);
	arena_reset(view_arena(auditor->reader));
	if (err && !audit_is_fault(err)) return err;
	if (err)
		audit_fault(auditor, TABLE_ENTITLEMENT,
		            "%s is of version %u of reward %u, which is not there", id, row->version,
		            row->family);
	else if (version.redemption_allowance != row->allowance)
		audit_fault(auditor, TABLE_ENTITLEMENT, "%s has an allowance that is not its version's", id);
	struct version_seen *seen = audit_version(auditor, row->family, row->version);
	if (seen) seen->assigned++;
	return OK;
}

static void add(struct added *added, const struct entitlement *row)
{
	added->counts.entitlements++;
	added->counts.redeemed += row->state == ENTITLEMENT_REDEEMED;
	added->counts.replaced += row->state == ENTITLEMENT_REPLACED;
	added->counts.open += row->state == ENTITLEMENT_OPEN;
	added->taken += row->allowance - row->remaining;
	added->held += mark_of(row->pass, row->family);
	added->assigned += mark_of(row->family, 0);
	if (row->state != ENTITLEMENT_OPEN || !row->expires.v) return;
	for (unsigned level = 0; level < EXPIRY_LEVELS; level++)
		added->expiry[level] += mark_of(expiry_span(row->expires, level), level);
}

static enum err judge_row(struct auditor *auditor, const struct audit_rows *rows)
{
	struct entitlement row;
	char               id[UUID_TEXT];
	if (entitlement_key_read(rows->rest, &row) || entitlement_read(rows->value, &row))
		return ERR_MALFORMED;
	uuid_text(row.id, id);
	if (row.pass >= auditor->pass_count)
		audit_fault(auditor, TABLE_ENTITLEMENT, "%s is of a pass that was never made", id);
	if (!has_possible_state(&row))
		audit_fault(auditor, TABLE_ENTITLEMENT, "%s is in an impossible state", id);
	if (!has_possible_times(&row)) audit_fault(auditor, TABLE_ENTITLEMENT, "%s has impossible times", id);
	add(rows->context, &row);
	return judge_version(auditor, &row, id);
}

/* OPEN --------------------------------------------------------------------------------------------------- */

static enum err judge_open(struct auditor *auditor, const struct audit_rows *rows)
{
	struct entitlement_open open;
	struct entitlement      row;
	char                    id[UUID_TEXT];
	if (rows->value.size || entitlement_open_read(rows->rest, &open)) {
		audit_fault(auditor, TABLE_OPEN, "a row of a wrong form");
		return OK;
	}
	uuid_text(open.id, id);
	enum err err = entitlement_get(auditor->reader, auditor->account, open.pass, open.id, &row);
	if (err && !audit_is_fault(err)) return err;
	if (err || row.state != ENTITLEMENT_OPEN || row.family != open.family ||
	    row.expires.v != open.expires.v)
		audit_fault(auditor, TABLE_OPEN, "%s is not so", id);
	return OK;
}

/* Each row belongs to another entitlement, so equal counts mean that none is missing. */
static enum err audit_open(struct auditor *auditor, const struct added *added)
{
	struct audit_rows rows = {.table = TABLE_OPEN};
	uint64_t          count = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		if ((err = judge_open(auditor, &rows))) return err;
		count++;
	}
	if (count != added->counts.open)
		audit_fault(auditor, TABLE_OPEN, "%" PRIu64 " rows, but %" PRIu64 " are open", count,
		            added->counts.open);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* REDEMPTION --------------------------------------------------------------------------------------------- */

/* Redemptions of one entitlement, which are adjacent. */
struct taken {
	bool        begun;
	uint32_t    pass;
	struct uuid entitlement;
	uint64_t    amount;
	uint64_t    all; /* including previous entitlements */
};

static enum err judge_taken(struct auditor *auditor, const struct taken *taken)
{
	struct entitlement row;
	char               id[UUID_TEXT];
	if (!taken->begun) return OK;
	enum err err = entitlement_get(auditor->reader, auditor->account, taken->pass, taken->entitlement,
	                               &row);
	if (err && !audit_is_fault(err)) return err;
	uuid_text(taken->entitlement, id);
	if (err)
		audit_fault(auditor, TABLE_REDEMPTION, "one of %s, which is not there", id);
	else if (taken->amount != row.allowance - row.remaining)
		audit_fault(auditor, TABLE_REDEMPTION, "those of %s add up to %" PRIu64 ", %u are gone", id,
		            taken->amount, row.allowance - row.remaining);
	return OK;
}

static bool is_of(const struct taken *taken, const struct redemption *row)
{
	return taken->begun && taken->pass == row->pass && uuid_same(taken->entitlement, row->entitlement);
}

static enum err take(struct auditor *auditor, const struct audit_whole *found)
{
	struct taken     *taken = found->context;
	struct redemption row;
	enum err          err = OK;
	if (redemption_key_read(span_of(found->key, REDEMPTION_KEY_REST), &row) ||
	    redemption_read(found->value, &row)) {
		audit_fault(auditor, TABLE_REDEMPTION, "pass %u: a row of a wrong form", found->number);
		return OK;
	}
	if ((row.context.size || row.note.size) && (err = audit_erased(auditor, TABLE_REDEMPTION, row.pass)))
		return err;
	if (!is_of(taken, &row)) {
		err = judge_taken(auditor, taken);
		taken->begun = true;
		taken->pass = row.pass;
		taken->entitlement = row.entitlement;
		taken->amount = 0;
	}
	taken->amount += row.amount;
	taken->all += row.amount;
	return err;
}

static enum err audit_redemptions(struct auditor *auditor, const struct added *added)
{
	struct taken taken = {.begun = false};
	enum err     err = audit_each_whole(auditor, TABLE_REDEMPTION, REDEMPTION_KEY_REST, take, &taken);
	if (err || (err = judge_taken(auditor, &taken))) return err;
	if (taken.all != added->taken)
		audit_fault(auditor, TABLE_REDEMPTION, "all add up to %" PRIu64 ", %" PRIu64 " are gone",
		            taken.all, added->taken);
	return OK;
}

/* Counts ------------------------------------------------------------------------------------------------- */

static enum err audit_held(struct auditor *auditor, const struct added *added)
{
	struct audit_rows rows = {.table = TABLE_HELD};
	uint64_t          marks = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		uint32_t count = rows.value.size == HELD_BYTES ? get_le32(rows.value.at) : 0;
		if (rows.rest.size != HELD_REST || count == 0) {
			audit_fault(auditor, TABLE_HELD, "a row of a wrong form");
			continue;
		}
		marks += count * mark_of(get_be32(rows.rest.at), get_be32(rows.rest.at + 4));
	}
	if (marks != added->held)
		audit_fault(auditor, TABLE_HELD, "the counts are not those of the entitlements");
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err audit_expiry(struct auditor *auditor, const struct added *added)
{
	struct audit_rows rows = {.table = TABLE_EXPIRY};
	uint64_t          marks[EXPIRY_LEVELS] = {0};
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		uint64_t count = rows.value.size == EXPIRY_BYTES ? get_le64(rows.value.at) : 0;
		if (rows.rest.size != EXPIRY_KEY_REST || rows.rest.at[0] >= EXPIRY_LEVELS || count == 0) {
			audit_fault(auditor, TABLE_EXPIRY, "a row of a wrong form");
			continue;
		}
		unsigned level = rows.rest.at[0];
		marks[level] += count * mark_of(get_be64(rows.rest.at + 1), level);
	}
	for (unsigned level = 0; level < EXPIRY_LEVELS; level++)
		if (marks[level] != added->expiry[level])
			audit_fault(auditor, TABLE_EXPIRY,
			            "the counts of level %u are not those of the entitlements", level);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* The assignment count of each reward. A deleted reward was never assigned. */
static enum err audit_assigned(struct auditor *auditor, const struct added *added)
{
	struct audit_rows rows = {.table = TABLE_REWARD};
	struct reward     reward;
	uint64_t          marks = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows)))
		if (rows.rest.size == sizeof reward.family && !reward_read(rows.value, &reward))
			marks += reward.assigned * mark_of(get_be32(rows.rest.at), 0);
	if (marks != added->assigned)
		audit_fault(auditor, TABLE_REWARD,
		            "the counts of assignments are not those of the entitlements");
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Checks the newest version's assignment count. An older version never assigned must have a background removal. */
static enum err judge_seen(struct auditor *auditor, const struct version_seen *seen)
{
	struct reward reward;
	bool          left;
	enum err      err = reward_get(auditor->reader, auditor->account, seen->family, &reward);
	if (err)
		return audit_is_fault(err) ? OK
		                           : err; /* it was deleted, or the audit of rewards reports it */
	if (seen->version == reward.version && seen->assigned != reward.assigned_newest)
		audit_fault(auditor, TABLE_REWARD,
		            "the counts of assignments are not those of the entitlements");
	if (seen->version >= reward.version || seen->assigned) return OK;
	err = audit_is_left(auditor, reward_version_left_over(auditor->account, seen->family, seen->version),
	                    &left);
	if (!err && !left)
		audit_fault(auditor, TABLE_REWARD_VERSION, "reward %u: version %u is nobody's, and stays",
		            seen->family, seen->version);
	return err;
}

static enum err audit_seen(struct auditor *auditor)
{
	const struct version_seen *seen = (const struct version_seen *)(const void *)auditor->versions.at;
	enum err                   err = OK;
	for (size_t i = 0; !err && i < auditor->versions.size / sizeof *seen; i++)
		err = judge_seen(auditor, &seen[i]);
	return err;
}

static enum err audit_tally(struct auditor *auditor, const struct added *added)
{
	const struct reward_tally *want = &added->counts;
	struct reward_tally        tally;
	enum err                   err = reward_tally_get(auditor->reader, auditor->account, &tally);
	if (err) return err == ERR_DAMAGED ? OK : err; /* reported by the audit of rewards */
	if (tally.entitlements != want->entitlements || tally.redeemed != want->redeemed ||
	    tally.replaced != want->replaced || tally.open != want->open)
		audit_fault(auditor, TABLE_REWARD_TALLY, "the counts are not those of the entitlements");
	return OK;
}

enum err audit_entitlements(struct auditor *auditor)
{
	struct added added = {.taken = 0};
	enum err     err = audit_each(auditor, TABLE_ENTITLEMENT, judge_row, &added);
	if (err) return err;
	if ((err = audit_open(auditor, &added)) || (err = audit_redemptions(auditor, &added))) return err;
	if ((err = audit_held(auditor, &added)) || (err = audit_expiry(auditor, &added))) return err;
	if ((err = audit_assigned(auditor, &added)) || (err = audit_seen(auditor))) return err;
	return audit_tally(auditor, &added);
}
