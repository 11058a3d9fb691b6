#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/plan.h"
#include "bench/request.h"

/* The command line of `load`, checked. Strings are borrowed from argv. */
enum {
	CONNECTIONS_MAX = 4096, /* sockets; epoll slots and descriptors; more are refused */
	SECONDS_MAX = 86400,    /* s; a day; more are refused */
	RATE_MAX = 1 << 24,     /* requests per second; more are refused */
	WINDOW_MS_MIN = 10,     /* less is refused */
	WINDOWS_MAX = 1000,     /* windows of a run; each needs some 80 KiB; more are refused */
};

struct options {
	const char        *target; /* HOST:PORT as given, also the Host header */
	const char        *key;
	const char        *id_prefix;
	const char        *account, *tag;                                 /* or NULL, likewise */
	const char        *names_path, *keys_path, *ca_path, *trace_path; /* likewise */
	enum op            op;
	struct plan_choice choice;
	enum plan_ids      accounts;          /* PLAN_SEQUENCE: they take turns */
	double             account_theta;     /* of PLAN_ZIPF */
	uint64_t           request_count;     /* 0: run for `seconds` */
	uint64_t           rate_per_s;        /* 0: closed loop */
	uint64_t           warmup_rate_per_s; /* 0: as rate_per_s */
	uint64_t           window_ms;         /* 0: none */
	uint32_t           connection_count;
	uint32_t           hot_percent; /* of the requests, for the first account; 0: all alike */
	double             seconds, warmup_s, timeout_s, patience_s; /* patience 0: for ever */
	bool               is_open, as_json, only_check;
};

/* What to do after reading: run, exit with success (help was printed), or exit with wrong usage (a line was printed to
 * stderr). */
enum options_read { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* Is this valid as an API key in a header? */
bool key_is_good(const char *text);

enum options_read options_read(struct options *options, int argc, char **argv);
