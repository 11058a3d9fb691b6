/* Rows of the table AUDIENCE. In most audiences the members that joined with one command form one run, so times of
 * joining take twelve bytes a command instead of a member. */
#include "store/audience.h"

#include "schemas/buffer.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, AT_RUNS = 11, AT_NAME = 15, NUMBER_BYTES = 4, RUN_BYTES = 12 };

/* Reading -------------------------------------------------------------------------------------------------- */

static uint32_t run_count(const struct audience *row)
{
	return (uint32_t)(row->runs.size / RUN_BYTES);
}

/* The index of its first member. */
static uint32_t run_first(const struct audience *row, uint32_t run)
{
	return get_le32(row->runs.at + (size_t)RUN_BYTES * run);
}

static wall_us run_since(const struct audience *row, uint32_t run)
{
	return (wall_us){(int64_t)get_le64(row->runs.at + (size_t)RUN_BYTES * run + 4)};
}

static bool is_rising(const struct audience *row)
{
	for (uint32_t i = 1; i < row->count; i++)
		if (audience_pass(row, i) <= audience_pass(row, i - 1)) return false;
	for (uint32_t i = 0; i < run_count(row); i++)
		if (i ? run_first(row, i) <= run_first(row, i - 1) : run_first(row, i) != 0) return false;
	uint32_t runs = run_count(row);
	return runs ? run_first(row, runs - 1) < row->count : row->count == 0;
}

enum err audience_read(struct span value, struct audience *row)
{
	if (value.size < AT_NAME || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	uint64_t name = get_le16(value.at + 9), runs = (uint64_t)get_le32(value.at + AT_RUNS) * RUN_BYTES;
	uint64_t rest = value.size - AT_NAME;
	if (name + runs > rest || (rest - name - runs) % NUMBER_BYTES) return ERR_DAMAGED;
	row->created.v = (int64_t)get_le64(value.at + 1);
	row->name = span_of(value.at + AT_NAME, name);
	row->stored = span_of(value.at + AT_NAME + name, rest - name - runs);
	row->runs = span_of(row->stored.at + row->stored.size, runs);
	row->count = (uint32_t)(row->stored.size / NUMBER_BYTES);
	row->members = NULL;
	return is_rising(row) ? OK : ERR_DAMAGED;
}

uint32_t audience_pass(const struct audience *row, uint32_t index)
{
	return get_le32(row->stored.at + (size_t)NUMBER_BYTES * index);
}

void audience_members(const struct audience *row, struct audience_member *members)
{
	uint32_t run = 0;
	for (uint32_t i = 0; i < row->count; i++) {
		if (run + 1 < run_count(row) && run_first(row, run + 1) == i) run++;
		members[i] = (struct audience_member){audience_pass(row, i), run_since(row, run)};
	}
}

/* Searches `count` ascending numbers, given by `at`: the index of the first one from `wanted` on; `count`: none. */
static uint32_t first_from(const struct audience *row, uint32_t (*at)(const struct audience *, uint32_t),
                           uint32_t count, uint32_t wanted)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (at(row, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t audience_from(const struct audience *row, uint32_t pass)
{
	return first_from(row, audience_pass, row->count, pass);
}

bool audience_has(const struct audience *row, uint32_t pass, wall_us *since)
{
	uint32_t index = audience_from(row, pass);
	if (index == row->count || audience_pass(row, index) != pass) return false;
	*since = run_since(row, first_from(row, run_first, run_count(row), index + 1) - 1);
	return true;
}

enum err audience_row_get(struct view *view, struct account_id account, struct uuid id, struct audience *row)
{
	struct row_key key = key_uuid(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_AUDIENCE, key_span(&key), &value);
	row->id = id;
	return err ? err : audience_read(value, row);
}

enum err audience_row_exists(struct view *view, struct account_id account, struct uuid id)
{
	struct row_key key = key_uuid(account, id);
	return view_exists(view, TABLE_AUDIENCE, key_span(&key));
}

enum err audience_next(struct view *view, struct account_id account, struct buffer *room,
                       struct audience *row)
{
	struct id_row next = {.account = account, .id = row->id};
	enum err      err = view_parted_after(view, TABLE_AUDIENCE, room, &next);
	row->id = next.id;
	return err ? err : audience_read(next.value, row);
}

/* Writing -------------------------------------------------------------------------------------------------- */

static bool begins_run(const struct audience *row, uint32_t index)
{
	return index == 0 || row->members[index].since.v != row->members[index - 1].since.v;
}

void audience_write(const struct audience *row, struct buffer *value)
{
	uint8_t  head[AT_NAME] = {ROW_VERSION}, number[NUMBER_BYTES], run[RUN_BYTES];
	uint32_t runs = 0;
	for (uint32_t i = 0; i < row->count; i++)
		runs += begins_run(row, i);
	put_le64(head + 1, (uint64_t)row->created.v);
	put_le16(head + 9, (uint16_t)row->name.size);
	put_le32(head + AT_RUNS, runs);
	buffer_append(value, head, sizeof head);
	buffer_append(value, row->name.at, row->name.size);
	for (uint32_t i = 0; i < row->count; i++) {
		put_le32(number, row->members[i].pass);
		buffer_append(value, number, sizeof number);
	}
	for (uint32_t i = 0; i < row->count; i++) {
		if (!begins_run(row, i)) continue;
		put_le32(run, i);
		put_le64(run + 4, (uint64_t)row->members[i].since.v);
		buffer_append(value, run, sizeof run);
	}
}

enum err audience_row_put(struct view *view, struct account_id account, const struct audience *row)
{
	struct row_key key = key_uuid(account, row->id);
	struct buffer  value = {0};
	audience_write(row, &value);
	return view_put_buffer(view, TABLE_AUDIENCE, &key, &value);
}

enum err audience_row_leave(struct view *view, struct account_id account, const struct audience *row,
                            uint32_t pass)
{
	struct audience         after = *row;
	struct audience_member *members = arena_take(view_arena(view), (row->count + 1) * sizeof *members);
	if (!members) return ERR_NO_MEMORY;
	audience_members(row, members);
	after.count = 0;
	after.members = members;
	for (uint32_t i = 0; i < row->count; i++)
		if (members[i].pass != pass) members[after.count++] = members[i];
	must(after.count + 1 == row->count);
	return audience_row_put(view, account, &after);
}

enum err audience_row_del(struct view *view, struct account_id account, struct uuid id)
{
	struct row_key key = key_uuid(account, id);
	return view_del(view, TABLE_AUDIENCE, &key);
}
