#pragma once
#include "schemas/ids.h"
#include "store/view.h"

/* A class that Google has taken, of a template. WALLET_CLASS row: account | number of the template u32 -> version u8 (1) |
 * issuer u64, wallet_number() of its id, little-endian. It is the class that was taken last: Google keeps those of other issuers, too,
 * since none can be deleted there. Rows are put and deleted, never patched. Errors: as view.h. */
struct wallet_class {
	uint32_t template_number;
	uint64_t issuer;
};

must_check enum err wallet_class_put(struct view *view, struct account_id account,
                                     const struct wallet_class *row);
must_check enum err wallet_class_del(struct view *view, struct account_id account, uint32_t template_number);
/* By row->template_number; fills the rest. Errors: ERR_NOT_FOUND. */
must_check enum err wallet_class_get(struct view *view, struct account_id account, struct wallet_class *row);
/* A stored row; the key without its account. Errors: ERR_DAMAGED. */
must_check enum err wallet_class_read(struct span key, struct span value, struct wallet_class *row);
