#pragma once
#include "actors/shard/pass/pass.h"
#include "schemas/wallet/package.h"
#include "schemas/wallet/settings.h"

/* The kit of a pass's package: its pictures. Point reads. Errors: as view.h. */
struct draft_kit {
	struct package_pictures pictures;
	struct span
	    bytes[PACKAGE_PICTURES_MAX]; /* of each; live as long as the view's values; size 0: not read */
	struct package_kit is;
};

/* What the pictures are of. */
struct kit_wish {
	const struct template *template;
	const struct wallet_settings *settings;
	const struct body            *body;
	uint32_t                      pass_number;
};

/* On the signer's thread the sums of pictures are kept, so that those of a known kit are not read. */
must_check enum err draft_kit_find(struct request *request, const struct kit_wish *wish,
                                   struct draft_kit *kit);

/* Appends its bytes, which must have been read. */
must_check enum err draft_kit_write(const struct draft_kit *kit, struct buffer *out);

/* Calls `warn` for each picture that is left out, with the reason. */
must_check enum err draft_kit_warn(struct request *request, const struct kit_wish   *wish,
                                   void (*warn)(void *user, const char *text), void *user);
