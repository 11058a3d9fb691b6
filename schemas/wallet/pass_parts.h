#pragma once
#include "schemas/json.h"
#include "schemas/wallet/pass_json.h"

/* What a pass shows in any wallet: its values by field, and its looks, which are its own or its template's. Pure. */
struct pass_parts {
	const struct wallet_pass *pass;
	const struct json        *appearance;                  /* NULL: none */
	const struct json        *values[TEMPLATE_FIELDS_MAX]; /* of `visible`, by field; NULL: none */
};

/* Errors: ERR_DAMAGED: visible or appearance is no JSON object; ERR_NO_MEMORY. */
must_check enum err pass_parts_read(const struct wallet_pass *pass, struct arena *arena,
                                    struct pass_parts *parts);

/* Spans live as long as the parts. A background of size 0: none. */
struct span pass_parts_title(const struct pass_parts *parts);
struct span pass_parts_background(const struct pass_parts *parts);
struct span pass_parts_organization(const struct pass_parts *parts);
