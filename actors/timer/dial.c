/* Calls: attempts that libcurl carries out.
 *
 * libcurl neither resolves names nor dials. It gets a placeholder address, and fails if it wants to resolve (on_lookup). If it
 * has no reusable connection, it asks for one (on_dial) and gets none at first. race.c then makes one, and libcurl starts
 * again with it. A reused connection goes to the address that was checked when it was made, whatever the name means now. After
 * CONNECTION_LIFE_S it is not reused. */
#include "actors/timer/egress_inside.h"
#include "actors/rt/time.h"
#include "schemas/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CONNECTION_LIFE_S = 300, CONNECTION_IDLE_S = 60, READ_BYTES = 4096, WRITE_BYTES = 16384 };
enum { NAME_KEPT_S = 2 }; /* in libcurl, which gets the address again with each attempt */

#define AGENT      "Stampede/" STAMPEDE_VERSION
#define NO_ADDRESS "192.0.2.1" /* reserved for documentation, never dialled */

/* ---- libcurl's callbacks ---- */

/* If a reused connection ends without a response, libcurl would repeat the request on another one. The first request may have
 * arrived, and the repetition would be an attempt that was not counted. So it is refused. */
static curl_socket_t on_dial(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct attempt *attempt = user;
	int             fd = attempt->fd;

	(void)to;
	if (is_spent(attempt) || purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
	attempt->wants_connection = fd < 0;
	attempt->fd = -1;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_dialled(void *user, curl_socket_t fd, curlsocktype purpose)
{
	(void)user, (void)fd, (void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static int on_lookup(void *state, void *reserved, void *user)
{
	(void)state, (void)reserved;
	return !((const struct attempt *)user)->endpoint->host->is_address;
}

static void decide(struct attempt *attempt)
{
	attempt->has_head = true;
	attempt->decided_at = time_mono();
	if (!attempt->is_fetch) attempt_move(attempt, DECIDED);
}

/* The status in "HTTP/1.1 200 OK": exactly three digits, or 0. */
static int status_of(const char *line, size_t size)
{
	const char *at = memchr(line, ' ', size);
	int         status = 0;

	if (!at || size - (size_t)(at - line) < 5 || !strchr(" \r\n", at[4])) return 0;
	for (unsigned i = 1; i <= 3; i++) {
		if (at[i] < '0' || at[i] > '9') return 0;
		status = status * 10 + (at[i] - '0');
	}
	return status;
}

/* 101 is final too: what follows is another protocol, which nobody asked for. */
static bool is_final(int status)
{
	enum { SWITCHING_PROTOCOLS = 101 };

	return status >= 200 || status == SWITCHING_PROTOCOLS;
}

/* One line of a head, also of provisional responses; later one of a trailer. */
static size_t on_head(char *line, size_t one, size_t size, void *user)
{
	struct attempt *attempt = user;

	(void)one;
	attempt->head_bytes += size;
	if (attempt->head_bytes > EGRESS_HEAD_BYTES_MAX) return 0;
	if (attempt->has_head) return size;
	if (size > 5 && !memcmp(line, "HTTP/", 5)) {
		attempt->status = status_of(line, size);
	} else if ((line[0] == '\r' || line[0] == '\n') && is_final(attempt->status)) {
		decide(attempt);
	}
	return size;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *user)
{
	struct attempt *attempt = user;

	(void)one;
	attempt->rest_bytes += size;
	if (!attempt->is_fetch) return attempt->rest_bytes > EGRESS_DRAIN_BYTES ? 0 : size;
	if (attempt->status < 200 || attempt->status > 299) return 0;
	attempt->overflowed = attempt->rest_bytes > EGRESS_FETCH_BYTES_MAX;
	if (attempt->overflowed) return 0;
	buffer_append(&attempt->fetched, bytes, size);
	attempt->lacked |= attempt->fetched.failed;
	return attempt->fetched.failed ? 0 : size;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct egress     *egress = user;
	struct epoll_event event = {.data.u64 = (uint32_t)fd};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(egress->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	epoll_ctl(egress->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
	curl_multi_assign(egress->multi, fd, egress); /* any pointer: it comes back as `known` */
	return 0;
}

static int on_timer(CURLM *multi, long wait_ms, void *user)
{
	struct egress *egress = user;

	(void)multi;
	egress->curl_due.v = wait_ms < 0 ? -1 : time_mono().v + wait_ms * US_PER_MS;
	if (wait_ms == 0)
		egress->curl_due = egress->now; /* else the process would sleep until the next millisecond */
	return 0;
}

/* ---- handles ---- */

/* Called before each sending, also the first. */
static int on_request(void *user, char *to, char *from, int to_port, int from_port)
{
	struct attempt *attempt = user;

	(void)to, (void)from, (void)to_port, (void)from_port;
	attempt->has_request = true;
	return is_spent(attempt) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* Settings of all attempts. No cookies, no authentication from files, no other protocol: libcurl has them off by default, or
 * they are switched off here. */
static CURL *new_easy(void)
{
	CURL *easy = curl_easy_init();

	if (!easy) return NULL;
	curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* ignores the environment's proxy, too */
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, AGENT);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* or libcurl would cache a store for a day */
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, tls_begin);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)NAME_KEPT_S);
	curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFE_S);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)CONNECTION_IDLE_S);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)READ_BYTES);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)WRITE_BYTES);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_dial);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_dialled);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	return easy;
}

