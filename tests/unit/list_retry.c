/* A list that falls so far behind the writer that its view is lost begins once more, with the newest commit; if that happens
 * again it is answered with OVERLOADED. A reader is stopped where it begins to read passes, until the writer has made more
 * changes than the undo ring keeps. */
#include "tests/unit/engine_desk.h"
#include "tests/unit/patience.h"

#include "actors/shard/list/cache.h"
#include "store/undo.h"

#include <semaphore.h>
#include <unistd.h>

enum { CHANGES_A_RECORD = 256 };

static struct arena arena;
static unsigned begun_lists, stops; /* how often a list began to read, and how many of these are stopped */
static sem_t    has_stopped, may_go_on;

enum err __real_columns_take(struct list_cache *kept, struct view *view, struct account_id of, uint32_t made,
                             struct columns **columns);
enum err __wrap_columns_take(struct list_cache *kept, struct view *view, struct account_id of, uint32_t made,
                             struct columns **columns);

/* By the only reader that has something to do. */
enum err __wrap_columns_take(struct list_cache *kept, struct view *view, struct account_id of, uint32_t made,
                             struct columns **columns)
{
	if (begun_lists++ < stops) {
		sem_post(&has_stopped);
		sem_wait(&may_go_on);
	}
	return __real_columns_take(kept, view, of, made, columns);
}

static void begin_with_a_pass(void)
{
	sem_init(&has_stopped, 0, 0);
	sem_init(&may_go_on, 0, 0);
	begin();
	cr_assert_eq(create("a"), OK);
}

static void end_all(void)
{
	end();
	arena_free(&arena);
}

TestSuite(list_retry, .init = begin_with_a_pass, .fini = end_all);

static enum err error_of_the_list(void)
{
	struct reply reply = {.id = 0};
	for (int i = 0; i < patience_ms(20000) && reply.id != asked; i++) {
		if (i) usleep(1000);
		turn();
		reply = the_reply(COMMAND_LINE);
	}
	cr_assert_eq(reply.id, asked, "no answer");
	return reply.err;
}

static void ask_for_list(void)
{
	msgpack_packer packer = call(COMMAND_LINE, MSG_PASS_LIST, ARGS_PASS_LIST);
	for (unsigned i = 0; i < ARGS_PASS_LIST; i++)
		if (i == ARG_PASS_LIST_sort_by)
			pack_text(&packer, "updated_at");
		else
			msgpack_pack_nil(&packer);
	send_calls(COMMAND_LINE);
	turn();
}

/* Changes ------------------------------------------------------------------------------------------------- */

static void change_pass(void)
{
	struct writes writes = writes_none(&arena);
	struct view  *view = store_view(store, &writes, &arena);
	struct hot_at at;
	cr_assert_eq(hot_get(view, account, 0, &at), OK);
	struct hot after = at.now;
	after.updated.v++;
	cr_assert_eq(hot_put(view, &at, &after), OK);
	cr_assert_eq(store_apply(store, &writes), OK);
	arena_reset(&arena);
}

static void save(void)
{
	while (!store_can_submit(store)) {
		cr_assert_eq(store_settle(store), OK);
		usleep(100);
	}
	store_submit(store, (wall_us){BEGIN_US});
	while (store_is_syncing(store)) {
		cr_assert_eq(store_settle(store), OK);
		usleep(100);
	}
}

/* While the list is stopped: so many changes of its only pass, and a commit. */
static void change_beside_the_list(unsigned changes)
{
	while (sem_wait(&has_stopped))
		continue;
	for (unsigned i = 1; i <= changes; i++) {
		change_pass();
		if (i % CHANGES_A_RECORD == 0 || i == changes) save();
	}
	cr_assert_eq(store_commit(store), OK);
	sem_post(&may_go_on);
}

Test(list_retry, a_view_within_the_ring_is_read_once, .timeout = 120)
{
	stops = 1;
	ask_for_list();
	change_beside_the_list(UNDO_ENTRIES - 1);
	cr_expect_eq(error_of_the_list(), OK);
	cr_expect_eq(begun_lists, 1);
}

Test(list_retry, a_list_that_fell_behind_begins_once_more, .timeout = 120)
{
	stops = 1;
	ask_for_list();
	change_beside_the_list(UNDO_ENTRIES + 1);
	cr_expect_eq(error_of_the_list(), OK);
	cr_expect_eq(begun_lists, 2);
}

Test(list_retry, a_list_that_fell_behind_twice_is_overloaded, .timeout = 120)
{
	stops = 2;
	ask_for_list();
	change_beside_the_list(UNDO_ENTRIES + 1);
	change_beside_the_list(UNDO_ENTRIES + 1);
	cr_expect_eq(error_of_the_list(), ERR_OVERLOADED);
	cr_expect_eq(begun_lists, 2, "not a third time");
	ask_for_list();
	cr_expect_eq(error_of_the_list(), OK, "the next one is answered");
}
