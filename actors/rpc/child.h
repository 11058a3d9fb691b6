#pragma once
#include "actors/rpc/rpc.h"
#include "actors/rt/datadir.h"
#include "actors/rt/loop.h"
#include "actors/rt/options.h"
#include "actors/rt/settings.h"

/* What every child of the supervisor does: it dies with its supervisor, stops on SIGTERM, and reports its state. One a
 * process, in the thread of main(), begun before other threads, so that all inherit its signal mask. All signals except those
 * of faults are blocked; TERM is handled here, the others are dropped. The process's loop turns at least every CHILD_TURN_MS
 * and calls child_report() once a turn. */
struct child {
	struct datadir datadir; /* open until child_end(), for endpoints */

	/* The rest is used by child.c only. */
	struct loop loop;
	int         signal_fd, settings_fd;
	int         supervisor_pid;
	struct rpc *rpc;
	char        state[32 + 1];
	uint64_t    epoch;
	bool        reported; /* `state` and `epoch` were reported to the current session */
	bool        stopping;
	bool        woken;             /* by the process's loop */
	bool        may_have_settings; /* not checked since the last settings were taken */
	mono_us     report_due, look_due;
};

enum { CHILD_TURN_MS = 100, CHILD_REPORT_EVERY_MS = 500 };

/* Ties this process to its supervisor. Opens the log (role, options->index), the data directory and the session with the
 * supervisor. Logs a failure, so the caller does not. Call child_end() after a failure, too. Errors: ERR_PEER_GONE (the supervisor
 * died meanwhile), those of datadir_open() and rpc_open(). */
must_check enum err child_begin(struct child *child, const struct options *options, enum role role);
void                child_end(struct child *child);

/* Once a turn: reports `state` ("starting", "ready", ...; at most 32 bytes) and `epoch` (0: none) on a change and every
 * CHILD_REPORT_EVERY_MS, and checks whether to stop. Costs nothing if it was not woken and nothing is due. */
void child_report(struct child *child, const char *state, uint64_t epoch, mono_us now);

/* First call: the settings at the start, which always exist. Later, after a child_report(): settings that have arrived; false:
 * none. The caller frees them. child_settled() reports to the supervisor that the process now uses them. */
bool child_take_settings(struct child *child, struct settings *settings);
void child_settled(struct child *child, const struct settings *settings);

/* Was there a SIGTERM, or is the supervisor gone, as of the last child_report()? Stays true. */
bool child_stopping(const struct child *child);

/* A descriptor for the process's loop; do not read or close it. child_look() passes on what the loop's last wait found there. */
int  child_fd(const struct child *child);
void child_look(struct child *child, const struct loop *loop);
