/* The templates of one account: each number given belongs to a template that can be decoded, or to a deleted one.
 * Exactly those that have passes are used or retired, and the passes of each are counted. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/wallet/settings.h"
#include "store/template_row.h"

#include <stdlib.h>

enum { NUMBER_REST = 4 };

bool audit_has_template(const struct auditor *auditor, uint32_t number)
{
	return number >= 1 && number <= auditor->template_count && auditor->templates[number].is_there;
}

static bool is_template(struct auditor *auditor, struct span value, struct arena *arena)
{
	static struct template template;        /* large; an audit runs on one thread of a process */
	static struct wallet_settings settings; /* likewise */
	struct file_fault             fault;
	struct json                  *json;
	struct template_row           row;
	if (template_row_read(value, &row) || json_parse(row.text, arena, &json) ||
	    wallet_template_read(json, &template, &settings, &fault))
		return false;
	auditor->url_sum += audit_url_sum(template.logo) + audit_url_sum(template.banner) +
	                    audit_url_sum(settings.icon);
	buffer_append(&auditor->name_fields, template.name_field.at, template.name_field.size);
	return true;
}

/* Every number below `end` has an entry among the name fields. */
static void pass_over(struct auditor *auditor, uint32_t *next, uint32_t end)
{
	for (; *next < end; ++*next)
		buffer_byte(&auditor->name_fields, 0);
}

static enum err audit_texts(struct auditor *auditor)
{
	struct audit_rows  rows = {.table = TABLE_TEMPLATE};
	struct audit_whole found;
	struct arena       arena = {0};
	uint32_t           next = 1;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (found.number == 0 || found.number > auditor->template_count) {
			audit_fault(auditor, TABLE_TEMPLATE, "template %u, but the account has %u",
			            found.number, auditor->template_count);
			continue;
		}
		pass_over(auditor, &next, found.number);
		auditor->templates[found.number].is_there = true;
		if (!is_template(auditor, found.value, &arena))
			audit_fault(auditor, TABLE_TEMPLATE, "template %u cannot be read", found.number);
		pass_over(auditor, &next, found.number + 1);
		arena_reset(&arena);
	}
	arena_free(&arena);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err take_state(struct auditor *auditor, const struct audit_rows *rows)
{
	uint32_t            number = rows->rest.size == NUMBER_REST ? get_be32(rows->rest.at) : 0;
	struct template_use use;
	if (!number || number > auditor->template_count || template_use_read(rows->value, &use))
		audit_fault(auditor, TABLE_TEMPLATE_STATE, "a row of a wrong form, or of no template");
	else
		auditor->templates[number].use = use;
	return OK;
}

enum err audit_templates(struct auditor *auditor)
{
	free(auditor->templates);
	if (auditor->template_count > TEMPLATES_MADE_MAX) {
		audit_fault(auditor, TABLE_ACCOUNT, "more templates than it may have made");
		auditor->template_count = TEMPLATES_MADE_MAX;
	}
	auditor->templates = calloc((size_t)auditor->template_count + 1, sizeof *auditor->templates);
	if (!auditor->templates) return ERR_NO_MEMORY;
	buffer_clear(&auditor->name_fields);
	auditor->url_sum = 0;
	enum err err = audit_texts(auditor);
	if (err || (err = audit_each(auditor, TABLE_TEMPLATE_STATE, take_state, NULL))) return err;
	for (uint32_t number = 1; number <= auditor->template_count; number++) {
		const struct template_seen *seen = &auditor->templates[number];
		bool                        is_deleted = seen->use.state == TEMPLATE_DELETED;
		if (!seen->is_there && !is_deleted)
			audit_fault(auditor, TABLE_TEMPLATE, "template %u is missing", number);
		if (seen->is_there && is_deleted)
			audit_fault(auditor, TABLE_TEMPLATE, "template %u was deleted, and is there", number);
	}
	return OK;
}

enum err audit_template_uses(struct auditor *auditor)
{
	for (uint32_t number = 1; number <= auditor->template_count; number++) {
		const struct template_seen *seen = &auditor->templates[number];
		bool is_used = seen->use.state == TEMPLATE_USED || seen->use.state == TEMPLATE_RETIRED;
		if (seen->has_passes && !is_used)
			audit_fault(auditor, TABLE_TEMPLATE_STATE, "template %u has passes, and is not used",
			            number);
		else if (!seen->has_passes && is_used)
			audit_fault(auditor, TABLE_TEMPLATE_STATE, "template %u is used by no pass", number);
		else if (seen->passes != seen->use.passes)
			audit_fault(auditor, TABLE_TEMPLATE_STATE, "template %u has %u passes, counted as %u",
			            number, seen->passes, seen->use.passes);
		else if (seen->installed != seen->use.installed && !seen->use.is_from_before)
			audit_fault(auditor, TABLE_TEMPLATE_STATE,
			            "template %u has %u installed passes, counted as %u", number,
			            seen->installed, seen->use.installed);
	}
	return OK;
}
