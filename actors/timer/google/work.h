#pragma once
#include "actors/timer/google/access.h"
#include "actors/timer/reports.h"
#include "schemas/wallet/google_job.h"

#include <sys/queue.h>

/* One pass or one class at Google: its calls, one after another, until its report. The lease fills in the texts and the
 * credential. Not shared between threads. */
enum google_step {
	STEP_LIST,
	STEP_CLASS,
	STEP_CLASS_MADE,
	STEP_MESSAGE,
	STEP_MESSAGE_SILENT,
	STEP_OBJECT,
	STEP_OBJECT_MADE
};

/* Streams of its reports. */
enum { GOOGLE_REPORTS, GOOGLE_COMPLAINTS };

struct google_work {
	LIST_ENTRY(google_work) link;
	struct reports      *reports;
	struct google_call   call;
	struct account_id    account; /* in whose rows the credential is, and which it is */
	uint64_t             number;
	uint32_t             generation;
	wall_us              put;
	bool                 is_doubtful;
	enum google_step     step;
	struct google_report report;
	struct buffer        kind, class_id, class, object_id, object, message; /* as leased */
	struct buffer        path, body;                                        /* of the call */
	bool                 may_notify, is_renewed; /* it has had a new access token */
	bool                 has_made;               /* it has tried to make the class */
	bool                 makes, has_made_object; /* the object is made, too; it has tried */
	bool                 has_begun;              /* a call of it has ended */
};

/* Begins with the class, unless it looks as it did when it was written last. `work->call.access` is set. */
void google_work_begin(struct google_work *work);

/* Notes what the credential met; `reason` ends in 0. */
void google_work_complain(struct google_work *work, enum push_complaint_kind kind, const char *reason);
/* Notes the report, and frees it. */
void google_work_end(struct google_work *work, enum google_fate fate);
/* Takes it out of its list. */
void google_work_free(struct google_work *work);
