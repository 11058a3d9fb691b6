/* Serves lines: sends what waits on their connections, and makes connections. */
#include "actors/timer/apns/apns_inside.h"

enum { SECOND_CONNECTION_AT = 1000 };

static void send_on(struct apns_line *line, struct connection *connection)
{
	unsigned room = connection_room(connection);
	for (; room && line->waiting_count; room--) {
		struct apns_push *push = TAILQ_FIRST(&line->waiting);
		if (!session_push(connection, push)) {
			connection->is_draining = true;
			push_end(push, APNS_AGAIN, "the request could not be made");
			return;
		}
		push_leave(push);
		push->connection = connection;
		connection->open_count++;
		connection->used = line->apns->now;
		TAILQ_INSERT_TAIL(&connection->open, push, in_list);
	}
}

/* Is there room for another connection? Ends the one that has been idle longest if need be. */
static bool make_room(struct apns *apns)
{
	struct connection *connection, *idle = NULL;
	struct dialling   *dialling;
	unsigned           count = apns->connection_count;
	TAILQ_FOREACH(dialling, &apns->diallings, link)
	count++;
	if (count < APNS_CONNECTIONS_MAX) return true;
	TAILQ_FOREACH(connection, &apns->connections, of_all)
	if (connection->state == CONNECTION_UP && !connection->open_count &&
	    !connection->line->waiting_count && (!idle || connection->used.v < idle->used.v))
		idle = connection;
	if (idle) connection_end(idle);
	return idle;
}

/* Is one more connection wanted? A second one only once the first has shown that the credential is good. */
static bool wants_connection(const struct apns_line *line)
{
	const struct connection *first = TAILQ_FIRST(&line->connections);
	unsigned                 live = line_connections(line);
	if (line->dialling || !line->waiting_count || live > 1) return false;
	return live == 0 || (line->waiting_count >= SECOND_CONNECTION_AT && first->is_proven);
}

void line_serve(struct apns_line *line)
{
	struct connection *connection;
	struct apns       *apns = line->apns;
	TAILQ_FOREACH(connection, &line->connections, of_line)
	send_on(line, connection);
	if (!wants_connection(line)) return;
	if (apns->now.v < line->dial_at.v) {
		if (!line_connections(line))
			line_give_up(line, line->is_refused ? APNS_HELD : APNS_AGAIN, line->reason);
		return;
	}
	if (!make_room(apns)) return;
	if (dialling_begin(line))
		line_give_up(line, APNS_AGAIN, "no memory");
	else
		dialling_turn(line->dialling);
}
