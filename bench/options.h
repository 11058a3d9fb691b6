#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/plan.h"
#include "bench/request.h"

/* The command line of `load`, checked. Strings are borrowed from argv. */
enum {
	CONNECTIONS_MAX = 4096, /* sockets; epoll slots and descriptors; refused */
	SECONDS_MAX = 86400,    /* s; a day; refused */
	RATE_MAX = 1 << 24,     /* requests per second; refused */
	WINDOW_MS_MIN = 10,     /* refused */
	WINDOWS_MAX = 1000,     /* spans of a run; each needs some 80 KiB; refused */
};

struct options {
	const char        *target; /* HOST:PORT as given, also the Host header */
	const char        *key;
	const char        *id_prefix;
	const char        *names_path, *keys_path, *ca_path; /* or NULL */
	enum op            op;
	struct plan_choice choice;
	uint64_t           request_count;     /* 0: run for `seconds` */
	uint64_t           rate_per_s;        /* 0: closed loop */
	uint64_t           warmup_rate_per_s; /* 0: as rate_per_s */
	uint64_t           window_ms;         /* 0: none */
	uint32_t           connection_count;
	uint32_t           hot_percent; /* of the requests, for the first account; 0: all alike */
	double             seconds, warmup_s, timeout_s, patience_s; /* patience 0: for ever */
	bool               is_open, as_json, only_check;
};

/* What became of the command line: go on, stop with success (help was asked for), or stop with wrong usage,
 * of which a line was printed to stderr. */
enum options_read { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* What may stand in a header as an API key. */
bool key_is_good(const char *text);

enum options_read options_read(struct options *options, int argc, char **argv);
