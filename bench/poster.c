/* poster: the speed of libcurl when it only posts.
 *
 *   poster --url URL --ca FILE --body FILE --requests N [--connections N] [--warmup POSTS]
 *
 * Posts the same body repeatedly over kept connections, by libcurl's multi interface on epoll, like the timer, but without
 * queue, leases, rendering and signature. So its posts per second are the most that deliveries with this library could reach
 * on this machine with this receiver. Time and CPU count from the end of the warm-up, in which the connections are made. At
 * the end it prints one JSON object to stdout. Exit status 1: a post, also of the warm-up, was not answered with 2xx. */
#include <curl/curl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "bench/clock.h"

enum {
	CONNECTIONS_DEFAULT = 64,
	CONNECTIONS_MAX = 4096,
	WARMUP_EACH = 200, /* posts for each connection, by default */
	BODY_BYTES_MAX = 1 << 20,
	EVENTS = 256,
	WAIT_MS_MAX = 1000
};

/* As many and as long as those of a delivery. */
static const char *const headers[] = {
    "Content-Type: application/json",
    "Service-Webhook-Id: evt_01890a5d-ac96-774b-bcce-b302099a8057",
    "Service-Webhook-Timestamp: 1700000000",
    "Service-Webhook-Signature: v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "webhook-id: evt_01890a5d-ac96-774b-bcce-b302099a8057",
    "webhook-timestamp: 1700000000",
    "webhook-signature: v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
};

static struct {
	const char *url, *ca, *body_path;
	long        requests, connections, warmup;
} options = {.connections = CONNECTIONS_DEFAULT, .warmup = -1};

static struct {
	CURLM             *multi;
	struct curl_slist *headers;
	char              *body;
	size_t             body_size;
	int                epoll_fd;
	mono_ns            due; /* when libcurl must be called; negative: never by time */
	long               wanted, begun, ended, errors;
} poster;

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct epoll_event event = {.data.fd = fd};

	(void)easy;
	(void)user;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(poster.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	epoll_ctl(poster.epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
	curl_multi_assign(poster.multi, fd, &poster); /* any pointer: it comes back as `known` */
	return 0;
}

static int on_timer(CURLM *multi, long wait_ms, void *user)
{
	(void)multi;
	(void)user;
	poster.due.v = wait_ms < 0 ? -1 : mono_now().v + wait_ms * NS_PER_MS;
	return 0;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *user)
{
	(void)bytes;
	(void)user;
	return one * size;
}

static void give_up(const char *why)
{
	fprintf(stderr, "poster: %s\n", why);
	exit(1);
}

static void begin(CURL *easy)
{
	if (!easy || curl_multi_add_handle(poster.multi, easy)) give_up("libcurl takes no more");
	poster.begun++;
}

static void begin_first(void)
{
	CURL *easy = curl_easy_init();

	curl_easy_setopt(easy, CURLOPT_URL, options.url);
	curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, poster.headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)poster.body_size);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, poster.body);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	begin(easy);
}

/* Each handle continues with the next post, until all have begun. */
static void take_ends(void)
{
	CURLMsg *end;
	int      left;

	while ((end = curl_multi_info_read(poster.multi, &left))) {
		CURL *easy = end->easy_handle;
		long  status = 0;

		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
		poster.errors += end->data.result != CURLE_OK || status < 200 || status > 299;
		poster.ended++;
		curl_multi_remove_handle(poster.multi, easy);
		if (poster.begun < poster.wanted)
			begin(easy);
		else
			curl_easy_cleanup(easy);
	}
}

static int wait_ms(void)
{
	int64_t left;

	if (poster.due.v < 0) return WAIT_MS_MAX;
	left = (poster.due.v - mono_now().v + NS_PER_MS - 1) / NS_PER_MS;
	return left < 0 ? 0 : left > WAIT_MS_MAX ? WAIT_MS_MAX : (int)left;
}

