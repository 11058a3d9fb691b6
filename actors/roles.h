#pragma once
#include "actors/rt/options.h"

/* Where each process begins: one function a role, run in a process of its own by `stampede actor ROLE INDEX`.
 * Each returns the exit status: 0 after an orderly stop, 1 after a `fatal` line. They live until SIGTERM, or
 * the supervisor's death. */
int supervisor_main(const struct options *options); /* `serve` */
int http_main(const struct options *options);
int shard_main(const struct options *options);
int timer_main(const struct options *options);

/* Work on a shard that is not served, by `stampede actor check|restore INDEX`, for the command line: see
 * shard/offline.c. They end by themselves, and speak on standard output alone. */
int check_main(const struct options *options);
int restore_main(const struct options *options);
int dump_main(
    const struct options *options); /* prints to standard output, and fails on standard error: shard/dump.c */
