/* The options of `serve`, read from the command line and a configuration file by one table.
 *
 * A row of the table has an option's name, its place in struct options, and its valid values. Both readers, the writer (of a
 * child's command line) and the help use the rows, so a new option is a field and a row. The command line is read first; the
 * file only sets what the command line did not.
 */
#include "actors/rt/options.h"
#include "actors/rt/config_file.h"
#include "actors/rt/log.h"
#include "actors/rt/option_url.h"
#include "actors/rt/options_inside.h"
#include "schemas/date.h"
#include "schemas/limits.h"
#include "schemas/nearest.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_host_port(const char *value);
static bool is_cidr(const char *value);

#define ENDPOINT  .is_valid = is_host_port, .form = "HOST:PORT with a port up to 65535", .value = "HOST:PORT"
#define AT(field) .at = offsetof(struct options, field)
#define LIST_AT(field, count) \
	.kind = LIST, .at = offsetof(struct options, field), .count_at = offsetof(struct options, count)

const struct row option_rows[] = {
    {"--data", TEXT, AT(data), .value = "DIR", .group = "Data directory",
     .about = "data directory; created on the first start", .example = "/var/lib/stampede",
     .note = "It must be on a local file system; ext4 and xfs are recommended."},
    {"--shards", NUMBER_U32, AT(shards), .min = 1, .max = SHARDS_MAX, .value = "N", .example = "4",
     .about = "number of shards of a new data directory", .unset = "half the processor cores, 1 to 8",
     .note = "The number is fixed on the first start. A later start with another number is refused."},
    {"--memory", NUMBER_I64, AT(memory_bytes), .min = LATE_MEMORY_MIN, .max = INT64_MAX, .value = "BYTES",
     .example = "1073741824", .about = "memory of each shard for passes that were used lately",
     .unset = "an eighth of the memory that the service may use; for all shards together at most half of "
              "that memory; at least 67108864",
     .note =
         "A pass takes 66 bytes, and 11 more for its id. A pass that is not in memory costs a read from the "
         "tables when it is used next. The default counts what the machine and control groups permit. See "
         "[memory](capacity.md#memory)."},
    {"--idempotency-keys", NUMBER_U32, AT(idempotency_keys), .reloadable = true, .min = 1,
     .max = IDEMPOTENCY_KEYS_MAX, .value = "N", .about = "idempotency keys stored for each account",
     .note = "A key is stored for 24 hours. The oldest keys of an account are removed first."},
    {"--listen", TEXT, AT(listen), ENDPOINT, .group = "Listeners and connections",
     .about = "address of the HTTP interface; port 0: any free port"},
    {"--admin", TEXT, AT(admin), ENDPOINT,
     .about = "address of /healthz, /readyz and /metrics; port 0: any free port",
     .note = "This listener has no authentication. Keep it on a private address."},
    {"--public-url", TEXT, AT(public_url), .is_valid = option_is_url, .form = "http(s)://HOST[/PATH]",
     .cuts_slash = true, .value = "URL", .example = "https://passes.example",
     .about = "first part of download links",
     .note = "Links that were sent, and passes on phones, keep the former one: let it lead here too.",
     .unset = "http://LISTEN; https://LISTEN with --tls-cert"},
    {"--http-threads", NUMBER_U32, AT(http_threads), .min = 1, .max = HTTP_THREADS_MAX, .value = "N",
     .example = "4", .about = "threads of the http process", .unset = "half the processor cores, 1 to 8"},
    {"--cors-origin", LIST_AT(cors_origins, cors_origin_count), .reloadable = true, .is_valid = option_is_url,
     .form = "http(s)://HOST[:PORT]", .value = "ORIGIN", .example = "https://app.example",
     .about = "origin of web pages that may call the interface; up to 32 times", .unset = "none"},
    {"--max-body", NUMBER_I64, AT(max_body_bytes), .reloadable = true, .min = 0, .max = INT64_MAX,
     .value = "BYTES", .about = "largest request body; 0, or more than 67108864: 67108864",
     .note = "A larger body is refused with 413 PAYLOAD_TOO_LARGE."},
    {"--keep-alive", DURATION, AT(keep_alive), .reloadable = true, .min = KEEP_ALIVE_S_MIN,
     .max = KEEP_ALIVE_S_MAX, .value = "DURATION",
     .about = "longest idle time of a connection between two requests",
     .note =
         "Behind a load balancer, set it above the idle timeout of the balancer, which must close first."},
    {"--connections-per-address", NUMBER_U32, AT(connections_per_address), .reloadable = true, .min = 0,
     .max = CONNECTIONS_PER_ADDRESS_MAX, .value = "N",
     .about = "open connections of one IPv4 address or IPv6 /64; 0: no limit",
     .note = "Further connections are reset. The admin listener is not counted. Leave it at 0 behind a "
             "proxy: all connections come from its address."},
    {"--tls-cert", TEXT, AT(tls_cert), .reloadable = true, .value = "FILE", .group = "TLS",
     .about = "certificate and its chain, PEM; switches HTTPS on", .unset = "none",
     .example = "/etc/stampede/chain.pem",
     .note = "Needs --tls-key. A reload reads both files again. Switching TLS on or off needs a restart."},
    {"--tls-key", TEXT, AT(tls_key), .reloadable = true, .value = "FILE", .unset = "none",
     .about = "private key of --tls-cert, PEM, not encrypted", .example = "/etc/stampede/key.pem"},
    {"--log-format", TEXT, AT(log_format), .is_valid = log_is_format, .form = "logfmt or json",
     .value = "FORMAT", .group = "Logs",
     .about = "format of log lines: logfmt, or json for one object per line"},
    {"--log-level", TEXT, AT(log_level), .reloadable = true, .is_valid = log_is_level,
     .form = "info, warn or fatal", .value = "LEVEL",
     .about = "lowest level that is logged: info, warn or fatal"},
    {"--access-log", TEXT, AT(access_log), .reloadable = true, .value = "FILE",
     .example = "/var/log/stampede/access.log",
     .about = "file for one JSON line per answered request; - for stderr", .unset = "none",
     .note = "A reload opens the file again. To rotate it, rename the file and reload."},
    {"--egress-allow-private", FLAG, AT(egress_allow_private), .reloadable = true, .group = "Outgoing calls",
     .about = "allows webhooks and images on this host and in private networks"},
    {"--egress-allow", LIST_AT(egress_allow, egress_allow_count), .reloadable = true, .is_valid = is_cidr,
     .form = "ADDRESS/BITS", .value = "CIDR", .example = "10.20.0.0/16", .unset = "none",
     .about = "allows webhooks and images in this network; up to 32 times",
     .note =
         "It permits names under localhost if 127.0.0.1 or ::1 is in it, and under .internal if more than "
         "this host is."},
    {"--egress-ca", TEXT, AT(egress_ca), .reloadable = true, .value = "FILE",
     .example = "/etc/stampede/internal-ca.pem", .unset = "none",
     .about = "CA certificates, PEM, trusted in addition to those of the system"},
    {"--no-deliveries", FLAG, AT(no_deliveries),
     .about = "calls no endpoint: webhooks, images and notifications wait; for a restored copy"},
    {"--wallet-badges", TEXT, AT(wallet_badges), .value = "DIR", .group = "Wallets",
     .example = "/etc/stampede/badges", .unset = "none",
     .about = "folder with apple.svg and google.svg, images for the buttons of a holder's page",
     .note = "Apple and Google give the images to holders of a developer account. A button without an image "
             "has words. The files are read when the http process starts."},
    {"--wallet-apns", TEXT, AT(wallet_apns), ENDPOINT,
     .about = "service that pushes changes of passes to Apple's wallet; for tests",
     .note = "Its certificate must be valid for HOST, and its address is judged as those of webhooks are."},
    {"--wallet-google", TEXT, AT(wallet_google), .is_valid = option_is_url, .form = "http(s)://HOST[:PORT]",
     .cuts_slash = true, .value = "URL",
     .about = "service in place of Google's, for tokens and calls of its wallet; for tests",
     .unset = "Google's own hosts", .example = "https://google.example:9000",
     .note = "Its address is judged as those of webhooks are. An http URL needs --egress-allow-private."},
    {"--wallet-google-keys", TEXT, AT(wallet_google_keys), .is_valid = option_is_url,
     .form = "http(s)://HOST/PATH", .value = "URL",
     .about = "where the keys are by which Google signs what it says of passes; for tests"},
    {"--wallet-bulk-rate", NUMBER_U32, AT(wallet_bulk_rate), .min = 1, .max = 100000, .value = "N",
     .about = "passes a second of each shard whose phones are notified after a change of many, such as of a "
              "template",
     .note = "Each notification brings a phone back at once for a package. A lower rate spreads them."},
    {"--test-clock", FLAG, AT(test_clock), .group = "Tests",
     .about = "allows `clock advance` to move service time; for tests only",
     .note = "Service time that was moved ahead stays ahead. Use it on directories that can be deleted."},
    {"--listen-fd", NUMBER_INT, AT(listen_fd), .min = 0, .max = INT32_MAX},
    {"--admin-fd", NUMBER_INT, AT(admin_fd), .min = 0, .max = INT32_MAX},
    {"--gate-fd", NUMBER_INT, AT(gate_fd), .min = 0, .max = INT32_MAX},
    {"--counts-fd", NUMBER_INT, AT(counts_fd), .min = 0, .max = INT32_MAX},
    {"--settings-fd", NUMBER_INT, AT(settings_fd), .min = 0, .max = INT32_MAX},
    {"--supervisor-pid", NUMBER_INT, AT(supervisor_pid), .min = 1, .max = INT32_MAX},
    {"--may-format", FLAG, AT(may_format)},
    {"--restored", FLAG, AT(restored)},
    {"--from", TEXT, AT(from)},
    {"--lineage", TEXT, AT(lineage)},
    {"--table", TEXT, AT(table)},
};
enum { ROW_COUNT = sizeof option_rows / sizeof *option_rows };
const size_t option_row_count = ROW_COUNT;

