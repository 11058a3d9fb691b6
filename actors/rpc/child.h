#pragma once
#include "actors/rpc/rpc.h"
#include "actors/rt/datadir.h"
#include "actors/rt/loop.h"
#include "actors/rt/options.h"
#include "actors/rt/settings.h"

/* What every child of the supervisor does the same way: it dies with its supervisor, stops on SIGTERM, and
 * says how it is. One a process, in the thread that runs main(), begun before any other thread, so that all
 * inherit its signals: all but those of a fault of its own are blocked; TERM is heeded here, the others are dropped.
 * The loop of the process turns at least every CHILD_TURN_MS and calls child_report() once a turn. */
struct child {
	struct datadir datadir; /* open until child_end(): take endpoints from it */

	/* The rest is child.c's. */
	struct loop loop;
	int         signal_fd, settings_fd;
	int         supervisor_pid;
	struct rpc *rpc;
	char        state[32 + 1];
	uint64_t    epoch;
	bool        reported; /* the supervisor's session has been told `state` and `epoch` */
	bool        stopping;
	bool        woken;             /* by the process' own loop */
	bool        may_have_settings; /* nobody has looked since the last turn that looked */
	mono_us     report_due, look_due;
};

enum { CHILD_TURN_MS = 100, CHILD_REPORT_EVERY_MS = 500 };

/* Ties this process to its supervisor, opens the log (role, options->index), the data directory and the
 * session with the supervisor. The caller logs a failure, once. child_end() is right after a failure too.
 * Errors: ERR_PEER_GONE (the supervisor died meanwhile), those of datadir_open() and rpc_open(). */
must_check enum err child_begin(struct child *child, const struct options *options, enum role role);
void                child_end(struct child *child);

/* Once a turn: tells the supervisor `state` ("starting", "ready", ...; at most 32 bytes) and `epoch` (0: none)
 * on change and every CHILD_REPORT_EVERY_MS, and sees whether it is time to stop. Costs nothing when it was not woken and
 * nothing is due. */
void child_report(struct child *child, const char *state, uint64_t epoch, mono_us now);

/* The settings at the start, the first time, which are always there; then those that have come since, behind a
 * child_report(); false: none have. They become the caller's to free. child_settled(): the process goes by them now, and the
 * supervisor is told so. */
bool child_take_settings(struct child *child, struct settings *settings);
void child_settled(struct child *child, const struct settings *settings);

/* Has SIGTERM come, or the supervisor gone? As of the last child_report(). Never false again once true. */
bool child_stopping(const struct child *child);

/* For the process' loop to wait on: child_look() tells the next child_report() what the loop's last wait found there.
 * Not to be read or closed. */
int  child_fd(const struct child *child);
void child_look(struct child *child, const struct loop *loop);
