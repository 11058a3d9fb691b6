/* Random bytes by the page. Bytes handed out are wiped from the pool: they may be the secret of an API key,
 * and should not lie in our memory a second time. */
#include "actors/rt/random.h"
#include "schemas/err.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static void refill(struct random_pool *pool)
{
	size_t got = 0;
	while (got < sizeof(pool->bytes)) {
		ssize_t more = getrandom(pool->bytes + got, sizeof(pool->bytes) - got, 0);
		must(more > 0 || errno == EINTR);
		if (more > 0) got += (size_t)more;
	}
	pool->left = sizeof(pool->bytes);
}

void random_discard(struct random_pool *pool)
{
	explicit_bzero(pool->bytes, sizeof pool->bytes);
	pool->left = 0;
}

void random_take(struct random_pool *pool, void *to, size_t size)
{
	uint8_t *at = to;
	while (size > 0) {
		if (pool->left == 0) refill(pool);
		size_t   part = size < pool->left ? size : pool->left;
		uint8_t *from = pool->bytes + sizeof(pool->bytes) - pool->left;
		memcpy(at, from, part);
		explicit_bzero(from, part);
		pool->left -= part;
		at += part;
		size -= part;
	}
}
