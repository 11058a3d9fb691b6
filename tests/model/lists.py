"""GET /v1/passes: every filter, order and search, implemented in the simplest way."""
from urllib.parse import quote

from folding import fold
from passes import NAMES
from values import DAY, MS, time_text
from world import Ask, Body, Error, operation

STATUSES = ["creating", "creation_failed", "issued", "active", "removed", "deactivated"]


FOLDED = {}


def folded(text):
    if text not in FOLDED:
        FOLDED[text] = fold(text)
    return FOLDED[text]


def text_of(value):
    return "true" if value is True else "false" if value is False else str(value)


def settle(micros, moments):
    """A bound in whole milliseconds that is not too near to any uncertain time."""
    micros -= micros % MS
    for moment in sorted(moments, key=lambda one: one.high):
        if moment.low < micros <= moment.high:
            micros = moment.high + MS - moment.high % MS
    return micros


def bounds_of(w, op, name, moments):
    """(lower, upper) in microseconds of the bounds that the operation names; each is a (delta, where) or text."""
    found = []
    for end in ("from", "to"):
        bound = op.get(f"{name}_{end}")
        if bound is None or isinstance(bound, str):
            found.append(bound)
        else:
            delta, nth = bound
            base = moments[nth % len(moments)].low if moments else w.clock.now()
            found.append(settle(base + delta * MS, moments))
    return found


def paging(chance, op):
    if chance.random() < 0.5:
        op["limit"] = chance.choice([1, 2, 3, 5, 10, 25, 100])
    if chance.random() < 0.4:
        op["offset"] = chance.choice([0, 1, 2, 5, 30, 1000])
    if chance.random() < 0.03:
        op[chance.choice(["limit", "offset"])] = chance.choice(["0", "101", "-1", "x", "", "1.0", "1e1", "9" * 30, " 1"])
    return op


def paging_faults(op):
    faults = []
    for name, least, most in (("limit", 1, 100), ("offset", 0, 2**63 - 1)):
        value = str(op.get(name, least))
        if not value.isascii() or not value.removeprefix("-").isdigit() or not least <= int(value) <= most or value == "-0":
            faults.append((400, "INVALID_INPUT", name))
    return faults


def page(found, op, default=25):
    """(rows, headers) of a sorted list."""
    limit, offset = int(op.get("limit", default)), int(op.get("offset", 0))
    more = "true" if offset + limit < len(found) else "false"
    return found[offset:offset + limit], ((b"x-total-count", str(len(found))), (b"x-has-more", more))


def query_of(pairs):
    return "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in pairs) if pairs else ""


def time_pair(bound):
    return bound if isinstance(bound, str) else time_text(bound)


