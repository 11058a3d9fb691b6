"""Reads `pass history`: entries {"at","what",…}. Entries of a delta have {"delta","balance"}; all others have the new
"status" of the pass."""


def deltas_of(history):
    """The amounts of all deltas, oldest first."""
    return [entry["delta"] for entry in history if "delta" in entry]


def statuses_of(history):
    return [entry["status"] for entry in history if "status" in entry]
