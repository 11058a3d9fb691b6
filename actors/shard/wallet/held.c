/* News is a write of settings or of a credential that may let held work go. For each news all buckets of
 * work are searched, in steps: an account may have a million due passes, and the writer serves others between two steps. Work that
 * is put into a bucket after its step is newer than the news, so the news cannot let it go. */
#include "actors/shard/wallet/held.h"

#include "actors/shard/wallet/work_inside.h"
#include "store/wallet_credential.h"

enum { LOOKED_AT_ONCE = 4096 };

static bool is_of_kind(const struct wallet_work *work, const struct work_news *news)
{
	bool is_apples = work->kind == WALLET_DUE_PUSH || work->kind == WALLET_DUE_LEFT;
	bool is_googles = work->kind == WALLET_DUE_GOOGLE || work->kind == WALLET_DUE_CLASS;
	if (news->what == NEWS_SETTING) return is_apples || is_googles;
	return news->kind == WALLET_APPLE ? is_apples : is_googles;
}

static bool is_of_account(const struct wallet_work *work, const struct work_news *news)
{
	return news->is_of_all || account_same(work->account, news->account);
}

/* Is it of the credential that left phones out, as far as is known? */
static bool is_of_credential(const struct wallet_work *work, const struct work_news *news)
{
	return news->what == NEWS_PUT || !work->left_credential || !news->credential ||
	       work->left_credential == news->credential;
}

/* Does it wait for a credential, and not only for the end of its rest after a push? */
static bool is_held(const struct wallet_work *work, const struct work_news *news, wall_us now)
{
	if (!work->has_row || work->state != WORK_LATER || !is_of_kind(work, news)) return false;
	if (work->kind == WALLET_DUE_LEFT) return news->what != NEWS_SERVES;
	bool waits = work->waits_for_rest && work->due.v > now.v;
	if (waits) return news->what != NEWS_SETTING && is_of_credential(work, news);
	return work->rests.v > now.v + WORK_REST_S * US_PER_SEC;
}

/* The row keeps its time: that is when it is due after a restart. */
static enum err let_go(struct work_queue *queue, struct wallet_work *work, wall_us now)
{
	work->rests = now;
	if (work->waits_for_rest || work->kind == WALLET_DUE_LEFT) work->due = now;
	return work_put_later(queue, work);
}

/* What is being pushed, and left out phones that may be pushed to now, is due again when that is reported. */
static void note_leased(struct work_queue *queue, const struct work_news *news, wall_us now)
{
	struct wallet_work *work;
	if (news->what == NEWS_SETTING) return;
	TAILQ_FOREACH(work, &queue->leased[WORK_APPLE], in_line)
	{
		if (work->left_until.v && is_of_account(work, news) && is_of_kind(work, news) &&
		    is_of_credential(work, news))
			work->left_until = now;
	}
}

/* Looks at the next buckets, until LOOKED_AT_ONCE works have been looked at. */
static enum err look(struct work_queue *queue, struct work_news *news, wall_us now)
{
	unsigned looked = 0;
	enum err err = OK;
	while (!err && looked < LOOKED_AT_ONCE && news->buckets_left) {
		struct wallet_work *work;
		LIST_FOREACH(work, &queue->buckets[news->bucket], in_bucket)
		{
			looked++;
			if (!is_of_account(work, news) || !is_held(work, news, now)) continue;
			if ((err = let_go(queue, work, now))) break;
		}
		news->bucket = (news->bucket + 1) % WORK_BUCKETS;
		news->buckets_left--;
	}
	return err;
}

static void drop(struct work_queue *queue, unsigned i)
{
	queue->news_count--;
	memmove(&queue->news[i], &queue->news[i + 1], (queue->news_count - i) * sizeof queue->news[0]);
}

enum err held_step(struct work_queue *queue, wall_us now, bool *more)
{
	if (!queue->news_count) return OK;
	enum err err = look(queue, &queue->news[0], now);
	if (!queue->news[0].buckets_left) drop(queue, 0);
	*more |= queue->news_count > 0;
	return err;
}

static bool is_same(const struct work_news *one, const struct work_news *other)
{
	return one->what == other->what && one->is_of_all == other->is_of_all &&
	       account_same(one->account, other->account) && one->kind == other->kind &&
	       one->credential == other->credential;
}

/* Appends the news. If the same news is kept already, its search goes on where it is, through all buckets again. When there is no
 * place, the oldest is finished first. */
static enum err keep(struct work_queue *queue, const struct work_news *news, wall_us now)
{
	bool     more = false;
	enum err err = OK;
	unsigned i = 0;
	while (i < queue->news_count && !is_same(&queue->news[i], news))
		i++;
	uint32_t bucket = 0;
	if (i < queue->news_count) {
		bucket = queue->news[i].bucket;
		drop(queue, i);
	}
	while (!err && queue->news_count == WORK_NEWS_MAX)
		err = held_step(queue, now, &more);
	if (err) return err;
	queue->news[queue->news_count] = *news;
	queue->news[queue->news_count].bucket = bucket;
	queue->news[queue->news_count++].buckets_left = WORK_BUCKETS;
	return OK;
}

/* False: what was written lets nothing go. */
static bool read_news(const struct write *write, wall_us now, struct work_news *news)
{
	struct wallet_credential row;
	*news = (struct work_news){.what = NEWS_SETTING};
	if (write->key.size < sizeof news->account.b) return false;
	memcpy(news->account.b, write->key.at, sizeof news->account.b);
	if (write->table == TABLE_ACCOUNT) return true;
	if (write->table != TABLE_WALLET_CREDENTIAL ||
	    write->key.size < sizeof news->account.b + WALLET_KEY_BYTES)
		return false;
	struct span rest = span_of(write->key.at + sizeof news->account.b, WALLET_KEY_BYTES);
	if (!wallet_key_read(rest, &news->kind, &news->credential) || !news->credential) return false;
	news->is_of_all = account_same(news->account, wallet_operator);
	news->what = NEWS_PUT;
	if (write->kind == WRITE_DEL) return true;
	if (wallet_credential_read(write->value, &row)) return false;
	if (row.put.v != now.v) news->what = NEWS_SERVES;
	return !row.rest_s && !row.last_error.size;
}

enum err held_on_settings(struct work_queue *queue, const struct writes *writes, wall_us now)
{
	bool     more = false, is_news = false;
	enum err err = OK;
	bool     has_any = queue->counts[WALLET_DUE_PUSH] || queue->counts[WALLET_DUE_GOOGLE] ||
	               queue->counts[WALLET_DUE_CLASS] || queue->counts[WALLET_DUE_LEFT];
	if (!has_any) return OK;
	for (unsigned i = 0; !err && i < writes->count; i++) {
		struct work_news news;
		if (!read_news(&writes->rows[i], now, &news)) continue;
		is_news = true;
		note_leased(queue, &news, now);
		err = keep(queue, &news, now);
	}
	return err || !is_news ? err : held_step(queue, now, &more);
}

enum err held_wake(struct work_queue *queue, struct account_id account, enum wallet_due_kind kind,
                   uint32_t number, wall_us now)
{
	struct wallet_work    *work = work_find(queue, account, kind, number);
	const struct work_news news = {.what = NEWS_SETTING};
	return work && is_held(work, &news, now) ? let_go(queue, work, now) : OK;
}
