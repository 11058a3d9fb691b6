/* The webhook subscriptions of one account: every row can be read, its times are possible, and the active ones keep the
 * rules that they were let in by: so many at most, and one for each URL. */
#include "store/auditor.h"

#include "schemas/url.h"
#include "store/subscription.h"

enum { KEY_REST = 16 };

/* The active ones so far, by the form of their URL that counts. */
struct active {
	unsigned      count;
	struct buffer urls[WEBHOOKS_ACTIVE_MAX];
};

static enum err judge_active(struct auditor *auditor, struct active *active, const struct subscription *row,
                             const char *id)
{
	if (active->count == WEBHOOKS_ACTIVE_MAX) {
		audit_fault(auditor, TABLE_SUBSCRIPTION, "%s is active beyond the limit", id);
		return OK;
	}
	struct buffer *url = &active->urls[active->count];
	enum err       err = url_normal(row->url, url);
	if (err == ERR_NO_MEMORY) return err;
	if (err) {
		audit_fault(auditor, TABLE_SUBSCRIPTION, "%s has a URL that cannot be read", id);
		buffer_clear(url);
		return OK;
	}
	for (unsigned i = 0; i < active->count; i++)
		if (span_equal(buffer_span(&active->urls[i]), buffer_span(url)))
			audit_fault(auditor, TABLE_SUBSCRIPTION, "%s has the URL of another active one", id);
	active->count++;
	return OK;
}

static enum err judge_row(struct auditor *auditor, const struct audit_rows *rows)
{
	struct subscription row;
	char                id[UUID_TEXT];
	if (rows->rest.size != KEY_REST || subscription_read(rows->value, &row)) return ERR_MALFORMED;
	memcpy(row.id.b, rows->rest.at, sizeof row.id.b);
	uuid_text(row.id, id);
	if (row.created.v < 0 || row.updated.v < row.created.v)
		audit_fault(auditor, TABLE_SUBSCRIPTION, "%s has impossible times", id);
	if (row.generation == 0) audit_fault(auditor, TABLE_SUBSCRIPTION, "%s is of no generation", id);
	return row.active ? judge_active(auditor, rows->context, &row, id) : OK;
}

enum err audit_subscriptions(struct auditor *auditor)
{
	struct active active = {.count = 0};
	enum err      err = audit_each(auditor, TABLE_SUBSCRIPTION, judge_row, &active);
	for (unsigned i = 0; i < WEBHOOKS_ACTIVE_MAX; i++)
		buffer_free(&active.urls[i]);
	return err;
}
