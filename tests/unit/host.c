/* What control groups permit, read from directories that imitate them. */
#include "actors/rt/host.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct test_dir dir;
static char            own[1024], groups[512];

static void put(const char *name, const char *text)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", groups, name);
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && !fclose(file), "%s", path);
}

static void make(const char *name)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", groups, name);
	cr_assert_eq(mkdir(path, 0700), 0);
}

static void begin(void)
{
	test_dir_make(&dir);
	snprintf(groups, sizeof groups, "%s", dir.path);
	snprintf(own, sizeof own, "%s/own", dir.path);
	make("a.slice");
	make("a.slice/b.service");
	put("own", "1:name=systemd:/x\n0::/a.slice/b.service\n");
}

static void end(void)
{
	test_dir_remove(&dir);
}

TestSuite(host, .init = begin, .fini = end);

static void expect(uint32_t processors, uint64_t memory)
{
	struct host_limits got = host_limits_read(own, groups);
	cr_expect_eq(got.processors, processors, "%u", got.processors);
	cr_expect_eq(got.memory_bytes, memory, "%llu", (unsigned long long)got.memory_bytes);
}

Test(host, has_no_limit_without_groups)
{
	expect(UINT32_MAX, UINT64_MAX);
	put("own", "3:cpu:/x\n");
	expect(UINT32_MAX, UINT64_MAX);
	snprintf(own, sizeof own, "%s/missing", groups);
	expect(UINT32_MAX, UINT64_MAX);
}

Test(host, takes_the_smallest_limit_of_the_groups_around_the_process)
{
	put("a.slice/b.service/memory.max", "max\n");
	put("a.slice/b.service/cpu.max", "max 100000\n");
	expect(UINT32_MAX, UINT64_MAX);
	put("a.slice/memory.max", "4294967296\n");
	put("a.slice/cpu.max", "250000 100000\n");
	expect(3, UINT64_C(4) << 30);
	put("a.slice/b.service/memory.max", "268435456\n");
	put("a.slice/b.service/cpu.max", "25000 100000\n");
	expect(1, UINT64_C(256) << 20);
}

Test(host, reads_the_topmost_group_of_a_container)
{
	put("own", "0::/\n");
	put("memory.max", "536870912\n");
	put("cpu.max", "200000 100000\n");
	expect(2, UINT64_C(512) << 20);
}

Test(host, ignores_what_it_does_not_understand)
{
	put("a.slice/b.service/memory.max", "\n");
	put("a.slice/b.service/cpu.max", "100000 0\n");
	put("a.slice/memory.max", "much\n");
	put("a.slice/cpu.max", "100000\n");
	expect(UINT32_MAX, UINT64_MAX);
}

Test(host, gives_this_process_something)
{
	cr_expect_geq(host_processors(), 1);
	cr_expect_geq(host_memory_bytes(), 1 << 20);
}
