#pragma once
#include "actors/timer/marks.h"
#include "actors/timer/resolver.h"
#include "schemas/limits.h"

#include <ares.h>
#include <sys/queue.h>

/* Shared by the files of the resolver, and by no others. */

/* Of all, and of one owner; more look-ups wait. With silent servers a stream lasts half a second for each. */
enum { STREAMS_MAX = 256, STREAMS_OF_OWNER_MAX = 16 };

enum { FILES = 4 }; /* that c-ares reads */

struct channel {
	TAILQ_ENTRY(channel) in_list;
	ares_channel ares;     /* queries name servers only, by UDP */
	ares_channel hosts;    /* reads the hosts file only; opens no socket */
	char         order[3]; /* of the two: "bf", "fb", "b" or "f", as c-ares names them */
	uint32_t     open;     /* open queries */
	unsigned     attempts; /* of a query, over all servers */
};

/* The TCP queries of one look-up. It has no question when that has ended. */
struct stream {
	struct resolver *resolver;
	struct question *question;
	uint32_t         owner;
	unsigned         place;
	ares_channel     ares;
};

struct resolver {
	TAILQ_HEAD(channels, channel)
	channels; /* the first is in use, the others are of earlier configurations */
	unsigned       channel_count;
	struct stream *streams[STREAMS_MAX];
	uint16_t       streams_of[SLOT_COUNT];   /* by owner */
	TAILQ_HEAD(questions, question) waiting; /* for a stream, oldest first */
	int              epoll_fd;
	char            *servers, *file; /* NULL: the system's */
	uint16_t         port;
	bool             closing;
	struct file_mark marks[FILES];
};

struct query {
	struct question *question;
	int              family;
	bool             is_truncated; /* by UDP; it continues over TCP */
};

/* A name's look-up: at most two queries at once, one step of the order after the other. */
struct question {
	TAILQ_ENTRY(question) in_waiting;
	struct resolver    *resolver;
	struct channel     *channel;
	struct stream      *stream; /* once an answer was truncated */
	uint32_t            owner;
	struct query        queries[2];
	resolver_answer    *answer;
	void               *user;
	const char         *step;         /* in the channel's order */
	unsigned            open;         /* families being queried */
	bool                has_reported; /* addresses were reported */
	bool                is_waiting;   /* for a stream */
	enum attempt_detail why;
	char                name[];
};

/* In an event's data: above the descriptor and RESOLVER_EVENT, a stream's place + 1. */
enum { STREAM_SHIFT = 33, STREAM_MASK = 0xffff };

/* ---- resolver_channel.c ---- */

/* A channel of the present configuration. Errors: ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err resolver_channel_new(struct resolver *resolver, struct channel **made);
/* Open queries end. NULL is fine. */
void resolver_channel_free(struct channel *channel);
/* Opens the stream's c-ares channel, which queries the servers of `channel` by TCP. Returns a status of c-ares. */
int resolver_stream_open(struct stream *stream, const struct channel *channel);

/* ---- resolver_answer.c ---- */

/* Adds the addresses of a name server's answer, or of the hosts file. Returns a status of c-ares. */
int  resolver_gather(int family, const uint8_t *answer, int size, struct resolved *resolved);
void resolver_gather_hosts(const struct ares_addrinfo *info, struct resolved *resolved);
/* Does the answer by UDP lack a part? `status`: of its query. */
bool resolver_is_truncated(int status, const uint8_t *answer, int size);
/* Why there is no address, by a status of c-ares. */
enum attempt_detail resolver_why(int status);
