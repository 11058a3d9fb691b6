#pragma once
#include "schemas/ids.h"
#include "schemas/wallet/pass_json.h"

/* A pass as Google's wallet takes it: a class, which its template makes, and an object of the class. With a counter they are a
 * loyalty card's, else generic ones. Pure: the same pass gives the same bytes. Source: Google's reference of the Wallet REST API. */
struct google_pass {
	const struct wallet_pass *pass;
	struct span               issuer; /* digits */
	struct account_id         account;
	uint32_t                  template_number;
	const char               *public_url;
	bool
	    is_update; /* of what Google has: what the pass has no more is named as well, since a PATCH keeps the rest */
};

/* "{issuer}.{id of the template}", and "{issuer}.{serial number}". */
enum { GOOGLE_ID_TEXT = 80 };
void google_class_id(const struct google_pass *google, char text[GOOGLE_ID_TEXT]);
void google_object_id(const struct google_pass *google, char text[GOOGLE_ID_TEXT]);

/* "loyalty" or "generic": in front of "Class" and "Object" in the names of the API. */
const char *google_kind(const struct google_pass *google);

/* Append the JSON objects. Errors: ERR_DAMAGED: visible or appearance is no JSON object; ERR_NO_MEMORY. */
must_check enum err google_class_json(const struct google_pass *google, struct arena *arena,
                                      struct buffer *out);
must_check enum err google_object_json(const struct google_pass *google, struct arena *arena,
                                       struct buffer *out);
