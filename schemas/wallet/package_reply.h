#pragma once
#include "schemas/frame.h"
#include "schemas/wallet/package.h"

/* The reply to WALLET_PACKAGE and WALLET_PASS, from the shard to http. As msgpack [fate], and where a package was made
 * [fate, kit's hash bin, its files, its local bytes, its central bytes, pass.json bin, manifest bin, signature bin,
 * Last-Modified]. */
enum package_fate {
	PACKAGE_MADE,
	PACKAGE_NEVER,     /* nobody on this server has ever had a wallet */
	PACKAGE_FORBIDDEN, /* the pass is blocked, deactivated, or was never issued */
	PACKAGE_LATER,     /* it is being issued, or the certificate has ended */
	PACKAGE_SAME,      /* as the phone has it */
	PACKAGE_OFF,       /* the account has switched Apple's wallet off */
	PACKAGE_FATES
};

enum { PACKAGE_KIT_BYTES_MAX = 8 << 20 };

struct package_reply {
	enum package_fate  fate;
	struct package_kit kit; /* of MADE, as `own` */
	struct package_own own;
	uint32_t           modified_s; /* Last-Modified, in seconds since 1970; 0: not said */
};

void package_reply_pack(const struct package_reply *reply, struct buffer *out);

/* Spans point into the payload. Errors: ERR_MALFORMED. */
must_check enum err package_reply_open(const msgpack_object *payload, struct package_reply *reply);
