/* Values of tables whose rows are plain members. */
#include "store/dump_inside.h"

#include "schemas/body.h"
#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/account_row.h"
#include "store/card.h"
#include "store/cleanup.h"
#include "store/entitlement.h"
#include "store/idempotency.h"
#include "store/image.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/ledger.h"
#include "store/notification.h"
#include "store/pass_pictures.h"
#include "store/reader_row.h"
#include "store/redemption.h"
#include "store/registration.h"
#include "store/reward.h"
#include "store/rule.h"
#include "store/scan_row.h"
#include "store/tally.h"
#include "store/template_row.h"
#include "store/template_state.h"
#include "store/wallet_class.h"
#include "store/wallet_credential.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"
#include "store/wallet_message.h"

struct image_uses {
	uint32_t count;
	unsigned roles; /* SHAPE_OF_... */
};

static const char *entitlement_word(unsigned state)
{
	static const char *const words[] = {[ENTITLEMENT_OPEN] = "open",
	                                    [ENTITLEMENT_REDEEMED] = "redeemed",
	                                    [ENTITLEMENT_REPLACED] = "replaced"};
	return state < sizeof words / sizeof *words ? words[state] : "unknown";
}

static const char *recipe_word(unsigned what)
{
	static const char *const words[] = {
#define R(number, NAME, name, OF, detail) [number] = #name,
#include "store/recipes.def"
#undef R
	};
	return what < sizeof words / sizeof *words && words[what] ? words[what] : "unknown";
}

/* Is its state the token of a former link? */
static bool has_token(const struct cleanup *row)
{
	return row->kind == CLEANUP_REGISTRATIONS && row->state_size;
}

#define ROW(name, type, is_malformed)                                            \
	bool dump_##name(struct buffer *out, struct span key, struct span value) \
	{                                                                        \
		struct span rest = dump_rest_of(key);                            \
		struct type row;                                                 \
		(void)rest;                                                      \
		if (is_malformed) return false;
#define SHOW(kind, member)         SHOW_AS(kind, member, row.member)
#define SHOW_AS(kind, name, shown) dump_##kind(out, #name, shown);
#define SHOW_IF(condition, kind, name, shown) \
	if (condition) SHOW_AS(kind, name, shown)
#define SHOW_COUNTS(end, text, member)       \
	for (unsigned i = 0; i < (end); i++) \
		dump_count(out, text(i), row.member[i]);
#define END          \
	return true; \
	}
#define ANY(name, kind, shown, expression)                                       \
	bool dump_##name(struct buffer *out, struct span key, struct span value) \
	{                                                                        \
		(void)key;                                                       \
		SHOW_AS(kind, shown, expression)                                 \
		return true;                                                     \
	}
#define U32(name, shown)                                                         \
	bool dump_##name(struct buffer *out, struct span key, struct span value) \
	{                                                                        \
		(void)key;                                                       \
		return dump_u32(out, #shown, value);                             \
	}
#include "store/dump_values.def"