const struct options option_defaults = {
    .listen = "127.0.0.1:8080",
    .admin = "127.0.0.1:9090",
    .max_body_bytes = BODY_BYTES_DEFAULT_MAX,
    .keep_alive = {KEEP_ALIVE_S_DEFAULT * US_PER_SEC},
    .idempotency_keys = IDEMPOTENCY_KEYS_DEFAULT,
    .log_format = "logfmt",
    .log_level = "info",
    .wallet_bulk_rate = 500,
    .wallet_apns = "api.push.apple.com:443",
    .wallet_google_keys = "https://pay.google.com/gp/m/issuer/keys",
    .counts_fd = -1,
    .listen_fd = -1,
    .admin_fd = -1,
    .gate_fd = -1,
    .settings_fd = -1,
};

/* A reading in progress: where values go, which rows the command line has set, and in which lines the file has them; 0: not. */
struct reading {
	struct options *options;
	char           *why;
	bool            given[ROW_COUNT];
	unsigned        lines[ROW_COUNT];
};

static void *place_of(struct options *options, size_t at)
{
	return (char *)options + at;
}

static enum err refuse(struct reading *reading, const char *name, const char *what)
{
	snprintf(reading->why, OPTION_WHY, "%.40s: %s", name, what);
	return ERR_BAD_OPTION;
}

