#pragma once
#include "actors/shard/command.h"
#include "schemas/body.h"
#include "store/hot.h"
#include "store/ledger.h"

/* What the commands on passes share. Errors: as view.h, and those named. */

enum pass_status {
#define S(name, text) PASS_##name,
#include "schemas/states.def"
#undef S
	PASS_STATUSES
};
_Static_assert((int)PASS_STATUSES == (int)HOT_COUNT_DELETED, "a hot row counts passes by status");

const char *pass_status_text(unsigned status);

/* The pass that holds `pass_id` now; with `or_deleted` else the one deleted last.
 * Errors: ERR_RESOURCE_NOT_FOUND. A range read: before the command's first write. */
must_check enum err pass_find(struct request *request, struct span pass_id, bool or_deleted,
                              struct hot_at *pass);

/* Its template's rules. Errors: ERR_DAMAGED (a pass without its template). */
must_check enum err pass_template(const struct account *account, const struct hot *pass,
                                  const struct template **template);

/* Its body; spans live as long as the view's values. */
must_check enum err pass_body(struct request *request, const struct hot_at *pass, struct body *body);
must_check enum err pass_body_put(struct request *request, struct account_id account, uint32_t number,
                                  const struct body *body);

/* The only writer of a pass's state: stages the change from pass->now to `after` with its ledger row, the
 * account's counts, and updated = now. `row` gives what happened (and a delta); the rest is filled in. */
must_check enum err pass_change(struct request *request, const struct hot_at *pass, struct hot after,
                                struct ledger_row row);

/* The next ledger row of the account, for a pass not yet in the tables. */
must_check enum err pass_ledger(struct request *request, struct ledger_row *row, uint64_t *seq);

/* The pass as the interface shows it: one msgpack bin with the JSON text, appended to `out`. */
must_check enum err pass_show(struct request *request, const struct hot_at *pass, struct buffer *out);

/* Checks the caller's `visible` (a map) against the template and lays it over body->visible. With nothing there
 * yet the whole must have every required field; a pass that is older than such a field may go on without it.
 * Errors name the field: ERR_INVALID_INPUT, ERR_PASS_TEMPLATE_DATA_INVALID. */
must_check enum err pass_take_visible(struct request *request, struct outcome               *outcome,
                                      const struct template *template, const msgpack_object *changes,
                                      struct body *body);

/* Holds `appearance` (a map) against its rules, which need no pass to be known. Errors: ERR_INVALID_INPUT, with
 * the field. */
must_check enum err pass_check_appearance(struct request *request, struct outcome *outcome,
                                          const msgpack_object *changes);

/* Lays a checked `appearance` over the body's: null when no property is left. */
must_check enum err pass_take_appearance(struct request *request, const msgpack_object *changes,
                                         struct body *body);

/* The same for `hidden` (a map), which takes anything. */
must_check enum err pass_take_hidden(struct request *request, const msgpack_object *changes,
                                     struct body *body);
