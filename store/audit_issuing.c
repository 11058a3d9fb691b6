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

/* `seen`: a byte for each pass, set if it has a row. */
static enum err audit_rows_of(struct auditor *auditor, uint8_t *seen)
{
	struct audit_rows  rows = {.table = TABLE_ISSUING};
	struct audit_whole found;
	struct issuing     row;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (issuing_read(found.value, &row))
			audit_fault(auditor, TABLE_ISSUING, "pass %u: a row of a wrong form", found.number);
		if (found.number >= auditor->pass_count || !is_creating(&auditor->passes[found.number]))
			audit_fault(auditor, TABLE_ISSUING, "pass %u is not being created", found.number);
		else
			seen[found.number] = 1;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Rows of templates; their audit has run before. */
static enum err audit_template_images(struct auditor *auditor)
{
	struct audit_rows  rows = {.table = TABLE_TEMPLATE_IMAGES};
	struct audit_whole found;
	struct issuing     row;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (issuing_read(found.value, &row) || row.has_key)
			audit_fault(auditor, TABLE_TEMPLATE_IMAGES, "template %u: a row of a wrong form",
			            found.number);
		if (!audit_has_template(auditor, found.number))
			audit_fault(auditor, TABLE_TEMPLATE_IMAGES, "template %u does not exist",
			            found.number);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Pictures that are fetched for passes; those that are kept meanwhile are used. */
static enum err audit_pictures(struct auditor *auditor)
{
	struct audit_rows    rows = {.table = TABLE_PASS_PICTURES};
	struct audit_whole   found;
	struct pass_pictures row;
	enum err             err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (found.number >= auditor->pass_count)
			audit_fault(auditor, TABLE_PASS_PICTURES, "pass %u does not exist", found.number);
		if (pass_pictures_read(found.value, &row)) {
			audit_fault(auditor, TABLE_PASS_PICTURES, "pass %u: a row of a wrong form",
			            found.number);
			continue;
		}
		for (unsigned i = 0; i < PICTURES; i++)
			auditor->url_sum += audit_url_sum(row.kept[i]);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err audit_issuing(struct auditor *auditor)
{
	uint8_t *seen = calloc(auditor->pass_count + 1, 1);
	if (!seen) return ERR_NO_MEMORY;
	enum err err = audit_rows_of(auditor, seen);
	for (size_t i = 0; !err && i < auditor->pass_count; i++)
		if (is_creating(&auditor->passes[i]) && !seen[i])
			audit_fault(auditor, TABLE_ISSUING, "pass %zu is being created, but has no row", i);
	free(seen);
	if (!err) err = audit_template_images(auditor);
	return err ? err : audit_pictures(auditor);
}
