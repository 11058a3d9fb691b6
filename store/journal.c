/* The journal's writing side: three threads. The writer fills the open record. The sync thread gets one record at a time, writes
 * it, syncs it and signals the wakeup. The preparer creates the next segment while the present one fills. On a disk that syncs quickly
 * the writer syncs by itself: waking another thread and being woken would then cost more than the commands decided
 * meanwhile. The threads share two semaphores and two atomic states. Data guarded by a state is written by one side
 * before it sets the state, and read by the other side after it has seen it:
 *   in_flight.state  IDLE --writer--> BUSY --sync thread--> DONE | FAILED --writer--> IDLE
 *                    guards in_flight.* and recent
 *   next.state       WANTED --preparer--> READY | LOST, READY --writer--> WANTED
 *                    guards next.fd
 * Life of a record: opened by the first journal_add(), sealed and handed over by journal_submit(), durable when the
 * sync thread is DONE, registered by journal_settle(). */
#include "store/journal.h"
#include "store/wakeup.h"
#include "store/file.h"
#include "store/sync_pace.h"
#include "store/monotonic.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum write_state { WRITE_IDLE, WRITE_BUSY, WRITE_DONE, WRITE_FAILED };
enum next_state { NEXT_WANTED, NEXT_READY, NEXT_LOST };
enum {
	PREPARE_RETRY_US = 200000,
	PREPARE_BYTES_PER_S = 1 << 30, /* faster than records can fill it, with pauses for others */
	RECORD_SHARE = 4,              /* of a segment, at most */
	GOES_ON_SHARE = 4,             /* a start appends to a segment of which less is used */
	SYNC_QUICK_US = 500,           /* slower syncs leave time to fill a record meanwhile */
};

struct journal {
	struct journal_dir dir;
	int                fd;     /* the present segment */
	struct wakeup      wakeup; /* the writer's */
	uint64_t           segment_bytes;
	struct position    at;      /* behind the newest record submitted */
	struct position    durable; /* behind the newest record known durable */
	uint64_t           syncs;
	atomic_int         error_number; /* errno of the newest failure */
	bool               has_links;    /* a file that exists has one, which some file systems do not say */
	atomic_bool        is_removed;   /* a segment was, so that no further record would be found again */
	struct histogram   sync_times;
	struct sync_pace   recent;   /* of syncs that have ended */
	struct sync_pace   pace;     /* the same at the writer's last check: its own */
	bool               is_quick; /* likewise */

	struct buffer open;
	uint32_t      open_operations; /* 0: no record is open */
	bool          leaves_segment;  /* as soon as the next one exists */

	struct {
		struct buffer   bytes;
		struct position after; /* becomes `durable` */
		int             fd;
		uint64_t        offset;
		atomic_int      state;
		sem_t           begun;
	} in_flight;
	struct {
		uint64_t        number, bytes;
		struct progress progress;
		int             fd;
		atomic_int      state;
		atomic_int      failures;     /* consecutive */
		atomic_int      error_number; /* of the last of them */
		sem_t           wanted;
	} next;

	atomic_bool stopping;
	pthread_t   sync_thread, prepare_thread;
	bool        sync_started, prepare_started;
};

