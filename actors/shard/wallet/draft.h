#pragma once
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/kit.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/wallet/pass_json.h"

/* A pass as its package shows it, and the package. Only on a reader's thread. Errors: as view.h, and those named. */
enum { SERVICE_URL_TEXT = 2048 };
struct draft {
	struct hot_at pass;
	struct body   body;
	const struct template *template;
	struct wallet_settings   room; /* of a template without settings */
	struct wallet_credential credential;
	struct draft_kit         kit;
	struct wallet_pass       shown;
	char                     serial[WALLET_SERIAL_TEXT], auth[WALLET_AUTH_TEXT];
	char                     service_url[SERVICE_URL_TEXT];
};

/* Fills in what is shown, but for messages and announcements, which only Apple's package has. Any thread. Errors: as view.h. */
must_check enum err draft_show(struct request *request, struct draft *draft);

/* Fills in all but pass, body and credential, which are given. Errors: as view.h. */
must_check enum err draft_begin(struct request *request, struct draft *draft);

/* The package's own files, as they live in `out` and in the signer. On the signer's thread. Errors: as signer_sign(). */
must_check enum err draft_sign(struct request *request, const struct draft *draft, struct buffer *out,
                               struct package_own *own);
