/* The supervisor's side of sessions: REPORT from its processes, STATUS and RELOAD for the CLI.
 *
 * A session begins with HELLO, which names the sender; the server remembers it by the transport's name of the connection. For
 * a child it also remembers the current pid, if that process can have begun the session. So messages that a killed process
 * left behind are not taken for its successor's. Sessions are few and cheap. When the table is full, the longest silent one is
 * dropped, and its next call is ignored.
 *
 * RELOAD is answered when every process uses the new settings, or after RELOAD_WAIT_MS with the names of those that do not
 * yet. One at a time waits for that. */
#include "actors/supervisor/status_server.h"
#include "actors/rt/log.h"
#include "actors/rt/other_version.h"
#include "actors/rt/socket_file.h"
#include "actors/rt/tls_pair.h"
#include "schemas/date.h"
#include "schemas/api/system.h"
#include "schemas/frame.h"
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RELOAD_WAIT_MS = 2000 }; /* well within CALL_DEADLINE_MS */
_Static_assert((int)RELOAD_WAIT_MS < (int)CALL_DEADLINE_MS, "the caller would have given up");

struct session {
	struct peer   peer;
	enum role     role;
	struct child *child; /* NULL: not one of our processes */
	pid_t         pid;   /* of the child that sent HELLO; 0: no live one */
	mono_us       begun; /* from the HELLO */
	uint64_t      taken; /* bytes of frames received from it */
	uint64_t      used;  /* the server's message count at its last use; 0: free */
};

struct status_server {
	struct channel    *channel;
	struct socket_file file;
	struct children   *children;
	struct reload     *reload;
	uint64_t           epoch, messages;
	mono_us            now;
	struct session     sessions[SESSIONS_MAX];
	msgpack_zone      *zone;
	struct frame_out   replies;
	struct buffer      welcome;
	mono_us            other_version; /* when one was logged last */
	bool               all_ready;     /* became true in this turn */

	/* The RELOAD that waits for its answer. */
	bool                  is_reloading;
	mono_us               reload_end;
	struct peer           reloader;
	uint64_t              reload_id;
	struct reload_outcome outcome;
};

enum err status_server_open(struct status_server **status_server_p, const char *endpoint, uint64_t epoch,
                            struct children *children, struct reload *reload)
{
	struct status_server *server = calloc(1, sizeof *server);
	enum err              err = ERR_NO_MEMORY;

	if (!server || !(server->zone = msgpack_zone_new(4096))) goto out;
	server->children = children;
	server->reload = reload;
	server->epoch = epoch;
	err = socket_file_bind(&server->file, endpoint, &server->channel);
out:
	if (err) status_server_close(&server);
	*status_server_p = server;
	return err;
}

void status_server_close(struct status_server **status_server_p)
{
	struct status_server *server = *status_server_p;

	*status_server_p = NULL;
	if (!server) return;
	channel_close(&server->channel);
	if (server->zone) msgpack_zone_free(server->zone);
	buffer_free(&server->replies.bytes);
	buffer_free(&server->welcome);
	free(server);
}

int status_server_fd(const struct status_server *server)
{
	return channel_fd(server->channel);
}

static void send_to(struct status_server *server, const struct peer *peer, struct span bytes)
{
	/* A peer that is gone or does not read needs no answer. */
	if (channel_send(server->channel, peer, bytes)) return;
}

static struct session *session_of(struct status_server *server, const struct peer *peer)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (server->sessions[i].used && peer_same(&server->sessions[i].peer, peer))
			return &server->sessions[i];
	return NULL;
}

/* Sends what is in server->replies. */
static void send_replies(struct status_server *server, const struct peer *peer)
{
	const struct session *session = session_of(server, peer);

	if (!session || frame_seal_replies(&server->replies, server->epoch).size == 0) return;
	frame_set_taken(&server->replies.bytes, session->taken);
	send_to(server, peer, buffer_span(&server->replies.bytes));
}

static struct session *session_new(struct status_server *server)
{
	struct session *oldest = &server->sessions[0];

	for (size_t i = 1; i < SESSIONS_MAX; i++)
		if (server->sessions[i].used < oldest->used) oldest = &server->sessions[i];
	return oldest;
}