@operation(8)
class pass_list:
    def make(w, a):
        chance = w.chance
        op = paging(chance, {})
        if chance.random() < 0.3:
            op["include_deleted"] = chance.choice(["true", "1", "t", "false", "0", "f", "true", "no"])
        if chance.random() < 0.25:
            op["status"] = chance.sample(STATUSES, chance.choice([1, 1, 2]))
            if chance.random() < 0.03:
                op["status"].append("lost")
        if chance.random() < 0.25:
            op["q"] = chance.choice([*NAMES, "a", "e", "1", "o", "5", "", "TRUE", "x", ".5", "é" * 201, "p p", "日", "/"])
        if chance.random() < 0.5:
            op["sort_by"] = chance.choice(["id", "name", "created_at", "updated_at"])
        if chance.random() < 0.5:
            op["sort_dir"] = chance.choice(["asc", "desc"])
        if chance.random() < 0.02:
            op[chance.choice(["sort_by", "sort_dir"])] = chance.choice(["balance", "ASC", ""])
        for name in ("created", "updated"):
            for end in ("from", "to"):
                if chance.random() < 0.08 and a.passes:
                    op[f"{name}_{end}"] = chance.choice([-DAY // MS, -1000, -1, 0, 0, 1, 1000]), chance.randrange(len(a.passes))
        if chance.random() < 0.02:
            op[chance.choice(["created_from", "updated_to"])] = chance.choice(["", "yesterday", "2026-01-01", "2026-01-01T00:00:00"])
        if chance.random() < 0.02:
            op["twice"] = chance.choice(["limit", "q", "sort_by", "include_deleted"])
        return op

    def times(w, a, op):
        created = bounds_of(w, op, "created", [one.created for one in a.passes])
        updated = bounds_of(w, op, "updated", [one.updated for one in a.passes])
        return dict(zip(("created_from", "created_to", "updated_from", "updated_to"), created + updated))

    def ask(w, a, op):
        pairs = [(name, op[name]) for name in ("limit", "offset", "include_deleted", "q", "sort_by", "sort_dir") if name in op]
        pairs += [("status", status) for status in op.get("status", [])]
        pairs += [(name, time_pair(bound)) for name, bound in pass_list.times(w, a, op).items() if bound is not None]
        pairs += [(name, value) for name, value in pairs if name == op.get("twice")]
        return Ask("GET", "/v1/passes" + query_of(pairs))

    def want(w, a, op, when):
        times = pass_list.times(w, a, op)
        faults = paging_faults(op)
        flag = op.get("include_deleted", "f")
        for name, good in (("include_deleted", flag in ("true", "1", "t", "false", "0", "f")),
                           ("status", all(status in STATUSES for status in op.get("status", []))), ("q", len(op.get("q", "")) <= 200),
                           ("sort_by", op.get("sort_by", "id") in ("id", "name", "created_at", "updated_at")),
                           ("sort_dir", op.get("sort_dir", "asc") in ("asc", "desc")), (op.get("twice"), op.get("twice") not in op),
                           *((name, not isinstance(bound, str)) for name, bound in times.items())):
            if not good:
                faults.append((400, "INVALID_INPUT", name))
        for name in ("created", "updated"):
            low, high = times[f"{name}_from"], times[f"{name}_to"]
            if isinstance(low, int) and isinstance(high, int) and low > high:
                faults += [(400, "INVALID_INPUT", f"{name}_from"), (400, "INVALID_INPUT", f"{name}_to")]
        if faults:
            return Error(*faults)
        found = [one for one in a.passes if matches(one, op, times, flag in ("true", "1", "t"))]
        found.sort(key=KEYS[op.get("sort_by", "created_at")], reverse=op.get("sort_dir") != "asc")
        rows, headers = page(found, op)
        return Rows(rows, headers)


class Rows(Body):
    """A page of things whose text is mostly known."""

    def __init__(self, rows, headers=()):
        super().__init__(200, lambda: [row.shown() for row in rows], headers)
        self.rows = rows

    def differs(self, answer):
        if self.rows and all(row.text for row in self.rows) and answer.body == b"[" + b",".join(row.text for row in self.rows) + b"]":
            return self.heads(answer)
        return super().differs(answer)

    def heads(self, answer):
        if answer.status != self.status:
            return f"want {self.status}"
        for name, value in self.headers:
            if answer.header(name) != value:
                return f"want {name.decode()} {value}, got {answer.header(name)}"
        return None


KEYS = {"created_at": lambda one: one.order, "id": lambda one: (one.id.encode(), one.order),
        "name": lambda one: (folded(one.name)[:100].encode(), one.order), "updated_at": lambda one: (one.updated.n, one.order)}


def inside(moment, low, high):
    """settle() chose bounds that leave no doubt."""
    return (low is None or moment.low >= low) and (high is None or moment.low < high)


def matches(one, op, times, deleted):
    if one.deleted and not deleted:
        return False
    if op.get("status") and one.status not in op["status"]:
        return False
    if not inside(one.created, times["created_from"], times["created_to"]):
        return False
    if not inside(one.updated, times["updated_from"], times["updated_to"]):
        return False
    needle = folded(op.get("q", ""))
    return not needle or any(needle in folded(text_of(value)) for value in [one.id, *one.shown_visible().values()])

