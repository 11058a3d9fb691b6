/* Memory of ledger rows: runs of sixteen, from slabs that stay until the end. A run is free, has rows that LMDB does not have,
 * or is kept: all of its rows have been written. The longest kept one is the next that is free.
 * A reader may look at a run while it is given to other rows. It notices, as in a sequence lock: the stamp goes before anything
 * else changes, and comes back as another one. */
#include "store/cells_inside.h"

#include <stdlib.h>

enum { SLAB_RUNS = 78 }; /* nearly 64 KiB */
struct tail_slab {
	struct tail_slab *before;
	struct tail_run   runs[SLAB_RUNS];
};

static uint64_t number_of(uint64_t seq)
{
	return seq / TAIL_RUN_ROWS;
}

static struct tail_ring *ring_of(const struct cell_account *account)
{
	return atomic_load_explicit(&account->tail.ring, memory_order_acquire);
}

static uint64_t first_of(const struct tail_run *run)
{
	return atomic_load_explicit(&run->first, memory_order_relaxed);
}

struct tail_run *tails_run(const struct cell_account *account, uint64_t seq)
{
	const struct tail_ring *ring = ring_of(account);
	if (!ring) return NULL;
	struct tail_run *run = atomic_load_explicit(&ring->at[number_of(seq) & ring->mask],
	                                            memory_order_acquire);
	return run && number_of(first_of(run)) == number_of(seq) ? run : NULL;
}

static void place(struct tail_ring *ring, struct tail_run *run)
{
	atomic_store_explicit(&ring->at[number_of(first_of(run)) & ring->mask], run, memory_order_release);
}

static size_t ring_bytes(uint32_t room)
{
	return sizeof(struct tail_ring) + room * sizeof(_Atomic(struct tail_run *));
}

/* One of at least twice the size. */
static enum err grow_ring(struct tails *tails, struct cell_account *account)
{
	enum { RING_FIRST = 4 };
	struct tail_ring *ring = ring_of(account);
	uint32_t          room = ring ? 2 * (ring->mask + 1) : (uint32_t)RING_FIRST;
	struct tail_ring *larger = calloc(1, ring_bytes(room));
	if (!larger) return ERR_NO_MEMORY;
	tails->ring_bytes += ring_bytes(room);
	larger->mask = room - 1;
	larger->replaced = ring;
	for (uint32_t i = 0; ring && i <= ring->mask; i++) {
		struct tail_run *run = atomic_load_explicit(&ring->at[i], memory_order_relaxed);
		if (run) place(larger, run);
	}
	atomic_store_explicit(&account->tail.ring, larger, memory_order_release);
	return OK;
}

static enum err make_room(struct tails *tails, struct cell_account *account, uint64_t seq)
{
	struct tail_ring *ring;
	while (!(ring = ring_of(account)) ||
	       atomic_load_explicit(&ring->at[number_of(seq) & ring->mask], memory_order_relaxed)) {
		enum err err = grow_ring(tails, account);
		if (err) return err;
	}
	return OK;
}

static void set_free(struct tails *tails, struct tail_run *run)
{
	run->next = tails->free;
	tails->free = run;
}

static struct tail_run *take(struct tails *tails)
{
	if (!tails->free) {
		struct tail_slab *slab = aligned_alloc(_Alignof(struct tail_slab), sizeof *slab);
		if (!slab) return NULL;
		memset(slab, 0, sizeof *slab);
		slab->before = tails->slabs;
		tails->slabs = slab;
		for (unsigned i = SLAB_RUNS; i-- > 0;)
			set_free(tails, &slab->runs[i]);
	}
	struct tail_run *run = tails->free;
	tails->free = run->next;
	return run;
}

/* Readers of what it was before see its stamp gone before any of this: every store from then on is a release. */
static void begin_run(struct tails *tails, struct tail_run *run, struct cell_account *account, uint64_t seq)
{
	atomic_store_explicit(&run->account, account, memory_order_release);
	atomic_store_explicit(&run->first, seq - seq % TAIL_RUN_ROWS, memory_order_release);
	for (unsigned i = 0; i < TAIL_RUN_ROWS; i++)
		atomic_store_explicit(&run->rows[i].about, 0, memory_order_release);
	run->kept_at = 0;
	tails->runs++;
	atomic_store_explicit(&run->stamp, ++tails->stamp, memory_order_release);
}