static void on_hello(struct status_server *server, const struct peer *peer, const struct frame *frame)
{
	struct session *session = session_of(server, peer);
	struct child   *child = children_find(server->children, frame->role, frame->index);
	uint64_t        taken = session && session->begun.v == frame->begun.v ? session->taken : 0;
	struct frame    welcome = {.epoch = server->epoch,
	                           .begun = frame->begun,
	                           .credit_commands = SESSION_CREDIT_COMMANDS,
	                           .credit_bytes = SESSION_CREDIT_BYTES,
	                           .placement_version = PLACEMENT_VERSION};

	if (!session) session = session_new(server);
	*session = (struct session){.peer = *peer,
	                            .role = frame->role,
	                            .child = child,
	                            .begun = frame->begun,
	                            .taken = taken,
	                            .used = server->messages};
	if (child && frame->begun.v >= child->started.v) session->pid = child->pid;
	buffer_clear(&server->welcome);
	frame_welcome(&server->welcome, &welcome);
	if (!server->welcome.failed) send_to(server, peer, buffer_span(&server->welcome));
}

static void on_report(struct status_server *server, const struct session *session, const struct call *call)
{
	struct span    state = arg_span(&call->args[ARG_REPORT_state]);
	int64_t        epoch = arg_integer(&call->args[ARG_REPORT_epoch], 0);
	msgpack_packer packer;

	bool is_of_now = session->child && session->pid && session->child->pid == session->pid;

	if (is_of_now && span_is(state, "judged")) children_judged(server->children, session->child);
	if (is_of_now && children_report(server->children, session->child, span_is(state, "ready"),
	                                 (uint64_t)epoch, server->now))
		server->all_ready = true;
	frame_reply(&server->replies, call->id, OK, 0, span_of(NULL, 0));
	packer = frame_out_packer(&server->replies);
	msgpack_pack_map(&packer, 0);
}

static void pack_child(msgpack_packer *packer, const struct child *child)
{
	msgpack_pack_map(packer, 5);
	pack_text(packer, "role");
	pack_text(packer, role_text(child->role));
	pack_text(packer, "index");
	msgpack_pack_uint32(packer, child->index);
	pack_text(packer, "pid");
	/* Not 0: a script might pass it to kill, where it means the caller's own process group. */
	if (child->pid)
		pack_int(packer, child->pid);
	else
		msgpack_pack_nil(packer);
	pack_text(packer, "state");
	pack_text(packer, child_state_text(child->state));
	pack_text(packer, "epoch");
	msgpack_pack_uint64(packer, child->epoch);
}

static void pack_certificate(const struct status_server *server, msgpack_packer *packer)
{
	char text[RFC3339_TEXT];

	pack_text(packer, "certificate");
	if (!server->reload->has_certificate) {
		msgpack_pack_nil(packer);
		return;
	}
	msgpack_pack_map(packer, 2);
	rfc3339_text(server->reload->not_before, text);
	pack_text(packer, "not_before");
	pack_text(packer, text);
	rfc3339_text(server->reload->not_after, text);
	pack_text(packer, "not_after");
	pack_text(packer, text);
}

static void on_status(struct status_server *server, const struct call *call)
{
	const struct children *children = server->children;
	msgpack_packer         packer;

	frame_reply(&server->replies, call->id, OK, 0, span_of(NULL, 0));
	packer = frame_out_packer(&server->replies);
	msgpack_pack_map(&packer, 7);
	pack_text(&packer, "processes");
	msgpack_pack_array(&packer, children->count);
	for (uint32_t i = 0; i < children->count; i++)
		pack_child(&packer, &children->of[i]);
	pack_text(&packer, "shard_count");
	msgpack_pack_uint32(&packer, children->options.shards);
	pack_text(&packer, "test_clock");
	children->options.test_clock ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
	pack_text(&packer, "deliveries");
	pack_text(&packer, children->options.no_deliveries ? "off" : "on");
	pack_count(&packer, "settings", children->generation);
	pack_text(&packer, "root_certificates");
	tls_has_roots() ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
	pack_certificate(server, &packer);
}

static void refuse(struct status_server *server, uint64_t id, enum err err)
{
	msgpack_packer packer;

	frame_reply(&server->replies, id, err, 0, span_of(NULL, 0));
	packer = frame_out_packer(&server->replies);
	msgpack_pack_nil(&packer);
}

/* ---- reload ---- */

static void pack_names(msgpack_packer *packer, const char *key, const struct reload_names *names)
{
	pack_text(packer, key);
	msgpack_pack_array(packer, names->count);
	for (unsigned i = 0; i < names->count; i++)
		pack_text(packer, names->of[i]);
}

