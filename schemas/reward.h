#pragma once
#include "schemas/span.h"

/* The lists of reward.def, by their numbers in tables. */
enum reward_status {
#define S(name, text) REWARD_##name,
#include "schemas/reward.def"
	REWARD_STATUSES
};

enum reward_kind {
#define K(name, text) REWARD_##name,
#include "schemas/reward.def"
	REWARD_KINDS
};

enum expiration_kind {
#define X(name, text) EXPIRATION_##name,
#include "schemas/reward.def"
	EXPIRATION_KINDS
};

/* Texts as the interface prints them, and back, exactly. Errors: "unknown" for an invalid number; false for an
 * unknown text. */
const char *reward_status_text(unsigned status);
const char *reward_kind_text(unsigned kind);
const char *expiration_kind_text(unsigned kind);
bool        reward_kind_read(struct span text, enum reward_kind *kind);
bool        expiration_kind_read(struct span text, enum expiration_kind *kind);
