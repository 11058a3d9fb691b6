/* pass event ACCOUNT PASS_ID installed|uninstalled|deactivated|unblocked: the edges are event.def. */
#include "actors/shard/delivery/fan_out.h"
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/phone.h"
#include "schemas/api/pass_command.h"

#include <stdio.h>

struct edge {
	const char      *event;
	enum ledger_what what;
	enum pass_status from;
	uint8_t          must_have, must_not_have;
	enum pass_status to;
	uint8_t          set, clear;
};

static const struct edge edges[] = {
#define V(event, what, from, must_have, must_not_have, to, set, clear) \
	{event, LEDGER_##what, PASS_##from, must_have, must_not_have, PASS_##to, set, clear},
#include "actors/shard/pass/event.def"
#undef V
};

/* The states that `event` can follow, for people. */
static void states_text(struct span event, char text[HINT_TEXT])
{
	size_t size = 0;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		if (!span_is(event, edges[i].event)) continue;
		int more = snprintf(text + size, HINT_TEXT - size, "%s%s", size ? " or " : "",
		                    pass_status_text(edges[i].from));
		if (more < 0 || (size_t)more >= HINT_TEXT - size) break;
		size += (size_t)more;
	}
	text[size] = 0;
}

/* The event exists, but no edge of it begins where the pass stands. */
static enum err refuse_edge(struct outcome *outcome, struct span event, const struct hot *pass)
{
	char states[HINT_TEXT];
	bool is_blocked = pass->flags & HOT_REINSTALL_BLOCKED;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		if (span_is(event, edges[i].event) && edges[i].from == (enum pass_status)pass->status)
			return refuse(outcome, is_blocked ? REASON_OF_ALL(EDGE_BLOCKED)
			                                  : REASON_OF_ALL(EDGE_NOT_BLOCKED));
	states_text(event, states);
	return refuse(outcome, REASON_OF_ALL(NO_EDGE, .given = span_str(pass_status_text(pass->status)),
	                                     .wanted = states));
}

/* The edge for `event` from where the pass stands; NULL and *known when the event exists, but not from here. */
static const struct edge *plan_event(struct span event, const struct hot *pass, bool *known)
{
	*known = false;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		const struct edge *edge = &edges[i];
		if (!span_is(event, edge->event)) continue;
		*known = true;
		if (edge->from != (enum pass_status)pass->status) continue;
		if ((pass->flags & edge->must_have) == edge->must_have &&
		    !(pass->flags & edge->must_not_have))
			return edge;
	}
	return NULL;
}

static enum err tell(struct request *request, enum ledger_what what, uint32_t number)
{
	if (what == LEDGER_INSTALLED) return fan_out(request, EVENT_PASS_INSTALLED, number);
	return what == LEDGER_UNINSTALLED ? fan_out(request, EVENT_PASS_REMOVED, number) : OK;
}

/* A wallet that has the pass kept it while it was blocked, and could not make it active. */
static enum err install_saved(struct request *request, struct hot_at *pass)
{
	bool     is_saved;
	enum err err = google_is_saved(request, pass->account, pass->number, &is_saved);
	if (err || !is_saved) return err;
	if ((err = hot_get(request->view, pass->account, pass->number, pass))) return err;
	return phone_pass_installed(request, pass);
}

enum err on_PASS_EVENT(struct request *request, struct outcome *outcome)
{
	struct hot_at        pass;
	struct wallet_ending ending = {.is_on_phone = false};
	bool        known, block = arg_boolean(&request->args[ARG_PASS_EVENT_block_reinstall], false);
	struct span event = arg_span(&request->args[ARG_PASS_EVENT_event]);
	enum err    err = pass_find(request, arg_span(&request->args[ARG_PASS_EVENT_pass_id]), false, &pass);
	if (err) return err;
	const struct edge *edge = plan_event(event, &pass.now, &known);
	if (!known) return refuse(outcome, REASON(NO_EVENT, "event"));
	if (block && edge && edge->what != LEDGER_UNINSTALLED)
		return refuse(outcome, REASON(NO_BLOCK, "block_reinstall"));
	if (!edge) return refuse_edge(outcome, event, &pass.now);
	struct hot after = pass.now;
	after.status = (uint8_t)edge->to;
	after.flags = (uint8_t)((pass.now.flags | edge->set) & ~edge->clear);
	if (block) after.flags |= HOT_REINSTALL_BLOCKED;
	if (edge->what == LEDGER_UNINSTALLED) err = phone_forget_all(request, &pass);
	if (edge->what == LEDGER_DEACTIVATED) err = wallet_look_ends(request, &pass, &ending);
	if (err) return err;
	if ((err = pass_change(request, &pass, after, (struct ledger_row){.what = edge->what}))) return err;
	if ((err = wallet_ended(request, &pass, &ending))) return err;
	if ((err = tell(request, edge->what, pass.number))) return err;
	if (edge->what == LEDGER_UNBLOCKED && (err = install_saved(request, &pass))) return err;
	if ((err = hot_get(request->view, pass.account, pass.number, &pass)))
		return err; /* with the change laid over */
	return pass_show(request, &pass, outcome->payload);
}
