/* status: what this shard holds and has done. Counts come from the accounts' tallies. */
#include "actors/shard/command.h"
#include "actors/shard/delivery/backlog.h"

#include "store/tally.h"

static enum err count_all(struct view *view, uint64_t *accounts, uint64_t *passes)
{
	struct account_id  id = {{0}};
	struct account_row row;
	struct tally       tally;
	enum err           err;
	*accounts = *passes = 0;
	while (!(err = account_row_next(view, &id, &row))) {
		if ((err = tally_get(view, id, &tally))) return err;
		++*accounts;
		*passes += tally_live(&tally);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static const char *tables_text(const struct shard_facts *facts)
{
	if (facts->tables_rebuilt) return "rebuilt";
	switch (facts->tables_found) {
	case CLEAN_MARK_CLEAN: return "clean";
	case CLEAN_MARK_OPEN: return "open";
	case CLEAN_MARK_NONE: break;
	}
	return "new";
}

static const char *room_text(int room)
{
	switch ((enum disk_level)room) {
	case DISK_FOR_ALL: return "all";
	case DISK_TO_FINISH: return "deletions";
	case DISK_FOR_NOTHING: break;
	}
	return "none";
}

/* The disk: what is kept, how old the newest snapshot is, what is left. */
enum { DISK_MEMBERS = 12 };
static void pack_disk(const struct shard_facts *facts, msgpack_packer *pk)
{
	struct snapshotter_state state;
	snapshotter_state(facts->snapshotter, &state);
	pack_text(pk, "tables");
	pack_text(pk, tables_text(facts));
	pack_count(pk, "data_bytes", state.data_bytes);
	pack_count(pk, "journal_bytes", state.journal_bytes);
	pack_count(pk, "journal_first_segment", state.journal_first_segment);
	pack_count(pk, "snapshots", state.snapshots);
	pack_count(pk, "snapshot_seq", state.snapshot_seq);
	pack_text(pk, "snapshot_age_seconds");
	if (state.snapshots)
		pack_int(pk, state.snapshot_age_s);
	else
		msgpack_pack_nil(pk);
	pack_count(pk, "snapshot_failures", state.failures);
	pack_count(pk, "free_bytes", state.free_bytes);
	pack_count(pk, "tables_rebuilt", facts->tables_rebuilt);
	pack_count(pk, "room", (uint64_t)(DISK_FOR_NOTHING - atomic_load(&facts->room)));
	pack_text(pk, "accepts");
	pack_text(pk, room_text(atomic_load(&facts->room)));
}

/* Counts by bucket, then the sum. */
static void pack_histogram(const char *key, const struct histogram *histogram, msgpack_packer *pk)
{
	struct histogram_copy copy = {.sum = 0};
	histogram_sum(histogram, &copy);
	pack_text(pk, key);
	msgpack_pack_array(pk, SCALE_BOUNDS + 2);
	for (unsigned i = 0; i <= SCALE_BOUNDS; i++)
		msgpack_pack_uint64(pk, copy.counts[i]);
	msgpack_pack_uint64(pk, copy.sum);
}

/* Attempts since the start, by how they ended. */
static void pack_attempts(const struct delivery_counters *counters, msgpack_packer *pk)
{
	pack_text(pk, "attempts");
	msgpack_pack_map(pk, ATTEMPT_ERRORS + 1);
	for (unsigned i = 0; i <= ATTEMPT_ERRORS; i++)
		pack_count(pk, attempt_outcome(i), atomic_load(&counters->attempts[i]));
}

enum err on_SHARD_STATUS(struct request *request, struct outcome *outcome)
{
	const struct shard_facts *facts = request->facts;
	uint64_t                  accounts, passes;
	msgpack_packer            pk = buffer_packer(outcome->payload);
	struct backlog            backlog;
	enum err                  err = count_all(request->view, &accounts, &passes);
	if (err || (err = backlog_count(request->view, request->now, &backlog))) return err;
	const char *issuer = !atomic_load(&facts->issuer_up)      ? "down"
	                     : atomic_load(&facts->issuer_paused) ? "paused"
	                                                          : "up";
	msgpack_pack_map(&pk, 24 + DISK_MEMBERS + BACKLOG_MEMBERS);
	pack_count(&pk, "index", facts->index);
	pack_count(&pk, "epoch", facts->epoch);
	pack_count(&pk, "accounts", accounts);
	pack_count(&pk, "passes", passes);
	pack_count(&pk, "journal_seq", atomic_load(&facts->journal_seq));
	if ((err = backlog_pack(request->view, &backlog, &pk))) return err;
	pack_attempts(&facts->deliveries, &pk);
	pack_count(&pk, "commands", atomic_load(&facts->commands));
	pack_count(&pk, "batches", atomic_load(&facts->batches));
	pack_count(&pk, "syncs", atomic_load(&facts->syncs));
	pack_count(&pk, "commits", atomic_load(&facts->commits));
	pack_count(&pk, "memory_bytes", atomic_load(&facts->memory_bytes));
	pack_count(&pk, "memory_bound", facts->memory_bound);
	pack_count(&pk, "evictions", atomic_load(&facts->evictions));
	pack_count(&pk, "sessions", atomic_load(&facts->sessions));
	pack_count(&pk, "issuing", atomic_load(&facts->issuing));
	pack_count(&pk, "issued_fetched", atomic_load(&facts->issuances.issued));
	pack_count(&pk, "issue_failures", atomic_load(&facts->issuances.failed));
	pack_count(&pk, "rule_actions_skipped", atomic_load(&facts->rule_skips.all));
	pack_histogram("issuance_histogram", &facts->issuances.times, &pk);
	pack_text(&pk, "issuer");
	pack_text(&pk, issuer);
	pack_count(&pk, "issuer_available", strcmp(issuer, "up") == 0);
	pack_disk(facts, &pk);
	pack_histogram("sync_histogram", facts->sync_times, &pk);
	pack_histogram("record_histogram", &facts->record_commands, &pk);
	pack_histogram("first_attempt_histogram", &facts->deliveries.first_attempt, &pk);
	return OK;
}
