/* The commands of wallets. */
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "store/meta.h"

/* WALLET_MARK, on every shard before the first credential of a kind is put on any: from then on this server has such wallets.
 * Until then it answers below /wallet/ as if it had none of these paths. Repeating it is harmless; nothing takes it back. */
enum err on_WALLET_MARK(struct request *request, struct outcome *outcome)
{
	unsigned before, kinds = (unsigned)arg_integer(&request->args[ARG_WALLET_MARK_kinds], 0);
	enum err err = wallets_get(request->view, &before);
	(void)outcome;
	return err || (before | kinds) == before ? err : wallets_put(request->view, before | kinds);
}
