#pragma once
#include "actors/shard/pass/pass.h"
#include "schemas/wallet/pass_json.h"

/* A phone shows one change of each version of a pass. Fills shown->message, ->announces and ->announced_field with the last message, and with
 * what the pass's ledger says of its newest change: a message, if nothing else came later; else an edit, if the counter did not
 * change later; else the counter. On a reader's thread. Errors: as view.h. */
must_check enum err wallet_announce(struct request *request, const struct hot_at *pass,
                                    struct wallet_pass *shown);
