/* status: what this shard holds and has done. Counts come from the accounts' tallies. */
#include "actors/shard/command.h"
#include "actors/shard/delivery/backlog.h"
#include "actors/shard/wallet/ends.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/object_msgpack.h"
#include "schemas/wallet/figures.h"
#include "store/tally.h"

/* Of all accounts. */
struct sums {
	uint64_t accounts, passes, registrations;
	uint64_t installed[TALLY_WALLETS_END];
};

static enum err count_all(struct view *view, struct sums *sums)
{
	struct account_id  id = {{0}};
	struct account_row row;
	struct tally       tally;
	enum err           err;
	*sums = (struct sums){.accounts = 0};
	while (!(err = account_row_next(view, &id, &row))) {
		if ((err = tally_get(view, id, &tally))) return err;
		sums->accounts++;
		sums->passes += tally_live(&tally);
		sums->registrations += tally.registrations;
		for (unsigned kind = 1; kind < TALLY_WALLETS_END; kind++)
			sums->installed[kind] += tally.installed[kind];
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

/* The host: what its disk keeps, how old the newest snapshot is, what is left, how far its clock is. */
static void pack_host(const struct shard_facts *facts, msgpack_packer *pk, size_t map)
{
	struct snapshotter_state state;
	const int64_t gap = atomic_load_explicit(&facts->clock_gap, memory_order_relaxed) / US_PER_SEC;
	snapshotter_state(facts->snapshotter, &state);
	MEMBER_ALWAYS(tables, STRING, tables_text(facts));
	MEMBER_ALWAYS(data_bytes, INTEGER, state.data_bytes);
	MEMBER_ALWAYS(journal_bytes, INTEGER, state.journal_bytes);
	MEMBER_ALWAYS(journal_first_segment, INTEGER, state.journal_first_segment);
	MEMBER_ALWAYS(snapshots, INTEGER, state.snapshots);
	MEMBER_ALWAYS(snapshot_seq, INTEGER, state.snapshot_seq);
	MEMBER_NULLABLE(snapshot_age_seconds, INTEGER, state.snapshots, state.snapshot_age_s);
	MEMBER_ALWAYS(snapshot_failures, INTEGER, state.failures);
	MEMBER_ALWAYS(free_bytes, INTEGER, state.free_bytes);
	MEMBER_ALWAYS(clock_gap_seconds, INTEGER, gap < 0 ? -gap : gap);
	MEMBER_ALWAYS(tables_rebuilt, INTEGER, facts->tables_rebuilt);
	MEMBER_ALWAYS(room, INTEGER, (uint64_t)(DISK_FOR_NOTHING - atomic_load(&facts->room)));
	MEMBER_ALWAYS(accepts, STRING, room_text(atomic_load(&facts->room)));
}

/* Counts by bucket, then the sum. */
static void pack_HISTOGRAM(msgpack_packer *pk, const struct histogram *histogram)
{
	struct histogram_copy copy = {.sum = 0};
	histogram_sum(histogram, &copy);
	msgpack_pack_array(pk, SCALE_BOUNDS + 2);
	for (unsigned i = 0; i <= SCALE_BOUNDS; i++)
		msgpack_pack_uint64(pk, copy.counts[i]);
	msgpack_pack_uint64(pk, copy.sum);
}

/* Attempts since the start, by how they ended. */
static void pack_ATTEMPTS(msgpack_packer *pk, const struct delivery_counters *counters)
{
	msgpack_pack_map(pk, ATTEMPT_ERRORS + 1);
	for (unsigned i = 0; i <= ATTEMPT_ERRORS; i++)
		pack_count(pk, attempt_outcome(i), atomic_load(&counters->attempts[i]));
}

static void pack_ENDED(msgpack_packer *pk, const struct delivery_counters *counters)
{
	msgpack_pack_map(pk, DELIVERY_OUTCOMES - DELIVERY_DELIVERED);
	for (unsigned i = DELIVERY_DELIVERED; i < DELIVERY_OUTCOMES; i++)
		pack_count(pk, delivery_outcome_text(i), atomic_load(&counters->ended[i]));
}

/* The credentials for wallets that end first. */
static void pack_wallets(const struct request *request, msgpack_packer *pk, size_t status)
{
	struct wallet_end soonest[WALLET_ENDS_SHOWN_MAX];
	unsigned          count = 0;
	char              account[ACCOUNT_ID_TEXT];
	if (request->facts->wallet_ends) count = wallet_ends_soonest(request->facts->wallet_ends, soonest);
	map_key(pk, status, "wallet_credentials");
	msgpack_pack_array(pk, count);
	for (unsigned i = 0; i < count; i++) {
		size_t map = map_begin(pk);
		wallet_owner_text(soonest[i].account, account);
		MEMBER_ALWAYS(account, STRING, account);
		MEMBER_ALWAYS(kind, STRING, wallet_kind_text(soonest[i].kind));
		MEMBER_ALWAYS(seconds_left, INTEGER, (soonest[i].end.v - request->now.v) / US_PER_SEC);
	}
}

struct due_figures {
	uint64_t count;
	int64_t  oldest;
};

static struct due_figures due_of(const struct shard_facts *facts, enum wallet_due_kind kind)
{
	return (struct due_figures){atomic_load(&facts->wallet_due[kind].count),
	                            atomic_load(&facts->wallet_due[kind].oldest)};
}

static struct due_figures both(struct due_figures a, struct due_figures b)
{
	return (struct due_figures){a.count + b.count, a.oldest < b.oldest ? a.oldest : b.oldest};
}

/* Of each kind of work: how much of it there is, and for how many seconds the oldest is due. */
static void pack_work(const struct request *request, msgpack_packer *pk, size_t status)
{
	static const enum wallet_due_kind kinds[] = {WALLET_DUE_PUSH, WALLET_DUE_GOOGLE, WALLET_DUE_MESSAGE,
	                                             WALLET_DUE_REMOVAL};
	static const enum wallet_due_kind of_google[] = {WALLET_DUE_CLASS, WALLET_DUE_CLASSES,
	                                                 WALLET_DUE_SAVED};
	_Static_assert(sizeof kinds / sizeof *kinds == WALLET_DUE_LABELS, "each kind has its label");
	map_key(pk, status, "wallet_due");
	msgpack_pack_map(pk, WALLET_DUE_LABELS);
	for (unsigned i = 0; i < WALLET_DUE_LABELS; i++) {
		struct due_figures due = due_of(request->facts, kinds[i]);
		/* Messages to one pass are a kind of their own, as is other work of Google's. */
		if (kinds[i] == WALLET_DUE_MESSAGE)
			due = both(due, due_of(request->facts, WALLET_DUE_NOTICE));
		for (unsigned j = 0;
		     kinds[i] == WALLET_DUE_GOOGLE && j < sizeof of_google / sizeof *of_google; j++)
			due = both(due, due_of(request->facts, of_google[j]));
		bool is_due = due.oldest < request->now.v;
		pack_str(pk, span_str(wallet_due_labels[i]));
		msgpack_pack_array(pk, 2);
		msgpack_pack_uint64(pk, due.count);
		msgpack_pack_uint64(pk, is_due ? (uint64_t)(request->now.v - due.oldest) / US_PER_SEC : 0);
	}
}

static void pack_INSTALLED(msgpack_packer *pk, const struct sums *sums)
{
	_Static_assert((int)WALLET_PLATFORM_LABELS == (int)TALLY_WALLETS_END - 1,
	               "each platform has its label");
	msgpack_pack_map(pk, WALLET_PLATFORM_LABELS);
	for (unsigned i = 0; i < WALLET_PLATFORM_LABELS; i++)
		pack_count(pk, wallet_platform_labels[i], sums->installed[i + 1]);
}

/* Leases of passes to push by what became of them, and phones that were gone. */
static void pack_pushes(const struct request *request, msgpack_packer *pk, size_t status)
{
	static const unsigned fates[] = {PUSH_DONE, PUSH_AGAIN, PUSH_HELD, PUSH_REFUSED, PUSH_GONE_COUNT};
	_Static_assert(sizeof fates / sizeof *fates == PUSH_FATE_LABELS, "each fate has its label");
	map_key(pk, status, "wallet_pushes");
	msgpack_pack_map(pk, PUSH_FATE_LABELS);
	for (unsigned i = 0; i < PUSH_FATE_LABELS; i++)
		pack_count(pk, push_fate_labels[i], atomic_load(&request->facts->pushes.fates[fates[i]]));
}

static const char *issuer_text(const struct shard_facts *facts)
{
	if (!atomic_load(&facts->issuer_up)) return "down";
	return atomic_load(&facts->issuer_paused) ? "paused" : "up";
}

/* For /readyz. It reads no row, so that a slow disk or a large backlog does not delay it, and it delays no other command. */
enum err on_SHARD_READY(struct request *request, struct outcome *outcome)
{
	msgpack_packer packer = buffer_packer(outcome->payload), *pk = &packer;
	msgpack_pack_map(pk, 1);
	pack_text(pk, "issuer");
	pack_text(pk, issuer_text(request->facts));
	return OK;
}

enum err on_SHARD_STATUS(struct request *request, struct outcome *outcome)
{
	const struct shard_facts *facts = request->facts;
	struct sums               sums;
	msgpack_packer            packer = buffer_packer(outcome->payload), *pk = &packer;
	struct backlog            backlog;
	enum err                  err = count_all(request->view, &sums);
	if (err || (err = backlog_count(request->view, request->now, &backlog))) return err;
	const char *issuer = issuer_text(facts);
	size_t      map = map_begin_wide(pk);
	MEMBER_ALWAYS(index, INTEGER, facts->index);
	MEMBER_ALWAYS(epoch, INTEGER, facts->epoch);
	MEMBER_ALWAYS(accounts, INTEGER, sums.accounts);
	MEMBER_ALWAYS(passes, INTEGER, sums.passes);
	MEMBER_ALWAYS(journal_seq, INTEGER, atomic_load(&facts->journal_seq));
	if ((err = backlog_pack(request->view, &backlog, pk, map))) return err;
	MEMBER_ALWAYS(attempts, ATTEMPTS, &facts->deliveries);
	MEMBER_ALWAYS(ended_deliveries, ENDED, &facts->deliveries);
	MEMBER_ALWAYS(commands, INTEGER, atomic_load(&facts->commands));
	MEMBER_ALWAYS(batches, INTEGER, atomic_load(&facts->batches));
	MEMBER_ALWAYS(syncs, INTEGER, atomic_load(&facts->syncs));
	MEMBER_ALWAYS(commits, INTEGER, atomic_load(&facts->commits));
	MEMBER_ALWAYS(memory_bytes, INTEGER, atomic_load(&facts->memory_bytes));
	MEMBER_ALWAYS(memory_bound, INTEGER, facts->memory_bound);
	MEMBER_ALWAYS(evictions, INTEGER, atomic_load(&facts->evictions));
	MEMBER_ALWAYS(sessions, INTEGER, atomic_load(&facts->sessions));
	MEMBER_ALWAYS(issuing, INTEGER, atomic_load(&facts->issuing));
	MEMBER_ALWAYS(issued_fetched, INTEGER, atomic_load(&facts->issuances.issued));
	MEMBER_ALWAYS(issue_failures, INTEGER, atomic_load(&facts->issuances.failed));
	MEMBER_ALWAYS(rule_actions_skipped, INTEGER, atomic_load(&facts->rule_skips.all));
	MEMBER_ALWAYS(issuance_histogram, HISTOGRAM, &facts->issuances.times);
	MEMBER_ALWAYS(issuer, STRING, issuer);
	MEMBER_ALWAYS(issuer_available, INTEGER, strcmp(issuer, "up") == 0);
	pack_host(facts, pk, map);
	pack_wallets(request, pk, map);
	if (atomic_load(&facts->wallets)) {
		pack_work(request, pk, map);
		pack_pushes(request, pk, map);
		if (facts->wallet_ends)
			MEMBER_ALWAYS(wallet_resting, INTEGER,
			              wallet_ends_resting(facts->wallet_ends, request->now));
		MEMBER_ALWAYS(wallet_registrations, INTEGER, sums.registrations);
		MEMBER_ALWAYS(wallet_installed, INSTALLED, &sums);
		MEMBER_ALWAYS(wallet_phone_lines, INTEGER, atomic_load(&facts->pushes.lines));
		MEMBER_ALWAYS(push_histogram, HISTOGRAM, &facts->pushes.delay);
	}
	MEMBER_ALWAYS(sync_histogram, HISTOGRAM, facts->sync_times);
	MEMBER_SOMETIMES(sign_histogram, HISTOGRAM, atomic_load(&facts->wallets) != 0, facts->sign_times);
	MEMBER_ALWAYS(record_histogram, HISTOGRAM, &facts->record_commands);
	MEMBER_ALWAYS(first_attempt_histogram, HISTOGRAM, &facts->deliveries.first_attempt);
	return OK;
}
