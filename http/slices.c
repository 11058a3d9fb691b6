/* An answer in slices: h2o asks for the next one when the last was written, and gets it in a later turn. */
#include "http/slices.h"

static struct exchange *exchange_of_link(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct exchange, unsent.link, link);
}

static void on_written(h2o_generator_t *generator, h2o_req_t *req)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, generator, generator);
	(void)req;
	h2o_linklist_insert(&exchange->thread->unsent, &exchange->unsent.link);
}

/* Takes at most SLICE_BYTES from the front of what is unsent, into `slice`. Returns the number of pieces. */
static size_t take(struct unsent *unsent, h2o_iovec_t *slice)
{
	size_t count = 0, room = SLICE_BYTES;
	for (; room && unsent->count; count++) {
		h2o_iovec_t *first = unsent->pieces;
		size_t       size = first->len < room ? first->len : room;
		slice[count] = h2o_iovec_init(first->base, size);
		room -= size;
		first->base += size;
		first->len -= size;
		if (first->len) continue;
		unsent->pieces++;
		unsent->count--;
	}
	return count;
}

/* An answer has at most as many pieces in a slice as in all. */
static void send_next(struct exchange *exchange)
{
	struct unsent *unsent = &exchange->unsent;
	size_t         count = take(unsent, unsent->slice);
	h2o_send(exchange->req, unsent->slice, count,
	         unsent->count ? H2O_SEND_STATE_IN_PROGRESS : H2O_SEND_STATE_FINAL);
	connection_sending(exchange->connection);
}

void slices_send(struct exchange *exchange, const h2o_iovec_t *pieces, size_t count, size_t size)
{
	h2o_mem_pool_t *pool = &exchange->req->pool;
	struct unsent  *unsent = &exchange->unsent;
	if (!count || size <= SLICE_BYTES) { /* none: the answer to HEAD */
		h2o_send(exchange->req, (h2o_iovec_t *)pieces, count, H2O_SEND_STATE_FINAL);
		connection_sending(exchange->connection);
		return;
	}
	exchange->generator.proceed = on_written;
	unsent->pieces = h2o_mem_alloc_pool(pool, count * sizeof *pieces);
	unsent->slice = h2o_mem_alloc_pool(pool, count * sizeof *pieces);
	memcpy(unsent->pieces, pieces, count * sizeof *pieces);
	unsent->count = count;
	send_next(exchange);
}

bool slices_feed(struct http_thread *thread)
{
	if (h2o_linklist_is_empty(&thread->unsent)) return false;
	struct exchange *exchange = exchange_of_link(thread->unsent.next);
	h2o_linklist_unlink(&exchange->unsent.link);
	send_next(exchange);
	return true;
}

void slices_end(struct exchange *exchange)
{
	if (h2o_linklist_is_linked(&exchange->unsent.link)) h2o_linklist_unlink(&exchange->unsent.link);
}
