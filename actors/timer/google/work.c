/* Writes a class, then a message, then an object at Google. The class is skipped if there is an object and this
 * process wrote the same class last; the message, if none is new; the object, if the work is of a class alone. Classes
 * and objects are written by PATCH. A class that Google does not have is made by POST; an object only if a link is to
 * name it. */
#include "actors/timer/google/work.h"

#include "schemas/limits.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void google_work_free(struct google_work *work)
{
	struct buffer *const texts[] = {&work->kind,   &work->class_id, &work->class, &work->object_id,
	                                &work->object, &work->message,  &work->path,  &work->body};
	LIST_REMOVE(work, link);
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		buffer_free(texts[i]);
	free(work);
}

void google_work_complain(struct google_work *work, enum push_complaint_kind kind, const char *reason)
{
	uint8_t               bytes[PUSH_COMPLAINT_BYTES];
	struct push_complaint complaint = {.kind = kind,
	                                   .is_rehearsed = work->report.lease.pass_number == PROBE_PASS,
	                                   .account = work->account,
	                                   .number = work->number,
	                                   .generation = work->generation,
	                                   .put = work->put};
	snprintf(complaint.reason, sizeof complaint.reason, "%s", reason);
	push_complaint_write(&complaint, bytes);
	reports_add(work->reports, GOOGLE_COMPLAINTS, bytes, complaint.is_rehearsed);
}

void google_work_end(struct google_work *work, enum google_fate fate)
{
	uint8_t bytes[GOOGLE_REPORT_BYTES];
	work->report.fate = fate;
	google_report_write(&work->report, bytes);
	reports_add(work->reports, GOOGLE_REPORTS, bytes, false);
	google_work_free(work);
}

/* Steps --------------------------------------------------------------------------------------------------- */

static void begin_step(struct google_work *work);

static void set_call(struct google_work *work, const char *method, const char *noun, struct span id,
                     const char *verb)
{
	buffer_clear(&work->path);
	buffer_append(&work->path, work->kind.at, work->kind.size);
	buffer_text(&work->path, noun);
	if (id.size) buffer_byte(&work->path, '/');
	buffer_append(&work->path, id.at, id.size);
	buffer_text(&work->path, verb);
	work->call.method = method;
	work->call.path = buffer_span(&work->path);
}

static void set_message(struct google_work *work, bool notifies)
{
	buffer_clear(&work->body);
	buffer_text(&work->body, "{\"message\":{");
	buffer_append(&work->body, work->message.at, work->message.size);
	buffer_text(&work->body, ",\"messageType\":");
	buffer_text(&work->body, notifies ? "\"TEXT_AND_NOTIFY\"}}" : "\"TEXT\"}}");
	work->call.body = buffer_span(&work->body);
	set_call(work, "POST", "Object", buffer_span(&work->object_id), "/addMessage");
}

static void next_step(struct google_work *work)
{
	bool has_message = work->message.size && work->step <= STEP_CLASS_MADE;
	if (!work->object.size) {
		google_work_end(work, GOOGLE_DONE);
		return;
	}
	work->step = !has_message ? STEP_OBJECT : work->may_notify ? STEP_MESSAGE : STEP_MESSAGE_SILENT;
	begin_step(work);
}

static void begin_step(struct google_work *work)
{
	switch (work->step) {
	case STEP_LIST:
		work->call.body = span_of(NULL, 0);
		set_call(work, "GET", "Class?maxResults=1&issuerId=", span_of("", 0), "");
		buffer_append(&work->path, work->class_id.at, work->class_id.size);
		work->call.path = buffer_span(&work->path);
		break;
	case STEP_CLASS:
		work->call.body = buffer_span(&work->class);
		set_call(work, "PATCH", "Class", buffer_span(&work->class_id), "");
		break;
	case STEP_CLASS_MADE:
		work->call.body = buffer_span(&work->class);
		set_call(work, "POST", "Class", span_of("", 0), "");
		break;
	case STEP_MESSAGE:
	case STEP_MESSAGE_SILENT: set_message(work, work->step == STEP_MESSAGE); break;
	case STEP_OBJECT:
		work->call.body = buffer_span(&work->object);
		set_call(work, "PATCH", "Object", buffer_span(&work->object_id), "");
		break;
	case STEP_OBJECT_MADE:
		work->call.body = buffer_span(&work->object);
		set_call(work, "POST", "Object", span_of("", 0), "");
		break;
	}
	if (work->path.failed || work->body.failed)
		google_work_end(work, GOOGLE_AGAIN);
	else if (work->has_begun)
		google_call_next(work->call.access, &work->call);
	else
		google_call(work->call.access, &work->call);
}

static void take_success(struct google_work *work, struct span body)
{
	if (work->is_doubtful) google_work_complain(work, PUSH_WORKS, "");
	work->is_doubtful = false;
	switch (work->step) {
	case STEP_CLASS:
	case STEP_CLASS_MADE:
		google_note_class(work->call.access, buffer_span(&work->class_id), buffer_span(&work->class));
		break;
	case STEP_LIST: break;
	case STEP_MESSAGE: work->report.message = GOOGLE_MESSAGE_NOTIFIED; break;
	case STEP_MESSAGE_SILENT: work->report.message = GOOGLE_MESSAGE_SILENT; break;
	case STEP_OBJECT:
	case STEP_OBJECT_MADE:
		google_note_allowed(work->call.access);
		work->report.users = google_users_of(body);
		google_work_end(work, GOOGLE_DONE);
		return;
	}
	next_step(work);
}

