"""Reads `pass history`: entries of {"at","what",…}. Those of a delta have {"delta","balance"}, all others the
"status" that the pass had from then on."""


def deltas_of(history):
    """The amounts of all deltas, oldest first."""
    return [entry["delta"] for entry in history if "delta" in entry]


def statuses_of(history):
    return [entry["status"] for entry in history if "status" in entry]
