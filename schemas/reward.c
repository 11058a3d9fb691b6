/* The texts of reward.def. */
#include "schemas/reward.h"

static const char *const statuses[REWARD_STATUSES] = {
#define S(name, text) [REWARD_##name] = text,
#include "schemas/reward.def"
};

static const char *const kinds[REWARD_KINDS] = {
#define K(name, text) [REWARD_##name] = text,
#include "schemas/reward.def"
};

static const char *const expirations[EXPIRATION_KINDS] = {
#define X(name, text) [EXPIRATION_##name] = text,
#include "schemas/reward.def"
};

static bool find(struct span text, const char *const *texts, unsigned count, unsigned *number)
{
	for (*number = 0; *number < count; ++*number)
		if (span_is(text, texts[*number])) return true;
	return false;
}

const char *reward_status_text(unsigned status)
{
	return status < REWARD_STATUSES ? statuses[status] : "unknown";
}

const char *reward_kind_text(unsigned kind)
{
	return kind < REWARD_KINDS ? kinds[kind] : "unknown";
}

const char *expiration_kind_text(unsigned kind)
{
	return kind < EXPIRATION_KINDS ? expirations[kind] : "unknown";
}

bool reward_kind_read(struct span text, enum reward_kind *kind)
{
	unsigned number;
	bool     found = find(text, kinds, REWARD_KINDS, &number);
	if (found) *kind = (enum reward_kind)number;
	return found;
}

bool expiration_kind_read(struct span text, enum expiration_kind *kind)
{
	unsigned number;
	bool     found = find(text, expirations, EXPIRATION_KINDS, &number);
	if (found) *kind = (enum expiration_kind)number;
	return found;
}