static enum err set_number(struct reading *reading, const struct row *row, const char *value)
{
	void   *place = place_of(reading->options, row->at);
	char   *end = NULL, wants[64];
	int64_t number;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno || end == value || *end || number < row->min || number > row->max) {
		if (row->max == INT64_MAX)
			snprintf(wants, sizeof wants, ", %lld or more, without a unit", (long long)row->min);
		else
			snprintf(wants, sizeof wants, " from %lld to %lld", (long long)row->min,
			         (long long)row->max);
		snprintf(reading->why, OPTION_WHY, "%s: wants a whole number%s, not %.40s", row->name, wants,
		         value);
		return ERR_BAD_OPTION;
	}
	if (row->kind == NUMBER_U32)
		*(uint32_t *)place = (uint32_t)number;
	else if (row->kind == NUMBER_I64)
		*(int64_t *)place = number;
	else
		*(int *)place = (int)number;
	return OK;
}

static enum err set_duration(struct reading *reading, const struct row *row, const char *value)
{
	dur_us *place = place_of(reading->options, row->at);

	if (duration_read(span_str(value), place) && place->v >= row->min * US_PER_SEC &&
	    place->v <= row->max * US_PER_SEC)
		return OK;
	snprintf(reading->why, OPTION_WHY,
	         "%s: wants a duration from %llds to %llds, such as 30s or 5m, not %.40s", row->name,
	         (long long)row->min, (long long)row->max, value);
	return ERR_BAD_OPTION;
}