static enum err write_synced(int fd, struct span bytes, uint64_t offset)
{
	while (bytes.size) {
		ssize_t n = pwrite(fd, bytes.at, bytes.size, (off_t)offset);
		if (n == 0) errno = EIO;
		if (n <= 0) return ERR_IO; /* never retried: what reached the disk is unknown now */
		bytes = span_of(bytes.at + n, bytes.size - (size_t)n);
		offset += (uint64_t)n;
	}
#ifdef FAULT_NO_SYNC
	return OK; /* the fault: data in the page cache counts as durable */
#endif
	return fdatasync(fd) ? ERR_IO : OK;
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* Only while nothing is in flight. */
static void judge_syncs(struct journal *journal)
{
	int64_t limit_us = journal->dir.quick_sync_us ? journal->dir.quick_sync_us : SYNC_QUICK_US;
	journal->pace = journal->recent;
	journal->is_quick = journal->pace.sync_us < limit_us;
#ifdef FAULT_ANSWER_EARLY
	journal->is_quick = false; /* the fault needs the sync thread */
#endif
}

/* Writes and syncs the record in flight. */
static void write_out(struct journal *journal)
{
	int64_t  begun = monotonic_us();
	enum err err = write_synced(journal->in_flight.fd, buffer_span(&journal->in_flight.bytes),
	                            journal->in_flight.offset);
	if (err) atomic_store(&journal->error_number, errno);
	if (journal->has_links && file_is_removed(journal->in_flight.fd))
		atomic_store(&journal->is_removed, true);
	int64_t took_us = monotonic_us() - begun;
	histogram_add(&journal->sync_times, &scale_us, took_us);
	sync_pace_add(&journal->recent, begun + took_us, took_us, journal->in_flight.bytes.size);
	atomic_store(&journal->in_flight.state, err ? WRITE_FAILED : WRITE_DONE);
}

static void *sync_main(void *data)
{
	struct journal *journal = data;
	for (;;) {
		wait_for(&journal->in_flight.begun);
		if (atomic_load(&journal->in_flight.state) != WRITE_BUSY) return NULL;
#ifdef FAULT_ANSWER_EARLY
		usleep(30000); /* the fault: the engine has already sent the responses */
#endif
		write_out(journal);
		wakeup_signal(&journal->wakeup);
	}
}

static void *prepare_main(void *data)
{
	struct journal *journal = data;
	for (;;) {
		wait_for(&journal->next.wanted);
		while (!atomic_load(&journal->stopping)) {
			enum err err = segment_open(&journal->dir, journal->next.number, &journal->next.fd,
			                            &journal->next.bytes);
			if (err == ERR_NOT_FOUND)
				err = segment_create(&journal->dir, journal->next.number,
				                     &journal->next.progress);
			else if (!err)
				break;
			if (!err || err == ERR_STOPPED) continue;
			atomic_store(&journal->next.error_number, file_error(err));
			/* The writer no longer waits for the segment once an attempt has failed. */
			if (!atomic_fetch_add(&journal->next.failures, 1)) wakeup_signal(&journal->wakeup);
			usleep(PREPARE_RETRY_US);
		}
		if (atomic_load(&journal->stopping)) return NULL;
		/* Tried once: a retry of a failed sync proves nothing. */
		bool is_named = !file_sync_dir(journal->dir.fd);
		if (!is_named) atomic_store(&journal->error_number, errno);
		atomic_store(&journal->next.failures, 0);
		atomic_store(&journal->next.state, is_named ? NEXT_READY : NEXT_LOST);
		wakeup_signal(&journal->wakeup);
	}
}

/* Record building ---------------------------------------------------------------------------------------- */

enum err journal_add(struct journal *journal, const struct write *write)
{
	if (journal->open_operations == 0) record_begin(&journal->open);
	record_add(&journal->open, write);
	if (!buffer_reserve(&journal->open, RECORD_ALIGN))
		return ERR_NO_MEMORY; /* for the padding, when it is sealed */
	if (journal->open.size > journal->segment_bytes / RECORD_SHARE) return ERR_TOO_LARGE;
	journal->open_operations++;
	return OK;
}

size_t journal_open_bytes(const struct journal *journal)
{
	return journal->open_operations ? journal->open.size : 0;
}

static bool fits(const struct journal *journal)
{
	return journal->at.offset + record_room(journal->open.size - RECORD_HEAD) <= journal->segment_bytes;
}

static bool has_next(const struct journal *journal)
{
	return atomic_load(&journal->next.state) == NEXT_READY;
}

void journal_begin_segment(struct journal *journal)
{
	journal->leaves_segment = true;
}

bool journal_can_submit(struct journal *journal)
{
	if (!journal->open_operations || journal_is_syncing(journal)) return false;
	return fits(journal) || has_next(journal);
}

static void next_segment(struct journal *journal)
{
	close(journal->fd);
	journal->fd = journal->next.fd;
	journal->segment_bytes = journal->next.bytes;
	journal->next.fd = -1;
	journal->at.segment = journal->next.number++;
	journal->at.offset = RECORD_ALIGN;
	atomic_store(&journal->next.state, NEXT_WANTED);
	sem_post(&journal->next.wanted);
}

/* Seals `bytes` as the record behind `at`, pads it to whole blocks, and moves `at` behind it. */
static void seal(struct journal *journal, struct buffer *bytes, enum record_kind kind, wall_us now)
{
	static const uint8_t zeros[RECORD_ALIGN];
	struct position     *at = &journal->at;
	struct record        record = {
	           .kind = kind,
	           .shard = journal->dir.shard,
	           .segment = at->segment,
	           .offset = at->offset,
	           .epoch = at->epoch,
	           .seq = at->seq + 1,
	           .durable_seq = journal->durable.seq,
	           .now = now,
	           .operations = journal->open_operations,
	           .chain_before = at->chain,
        };
	memcpy(record.lineage, journal->dir.lineage, sizeof record.lineage);
	record_seal(bytes, &record);
	uint64_t room = record_room(record.writes.size);
	buffer_append(bytes, zeros, (size_t)room - bytes->size); /* whole blocks: no read-modify-write */
	at->record_offset = at->offset;
	at->offset += room;
	at->seq = record.seq;
	at->chain = record.chain;
}

void journal_submit(struct journal *journal, wall_us now)
{
	must(journal_can_submit(journal));
	if (!fits(journal) || (journal->leaves_segment && has_next(journal))) next_segment(journal);
	journal->leaves_segment = false;
	journal->in_flight.offset = journal->at.offset;
	journal->in_flight.fd = journal->fd;
	seal(journal, &journal->open, RECORD_WRITES, now);
	must(!journal->open.failed);
	struct buffer idle = journal->in_flight.bytes;
	journal->in_flight.bytes = journal->open;
	journal->open = idle;
	journal->open_operations = 0;
	journal->in_flight.after = journal->at;
	atomic_store(&journal->in_flight.state, WRITE_BUSY);
	if (journal->is_quick)
		write_out(journal);
	else
		sem_post(&journal->in_flight.begun);
}

enum err journal_settle(struct journal *journal)
{
	(void)wakeup_clear(&journal->wakeup); /* the states say what it was signalled for */
	int state = atomic_load(&journal->in_flight.state);
	if (state == WRITE_FAILED || atomic_load(&journal->next.state) == NEXT_LOST) {
		errno = atomic_load(&journal->error_number);
		return ERR_IO;
	}
	if (state != WRITE_DONE) return OK;
	journal->durable = journal->in_flight.after;
	journal->syncs++;
	judge_syncs(journal);
	atomic_store(&journal->in_flight.state, WRITE_IDLE);
	return OK;
}

/* Facts -------------------------------------------------------------------------------------------------- */

int journal_fd(const struct journal *journal)
{
	return journal->wakeup.fd;
}

bool journal_is_quick(const struct journal *journal)
{
	return journal->is_quick;
}

int64_t journal_sync_us(const struct journal *journal)
{
	return journal->pace.sync_us;
}

int64_t journal_byte_ns(const struct journal *journal)
{
	return (journal->pace.byte_ps + 999) / 1000;
}

bool journal_is_syncing(const struct journal *journal)
{
	return atomic_load(&journal->in_flight.state) != WRITE_IDLE;
}

uint64_t journal_decided_seq(const struct journal *journal)
{
	return journal->at.seq + (journal->open_operations ? 1 : 0);
}

uint64_t journal_durable_seq(const struct journal *journal)
{
	return journal->durable.seq;
}

struct position journal_position(const struct journal *journal)
{
	return journal->durable;
}

uint64_t journal_syncs(const struct journal *journal)
{
	return journal->syncs;
}

const struct histogram *journal_sync_times(const struct journal *journal)
{
	return &journal->sync_times;
}

/* Could the present segment take one more record of any size? */
static bool takes_largest(const struct journal *journal)
{
	return journal->at.offset + journal->segment_bytes / RECORD_SHARE + RECORD_ALIGN <=
	       journal->segment_bytes;
}

bool journal_must_wait(const struct journal *journal)
{
	return !takes_largest(journal) && !has_next(journal) && atomic_load(&journal->next.failures) == 0;
}

enum disk_level journal_room(const struct journal *journal)
{
	if (journal_is_removed(journal)) return DISK_FOR_NOTHING;
	if (has_next(journal) || atomic_load(&journal->next.failures) == 0) return DISK_FOR_ALL;
	/* Decided commands must fit the present segment: the next one may never exist. */
	return journal->at.offset < journal->segment_bytes / 2 ? DISK_TO_FINISH : DISK_FOR_NOTHING;
}

int journal_create_error(const struct journal *journal)
{
	return atomic_load(&journal->next.failures) ? atomic_load(&journal->next.error_number) : 0;
}

bool journal_is_removed(const struct journal *journal)
{
	return atomic_load(&journal->is_removed);
}

/* Opening and closing ------------------------------------------------------------------------------------ */

static enum err first_segment(struct journal *journal, uint64_t number)
{
	enum err err = segment_open(&journal->dir, number, &journal->fd, &journal->segment_bytes);
	if (err != ERR_NOT_FOUND) return err;
	if ((err = segment_create(&journal->dir, number, NULL))) return err;
	if ((err = file_sync_dir(journal->dir.fd))) return err;
	return segment_open(&journal->dir, number, &journal->fd, &journal->segment_bytes);
}

static int sync_names(const struct journal_dir *dir)
{
#ifdef FAULT_NO_NAME_SYNC
	return 0; /* the fault: an existing segment's name is assumed durable */
#endif
	return fsync(dir->fd);
}

static enum err write_epoch(struct journal *journal, wall_us now)
{
	struct buffer *bytes = &journal->in_flight.bytes;
	uint64_t       offset = journal->at.offset;
	record_begin(bytes);
	if (bytes->failed) return ERR_NO_MEMORY;
	seal(journal, bytes, RECORD_EPOCH, now);
	if (bytes->failed) return ERR_NO_MEMORY;
	enum err err = write_synced(journal->fd, buffer_span(bytes), offset);
	if (!err) journal->durable = journal->at;
	return err;
}

static enum err start_threads(struct journal *journal)
{
	journal->sync_started = !pthread_create(&journal->sync_thread, NULL, sync_main, journal);
	if (!journal->sync_started) return ERR_NO_MEMORY;
	journal->prepare_started = !pthread_create(&journal->prepare_thread, NULL, prepare_main, journal);
	if (!journal->prepare_started) return ERR_NO_MEMORY;
	sem_post(&journal->next.wanted);
	return OK;
}

/* Was nothing written behind `offset`? False also if it cannot be read. */
static bool is_blank(int fd, uint64_t offset, uint64_t bytes)
{
	static const uint8_t zeros[64 << 10];
	uint8_t              piece[sizeof zeros];
	while (offset < bytes) {
		size_t wanted = bytes - offset < sizeof piece ? (size_t)(bytes - offset) : sizeof piece;
		if (pread(fd, piece, wanted, (off_t)offset) != (ssize_t)wanted) return false;
		if (memcmp(piece, zeros, wanted) != 0) return false;
		offset += wanted;
	}
	return true;
}

/* Opens the last segment, if the journal goes on in it: little of it is used, and no unfinished record lies behind `at`. Otherwise a
 * process that ends again and again would use up a segment each time. */
static bool goes_on(struct journal *journal, const struct position *at)
{
	if (!at->segment || segment_open(&journal->dir, at->segment, &journal->fd, &journal->segment_bytes))
		return false;
	if (at->offset < journal->segment_bytes / GOES_ON_SHARE &&
	    is_blank(journal->fd, at->offset, journal->segment_bytes))
		return true;
	close(journal->fd);
	journal->fd = -1;
	return false;
}

/* Otherwise it begins the next one. On a full disk it goes on in the last one, behind the part that recovery has judged and
 * synced, rather than fail to start. */
static enum err begin_segment(struct journal *journal, const struct position *at)
{
	journal->at = *at;
	if (goes_on(journal, at)) return OK;
	enum err err = first_segment(journal, at->segment + 1);
	if (err == ERR_STORAGE_FULL && at->segment &&
	    !segment_open(&journal->dir, at->segment, &journal->fd, &journal->segment_bytes))
		return at->offset + RECORD_ALIGN <= journal->segment_bytes ? OK : err;
	journal->at.segment++;
	journal->at.offset = RECORD_ALIGN;
	return err;
}

enum err journal_open(const struct journal_dir *dir, struct position *at, wall_us now, struct journal **out)
{
	enum err        err;
	struct journal *journal = calloc(1, sizeof *journal);
	if (!journal) return ERR_NO_MEMORY;
	journal->dir = *dir;
	journal->fd = journal->next.fd = -1;
	judge_syncs(journal);
	journal->next.progress.bytes_per_s = PREPARE_BYTES_PER_S;
	sem_init(&journal->in_flight.begun, 0, 0);
	sem_init(&journal->next.wanted, 0, 0);
	journal->wakeup.fd = -1;
	/* A segment that a killed process had just created may have its name in the page cache only. */
	if (!(err = wakeup_open(&journal->wakeup)) && !(err = sync_names(dir) ? ERR_IO : OK))
		err = begin_segment(journal, at);
	if (err) goto out;
	journal->has_links = !file_is_removed(journal->fd);
	journal->durable = *at; /* recovery made it so */
	journal->at.epoch++;
	journal->next.number = journal->at.segment + 1;
	if ((err = write_epoch(journal, now))) goto out;
	*at = journal->at;
	err = start_threads(journal);
out:
	if (err) journal_close(&journal);
	*out = journal;
	return err;
}

void journal_close(struct journal **journal_p)
{
	struct journal *journal = *journal_p;
	if (!journal) return;
	while (atomic_load(&journal->in_flight.state) == WRITE_BUSY)
		usleep(1000); /* bounded by the disk */
	atomic_store(&journal->stopping, true);
	atomic_store(&journal->next.progress.stop, true);
	sem_post(&journal->in_flight.begun);
	sem_post(&journal->next.wanted);
	if (journal->sync_started) pthread_join(journal->sync_thread, NULL);
	if (journal->prepare_started) pthread_join(journal->prepare_thread, NULL);
	if (journal->next.fd >= 0) close(journal->next.fd);
	if (journal->fd >= 0) close(journal->fd);
	wakeup_close(&journal->wakeup);
	sem_destroy(&journal->in_flight.begun);
	sem_destroy(&journal->next.wanted);
	buffer_free(&journal->open);
	buffer_free(&journal->in_flight.bytes);
	free(journal);
	*journal_p = NULL;
}
