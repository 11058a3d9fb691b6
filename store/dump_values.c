/* Values of tables whose rows are plain members. */
#include "store/dump_inside.h"

#include "schemas/body.h"
#include "store/account_row.h"
#include "store/card.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/reader_row.h"
#include "store/redemption.h"
#include "store/reward.h"
#include "store/rule.h"
#include "store/template_row.h"
#include "store/template_state.h"

#define ROW(name, type, is_malformed)                                            \
	bool dump_##name(struct buffer *out, struct span key, struct span value) \
	{                                                                        \
		struct type row;                                                 \
		(void)key;                                                       \
		if (is_malformed) return false;
#define SHOW(kind, member)         SHOW_AS(kind, member, row.member)
#define SHOW_AS(kind, name, shown) dump_##kind(out, #name, shown);
#define END          \
	return true; \
	}
#define U32(name, shown)                                                         \
	bool dump_##name(struct buffer *out, struct span key, struct span value) \
	{                                                                        \
		(void)key;                                                       \
		return dump_u32(out, #shown, value);                             \
	}
#include "store/dump_values.def"
