#pragma once
#include "bench/drive.h"
#include "bench/options.h"

/* Print the result of a run on stdout: lines for people, or one JSON object. Units: as their names say. */
void report_text(const struct options *options, const struct drive_result *result);
void report_json(const struct options *options, const struct drive_result *result);
