/* Commands on hot rows, compared with a model. */
#include "tests/fuzz/hot_model.h"

#include "store/hot.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

enum { MODEL_PASSES = 90, STEPS_MAX = 400 };

static struct hot model[MODEL_PASSES];
static uint32_t   made;

static struct hot change_of(struct supply *supply, struct hot hot)
{
	uint8_t what = supply_byte(supply);
	if (what & 1) hot.balance += (int16_t)supply_number(supply, 2);
	if (what & 2) hot.status = supply_byte(supply) % HOT_COUNT_DELETED;
	if (what & 4) hot.flags = supply_byte(supply) & (HOT_DELETED | HOT_REINSTALL_BLOCKED);
	if (what & 8) hot.updated.v = supply_integer(supply);
	if (what & 16) hot.ledger_head = supply_number(supply, 8);
	if (what & 32) hot.scan_count++, hot.last_scan.v = supply_integer(supply);
	return hot;
}

static void check_row(struct view *view, struct account_id account, uint32_t first)
{
	struct hot_at at;
	uint8_t       counts[HOT_COUNTS] = {0};
	for (uint32_t number = first; number < made && number < first + HOT_PASSES; number++) {
		must(hot_get(view, account, number, &at) == OK && same_hot(&at.now, &model[number]));
		counts[hot_count(&at.now)]++;
		counts[HOT_COUNT_USED]++;
	}
	must(!memcmp(at.counts, counts, sizeof counts));
}

void hot_model_check(struct view *view, struct account_id account, struct span bytes)
{
	struct supply supply = {bytes};
	struct hot_at at;
	made = 0;
	for (unsigned i = 0; i < STEPS_MAX && supply.left.size; i++) {
		uint8_t which = supply_byte(&supply);
		if (!made || (which < 96 && made < MODEL_PASSES)) {
			model[made] = change_of(&supply, (struct hot){.status = 2, .template = which});
			must(hot_add(view, account, made, &model[made]) == OK);
			must(hot_add(view, account, made, &model[made]) != OK); /* numbers have no gaps */
			made++;
			continue;
		}
		uint32_t number = which % made;
		must(hot_get(view, account, number, &at) == OK);
		model[number] = change_of(&supply, model[number]);
		must(hot_put(view, &at, &model[number]) == OK);
	}
	for (uint32_t first = 0; first < made; first += HOT_PASSES)
		check_row(view, account, first);
}
