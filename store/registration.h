#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/cleanup.h"
#include "store/view.h"

/* Registrations: phones that have a pass in Apple's wallet, each with a push token for news of it. A phone is known by
 * a hash of its device id. It may have one pass with several credentials, since each pass type is a pass of its own there.
 * REGISTRATION row: account | number of the pass u32 | device 16 | credential u64 -> version u8 (1) | since i64, little-endian |
 * push token. REGISTRATION_DEVICE row, for lists: account | device 16 | credential u64 | number u32 -> nothing.
 * Rows are put and deleted, never patched. Errors: as view.h. */
enum { DEVICE_BYTES = 16, REGISTRATION_BYTES_MAX = 9 + PUSH_TOKEN_BYTES_MAX };

struct registration {
	uint32_t    pass_number;
	uint8_t     device[DEVICE_BYTES];
	uint64_t    credential; /* wallet_number() of its pass type */
	wall_us     since;      /* real time of its last registration, which gave the token */
	struct span push_token; /* hexadecimal digits, as the phone wrote them */
};

/* The name of a device: SHA-256 of its id, cut. */
void registration_device(struct span device_id, uint8_t device[DEVICE_BYTES]);

/* By pass, device and credential; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err registration_get(struct view *view, struct account_id account, struct registration *row);
/* Stage both rows, and that both are gone, with the count of registrations in the account's tally: the only writers of these.
 * Point reads. */
must_check enum err registration_put(struct view *view, struct account_id account,
                                     const struct registration *row);
must_check enum err registration_del(struct view *view, struct account_id account,
                                     const struct registration *row);
/* Stages the token and time of one that is there. The row by device has neither, and stays. */
must_check enum err registration_renew(struct view *view, struct account_id account,
                                       const struct registration *row);

/* The first registration of row->pass_number; the one after that found last. Range reads. Errors: ERR_NOT_FOUND: no more. */
must_check enum err registration_first(struct view *view, struct account_id account,
                                       struct registration *row);
must_check enum err registration_next(struct view *view, struct account_id account, struct registration *row);

/* The account's first registration of row->pass_number or of a later pass; the one after that found last. Likewise. */
must_check enum err registration_from(struct view *view, struct account_id account, struct registration *row);
must_check enum err registration_account_next(struct view *view, struct account_id account,
                                              struct registration *row);

/* The first pass that row->device has by row->credential; the one after that found last. Only these are set. Range reads.
 * Errors: ERR_NOT_FOUND: no more. */
must_check enum err registration_device_first(struct view *view, struct account_id account,
                                              struct registration *row);
must_check enum err registration_device_next(struct view *view, struct account_id account,
                                             struct registration *row);

/* Stages the removal of some registrations of the pass that the row of CLEANUP names. *done: none is left. A range read. */
must_check enum err registrations_clean(struct view *view, const struct cleanup *row, bool *done);

/* Whether the row by itself is there; for the audit. The key behind the account, and the value. Errors: ERR_DAMAGED. */
must_check enum err registration_device_get(struct view *view, struct account_id account,
                                            const struct registration *row);
must_check enum err registration_read(struct span rest, struct span value, struct registration *row);
must_check enum err registration_device_read(struct span rest, struct registration *row);
size_t              registration_write(const struct registration *row, uint8_t value[REGISTRATION_BYTES_MAX]);
