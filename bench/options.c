/* The command line of `load`. options.def has every option, its argument and its explanation, and is expanded into the help
 * text and the parser. Rules about two options are checked after all were read. */
#include "bench/options.h"

#include "bench/script.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_row {
#define P(name, option, argument, text) OPTION_##name,
#include "bench/options.def"
#undef P
};

enum { FIRST_LETTER = 256 }; /* beyond characters, which getopt_long uses itself */

static const struct option long_options[] = {
#define P(name, option, argument, text) \
	{option, (argument) ? required_argument : no_argument, NULL, FIRST_LETTER + OPTION_##name},
#include "bench/options.def"
#undef P
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
	puts("usage: load --target HOST:PORT --op OP [options]");
#define P(name, option, argument, text) \
	printf("  --%-12s %-10s %s\n", option, (argument) ? (const char *)(argument) : "", text);
#include "bench/options.def"
#undef P
}

static bool count_read(const char *text, uint64_t min, uint64_t max, uint64_t *count)
{
	char              *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min || value > max) return false;
	*count = value;
	return true;
}

static bool real_read(const char *text, double min, double max, double *real)
{
	char  *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max)) return false;
	*real = value;
	return true;
}

static bool connections_read(const char *text, struct options *options)
{
	uint64_t count;

	if (!count_read(text, 1, CONNECTIONS_MAX, &count)) return false;
	options->connection_count = (uint32_t)count;
	return true;
}

static bool hot_read(const char *text, struct options *options)
{
	uint64_t percent;

	if (!count_read(text, 1, SHARES_PERCENT, &percent)) return false;
	options->hot_percent = (uint32_t)percent;
	return true;
}

static bool mode_read(const char *text, struct options *options)
{
	options->is_open = strcmp(text, "open") == 0;
	return options->is_open || strcmp(text, "closed") == 0;
}

static bool law_read(const char *text, enum plan_ids *ids, double *theta)
{
	if (strcmp(text, "uniform") == 0) {
		*ids = PLAN_UNIFORM;
		return true;
	}
	*ids = PLAN_ZIPF;
	if (strcmp(text, "zipf") == 0) return true;
	return strncmp(text, "zipf:", 5) == 0 && real_read(text + 5, 0.01, 10, theta);
}

static bool ids_read(const char *text, struct plan_choice *choice)
{
	choice->ids = PLAN_TURNS;
	return strcmp(text, "turns") == 0 || law_read(text, &choice->ids, &choice->theta);
}

static bool accounts_read(const char *text, struct options *options)
{
	options->accounts = PLAN_SEQUENCE;
	return strcmp(text, "turns") == 0 || law_read(text, &options->accounts, &options->account_theta);
}

/* Text that needs no escaping in a header or a path: ASCII letters, digits, and `also_allowed`. */
static bool plain_text(const char *text, size_t size_max, const char *also_allowed)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(also_allowed, text[i])) return false;
	return size > 0 && size <= size_max;
}

bool key_is_good(const char *text)
{
	return plain_text(text, 200, "-._~+/=");
}

static bool option_read(struct options *options, enum option_row row, const char *text)
{
	switch (row) {
	case OPTION_TARGET: return plain_text(options->target = text, 200, ".:-_[]");
	case OPTION_OP: return op_by_name(text, &options->op);
	case OPTION_TLS: return *(options->ca_path = text);
	case OPTION_KEY: return key_is_good(options->key = text);
	case OPTION_KEYS: return *(options->keys_path = text);
	case OPTION_ACCOUNTS: return accounts_read(text, options);
	case OPTION_HOT: return hot_read(text, options);
	case OPTION_CONNECTIONS: return connections_read(text, options);
	case OPTION_SECONDS: return real_read(text, 0.1, SECONDS_MAX, &options->seconds);
	case OPTION_REQUESTS: return count_read(text, 1, UINT32_MAX, &options->request_count);
	case OPTION_MODE: return mode_read(text, options);
	case OPTION_RATE: return count_read(text, 1, RATE_MAX, &options->rate_per_s);
	case OPTION_PASSES: return count_read(text, 1, PLAN_PASSES_MAX, &options->choice.pass_count);
	case OPTION_FIRST: return count_read(text, 0, INT64_MAX, &options->choice.first);
	case OPTION_IDS: return ids_read(text, &options->choice);
	case OPTION_ACCOUNT: return plain_text(options->account = text, 64, "_");
	case OPTION_TAG: return plain_text(options->tag = text, 100, "-._");
	case OPTION_TRACE: return *(options->trace_path = text);
	case OPTION_NAMES: return *(options->names_path = text);
	case OPTION_ID_PREFIX: return plain_text(options->id_prefix = text, 64, "-._~");
	case OPTION_SEED: return count_read(text, 0, UINT64_MAX, &options->choice.seed);
	case OPTION_WARMUP: return real_read(text, 0, SECONDS_MAX, &options->warmup_s);
	case OPTION_WARMUP_RATE: return count_read(text, 1, RATE_MAX, &options->warmup_rate_per_s);
	case OPTION_WINDOWS: return count_read(text, WINDOW_MS_MIN, UINT32_MAX, &options->window_ms);
	case OPTION_PATIENCE: return real_read(text, 0.001, 3600, &options->patience_s);
	case OPTION_TIMEOUT: return real_read(text, 1, 3600, &options->timeout_s);
	case OPTION_JSON: return options->as_json = true;
	case OPTION_CHECK: return options->only_check = true;
	case OPTION_HELP: break;
	}
	return false;
}

