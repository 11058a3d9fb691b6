/* load: an HTTP/1.1 load generator for one server.
 *
 *   load --target HOST:PORT --op OP [--seconds S | --requests N] [--mode open --rate R] ...
 *
 * Exit status: 0: every request succeeded; 1: a request failed or the run could not begin; 2: wrong usage. `--help` lists the
 * options; method.md explains the numbers. */
#include "bench/check.h"
#include "bench/drive.h"
#include "bench/options.h"
#include "bench/report.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

static int run_checks(void)
{
	const char *wrong = check_all();

	if (wrong) fprintf(stderr, "load: check failed: %s\n", wrong);
	return wrong ? EXIT_BAD : EXIT_GOOD;
}

int main(int argc, char **argv)
{
	static struct drive_result result; /* two histograms are too large for the stack */
	struct options             options;

	switch (options_read(&options, argc, argv)) {
	case OPTIONS_HELP: return EXIT_GOOD;
	case OPTIONS_WRONG: return EXIT_USAGE;
	case OPTIONS_RUN: break;
	}
	if (options.only_check) return run_checks();
	if (!drive(&options, &result)) return EXIT_BAD;
	if (options.as_json)
		report_json(&options, &result);
	else
		report_text(&options, &result);
	free(result.windows);
	if (tally_fault_count(&result.measured) || tally_fault_count(&result.warmup)) return EXIT_BAD;
	return result.gave_up ? EXIT_BAD : EXIT_GOOD;
}
