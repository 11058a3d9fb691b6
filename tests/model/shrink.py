"""Makes a failing sequence short: it is carried out again on fresh accounts with parts left out, for as long as it fails."""


def shrink(ops, fails, say=lambda text: None):
    """The shortest sequence found; `fails(ops)`: does it fail? Parts that are left out halve while nothing can be."""
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