static void pack_unsettled(const struct children *children, msgpack_packer *packer)
{
	uint32_t count = 0;
	char     name[32];

	for (uint32_t i = 0; i < children->count; i++)
		count += !child_is_settled(children, &children->of[i]);
	pack_text(packer, "pending");
	msgpack_pack_array(packer, count);
	for (uint32_t i = 0; i < children->count; i++) {
		const struct child *child = &children->of[i];
		if (child_is_settled(children, child)) continue;
		snprintf(name, sizeof name, "%s-%u", role_text(child->role), child->index);
		pack_text(packer, name);
	}
}

static void answer_reload(struct status_server *server)
{
	msgpack_packer packer;

	frame_clear(&server->replies);
	frame_reply(&server->replies, server->reload_id, OK, 0, span_of(NULL, 0));
	packer = frame_out_packer(&server->replies);
	msgpack_pack_map(&packer, 5);
	pack_count(&packer, "settings", server->children->generation);
	pack_names(&packer, "changed", &server->outcome.changed);
	pack_names(&packer, "needs_restart", &server->outcome.needs_restart);
	pack_unsettled(server->children, &packer);
	pack_certificate(server, &packer);
	send_replies(server, &server->reloader);
	server->is_reloading = false;
}

static void on_reload(struct status_server *server, const struct peer *peer, const struct call *call)
{
	msgpack_packer packer;
	enum err       err = ERR_OVERLOADED;

	snprintf(server->outcome.why, sizeof server->outcome.why, "Another reload is under way.");
	if (!server->is_reloading) err = reload_run(server->reload, server->children, &server->outcome);
	if (err) {
		frame_reply(&server->replies, call->id, err, 0, span_of(NULL, 0));
		packer = frame_out_packer(&server->replies);
		pack_text(&packer, server->outcome.why);
		return;
	}
	server->is_reloading = true;
	server->reload_end = mono_after(server->now, (dur_us){RELOAD_WAIT_MS * US_PER_MS});
	server->reloader = *peer;
	server->reload_id = call->id;
}

static void on_call(struct status_server *server, const struct session *session, const struct call *call)
{
	const struct message_row *row = message_row(call->message);

	if (row->receiver != ROLE_SUPERVISOR || !(row->senders & 1u << session->role))
		refuse(server, call->id, ERR_MALFORMED);
	else if (call->message == MSG_REPORT)
		on_report(server, session, call);
	else if (call->message == MSG_RELOAD)
		on_reload(server, &session->peer, call);
	else
		on_status(server, call);
}

static void on_calls(struct status_server *server, const struct peer *peer, const struct frame *frame,
                     size_t size)
{
	struct session *session = session_of(server, peer);

	if (!session) return;
	session->used = server->messages;
	session->taken += size;
	frame_clear(&server->replies);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct call call = {0};
		enum err    err = call_open(&frame->items[i], &call);

		if (!err && frame->epoch != server->epoch) err = ERR_SHARD_UNAVAILABLE;
		if (err)
			refuse(server, call.id, err);
		else
			on_call(server, session, &call);
	}
	if (server->replies.count) send_replies(server, peer); /* a reload is answered later */
}

static void on_packet(struct status_server *server, const struct packet *packet)
{
	struct frame frame;
	enum err     err;

	server->messages++;
	err = frame_open(packet->bytes, server->zone, &frame);
	if (err == ERR_UNSUPPORTED)
		other_version_log(&server->other_version, server->now);
	else if (err)
		log_warn("frame_refused", "code=%s bytes=%zu", err_code(err), packet->bytes.size);
	else if (frame.kind == FRAME_HELLO)
		on_hello(server, &packet->from, &frame);
	else if (frame.kind == FRAME_CALLS)
		on_calls(server, &packet->from, &frame, packet->bytes.size);
	msgpack_zone_clear(server->zone);
}

bool status_server_pump(struct status_server *server, mono_us now)
{
	struct packet packet = {0};

	server->now = now;
	server->all_ready = false;
	socket_file_look(&server->file, now);
	while (channel_recv(server->channel, &packet) == OK)
		on_packet(server, &packet);
	packet_close(&packet);
	if (server->is_reloading &&
	    (children_are_settled(server->children) || server->now.v >= server->reload_end.v))
		answer_reload(server);
	return server->all_ready;
}

bool status_server_waits(const struct status_server *server)
{
	return server->is_reloading;
}
