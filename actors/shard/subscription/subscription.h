#pragma once
#include "actors/shard/command.h"
#include "store/subscription.h"

/* Shared by the commands on webhook subscriptions. Errors: as view.h, and those named. */

/* The subscription that a path names. Errors: ERR_WEBHOOK_SUBSCRIPTION_NOT_FOUND (also for a text that is no id). */
must_check enum err subscription_find(struct request *request, const msgpack_object *id,
                                      struct subscription *row);

/* Sets an argument in the row. `url` must be a URL that may be subscribed; the row borrows it. `event_types` must be a list
 * of known kinds; each is kept once, and an empty list makes kind_count 0. A failure names the argument.
 * Errors: ERR_INVALID_WEBHOOK_URL; ERR_INVALID_WEBHOOK_EVENT_TYPE. */
must_check enum err subscription_take_url(const struct request *request, struct outcome *outcome,
                                          const msgpack_object *url, struct subscription *row);
must_check enum err subscription_take_kinds(struct request *request, struct outcome *outcome,
                                            const msgpack_object *kinds, struct subscription *row);

/* Fails for this cause, naming `event_types`. */
must_check enum err subscription_refuse_kinds(struct outcome *outcome, enum cause cause);

/* Checks that the row may be active beside the account's other active subscriptions.
 * Errors: ERR_WEBHOOK_SUBSCRIPTION_DUPLICATE_URL, ERR_WEBHOOK_SUBSCRIPTION_LIMIT_REACHED. */
must_check enum err subscription_check_active(const struct account *account, struct outcome *outcome,
                                              const struct subscription *row);

/* Draws the row's id and its secret, and seals the secret. Errors: ERR_NO_MEMORY. */
must_check enum err subscription_draw(struct request *request, struct subscription *row);

/* Opens the secret. Errors: ERR_SEALED (it was sealed with another master key), ERR_NO_MEMORY. */
must_check enum err subscription_secret(const struct request *request, const struct subscription *row,
                                        uint8_t secret[WEBHOOK_KEY_BYTES]);

/* Packs it as the interface prints it. The second adds the secret, for the response to its creation. */
void                subscription_pack(const struct subscription *row, msgpack_packer *packer);
must_check enum err subscription_pack_whole(const struct request *request, const struct subscription *row,
                                            msgpack_packer *packer);

/* The first notes in the outcome what the response was made from, the others make it again for a repeated request.
 * Errors: ERR_NO_MEMORY; ERR_DAMAGED, and as subscription_secret(). */
must_check enum err subscription_note(struct request *request, const struct subscription *row,
                                      enum recipe_what what, struct outcome *outcome);
must_check enum err subscription_and_secret_again(struct request *request, const struct recipe *recipe,
                                                  struct outcome *outcome);
must_check enum err subscription_again(struct request *request, const struct recipe *recipe,
                                       struct outcome *outcome);