static CURLcode prepare(struct attempt *attempt)
{
	CURL    *easy = attempt->easy;
	mono_us  end = mono_after(attempt->began_at, attempt->time);
	long     left_ms = (long)(mono_since(end, time_mono()).v / US_PER_MS);
	CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, attempt->url);

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, attempt->is_plain ? "http" : "https");
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, attempt->fault);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, attempt);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, attempt);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, attempt);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, attempt);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, attempt);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, attempt);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, attempt);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, left_ms > 0 ? left_ms : 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, attempt->headers);
	curl_easy_setopt(easy, CURLOPT_RESOLVE, attempt->addresses);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, attempt->method);
	curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, attempt->is_fetch ? (long)EGRESS_FETCH_BYTES_MAX : 0L);
	if (attempt->is_fetch && !attempt->body_size) {
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	} else {
		/* Borrowed. Head and body of a small request leave in one piece, which a body callback would
		 * split. */
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)attempt->body_size);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, attempt->body);
	}
	return code;
}

/* Without the leading + libcurl would keep the address for ever. */
static struct curl_slist *address_for(const struct host *host)
{
	char text[sizeof host->origin + sizeof NO_ADDRESS + 2];

	snprintf(text, sizeof text, "+%s:" NO_ADDRESS, host->origin);
	return curl_slist_append(NULL, text);
}

enum err dial_begin(struct attempt *attempt)
{
	struct egress *egress = attempt->egress;
	struct host   *host = attempt->endpoint->host;

	attempt->wants_connection = false;
	if (!host->is_address && !(attempt->addresses = address_for(host))) return ERR_NO_MEMORY;
	attempt->easy = egress->easy_count ? egress->easy[--egress->easy_count] : new_easy();
	if (!attempt->easy || prepare(attempt)) return ERR_NO_MEMORY;
	return curl_multi_add_handle(egress->multi, attempt->easy) ? ERR_NO_MEMORY : OK;
}

void dial_pause(struct attempt *attempt)
{
	struct egress *egress = attempt->egress;

	if (attempt->easy) {
		/* In the middle of a response this closes the connection. */
		curl_multi_remove_handle(egress->multi, attempt->easy);
		curl_easy_setopt(attempt->easy, CURLOPT_HTTPHEADER, NULL);
		curl_easy_setopt(attempt->easy, CURLOPT_CUSTOMREQUEST, NULL);
		curl_easy_setopt(attempt->easy, CURLOPT_POSTFIELDS, NULL);
		curl_easy_setopt(attempt->easy, CURLOPT_RESOLVE, NULL);
		curl_easy_setopt(attempt->easy, CURLOPT_ERRORBUFFER, NULL);
		if (egress->easy_count < EASY_KEPT_MAX)
			egress->easy[egress->easy_count++] = attempt->easy;
		else
			curl_easy_cleanup(attempt->easy);
	}
	attempt->easy = NULL;
	curl_slist_free_all(attempt->addresses);
	attempt->addresses = NULL;
}

void dial_end(struct attempt *attempt)
{
	dial_pause(attempt);
	if (attempt->fd >= 0) close(attempt->fd);
	attempt->fd = -1;
	buffer_free(&attempt->fetched);
}

/* ---- ends ---- */

struct attempt *dial_next_done(struct egress *egress, struct ending *ending)
{
	CURLMsg        *message;
	struct attempt *attempt = NULL;
	int             left;

	while ((message = curl_multi_info_read(egress->multi, &left))) {
		if (message->msg != CURLMSG_DONE) continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&attempt);
		attempt->wants_connection &= message->data.result == CURLE_COULDNT_CONNECT;
		*ending = ending_of_call(attempt, message->data.result);
		return attempt;
	}
	return NULL;
}

void dial_event(struct egress *egress, int fd, uint32_t events)
{
	int what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
	           (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
	int running;

	(void)curl_multi_socket_action(egress->multi, fd, what, &running);
}

void dial_turn(struct egress *egress, mono_us now)
{
	int running;

	if (egress->curl_due.v < 0 || now.v < egress->curl_due.v) return;
	egress->curl_due.v = -1;
	(void)curl_multi_socket_action(egress->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* ---- open and close ---- */

enum err dial_open(struct egress *egress)
{
	egress->curl_due.v = -1;
	if (curl_global_init(CURL_GLOBAL_ALL) || !(egress->multi = curl_multi_init())) return ERR_NO_MEMORY;
	curl_multi_setopt(egress->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(egress->multi, CURLMOPT_SOCKETDATA, egress);
	curl_multi_setopt(egress->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(egress->multi, CURLMOPT_TIMERDATA, egress);
	curl_multi_setopt(egress->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	curl_multi_setopt(egress->multi, CURLMOPT_MAXCONNECTS, (long)egress->options.attempts_max);
	return OK;
}

void dial_close(struct egress *egress)
{
	while (egress->easy_count)
		curl_easy_cleanup(egress->easy[--egress->easy_count]);
	if (egress->multi) curl_multi_cleanup(egress->multi);
	egress->multi = NULL;
}
