#pragma once
#include "actors/shard/command.h"
#include "schemas/body.h"
#include "schemas/pass_view.h"
#include "schemas/states.h"
#include "store/hot.h"
#include "store/ledger.h"

/* What the commands on passes share. Errors: as view.h, and those named. */

_Static_assert((int)PASS_STATUSES == (int)HOT_COUNT_DELETED, "a hot row counts passes by status");

/* The number of the newest pass with this id, which may be deleted. As pass_find() otherwise. */
must_check enum err pass_number(struct request *request, struct span pass_id, uint32_t *number);

/* The pass that holds `pass_id` now; with `or_deleted` else the one deleted last.
 * Errors: ERR_RESOURCE_NOT_FOUND. A range read: before the command's first write. */
must_check enum err pass_find(struct request *request, struct span pass_id, bool or_deleted,
                              struct hot_at *pass);

/* Its template's rules. Errors: ERR_DAMAGED (a pass without its template). */
must_check enum err pass_template(const struct request *request, const struct hot *pass,
                                  const struct template **template);

/* Its body; spans live as long as the view's values. */
must_check enum err pass_body(struct request *request, const struct hot_at *pass, struct body *body);
/* The same for lists without pages, which would keep every long body: its spans live in `room`, or as view.h says, until the
 * next call. A range read. */
must_check enum err pass_body_in(struct request *request, const struct hot_at *pass, struct buffer *room,
                                 struct body *body);
must_check enum err pass_body_put(struct request *request, struct account_id account, uint32_t number,
                                  const struct body *body);

/* The only writer of a pass's state: stages the change from pass->now to `after` with its ledger row, the account's counts,
 * updated = now (but for a message), the end of its ISSUING row when it is `creating` no more, and what is due for its phones
 * when it is `active` no more. `row` gives what happened (and a delta); the rest is filled in. */
must_check enum err pass_change(struct request *request, const struct hot_at *pass, struct hot after,
                                struct ledger_row row);

/* The counter after a change of `delta`, which is within BALANCE_MAX of zero. Errors: ERR_NO_LOYALTY_PROGRAM,
 * ERR_INVALID_INPUT (out of all bounds), ERR_INSUFFICIENT_BALANCE (below the template's least; *after is set). */
must_check enum err pass_plan_balance(const struct template *template, int64_t balance, int64_t delta,
                                      int64_t *after);

/* Why nothing can be done with the pass any more: it is deactivated, or was never issued; CAUSE_NONE: it can. */
enum cause pass_is_dead(const struct hot *pass);

/* Is it issued, active or removed: has a holder use of it? And may the holder put it into a wallet, as it stands? */
static inline bool pass_is_issued(const struct hot *pass)
{
	return pass->status == PASS_ISSUED || pass->status == PASS_ACTIVE || pass->status == PASS_REMOVED;
}
bool pass_may_be_put(const struct hot *pass);

/* Errors: ERR_PAYLOAD_TOO_LARGE: it is larger than what may be stored. */
must_check enum err pass_check_size(struct outcome *outcome, const struct body *body);

/* Stages the account's next ledger row; recent scans are gathered before it if that is due. pass_change() does it for a pass
 * that is in the tables. */
must_check enum err pass_ledger(struct request *request, struct ledger_row *row, uint64_t *seq);

/* A row of its history as `pass history` prints it. */
void pass_pack_event(msgpack_packer *packer, const struct ledger_row *row);

/* The pass whose own token this is, the one that its download_url shows. Errors: ERR_RESOURCE_NOT_FOUND,
 * ERR_PASS_DELETED. */
must_check enum err pass_of_token(struct request *request, struct span text, struct hot_at *pass,
                                  struct body *body);
/* The same by the bytes of the token; a deleted pass is found, too. */
must_check enum err pass_of_token_bytes(struct request *request, const uint8_t token[TOKEN_BYTES],
                                        struct hot_at *pass, struct body *body);

/* Where the images lie that its page shows: the pass's own URLs, else its template's; of size 0: none. They live as long
 * as the view's arena. */
must_check enum err pass_image_urls(struct request    *request, const struct template *template,
                                    const struct body *body, struct span urls[PAGE_IMAGES]);

/* The pass as the interface shows it, appended to `out`: the JSON text; the same as one msgpack bin. */
must_check enum err pass_json(struct request *request, const struct hot_at *pass, struct buffer *out);
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
