#pragma once
#include "actors/shard/command.h"
#include "store/subscription.h"

/* What the commands on webhook subscriptions share. Errors of view.h go through all of these. */

/* Reads the id of a path. Errors: ERR_WEBHOOK_SUBSCRIPTION_NOT_FOUND, for what is no id too. */
must_check enum err subscription_find(struct request *request, const msgpack_object *id,
                                      struct subscription *row);

/* Lays an argument over the row: `url` must be one that may be subscribed, `event_types` a list of known kinds, of which
 * each is kept once. Both name the argument when they fail; the URL borrows from it.
 * Errors: ERR_INVALID_WEBHOOK_URL; ERR_INVALID_WEBHOOK_EVENT_TYPE (an empty list is none: kind_count is 0 then). */
must_check enum err subscription_take_url(const struct request *request, struct outcome *outcome,
                                          const msgpack_object *url, struct subscription *row);
must_check enum err subscription_take_kinds(struct request *request, struct outcome *outcome,
                                            const msgpack_object *kinds, struct subscription *row);

/* Refuses `event_types` for a cause of them. */
must_check enum err subscription_refuse_kinds(struct outcome *outcome, enum cause cause);

/* May the row be active beside the account's others, which its own is not counted among?
 * Errors: ERR_WEBHOOK_SUBSCRIPTION_DUPLICATE_URL, ERR_WEBHOOK_SUBSCRIPTION_LIMIT_REACHED. */
must_check enum err subscription_check_active(const struct account *account, struct outcome *outcome,
                                              const struct subscription *row);

/* Draws the row's id and a secret, and seals that. Errors: ERR_NO_MEMORY. */
must_check enum err subscription_draw(struct request *request, struct subscription *row);

/* The secret itself. Errors: ERR_SEALED (with another master key), ERR_NO_MEMORY. */
must_check enum err subscription_secret(const struct request *request, const struct subscription *row,
                                        uint8_t secret[WEBHOOK_KEY_BYTES]);

/* Packs it as the interface prints it: one map; the second with its secret, as only its creator sees it. */
void                subscription_pack(const struct subscription *row, msgpack_packer *packer);
must_check enum err subscription_pack_whole(const struct request *request, const struct subscription *row,
                                            msgpack_packer *packer);

/* Of a WRITE that answers with the row: notes in the outcome how to answer so again; and does that.
 * Errors: ERR_NO_MEMORY; ERR_DAMAGED, and as subscription_secret(). */
must_check enum err subscription_note(struct request *request, const struct subscription *row,
                                      enum recipe_what what, struct outcome *outcome);
must_check enum err subscription_and_secret_again(struct request *request, const struct recipe *recipe,
                                                  struct outcome *outcome);
must_check enum err subscription_again(struct request *request, const struct recipe *recipe,
                                       struct outcome *outcome);
