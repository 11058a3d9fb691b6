/* MAINTENANCE_STATUS: how far the snapshotter's job is, and once it has ended, what came of it. `epoch` tells a job of this process from
 * one of the same number before a restart. */
#include "actors/shard/command.h"

static void pack_faults(msgpack_packer *pk, const struct faults *faults)
{
	size_t kept = faults->count < FAULTS_KEPT ? (size_t)faults->count : (size_t)FAULTS_KEPT;
	pack_count(pk, "fault_count", faults->count);
	pack_text(pk, "faults");
	msgpack_pack_array(pk, kept);
	for (size_t i = 0; i < kept; i++)
		pack_text(pk, faults->texts[i]);
}

enum err on_MAINTENANCE_STATUS(struct request *request, struct outcome *outcome)
{
	struct snapshotter_state state;
	msgpack_packer           pk = buffer_packer(outcome->payload);
	snapshotter_state(request->facts->snapshotter, &state);
	msgpack_pack_map(&pk, 20);
	pack_count(&pk, "index", request->facts->index);
	pack_count(&pk, "epoch", request->facts->epoch);
	pack_count(&pk, "number", state.number);
	pack_switch(&pk, "running", state.running);
	pack_text(&pk, "code");
	pack_text(&pk, state.err ? err_code(state.err) : "");
	pack_count(&pk, "done", state.done);
	pack_count(&pk, "total", state.total);
	pack_count(&pk, "seq", state.made.at.seq);
	pack_count(&pk, "made_epoch", state.made.at.epoch);
	pack_count(&pk, "bytes", state.made.bytes);
	pack_text(&pk, "sha256");
	pack_bin(&pk, span_of(state.made.sha256, sizeof state.made.sha256));
	pack_count(&pk, "accounts", state.audit.accounts);
	pack_count(&pk, "passes", state.audit.passes);
	pack_count(&pk, "ledger_rows", state.audit.ledger_rows);
	pack_count(&pk, "rows", state.audit.rows);
	pack_count(&pk, "records", state.records);
	pack_count(&pk, "segments", state.segments);
	pack_count(&pk, "snapshots", state.snapshots);
	pack_faults(&pk, &state.faults);
	return OK;
}