static const char *what_is_wrong(const struct options *options)
{
	if (!options->target || options->op > OP_MIXED) return "--target and --op are needed";
	if (options->is_open != (options->rate_per_s > 0)) return "--mode open and --rate go together";
	if (op_has(options->op, '@') && !options->names_path) return "this --op needs --names";
	if (op_has(options->op, '~') && !options->account) return "this --op needs --account";
	if (op_has(options->op, '^') && !options->tag) return "this --op needs --tag";
	if (options->keys_path && options->names_path) return "--names are of one account, --keys of many";
	if (options->hot_percent && (!options->keys_path || options->op == OP_CREATE))
		return "--hot is for --keys, and not for create";
	if (options->accounts != PLAN_SEQUENCE &&
	    (!options->keys_path || options->hot_percent || options->op == OP_CREATE))
		return "--accounts is for --keys, without --hot, and not for create";
	if (options->request_count && options->warmup_s > 0) return "--requests has no --warmup";
	if (options->patience_s > 0 && !options->is_open) return "--patience is for an open loop";
	if (options->warmup_rate_per_s && (!options->is_open || options->warmup_s <= 0))
		return "--warmup-rate is for an open loop with --warmup";
	if (options->window_ms && (options->request_count || !options->as_json ||
	                           options->seconds * 1000 > (double)options->window_ms * WINDOWS_MAX))
		return "--windows is for --seconds of 1000 windows at most, and --json";
	return NULL;
}

enum options_read options_read(struct options *options, int argc, char **argv)
{
	const char *wrong;
	int         letter, row = 0;

	*options = (struct options){
	    .key = "sk_0123456789abcdef_0123456789abcdef0123456789abcdef0123456789abcdef0123",
	    .id_prefix = "p",
	    .op = OP_MIXED + 1,
	    .connection_count = 64,
	    .seconds = 10,
	    .timeout_s = 10,
	    .accounts = PLAN_SEQUENCE,
	    .account_theta = 0.99,
	    .choice = {.ids = PLAN_UNIFORM, .pass_count = 10000, .theta = 0.99, .seed = 1}};
	while ((letter = getopt_long(argc, argv, "", long_options, &row)) != -1) {
		if (letter == '?') return OPTIONS_WRONG;
		if (letter == FIRST_LETTER + OPTION_HELP) {
			print_help();
			return OPTIONS_HELP;
		}
		if (option_read(options, (enum option_row)(letter - FIRST_LETTER), optarg)) continue;
		fprintf(stderr, "load: --%s cannot be \"%s\"; see --help\n", long_options[row].name, optarg);
		return OPTIONS_WRONG;
	}
	if (options->only_check) return OPTIONS_RUN;
	if (options->op == OP_CREATE) options->choice.ids = PLAN_SEQUENCE; /* each number exactly once */
	wrong = optind < argc ? "there is a word that is no option" : what_is_wrong(options);
	if (wrong) fprintf(stderr, "load: %s; see --help\n", wrong);
	return wrong ? OPTIONS_WRONG : OPTIONS_RUN;
}
