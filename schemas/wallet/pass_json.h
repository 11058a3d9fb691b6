#pragma once
#include "schemas/buffer.h"
#include "schemas/wallet/settings.h"

/* pass.json, the part of a package for Apple's wallet that says what a pass shows. Pure: the same pass gives the same bytes.
 * Source: Apple's Wallet Passes documentation, as far as it is named here. Units: bytes of UTF-8. */

/* A phone shows one change of each version of a pass: the field whose change has a text. */
enum wallet_announced {
	WALLET_ANNOUNCES_COUNTER,
	WALLET_ANNOUNCES_MESSAGE,
	WALLET_ANNOUNCES_FIELD,
	WALLET_ANNOUNCES_NOTHING
};

struct wallet_pass {
	const struct template *template;
	const struct wallet_settings *settings;
	struct span                   account_name;
	struct span                   pass_type, team; /* of the certificate that signs it */
	struct span                   serial, auth;    /* serial.h */
	struct span service_url; /* of the pass web service, https; size 0: none, the pass is never updated */
	struct span pass_id;     /* size 0: it was erased, and has no barcode */
	struct span visible, appearance; /* the pass's own, JSON objects; size 0: null */
	int64_t     balance;
	bool        is_voided; /* it no longer counts: the phone shows it so, and asks for it no more */
	struct span message;   /* the last one to its holder; size 0: none */
	enum wallet_announced announces;
	unsigned              announced_field; /* of FIELD: its index in the template */
};

/* Errors: ERR_DAMAGED: visible or appearance is no JSON object; ERR_NO_MEMORY. */
must_check enum err wallet_pass_json(const struct wallet_pass *pass, struct arena *arena, struct buffer *out);

/* What its holder would miss, for the operator: the fields that do not fit, and the colours that are not shown. Calls `warn`
 * with a sentence for each. Errors: as wallet_pass_json(). */
must_check enum err wallet_pass_warn(const struct wallet_pass *pass, struct arena     *arena,
                                     void (*warn)(void *user, const char *text), void *user);
