#pragma once
#include "actors/rt/settings.h"
#include "actors/supervisor/restart_policy.h"
#include "schemas/err.h"
#include "schemas/limits.h"

#include <sys/types.h>

/* The processes that the supervisor watches; only this module starts, signals or reaps them. Only set_state() writes a child's
 * state, along these edges:
 *   restarting -> starting            it was started
 *   starting <-> ready                by its own reports
 *   ready -> silent                   it was stopped (SIGSTOP), or has not reported for SILENT_MS
 *   silent -> starting, ready         it reports again; its other edges are those of ready
 *   starting, ready -> restarting     it ended; -> stopped if the service is stopping
 *   starting, ready -> stopping       it got SIGTERM; -> stopped when it ended
 *   restarting -> stopped             the service is stopping
 * C(name, text as `status` prints it) */
#define CHILD_STATES(C)             \
	C(RESTARTING, "restarting") \
	C(STARTING, "starting")     \
	C(READY, "ready")           \
	C(SILENT, "silent")         \
	C(STOPPING, "stopping")     \
	C(STOPPED, "stopped")

#define CHILD_STATE_AS_ENUM(name, text) CHILD_##name,
enum child_state { CHILD_STATES(CHILD_STATE_AS_ENUM) CHILD_STATE_COUNT };

struct child {
	enum role        role;
	uint32_t         index;
	enum child_state state;
	pid_t            pid;         /* 0: none runs */
	uint64_t         epoch;       /* from its report; 0: none yet */
	mono_us          at;          /* RESTARTING: when to start it; others: when it was started */
	mono_us          started;     /* taken before its start and after the end of the previous child */
	mono_us          heard;       /* its last report */
	bool             is_stopped;  /* by a signal, and not continued */
	int              settings_fd; /* our end of its settings socket; -1: none runs */
	uint64_t         sent, taken; /* generations of settings: the last sent, the last in use */
	uint32_t         deaths;      /* early ones in a row */
	int              signalled;   /* the last signal we sent it */
	bool             is_judged;   /* a shard: it found nothing that keeps it from starting */
};

enum { CHILDREN_MAX = SHARDS_MAX + 2 }; /* the timer, http */
enum { SILENT_MS = 1500 };              /* three reports of a process */

struct children {
	struct child   of[CHILDREN_MAX];
	uint32_t       count;
	struct options options;    /* for the children, complete; strings borrowed from the supervisor's */
	int            run_fd;     /* of DIR/run, borrowed from the supervisor */
	uint64_t       generation; /* of its settings; 0: none yet */
	int            settings_fds[ROLE_COUNT]; /* sealed, for the processes of each role; -1: none */
	bool           stopping, was_ready;
	bool           is_gate_open; /* shards may change their directories */
	mono_us        ticked;       /* the last children_tick() */
	mono_us        stopping_since;
	int            exit_status; /* of the supervisor, once stopped */
};

const char *child_state_text(enum child_state state);

/* Plans one http, one timer, and a shard for each of options->shards; the first children_tick() starts them. Call
 * children_forget() after a failure, too. Errors: ERR_IO (no descriptor for the shards' gate). */
must_check enum err children_plan(struct children *children, const struct options *options);
void                children_forget(struct children *children);

/* Gives these settings to all running and future children: the reloadable part of `options` (strings borrowed), and to each
 * role its own files. Errors: ERR_NO_MEMORY, ERR_IO; nothing changed then. */
must_check enum err children_settle(struct children *children, const struct options *options,
                                    const struct span files[SETTINGS_FILE_COUNT]);
/* Does every running process use the newest settings? */
bool child_is_settled(const struct children *children, const struct child *child);
bool children_are_settled(const struct children *children);

/* Does what is due: starts, reaps, signals. Returns how long the caller may sleep. From the main thread only: a child dies
 * with the thread that forked it. Errors: a failed fork is logged and retried. */
dur_us children_tick(struct children *children, mono_us now);

/* Begins the clean shutdown; the supervisor then exits with `exit_status`. Repeating it changes nothing. */
void children_stop(struct children *children, mono_us now, int exit_status);
bool children_are_gone(const struct children *children, mono_us now);

/* Stores a process's report of time `now`. True: with it, all became ready for the first time. */
bool children_report(struct children *children, struct child *child, bool is_ready, uint64_t epoch,
                     mono_us now);
/* A shard has checked its directory and changed nothing yet. When all have, all may continue. So if one refuses, every
 * directory is unchanged. */
void children_judged(struct children *children, struct child *child);

/* The child that a session's HELLO names: any http index is the one http process. NULL: none. */
struct child *children_find(struct children *children, enum role role, uint32_t index);
