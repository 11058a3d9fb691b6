#pragma once
#include "schemas/limits.h"
#include "schemas/operator_file.h"

/* A pass template: the keys that `visible` may have, and the loyalty programme. It is stored and printed as the JSON
 * of the operator's template file (ops/docs/tenants.md, "Templates"). */
enum loyalty { LOYALTY_NONE, LOYALTY_BALANCE, LOYALTY_STAMPS };

enum field_kind {
#define T(NAME, text) FIELD_##NAME,
#include "schemas/template.def"
#undef T
	FIELD_KINDS
};

struct template_field {
	struct span     key, label;
	enum field_kind kind;
	bool            required, locked;
	int64_t         max_length; /* code points; 0: none */
};

struct template
{
	struct span           name;
	enum loyalty          loyalty;
	bool                  qr, has_min_balance;
	int64_t               min_balance;
	struct span           name_field;                            /* size 0: none */
	struct span           title, background_color, logo, banner; /* of its appearance; size 0: none */
	unsigned              field_count;
	struct template_field fields[TEMPLATE_FIELDS_MAX];
	const struct template_field *counter; /* the locked one; NULL without loyalty */
};

const char *loyalty_text(enum loyalty loyalty);
const char *field_kind_text(enum field_kind kind);

/* Reads a template file's object, except its member `wallet` (wallet/settings.h); spans point into the JSON tree. `*fault` is
 * set on an error only.
 * Errors: ERR_INVALID_INPUT. */
must_check enum err template_read(const struct json *file, struct template *template,
                                  struct file_fault *fault);

/* The reason, for people, why `after` must not replace `before`; NULL: it may. Properties that passes depend on are
 * fixed: loyalty_type, qr, name_field, the counter's key. */
const char *template_fixed(const struct template *before, const struct template *after);

const struct template_field *template_field(const struct template *template, struct span key);

/* "#rrggbb"; an absolute http or https URL without white space or control characters. */
bool is_colour(struct span text);
bool is_web_url(struct span text);
