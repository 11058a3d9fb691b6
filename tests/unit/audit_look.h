/* Audits the shop of audit_shop.h and returns the faults found after one change. */
#pragma once
#include "tests/unit/audit_shop.h"

#include "store/audit.h"

#include <criterion/criterion.h>

#define ACCOUNT "account acc_mfrqaaaaaaaaaaaa: "
#define NOBODY  "account acc_nyaaaaaaaaaaaaaa: "

struct breakage {
	const char *name;
	void (*work)(void);
	const char *want;
};
/* A row of a table of changes; break_NAME makes the change. */
#define B(name, want)                     \
	{                                 \
#name, break_##name, want \
	}

static struct faults faults;
static struct audit  audit;

static inline void look(void)
{
	struct view    *reader;
	struct arena    arena = {0};
	struct progress progress = {.done = 0};
	scratch_commit(&s);
	faults = (struct faults){.count = 0};
	must(!db_reader_open(s.db, &arena, &reader));
	must(!db_reader_begin(reader));
	cr_assert_eq(audit_tables(reader, &audit, &faults, &progress), OK);
	db_reader_end(reader);
	db_reader_close(&reader);
	arena_free(&arena);
}

static inline bool is_told(const char *want)
{
	for (uint64_t i = 0; i < faults.count && i < FAULTS_KEPT; i++)
		if (strstr(faults.texts[i], want)) return true;
	return false;
}

static inline void expect_fault(const char *breakage, const char *want)
{
	look();
	cr_expect(is_told(want), "%s: no \"%s\" among %llu faults, the first: %s", breakage, want,
	          (unsigned long long)faults.count, faults.count ? faults.texts[0] : "none");
}

/* Makes each change alone, in an otherwise sound shop. */
static inline void try_breakages(const struct breakage *breakages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		scratch_close(&s);
		make_shop();
		breakages[i].work();
		expect_fault(breakages[i].name, breakages[i].want);
	}
}
