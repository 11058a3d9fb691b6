#pragma once
#include "tests/crash/history.h"
#include "tests/crash/life.h"

/* What the place was before its first completed start, if there has been none. */
static inline enum beginning history_beginning(const struct history *history)
{
	return history->opened ? BEGUN : history->restored ? BEGINS_RESTORED : BEGINS_EMPTY;
}

/* Opens the state in `path` with the real recovery, in the host's boot as recorder_boot() says, and holds what it finds
 * against what was promised: it opens, what was told is there, the rows are exactly those of one record, they agree with
 * each other, the journal goes on cleanly, and verification finds nothing behind it. False: `what` says what does not hold. */
enum { JUDGE_TEXT = 600 };
struct judged {
	struct store_report report;
	char                what[JUDGE_TEXT];
};
bool judge(const char *path, const struct setting *setting, const struct history *history,
           struct judged *judged);
