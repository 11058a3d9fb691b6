/* The passes of one account being issued: exactly those with the status `creating` have a row. And the images that are fetched for
 * templates and for passes in wallets. */
#include "store/auditor.h"

#include "store/issuing.h"
#include "store/pass_pictures.h"

#include <stdlib.h>

enum { STATUS_CREATING = 0 };

static bool is_creating(const struct pass_seen *pass)
{
	return pass->hot_status == STATUS_CREATING;
}

static enum err judge_issuing(struct auditor *auditor, const struct audit_whole *found)
{
	uint8_t       *seen = found->context; /* a byte for each pass, set if it has a row */
	struct issuing row;
	if (issuing_read(found->value, &row))
		audit_fault(auditor, TABLE_ISSUING, "pass %u: a row of a wrong form", found->number);
	if (found->number >= auditor->pass_count || !is_creating(&auditor->passes[found->number]))
		audit_fault(auditor, TABLE_ISSUING, "pass %u is not being created", found->number);
	else
		seen[found->number] = 1;
	return OK;
}

/* Rows of templates; their audit has run before. */
static enum err judge_template(struct auditor *auditor, const struct audit_whole *found)
{
	struct issuing row;
	if (issuing_read(found->value, &row) || row.has_key)
		audit_fault(auditor, TABLE_TEMPLATE_IMAGES, "template %u: a row of a wrong form",
		            found->number);
	if (!audit_has_template(auditor, found->number))
		audit_fault(auditor, TABLE_TEMPLATE_IMAGES, "template %u does not exist", found->number);
	return OK;
}

/* Pictures that are fetched for passes; those that are kept meanwhile are used. */
static enum err judge_pictures(struct auditor *auditor, const struct audit_whole *found)
{
	struct pass_pictures row;
	if (found->number >= auditor->pass_count)
		audit_fault(auditor, TABLE_PASS_PICTURES, "pass %u does not exist", found->number);
	if (pass_pictures_read(found->value, &row)) {
		audit_fault(auditor, TABLE_PASS_PICTURES, "pass %u: a row of a wrong form", found->number);
		return OK;
	}
	for (unsigned i = 0; i < PICTURES; i++)
		auditor->url_sum += audit_url_sum(row.kept[i]);
	return OK;
}

enum err audit_issuing(struct auditor *auditor)
{
	uint8_t *seen = calloc(auditor->pass_count + 1, 1);
	if (!seen) return ERR_NO_MEMORY;
	enum err err = audit_each_whole(auditor, TABLE_ISSUING, 0, judge_issuing, seen);
	for (size_t i = 0; !err && i < auditor->pass_count; i++)
		if (is_creating(&auditor->passes[i]) && !seen[i])
			audit_fault(auditor, TABLE_ISSUING, "pass %zu is being created, but has no row", i);
	free(seen);
	if (!err) err = audit_each_whole(auditor, TABLE_TEMPLATE_IMAGES, 0, judge_template, NULL);
	return err ? err : audit_each_whole(auditor, TABLE_PASS_PICTURES, 0, judge_pictures, NULL);
}