/* What was refused for good is named, a pass by the id of its object. */
static void complain_of(struct google_work *work, int status, const char *reason, bool rests)
{
	static const char *const steps[] = {"classes", "class",  "class", "message",
	                                    "message", "object", "object"};
	struct span              id = buffer_span(&work->object_id);
	bool                     is_named = status && !rests && work->step > STEP_CLASS_MADE;
	char                     what[64], text[PUSH_REASON_TEXT];
	snprintf(what, sizeof what, "%s%s%.*s", steps[work->step], is_named ? " " : "",
	         is_named ? (int)id.size : 0, (const char *)id.at);
	snprintf(text, sizeof text, "%s: %s", what, reason);
	if (status)
		snprintf(text, sizeof text, "%s: status %d%s%s", what, status, *reason ? ", " : "", reason);
	google_work_complain(work, rests ? PUSH_RESTS : PUSH_COMPLAINS, text);
}

/* Answers that say what to do instead. */
static const struct way {
	enum google_step at;
	int              status;
	enum google_step next;
} ways[] = {
    {STEP_CLASS, 404, STEP_CLASS_MADE},
    {STEP_CLASS_MADE, 409, STEP_CLASS},       /* another process has made it */
    {STEP_MESSAGE, 403, STEP_MESSAGE_SILENT}, /* three notices today: one without is better than none */
    {STEP_MESSAGE, 429, STEP_MESSAGE_SILENT},
    {STEP_OBJECT, 404, STEP_OBJECT_MADE},
    {STEP_OBJECT_MADE, 409, STEP_OBJECT}, /* a link has brought it */
};

static void go_to(struct google_work *work, enum google_step step)
{
	work->step = step;
	begin_step(work);
}

/* A class, or an object that is to be made, is made once. */
static bool goes_on(struct google_work *work, int status)
{
	const struct way *way = ways, *end = ways + sizeof ways / sizeof *ways;
	while (way < end && (way->at != work->step || way->status != status))
		way++;
	if (way == end) return false;
	bool  makes_object = way->next == STEP_OBJECT_MADE;
	bool *made = makes_object ? &work->has_made_object : &work->has_made;
	if (status == 404 && (*made || (makes_object && !work->makes))) return false;
	if (status == 404) *made = true;
	if (makes_object) work->report.users = GOOGLE_USERS_NONE; /* there is no object */
	go_to(work, way->next);
	return true;
}

/* Google forbids one object, and the account may do the rest. If it forbids several in a row, it is the account that may not. */
static bool is_one_object(struct google_work *work)
{
	enum { FEW = 3 };
	bool is_object = work->step == STEP_OBJECT || work->step == STEP_OBJECT_MADE;
	return is_object && google_note_forbidden(work->call.access) < FEW;
}

/* A status that is none of success. */
static void take_failure(struct google_work *work, int status, const char *reason)
{
	/* The access token held no more; the next call has a new one. */
	if (status == 401 && !*reason && !work->is_renewed) {
		work->is_renewed = true;
		begin_step(work);
		return;
	}
	if (goes_on(work, status)) return;
	if (status == CALL_NOT_BEGUN) { /* its turn did not come */
		google_work_end(work, GOOGLE_HELD);
		return;
	}
	if (status == 404 && work->step > STEP_CLASS_MADE) {
		google_work_end(work, GOOGLE_ABSENT);
		return;
	}
	bool is_message = work->step == STEP_MESSAGE || work->step == STEP_MESSAGE_SILENT;
	bool is_for_good = status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
	if (is_message && is_for_good) { /* the object is written without it; 409: it was sent before */
		if (status != 409) complain_of(work, status, reason, false);
		work->report.message = GOOGLE_MESSAGE_SILENT;
		go_to(work, STEP_OBJECT);
		return;
	}
	/* A saved pass gets its points also while its class, as it is now, is refused. */
	if (work->step == STEP_CLASS && work->object.size && is_for_good && status != 403 && status != 404) {
		complain_of(work, status, reason, false);
		work->is_doubtful = false; /* so that the reason stays */
		next_step(work);
		return;
	}
	bool is_refused = status == 401 || (status == 403 && !is_one_object(work));
	bool is_for_now = !status || status >= 500 || status == 429 || status == 408;
	complain_of(work, status, reason, is_refused);
	google_work_end(work, is_refused ? GOOGLE_HELD : is_for_now ? GOOGLE_AGAIN : GOOGLE_REFUSED);
}

static void on_called(struct google_call *call, int status, struct span body, const char *reason)
{
	struct google_work *work = (struct google_work *)((char *)call - offsetof(struct google_work, call));
	work->has_begun = true;
	if (status >= 200 && status <= 299)
		take_success(work, body);
	else
		take_failure(work, status, reason);
}

void google_work_begin(struct google_work *work)
{
	struct span id = buffer_span(&work->class_id), class = buffer_span(&work->class);
	work->call.on_done = on_called;
	work->call.renews = work->report.lease.pass_number == PROBE_PASS;
	work->step = class.size ? STEP_CLASS : STEP_LIST;
	if (work->object.size && google_knows_class(work->call.access, id, class))
		next_step(work);
	else
		begin_step(work);
}