struct tail_run *tails_run_next(struct tails *tails, struct cell_account *account)
{
	struct tail     *tail = &account->tail;
	uint64_t         last = atomic_load_explicit(&tail->last, memory_order_relaxed), seq = last + 1;
	struct tail_run *run = tail->newest;
	if (run && number_of(last) == number_of(seq)) {
		if (last != atomic_load_explicit(&tail->written, memory_order_relaxed)) return run;
		run->kept_at = 0; /* all of it was written: it is in use again */
		tails->runs++;
		return run;
	}
	if (make_room(tails, account, seq) || !(run = take(tails))) return NULL;
	begin_run(tails, run, account, seq);
	place(ring_of(account), run);
	return tail->newest = run;
}

static void recycle(struct tails *tails, struct tail_run *run)
{
	struct cell_account *account = atomic_load_explicit(&run->account, memory_order_relaxed);
	struct tail_ring    *ring = ring_of(account);
	atomic_store_explicit(&ring->at[number_of(first_of(run)) & ring->mask], NULL, memory_order_release);
	atomic_store_explicit(&run->stamp, 0, memory_order_release);
	if (account->tail.newest == run) account->tail.newest = NULL;
	set_free(tails, run);
}

enum err tails_keep(struct tails *tails, struct tail_run *run)
{
	if (!tails->kept && !(tails->kept = calloc(tails->kept_max, sizeof(struct tail_run *))))
		return ERR_NO_MEMORY;
	uint64_t          at = ++tails->kept_head;
	struct tail_run **slot = &tails->kept[at % tails->kept_max], *before = *slot;
	/* One that has got rows since has another place by now, or none. */
	if (before && before->kept_at + tails->kept_max == at) recycle(tails, before);
	*slot = run;
	run->kept_at = at;
	tails->runs--;
	return OK;
}

void tails_bound(struct cells *cells, uint64_t bytes)
{
	enum { KEPT_SHARE = 8 };
	uint32_t runs = (uint32_t)(bytes / sizeof(struct tail_run));
	must(!cells->tails.kept && runs >= 2 * KEPT_SHARE);
	cells->tails.kept_max = runs / KEPT_SHARE;
	cells->tails.runs_max = runs - cells->tails.kept_max;
}

bool tail_may_go(const struct cells *cells, const struct tail *tail, uint64_t oldest)
{
	if (atomic_load_explicit(&tail->written, memory_order_relaxed) !=
	    atomic_load_explicit(&tail->last, memory_order_relaxed))
		return false;
	return tail->commit <= oldest && tail->commit <= cells->commits;
}

static void drop_runs(struct tails *tails, struct tail_ring *ring)
{
	for (uint32_t i = 0; i <= ring->mask; i++) {
		struct tail_run *run = atomic_load_explicit(&ring->at[i], memory_order_relaxed);
		if (!run) continue;
		must(run->kept_at && tails->kept[run->kept_at % tails->kept_max] == run);
		tails->kept[run->kept_at % tails->kept_max] = NULL;
		recycle(tails, run);
	}
}

void tail_drop(struct cells *cells, struct tail *tail)
{
	struct tail_ring *ring = atomic_load_explicit(&tail->ring, memory_order_relaxed);
	if (ring) drop_runs(&cells->tails, ring);
	while (ring) {
		struct tail_ring *replaced = ring->replaced;
		cells->tails.ring_bytes -= ring_bytes(ring->mask + 1);
		cells_retire(cells, &cells->retired_memory, &ring->retired);
		ring = replaced;
	}
}

void tail_close(struct tail *tail)
{
	struct tail_ring *ring = atomic_load(&tail->ring);
	while (ring) {
		struct tail_ring *replaced = ring->replaced;
		free(ring);
		ring = replaced;
	}
}

void tails_close(struct tails *tails)
{
	while (tails->slabs) {
		struct tail_slab *before = tails->slabs->before;
		free(tails->slabs);
		tails->slabs = before;
	}
	free(tails->kept);
}