/* In place: values are in argv or in the text of the file. */
static void cut_slashes(char *value)
{
	size_t size = strlen(value);

	while (size && value[size - 1] == '/')
		value[--size] = 0;
}

static enum err set_text(struct reading *reading, const struct row *row, const char *value)
{
	const char *fault = row->is_valid == option_is_url ? option_url_settle((char *)value) : NULL;
	unsigned   *count;

	if (fault) return refuse(reading, row->name, fault);
	if (row->cuts_slash) cut_slashes((char *)value);
	if (!*value) return refuse(reading, row->name, "wants a value");
	if (row->is_valid && !row->is_valid(value)) {
		snprintf(reading->why, OPTION_WHY, "%s: wants %s, not %.60s", row->name, row->form, value);
		return ERR_BAD_OPTION;
	}
	if (row->kind == TEXT) {
		*(const char **)place_of(reading->options, row->at) = value;
		return OK;
	}
	count = place_of(reading->options, row->count_at);
	if (*count == OPTION_LIST_MAX) return refuse(reading, row->name, "is given too often");
	((const char **)place_of(reading->options, row->at))[(*count)++] = value;
	return OK;
}

/* `value` is NULL for a flag without one. */
static enum err set_flag(struct reading *reading, const struct row *row, const char *value)
{
	bool *place = place_of(reading->options, row->at);

	if (value && strcmp(value, "on") && strcmp(value, "off"))
		return refuse(reading, row->name, "is on or off");
	*place = !value || !strcmp(value, "on");
	return OK;
}

static enum err set(struct reading *reading, const struct row *row, const char *value)
{
	if (row->kind == FLAG) return set_flag(reading, row, value);
	if (!value) return refuse(reading, row->name, "wants a value");
	if (row->kind == TEXT || row->kind == LIST) return set_text(reading, row, value);
	if (row->kind == DURATION) return set_duration(reading, row, value);
	return set_number(reading, row, value);
}

/* The row whose name, without its first `skip` characters, is the `size` bytes at `name`; NULL: none. */
static const struct row *row_named(const char *name, size_t size, size_t skip)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char *own = option_rows[i].name + skip;
		if (strlen(own) == size && !memcmp(own, name, size)) return &option_rows[i];
	}
	return NULL;
}

/* Names are compared without their first `skip` characters. */
static enum err refuse_unknown(struct reading *reading, const char *name, size_t skip)
{
	const char *names[ROW_COUNT + 1], *meant;
	size_t      count = 0;

	if (!skip && strncmp(name, "--", 2)) {
		snprintf(reading->why, OPTION_WHY, "unexpected argument %.60s", name);
		return ERR_BAD_OPTION;
	}
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (option_rows[i].about) names[count++] = option_rows[i].name + skip;
	if (!skip) names[count++] = "--config";
	meant = nearest(name, names, count);
	snprintf(reading->why, OPTION_WHY, "unknown option %.40s%s%s%s", name, meant ? ", did you mean " : "",
	         meant ? meant : "", meant ? "?" : "");
	return ERR_BAD_OPTION;
}

/* `--name value` or `--name=value`; a flag takes a value only in the second form. */
static enum err read_arguments(struct reading *reading, int argc, char **argv, const char **config)
{
	for (int i = 0; i < argc; i++) {
		const char *name = argv[i];
		size_t      size = strcspn(name, "=");
		const char *value = name[size] ? name + size + 1 : NULL;
		bool        names_config = size == strlen("--config") && !memcmp(name, "--config", size);
		const struct row *row = row_named(name, size, 0);
		enum err          err;

		if (!row && !names_config) return refuse_unknown(reading, name, 0);
		if (!value && (names_config || row->kind != FLAG) && i + 1 < argc) {
			value = argv[++i];
			if (row_named(value, strcspn(value, "="), 0))
				return refuse(reading, name, "wants a value, and the next word is an option");
		}
		if (names_config) {
			if (!value) return refuse(reading, name, "wants a file");
			*config = value;
			continue;
		}
		if ((err = set(reading, row, value))) return err;
		reading->given[row - option_rows] = true;
	}
	return OK;
}

