#include "actors/rt/host.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char own_group[] = "/proc/self/cgroup", mounted[] = "/sys/fs/cgroup";
enum { LINE_BYTES = 128 };

/* The first line of a group's file. False: there is none, as in the topmost group. */
static bool read_line(const char *groups, const char *group, const char *file, char line[LINE_BYTES])
{
	char path[PATH_MAX];
	int  size = snprintf(path, sizeof path, "%s%s/%s", groups, group, file);
	if (size < 0 || (size_t)size >= sizeof path) return false;
	FILE *opened = fopen(path, "re");
	bool  good = opened && fgets(line, LINE_BYTES, opened);
	if (opened) fclose(opened);
	return good;
}

/* The path below the mount, without a slash at its end. False: version 1, or none. */
static bool read_group(const char *own, char group[PATH_MAX])
{
	FILE *opened = fopen(own, "re");
	char  line[PATH_MAX];
	bool  found = false;
	while (opened && !found && fgets(line, sizeof line, opened)) {
		if (strncmp(line, "0::/", 4)) continue;
		line[strcspn(line, "\n")] = 0;
		memcpy(group, line + 3, strlen(line + 3) + 1);
		found = true;
	}
	if (opened) fclose(opened);
	if (found && !group[1]) group[0] = 0;
	return found;
}

static void take_group(const char *groups, const char *group, struct host_limits *limits)
{
	char               line[LINE_BYTES];
	unsigned long long bytes, quota, period;
	if (read_line(groups, group, "memory.max", line) && sscanf(line, "%llu", &bytes) == 1 &&
	    bytes < limits->memory_bytes)
		limits->memory_bytes = bytes;
	if (!read_line(groups, group, "cpu.max", line) || sscanf(line, "%llu %llu", &quota, &period) != 2 ||
	    !period)
		return;
	unsigned long long whole = quota / period + (quota % period != 0);
	if (whole < 1) whole = 1;
	if (whole < limits->processors) limits->processors = (uint32_t)whole;
}

struct host_limits host_limits_read(const char *own, const char *groups)
{
	struct host_limits limits = {UINT32_MAX, UINT64_MAX};
	char               group[PATH_MAX];
	if (!read_group(own, group)) return limits;
	for (;;) {
		take_group(groups, group, &limits);
		char *last = strrchr(group, '/');
		if (!last) return limits;
		*last = 0; /* the group around it */
	}
}

uint32_t host_processors(void)
{
	long      online = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t  count = online > 0 ? (uint32_t)online : 1;
	uint32_t  limit = host_limits_read(own_group, mounted).processors;
	cpu_set_t set;
	/* With more processors than the set has bits it fails, and the affinity is not counted. */
	if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0 &&
	    (uint32_t)CPU_COUNT(&set) < count)
		count = (uint32_t)CPU_COUNT(&set);
	return count < limit ? count : limit;
}

uint64_t host_memory_bytes(void)
{
	uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t limit = host_limits_read(own_group, mounted).memory_bytes;
	return physical < limit ? physical : limit;
}
