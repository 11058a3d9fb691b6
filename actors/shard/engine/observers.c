/* Structures in memory that mirror rows of some tables. Each one sees a command's writes once they are in the transaction. A
 * new observer is a row here. */
#include "actors/shard/engine/engine.h"

#include "actors/shard/wallet/held.h"

/* A view of the current rows, without staged writes. */
static struct view *rows_of(struct engine *engine)
{
	return store_view(engine->store, NULL, &engine->arena);
}

static enum err to_uncommitted(struct engine *engine)
{
	uncommitted_on_writes(&engine->uncommitted, &engine->writes);
	return OK;
}

static enum err to_accounts(struct engine *engine)
{
	account_on_writes(&engine->accounts, &engine->writes, rows_of(engine));
	return OK;
}

static enum err to_cleaning(struct engine *engine)
{
	cleaning_on_writes(&engine->cleaning, &engine->writes, engine->service_now);
	return OK;
}

static enum err to_issuance(struct engine *engine)
{
	return issuance_on_writes(&engine->issuance, &engine->writes, engine->now);
}

static enum err to_notices(struct engine *engine)
{
	return due_on_writes(&engine->notices, &engine->writes, rows_of(engine));
}

static enum err to_work(struct engine *engine)
{
	return work_on_writes(engine->work, &engine->writes, engine->service_now);
}

/* What an account's settings or credentials held may go on. */
static enum err to_held_work(struct engine *engine)
{
	return held_on_settings(engine->work, &engine->writes, engine->service_now);
}

static enum err to_deliveries(struct engine *engine)
{
	return queue_on_writes(&engine->deliveries, &engine->writes, rows_of(engine), engine->now);
}

static enum err to_wallet_ends(struct engine *engine)
{
	return wallet_ends_on_writes(&engine->wallet_ends, &engine->writes, rows_of(engine),
	                             engine->service_now);
}

static const struct observer {
	uint64_t tables; /* notified if at least one of these was written to */
	enum err (*tell)(struct engine *engine);
} observers[] = {
    {~TABLE_BIT(TABLE_META), to_uncommitted},
    {ACCOUNT_SETTINGS, to_accounts},
    {TABLE_BIT(TABLE_CLEANUP), to_cleaning},
    {TABLE_BIT(TABLE_ISSUING) | TABLE_BIT(TABLE_TEMPLATE_IMAGES) | TABLE_BIT(TABLE_PASS_PICTURES),
     to_issuance},
    {TABLE_BIT(TABLE_NOTIFICATION_DUE), to_notices},
    {TABLE_BIT(TABLE_WALLET_DUE), to_work},
    {TABLE_BIT(TABLE_DELIVERY), to_deliveries},
    {TABLE_BIT(TABLE_WALLET_CREDENTIAL), to_wallet_ends},
    {TABLE_BIT(TABLE_WALLET_CREDENTIAL) | TABLE_BIT(TABLE_ACCOUNT), to_held_work},
};

enum err engine_observe(struct engine *engine)
{
	enum err first = OK;
	for (size_t i = 0; i < sizeof observers / sizeof *observers; i++) {
		if (!(observers[i].tables & engine->writes.tables)) continue;
		enum err err = observers[i].tell(engine);
		if (!first) first = err;
	}
	return first;
}
