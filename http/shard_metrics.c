/* What the shards say of themselves, as Prometheus wants it: all lines of one metric together. */
#include "http/shard_metrics.h"

#include "http/metrics.h"

#include <inttypes.h>

static const struct {
	const char *member, *type, *name, *help;
} rows[] = {
#define S(member, type, name, help) {member, type, name, help},
#include "http/shard_metrics.def"
#undef S
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)SHARD_NUMBERS_MAX,
               "shard_metrics.def has more rows than shard_numbers has places");

const msgpack_object *member_of(const msgpack_object *map, const char *name)
{
	if (map->type != MSGPACK_OBJECT_MAP) return NULL;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *member = &map->via.map.ptr[i];
		if (member->key.type != MSGPACK_OBJECT_STR) continue;
		if (span_is(span_of(member->key.via.str.ptr, member->key.via.str.size), name))
			return &member->val;
	}
	return NULL;
}

void shard_numbers_take(struct shard_numbers *numbers, const msgpack_object *status)
{
	*numbers = (struct shard_numbers){.up = status != NULL};
	for (unsigned i = 0; status && i < ROWS; i++) {
		const msgpack_object *value = member_of(status, rows[i].member);
		if (!value || value->type != MSGPACK_OBJECT_POSITIVE_INTEGER) continue;
		numbers->known[i] = true;
		numbers->values[i] = value->via.i64;
	}
}

void shard_numbers_render(const struct shard_numbers *shards, uint32_t count, struct buffer *out)
{
	metrics_line(out,
	             "# HELP stampede_shard_up Whether the shard answers.\n# TYPE stampede_shard_up gauge\n");
	for (uint32_t shard = 0; shard < count; shard++)
		metrics_line(out, "stampede_shard_up{shard=\"%" PRIu32 "\"} %d\n", shard, shards[shard].up);
	for (unsigned i = 0; i < ROWS; i++) {
		metrics_line(out, "# HELP stampede_shard_%s %s\n# TYPE stampede_shard_%s %s\n", rows[i].name,
		             rows[i].help, rows[i].name, rows[i].type);
		for (uint32_t shard = 0; shard < count; shard++)
			if (shards[shard].known[i])
				metrics_line(out, "stampede_shard_%s{shard=\"%" PRIu32 "\"} %" PRId64 "\n",
				             rows[i].name, shard, shards[shard].values[i]);
	}
}
