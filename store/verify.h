#pragma once
#include "store/audit.h"
#include "store/store.h"

/* Verifies a shard's whole directory read-only: every segment's head and record in one chain, every snapshot (hash,
 * walk, audit), and the tables if they can be trusted. A directory that is being served, or was left by another
 * boot, is judged by its snapshots and journal alone. Errors: as audit_tables(). */
struct verify_order {
	const struct shard_dir *shard_dir;
	bool                    served;      /* by the caller: the tables are skipped */
	uint64_t                durable_seq; /* served: the journal is read up to this record */
	struct progress        *progress;
};
struct verify_report {
	uint64_t      seq; /* of the newest record */
	uint64_t      records, segments, snapshots;
	bool          tables; /* they were audited */
	struct audit  audit;  /* of the tables, or of the newest snapshot */
	struct faults faults;
};
must_check enum err verify_shard(const struct verify_order *order, struct verify_report *report);
