#pragma once
#include "tests/crash/history.h"
#include "tests/crash/life.h"

/* The directory before its first completed start, if there has been none. */
static inline enum beginning history_beginning(const struct history *history)
{
	return history->opened ? BEGUN : history->restored ? BEGINS_RESTORED : BEGINS_EMPTY;
}

/* Opens the state in `path` with the real recovery, in the boot that recorder_boot() set, and checks it
 * against the promises: it opens, acknowledged changes are present, the rows are exactly those of one record
 * and agree with each other, the journal can be continued, and verification finds no fault. False: `what`
 * names the violation. */
enum { JUDGE_TEXT = 600 };
struct judged {
	struct store_report report;
	char                what[JUDGE_TEXT];
};
bool judge(const char *path, const struct setting *setting, const struct history *history,
           struct judged *judged);