static void turn(void)
{
	struct epoll_event events[EVENTS];
	int                running, number = epoll_wait(poster.epoll_fd, events, EVENTS, wait_ms());

	for (int i = 0; i < number; i++) {
		int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
		           (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		           (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		curl_multi_socket_action(poster.multi, events[i].data.fd, what, &running);
	}
	if (poster.due.v >= 0 && poster.due.v <= mono_now().v) {
		poster.due.v = -1;
		curl_multi_socket_action(poster.multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	take_ends();
}

static void turn_until(long ended)
{
	while (poster.ended < ended)
		turn();
}

static bool number_read(const char *text, long min, long max, long *number)
{
	char *end;

	*number = strtol(text, &end, 10);
	return end != text && !*end && *number >= min && *number <= max;
}

static bool options_read(int argc, char **argv)
{
	static const struct option rows[] = {{"url", required_argument, NULL, 'u'},
	                                     {"ca", required_argument, NULL, 'a'},
	                                     {"body", required_argument, NULL, 'b'},
	                                     {"requests", required_argument, NULL, 'r'},
	                                     {"connections", required_argument, NULL, 'c'},
	                                     {"warmup", required_argument, NULL, 'w'},
	                                     {NULL, 0, NULL, 0}};
	bool                       is_good = true;
	int                        letter;

	while (is_good && (letter = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (letter == 'u') options.url = optarg;
		if (letter == 'a') options.ca = optarg;
		if (letter == 'b') options.body_path = optarg;
		if (letter == 'r') is_good = number_read(optarg, 1, INT32_MAX, &options.requests);
		if (letter == 'c') is_good = number_read(optarg, 1, CONNECTIONS_MAX, &options.connections);
		if (letter == 'w') is_good = number_read(optarg, 0, INT32_MAX, &options.warmup);
		if (letter == '?') is_good = false;
	}
	if (options.warmup < 0) options.warmup = options.connections * WARMUP_EACH;
	if (is_good && optind == argc && options.url && options.ca && options.body_path && options.requests)
		return true;
	fprintf(stderr,
	        "usage: poster --url URL --ca FILE --body FILE --requests N [--connections 1..%d] "
	        "[--warmup POSTS]\n",
	        CONNECTIONS_MAX);
	return false;
}

static bool body_read(void)
{
	FILE *file = fopen(options.body_path, "rb");

	if (file && (poster.body = malloc(BODY_BYTES_MAX)))
		poster.body_size = fread(poster.body, 1, BODY_BYTES_MAX, file);
	if (file) fclose(file);
	if (poster.body_size) return true;
	fprintf(stderr, "poster: nothing to read in %s\n", options.body_path);
	return false;
}

struct moment {
	mono_ns at;
	double  cpu_s;
	long    ended;
};

static struct moment row_txn_now(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (struct moment){.at = mono_now(),
	                       .cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	                                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	                       .ended = poster.ended};
}

static void report(struct moment from)
{
	struct moment now = row_txn_now();
	double        seconds = (double)(now.at.v - from.at.v) / 1e9;
	long          requests = now.ended - from.ended;

	printf("{\"requests\":%ld,\"errors\":%ld,\"active_s\":%.6f,\"requests_per_s\":%.1f,\"cpu_s\":%.6f}\n",
	       requests, poster.errors, seconds, (double)requests / seconds, now.cpu_s - from.cpu_s);
}

int main(int argc, char **argv)
{
	struct moment warm;

	if (!options_read(argc, argv)) return 2;
	if (!body_read()) return 1;
	signal(SIGPIPE, SIG_IGN);
	if (curl_global_init(CURL_GLOBAL_ALL) || !(poster.multi = curl_multi_init()) ||
	    (poster.epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		give_up("libcurl or epoll does not begin");
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		poster.headers = curl_slist_append(poster.headers, headers[i]);
	poster.due.v = -1;
	curl_multi_setopt(poster.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(poster.multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(poster.multi, CURLMOPT_MAXCONNECTS, options.connections);
	curl_multi_setopt(poster.multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connections);
	poster.wanted = options.warmup + options.requests;
	for (long i = 0; i < options.connections && i < poster.wanted; i++)
		begin_first();
	turn_until(options.warmup);
	warm = row_txn_now();
	turn_until(poster.wanted);
	report(warm);
	return poster.errors ? 1 : 0;
}
