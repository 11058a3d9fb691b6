/* Accounts that the writer shares with readers. The writer changes settings, commits, lends and evicts
 * accounts. Readers compare lent accounts with the tables of their own view, read templates themselves, and
 * release the accounts last. A program without a test framework, for the thread sanitizer. */
#include "actors/shard/account/cache.h"
#include "store/keys.h"
#include "tests/unit/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 3000, READERS = 3, TEMPLATES = 20, BOX = 8 };

/* Accounts on their way to readers: a simplified job. */
static struct box {
	pthread_mutex_t mutex;
	unsigned        count;
	struct lent     of[BOX];
} box = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct account_id id = {{'a'}};
static struct test_dir         test_dir;
static struct store           *store;
static struct account_cache    cache;
static struct arena            arena;
static atomic_bool             done;
static atomic_uint             looks;

static bool take(struct lent *lent)
{
	pthread_mutex_lock(&box.mutex);
	bool is_there = box.count > 0;
	if (is_there) *lent = box.of[--box.count];
	pthread_mutex_unlock(&box.mutex);
	return is_there;
}

/* A full box accepts nothing: the readers are behind. */
static void hand_over(struct lent *lent)
{
	pthread_mutex_lock(&box.mutex);
	if (box.count < BOX) {
		box.of[box.count++] = *lent;
		lent->count = 0;
	}
	pthread_mutex_unlock(&box.mutex);
	lent_free(lent);
}

/* The name of each template is the round that wrote it, which the account's row has as its rate. */
static void look(const struct account *account, struct view *view)
{
	struct account_row row;
	must(!account_row_get(view, id, &row) && row.rate_limit == account->row.rate_limit);
	for (uint32_t number = 1; number <= TEMPLATES; number++) {
		const struct template *template;
		struct row_key key = key_u32(id, number);
		struct span    value;
		must(!account_template(account, view, number, &template));
		must(!view_get(view, TABLE_TEMPLATE, key_span(&key), &value));
		must(memmem(value.at, value.size, template->name.at, template->name.size));
	}
	struct subscription hook;
	must(!subscription_get(view, id, (struct uuid){{1}}, &hook));
	must(account->webhooks->of[0]->generation == hook.generation);
	atomic_fetch_add(&looks, 1);
}

static void *read_on(void *data)
{
	struct arena mine = {0};
	struct view *view;
	(void)data;
	must(!store_reader_open(store, &mine, &view));
	while (!atomic_load(&done)) {
		struct lent     lent;
		struct account *account;
		if (!take(&lent)) {
			usleep(50);
			continue;
		}
		must(!store_reader_begin(view) && !account_at(view, &lent, id, &account));
		lent_free(&lent);
		look(account, view);
		store_reader_end(view);
		account_free(&account);
		arena_reset(&mine);
	}
	store_reader_close(&view);
	arena_free(&mine);
	return NULL;
}

static void put_template(struct view *view, uint32_t number, uint32_t round)
{
	struct row_key key = key_u32(id, number);
	char           text[120];
	snprintf(text, sizeof text, "{\"name\":\"round %u\",\"loyalty_type\":\"none\",\"fields\":[]}", round);
	must(!write_put(view_writes(view), TABLE_TEMPLATE, key_span(&key), span_str(text)));
}

static void write_round(uint32_t round)
{
	struct writes      writes = writes_none(&arena);
	struct view       *view = store_view(store, &writes, &arena);
	struct account_row row = {.name = span_str("Shop"), .template_count = TEMPLATES, .rate_limit = round};
	struct subscription hook = {.id = {{1}},
	                            .active = true,
	                            .generation = round + 1,
	                            .kind_count = 1,
	                            .url = span_str("https://a.example/")};
	for (uint32_t number = 1; number <= TEMPLATES; number++)
		if (round == 0 || number == 1 + round % TEMPLATES) put_template(view, number, round);
	must(!account_row_put(view, id, &row) && !subscription_put(view, id, &hook));
	must(!store_apply(store, &writes));
	account_on_writes(&cache, &writes, store_view(store, NULL, &arena));
	arena_reset(&arena);
}

static void commit(void)
{
	shop_submit(store, (wall_us){1});
	shop_settle(store);
	must(!store_commit(store));
}

static void lend(void)
{
	struct lent     lent = {.count = 0};
	struct account *account;
	must(!account_cached(&cache, store_view(store, NULL, &arena), id, &account));
	lent_add(&lent, account);
	hand_over(&lent);
	arena_reset(&arena);
}

int main(void)
{
	struct store_report report;
	struct lent         left;
	pthread_t           readers[READERS];
	test_dir_make(&test_dir);
	struct shard_dir at = shop_place(&test_dir, true);
	must(!store_open(&at, (wall_us){1}, &store, &report));
	write_round(0);
	commit();
	for (unsigned i = 0; i < READERS; i++)
		must(!pthread_create(&readers[i], NULL, read_on, NULL));
	for (uint32_t round = 1; round <= ROUNDS || atomic_load(&looks) < ROUNDS / 10; round++) {
		write_round(round);
		if (round % 100 == 50) account_forget(&cache, id); /* with uncommitted changes */
		if (round % 3) continue;
		commit();
		lend();
		if (round % 100 == 0) account_forget(&cache, id);
	}
	atomic_store(&done, true);
	for (unsigned i = 0; i < READERS; i++)
		must(!pthread_join(readers[i], NULL));
	while (take(&left))
		lent_free(&left);
	account_forget_all(&cache);
	must(account_bytes() == 0);
	shop_settle(store);
	store_close(&store);
	arena_free(&arena);
	test_dir_remove(&test_dir);
	printf("%u looks\n", atomic_load(&looks));
	return 0;
}