/* One that the command line has set is passed over. */
static enum err take_line(struct reading *reading, const struct config_line *line)
{
	const struct row *row = row_named(line->name, strlen(line->name), 2);
	unsigned         *at;

	if (!row && !line->value && strcspn(line->name, " \t") != strlen(line->name)) {
		snprintf(reading->why, OPTION_WHY, "wants NAME = VALUE, not %.60s", line->name);
		return ERR_BAD_OPTION;
	}
	if (!row || !row->about) return refuse_unknown(reading, line->name, 2);
	at = &reading->lines[row - option_rows];
	if (*at && row->kind != LIST) {
		snprintf(reading->why, OPTION_WHY, "%s: line %u has it already", row->name, *at);
		return ERR_BAD_OPTION;
	}
	*at = line->number;
	return reading->given[row - option_rows] ? OK : set(reading, row, line->value);
}

static enum err read_config(struct reading *reading, const char *path)
{
	enum err           err = config_file_load(path, reading->options, reading->why);
	char              *rest = reading->options->config_text, why[OPTION_WHY];
	struct config_line line = {.number = 0};

	while (!err && config_file_next(&rest, &line)) {
		if (!(err = take_line(reading, &line))) continue;
		memcpy(why, reading->why, sizeof why);
		snprintf(reading->why, OPTION_WHY, "line %u of %.255s: %.200s", line.number, path, why);
	}
	return err;
}

/* Access tokens and messages to holders go there: only a private network may see them. */
static enum err check_google(struct reading *reading)
{
	const struct options *given = reading->options;
	bool                  service = given->wallet_google && !strncmp(given->wallet_google, "http:", 5);
	if (given->egress_allow_private || (!service && strncmp(given->wallet_google_keys, "http:", 5)))
		return OK;
	return refuse(reading, service ? "--wallet-google" : "--wallet-google-keys",
	              "http is for tests only: give --egress-allow-private too, or an https URL");
}

enum err options_read(int argc, char **argv, struct options *options, char why[OPTION_WHY])
{
	struct reading reading = {.options = options, .why = why};
	const char    *config = NULL;
	enum err       err;

	*options = option_defaults;
	options->argc = argc;
	options->argv = argv;
	if ((err = read_arguments(&reading, argc, argv, &config))) return err;
	if (config && (err = read_config(&reading, config))) return err;
	if (!options->data) return refuse(&reading, "--data", "is required");
	if (!options->tls_cert != !options->tls_key)
		return refuse(&reading, options->tls_cert ? "--tls-key" : "--tls-cert",
		              "certificate and key come together");
	return check_google(&reading);
}

void options_free(struct options *options)
{
	free(options->config_text);
	options->config_text = NULL;
}

/* ---- forms ---- */

bool host_port_read(const char *text, char host[HOST_TEXT], uint16_t *port)
{
	const char *colon = strrchr(text, ':');
	bool        bracket = *text == '[';
	size_t      size;
	char       *end = NULL;
	long        number;

	if (!colon || colon == text || !(colon[1] >= '0' && colon[1] <= '9')) return false;
	if (bracket && colon[-1] != ']') return false;
	size = (size_t)(colon - text) - (bracket ? 2 : 0);
	if (size == 0 || size >= HOST_TEXT || (!bracket && memchr(text, ':', size))) return false;
	number = strtol(colon + 1, &end, 10);
	if (*end || number > UINT16_MAX) return false;
	memcpy(host, text + (bracket ? 1 : 0), size);
	host[size] = 0;
	*port = (uint16_t)number;
	return true;
}

static bool is_host_port(const char *value)
{
	char     host[HOST_TEXT];
	uint16_t port;

	return host_port_read(value, host, &port);
}

static bool is_cidr(const char *value)
{
	struct address_range range;

	return address_range_read(value, &range);
}

void options_egress(const struct options *options, struct address_rules *rules)
{
	_Static_assert((int)OPTION_LIST_MAX <= (int)ADDRESS_RANGES_MAX, "too few places for the ranges");
	*rules = (struct address_rules){.allow_private = options->egress_allow_private};
	for (unsigned i = 0; i < options->egress_allow_count; i++)
		if (address_range_read(options->egress_allow[i], &rules->allowed[rules->allowed_count]))
			rules->allowed_count++;
}
