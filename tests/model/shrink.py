"""Shortens a failing sequence: runs it again on new accounts with parts left out, as long as it fails."""


def shrink(ops, fails, say=lambda text: None):
    """The shortest failing sequence found; `fails(ops)` is true if it fails. The parts that are left out are halved
    when none can be."""
    size = max(1, len(ops) // 2)
    while True:
        at, shorter = 0, False
        while at < len(ops):
            rest = ops[:at] + ops[at + size:]
            if rest and fails(rest):
                ops, shorter = rest, True
                say(f"{len(ops)} operations still fail")
            else:
                at += size
        if size == 1 and not shorter:
            return ops
        if not shorter or size > 1:
            size = max(1, size // 2)
