#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Work on passes in wallets, and on their classes at Google, that is due at some time, one row for each thing and kind. The key has
 * no time, so that the same work is never due twice; the order of times is kept in the shard's memory.
 * WALLET_DUE row: account | kind u8 | number u32 -> version u8 (1) | due i64, little-endian, and of the kinds with `since` also:
 * since i64 | tries u8 | flags u8; of those with `position`: position u32.
 * Kinds, what their number is of, and what a row means:
 *   REMOVAL  pass: no phone has it any more; it becomes `removed` when that is so still
 *   PUSH     pass, since: it has changed, and its phones do not know
 *   GOOGLE   pass, since: likewise, for its object at Google
 *   TOUCH    template, or WALLET_EVERY_TEMPLATE, position: what it shows has changed; from that pass on they are to be pushed.
 *            WALLET_EVERY_PHONE: phones have perhaps asked in vain; those of ended passes, too, and nothing at Google
 *   MESSAGE  notification, position: from that member of its audience on, passes in wallets are to show it
 *   NOTICE   notification: the pass that it is to is to show it
 *   CLASS    template, since: it has changed, or is new, and Google has not the class that it makes
 *   CLASSES  WALLET_CLASSES_OF_ONE or _OF_ALL, position: from that template on, Google has not the account's classes; likewise, and
 *            not those of the accounts behind it in the table
 *   LEFT     pass, position: some of its phones (their wallet_left_mark()) do not know a change that others know, since no
 *            credential served them
 *   SAVED    pass: its holder has saved it at Google, whose callback was lost; it becomes `active`
 * Rows are put and deleted, never patched. Errors: as view.h. */
enum wallet_due_kind {
	WALLET_DUE_REMOVAL = 1,
	WALLET_DUE_PUSH,
	WALLET_DUE_GOOGLE,
	WALLET_DUE_TOUCH,
	WALLET_DUE_MESSAGE,
	WALLET_DUE_NOTICE,
	WALLET_DUE_CLASS,
	WALLET_DUE_CLASSES,
	WALLET_DUE_SAVED,
	WALLET_DUE_LEFT,
	WALLET_DUE_KINDS_END
};
#define WALLET_EVERY_TEMPLATE UINT32_MAX
#define WALLET_EVERY_PHONE    (UINT32_MAX - 1)
enum { WALLET_CLASSES_OF_ONE, WALLET_CLASSES_OF_ALL };

/* The row's flag: it comes from a change of many passes, and gives way to single ones. */
enum { WALLET_DUE_IS_BULK = 1, WALLET_DUE_FLAGS_END = 2 };

struct wallet_due {
	struct account_id    account;
	enum wallet_due_kind kind;
	uint32_t             number; /* as the kind says */
	wall_us              due;    /* service time */
	wall_us              since;  /* service time of the oldest change that is not pushed yet */
	uint8_t              tries;  /* that failed */
	uint8_t              flags;
	uint32_t             position;
};

must_check enum err wallet_due_put(struct view *view, const struct wallet_due *row);
must_check enum err wallet_due_del(struct view *view, const struct wallet_due *row);
/* By account, kind and number; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err wallet_due_get(struct view *view, struct wallet_due *row);

/* The first row at or after *row, of any account and kind; the one after that found last. Range reads. Errors: ERR_NOT_FOUND:
 * no more. */
must_check enum err wallet_due_from(struct view *view, struct wallet_due *row);
must_check enum err wallet_due_next(struct view *view, struct wallet_due *row);

/* A stored row, and its key alone. Errors: ERR_DAMAGED. */
must_check enum err wallet_due_read(struct span key, struct span value, struct wallet_due *row);
must_check enum err wallet_due_key_read(struct span key, struct wallet_due *row);
