/* The requests of a run. All texts are laid out before the first is sent: a request for each operation,
 * and the key of each account. */
#include "bench/script.h"
#include "schemas/err.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	enum op  op;
	uint32_t share_percent;
} mix[] = {
#define M(name, share_percent) {OP_##name, share_percent},
#include "bench/ops.def"
};

enum {
#define M(name, share_percent) +share_percent
	MIX_PERCENT =
#include "bench/ops.def"
};

_Static_assert((int)MIX_PERCENT == (int)SHARES_PERCENT, "the mix does not add up to 100 %");

static void parts_init(struct script *script, enum op op)
{
	uint32_t draw = 0;

	script->part_count = op == OP_MIXED ? sizeof(mix) / sizeof(mix[0]) : 1;
	script->parts[0] = op;
	for (uint32_t part = 0; op == OP_MIXED && part < script->part_count; part++) {
		script->parts[part] = mix[part].op;
		for (uint32_t i = 0; i < mix[part].share_percent; i++)
			script->part_of[draw++] = (uint8_t)part;
	}
}

/* Another sequence than that of the passes, or a pass would belong to few accounts. */
static const uint64_t account_seed = UINT64_C(0x5851f42d4c957f2d);

static void accounts_init(struct script *script, const struct script_sources *sources)
{
	plan_init(&script->account_plan, &(struct plan_choice){.ids = sources->accounts,
	                                                       .pass_count = sources->key_count,
	                                                       .theta = sources->account_theta,
	                                                       .seed = sources->choice.seed ^ account_seed});
}

/* Ten thousand keys are less than a megabyte: as many whole requests would drive other data out of the caches. */
static const char *keys_new(struct script *script, const struct script_sources *sources)
{
	script->key_bytes = (uint32_t)strlen(sources->keys[0]);
	script->keys = calloc(script->account_count, (size_t)script->key_bytes + 1);
	if (!script->keys) return "no memory";
	for (uint32_t i = 0; i < script->account_count; i++) {
		if (strlen(sources->keys[i]) != script->key_bytes) return "keys have different lengths";
		memcpy(script->keys + (size_t)i * script->key_bytes, sources->keys[i], script->key_bytes);
	}
	return NULL;
}

const char *script_new(struct script *script, const struct script_sources *sources)
{
	const char *wrong;

	*script = (struct script){.first = sources->choice.first,
	                          .account_count = sources->key_count,
	                          .hot_percent = sources->hot_percent};
	parts_init(script, sources->op);
	plan_init(&script->plan, &sources->choice);
	accounts_init(script, sources);
	if ((wrong = keys_new(script, sources))) return wrong;
	script->forms = calloc(script->part_count, sizeof(*script->forms));
	if (!script->forms) return "no memory";
	for (uint32_t part = 0; part < script->part_count; part++)
		if (!request_form_make(&script->forms[part], script->parts[part], sources->host,
		                       sources->keys[0], &sources->subject))
			return "host, key and prefix are too long";
	return NULL;
}

void script_free(struct script *script)
{
	free(script->forms);
	free(script->keys);
	script->forms = NULL;
	script->keys = NULL;
}

/* The next account. A sequence moves on with the first account, so that each number comes once in each. */
static uint32_t next_account(struct script *script)
{
	bool     has_hot = script->hot_percent > 0 && script->account_count > 1;
	uint32_t account = script->account;

	if (script->account_plan.choice.ids != PLAN_SEQUENCE)
		return (uint32_t)plan_next(&script->account_plan);
	if (has_hot && plan_draw(&script->plan, SHARES_PERCENT) < script->hot_percent) return 0;
	if (has_hot && account == 0) account = 1;
	script->account = account + 1 == script->account_count ? 0 : account + 1;
	return account;
}

uint32_t script_next(struct script *script, char *bytes, enum op *op)
{
	uint32_t part = script->part_count > 1 ? script->part_of[plan_draw(&script->plan, SHARES_PERCENT)]
	                                       : 0;
	uint32_t account = next_account(script);
	const struct request_form *form = &script->forms[part];

	if (account == 0 || script->plan.choice.ids != PLAN_SEQUENCE)
		script->number = plan_next(&script->plan);
	*op = script->parts[part];
	return request_write(
	    form,
	    &(struct request_about){.number = script->number,
	                            .index = script->number - script->first,
	                            .key = script->keys + (size_t)account * script->key_bytes},
	    bytes);
}
