#pragma once
#include "ops/cli/cli.h"
#include "schemas/wallet/kind.h"

/* Shared by the commands on credentials for wallets, which concern an account or (--default) the operator. The operator's are
 * kept by every shard: a command that failed on one of them says so, and is completed by repeating it. */
struct wallet_target {
	bool              is_default;
	struct account_id account; /* unless is_default */
};

/* Takes ACCOUNT or --default; call it after the options. FAILED: no account has an id of that form. */
must_check enum outcome wallet_target_read(struct cli *cli, struct wallet_target *target);

/* Reads the file of option `name`, which the failure names. `text` is empty before. */
must_check enum outcome wallet_file_read(struct cli *cli, const char *name, const char *path,
                                         struct buffer *text);

/* MISUSED, with the reason. */
enum outcome wallet_misused(struct cli *cli, const char *why);

/* A put: its message, the kind, and what packs its arguments. */
struct wallet_put {
	enum message     message;
	enum wallet_kind kind;
	/* `judge`: judge it only; `generation`: at least; 0: any */
	void (*pack)(const void *user, bool judge, int64_t generation, msgpack_packer *packer);
	const void *user;
};

/* Judges, marks all shards, puts; prints the credential. */
must_check enum outcome wallet_put(struct cli *cli, const struct wallet_target *target,
                                   const struct wallet_put *put);
