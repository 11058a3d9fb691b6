/* Pages by id and by name equal the rows of the order, read from either end. */
#include "actors/shard/pass/order.h"
#include "store/chunk.h"
#include "tests/unit/lists.h"

enum { MADE = 3000 + 5, WORDS = (MADE + 63) / 64 };

static struct account account = {.id = {{'b'}}};
static uint64_t       bits[WORDS];
static uint32_t       order[MADE], wanted[MADE], count;

TestSuite(order_chunks, .init = begin, .fini = end);

static void put(struct account_id of, unsigned test_dir, unsigned from, unsigned size)
{
	struct chunk chunk = {.table = TABLE_ID_ORDER, .key = key_account(of), .count = size};
	if (test_dir) {
		put_be32(chunk.key.bytes + chunk.key.size, test_dir);
		chunk.key.size += 4;
	}
	for (unsigned i = 0; i < size; i++)
		chunk.numbers[i] = order[from + i];
	cr_assert_eq(chunk_put(s.view, &chunk), OK);
	scratch_save(&s);
}

/* Creates the order in rows of any size, with other accounts' rows before and after it. */
static void furnish(void)
{
	unsigned test_dir = 0;
	for (uint32_t i = 0; i < MADE; i++)
		order[i] = i;
	for (uint32_t i = MADE - 1; i > 0; i--) {
		uint32_t other = chance_below(&state, i + 1), number = order[i];
		order[i] = order[other];
		order[other] = number;
	}
	for (unsigned from = 0, size; from < MADE; from += size) {
		size = 1 + chance_below(&state, CHUNK_PASSES);
		if (size > MADE - from) size = MADE - from;
		put(account.id, test_dir++, from, size);
	}
	put((struct account_id){{'a'}}, 0, 0, CHUNK_PASSES);
	put((struct account_id){{'c'}}, 0, 0, CHUNK_PASSES);
	scratch_commit(&s);
}

/* `share` of 16 are selected. */
static struct selection select_some(unsigned share)
{
	memset(bits, 0, sizeof bits);
	count = 0;
	for (uint32_t i = 0; i < MADE; i++) {
		if (chance_below(&state, 16) >= share) continue;
		bits[order[i] / 64] |= UINT64_C(1) << order[i] % 64;
		wanted[count++] = order[i];
	}
	return (struct selection){.all = share == 16, .bits = bits, .made = MADE, .total = count};
}

static void page_is_right(const struct selection *selection, uint64_t skip, uint64_t limit, bool ascending)
{
	struct page    page = {.order = ORDER_ID, .ascending = ascending, .skip = skip, .limit = limit};
	struct request request = {.account = &account, .view = reader};
	uint64_t       want = skip >= count ? 0 : count - skip < limit ? count - skip : limit;
	cr_assert_eq(order_page(&request, selection, &page), OK);
	cr_assert_eq(page.count, want, "from %lu of %u", (unsigned long)skip, count);
	for (uint32_t i = 0; i < page.count; i++)
		cr_assert_eq(page.numbers[i], wanted[ascending ? skip + i : count - 1 - skip - i],
		             "place %lu of %u", (unsigned long)(skip + i), count);
}

Test(order_chunks, pages_equal_the_rows_from_either_end)
{
	static const unsigned shares[] = {16, 15, 8, 1, 0};
	furnish();
	cr_assert_eq(db_reader_begin(reader), OK);
	for (unsigned k = 0; k < sizeof shares / sizeof *shares; k++) {
		struct selection selection = select_some(shares[k]);
		for (unsigned turn = 0; turn < 400; turn++) {
			uint64_t skip = turn < 30 ? turn : chance_below(&state, count + 30);
			uint64_t end = count > turn ? count - turn : 0;
			for (unsigned way = 0; way < 2; way++) {
				page_is_right(&selection, skip, 1 + chance_below(&state, PAGE_LIMIT_MAX),
				              way);
				page_is_right(&selection, end, 25, way);
			}
		}
	}
}

Test(order_chunks, of_an_account_without_passes_are_empty)
{
	struct selection none = {.bits = bits};
	furnish();
	account.id.b[1] = 1;
	cr_assert_eq(db_reader_begin(reader), OK);
	page_is_right(&none, 0, 25, true);
	page_is_right(&none, 0, 25, false);
}
