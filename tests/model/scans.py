"""Scans with their verdicts, their list, and readers."""


from cards import CODES, card_of
from lists import bounds_of, folded, inside, page, paging, paging_faults, query_of, time_pair
from passes import IDS, NOT_FOUND, is_id, is_junk, some_junk, some_pass
from rules import happened
from values import DAY, MS, SECOND, Hole, Spaced
from world import Ask, Body, Error, Fields, Line, Printed, is_text, operation

READERS = ["till", "door", "Tür 1", "x"]


class Scan:
    def __init__(self, holder, reader, when):
        self.account, self.holder, self.reader, self.id, self.created = holder.account, holder, reader, Hole(), when
        self.reason, self.gone = None, False

    @property
    def status(self):
        return "failed" if self.reason else "succeeded"

    def shown(self, created):
        return {"id": self.id, "pass_id": self.holder.id, "status": self.status, "reason": self.reason, "scanner_id": self.reader,
                "scanner_name": self.account.readers.get(self.reader), "created_at": created}


class Verdict:
    """The verdict of a second scan, which depends on the times of both."""

    def __init__(self, scan, last, good, bad):
        self.scan, self.last, self.good, self.bad = scan, last, good, bad

    def differs(self, answer):
        window = self.scan.account.window * SECOND
        want = self.good if answer.status == 200 and answer.json.get("status") == "succeeded" else self.bad
        wrong = want().differs(answer)
        if wrong or not self.last:
            return wrong
        new, old = self.scan.created, self.last.created
        if want is self.good and new.high - old.low < window:
            return f"succeeded within the window: {old!r}, {new!r}"
        if want is self.bad and new.low - old.high >= window:
            return f"refused after the window: {old!r}, {new!r}"
        return None


@operation(6)
class scan_create:
    def make(w, a):
        chance = w.chance
        body = {"pass_id": some_pass(w, a)} if chance.random() < 0.75 else {"qr_value": chance.choice([some_pass(w, a), *CODES])}
        if chance.random() < 0.5:
            body["reader_id"] = chance.choice([*READERS, None])
        if chance.random() < 0.04:
            body[chance.choice(["pass_id", "qr_value", "reader_id"])] = chance.choice(["", "ada", 5, None, {}, "y" * 201, "a\nb"])
        return {"body": some_junk(chance, body), "info": chance.choice([None, None, None, "true", "1", "f", "false", "yes"])}

    def ask(w, a, op):
        return Ask("POST", "/v1/scans" + ("" if op["info"] is None else f"?pass_info={op['info']}"), op["body"])

    def want(w, a, op, when):
        body, faults = op["body"], []
        if op["info"] not in (None, "true", "1", "t", "false", "0", "f"):
            faults.append((400, "INVALID_INPUT", "pass_info"))
        if is_junk(body) and body != "":
            return Error((400, "INVALID_REQUEST", None), *faults)
        body = body or {}
        fields = Fields(body, ("pass_id", "qr_value", "reader_id"))
        fields.faults += faults
        given = [name for name in ("pass_id", "qr_value") if body.get(name) is not None]
        for name in ("pass_id", "qr_value"):
            fields.may(name, is_text)
            if len(given) != 1:
                fields.bad(name)
        fields.may("reader_id", is_id_text)
        if fields.faults:
            return fields.error()
        holder = found(a, body)
        if holder is None:  # an id or value that nothing can have counts as out of range
            return NOT_FOUND if all(is_id(body[name]) for name in given) else Error(*NOT_FOUND.any_of, (400, "INVALID_INPUT", given[0]))
        scan = Scan(holder, body.get("reader_id"), when)
        last = next((one for one in reversed(holder.scans) if not one.reason), None)
        w.things[op["n"]] = scan
        suspended = holder.status == "deactivated" or holder.blocked

        def good():
            holder.scans.append(scan)
            a.scans.append(scan)
            holder.scan_count += 1
            happened(w, a, "scan.created", holder, when, scan.reader)
            return answered(scan, op)

        def bad():
            scan.reason = "pass_suspended" if suspended else "double_scan"
            holder.scans.append(scan)
            a.scans.append(scan)
            return answered(scan, op)

        window = a.window * SECOND
        if suspended:
            return bad()
        if not last or not window or when.low - last.created.high >= window:
            return good()
        return Verdict(scan, last, good, bad)

    def again(w, a, op):
        """The same scan, with the current names of its reader and its pass."""
        scan = w.things[op["n"]]
        return lambda: answered(scan, op)


def is_id_text(value):
    return is_id(value) or value in (".", "..")


def found(a, body):
    if body.get("pass_id") is not None:
        return a.live.get(body["pass_id"])
    value = body["qr_value"]
    one = a.live.get(value)
    if one is not None and one.qr == value:
        return one
    card = card_of(a, value)
    return card.holder if card and not card.holder.deleted else None


def answered(scan, op):
    value = scan.shown(scan.created)
    if op["info"] in ("true", "1", "t"):
        value["pass"] = scan.holder.shown()
    return Body(200, value)


@operation(3)
class scan_list:
    def make(w, a):
        chance, op = w.chance, paging(w.chance, {})
        if chance.random() < 0.3:
            op["status"] = chance.sample(["succeeded", "failed", "processing"], chance.choice([1, 1, 2]))
            if chance.random() < 0.04:
                op["status"].append("issued")
        if chance.random() < 0.25:
            op["q"] = chance.choice([*IDS, "a", "TUR", "Desk", "1", "", "é" * 201])
        if chance.random() < 0.2:
            op["pass_info"] = chance.choice(["true", "1", "false", "no"])
        if chance.random() < 0.3:
            op["sort_dir"] = chance.choice(["asc", "desc", "desc", "up"])
        for end in ("from", "to"):
            if chance.random() < 0.15 and a.scans:
                op[f"created_{end}"] = chance.choice([-DAY // MS, -1000, 0, 0, 1, 1000]), chance.randrange(len(a.scans))
        return op

    def times(w, a, op):
        return bounds_of(w, op, "created", [one.created for one in a.scans])

    def ask(w, a, op):
        low, high = scan_list.times(w, a, op)
        pairs = [(name, op[name]) for name in ("limit", "offset", "q", "pass_info", "sort_dir") if name in op]
        pairs += [("status", status) for status in op.get("status", [])]
        pairs += [(name, time_pair(bound)) for name, bound in (("created_from", low), ("created_to", high)) if bound is not None]
        return Ask("GET", "/v1/scans" + query_of(pairs))

    def want(w, a, op, when):
        low, high = scan_list.times(w, a, op)
        faults = paging_faults(op)
        for name, good in (("status", set(op.get("status", [])) <= {"succeeded", "failed", "processing"}), ("q", len(op.get("q", "")) <= 200),
                           ("pass_info", op.get("pass_info", "f") != "no"), ("sort_dir", op.get("sort_dir", "asc") in ("asc", "desc"))):
            if not good:
                faults.append((400, "INVALID_INPUT", name))
        if isinstance(low, int) and isinstance(high, int) and low > high:
            faults += [(400, "INVALID_INPUT", "created_from"), (400, "INVALID_INPUT", "created_to")]
        if faults:
            return Error(*faults)
        needle = folded(op.get("q", ""))
        rows = [one for one in a.scans if not one.gone and (not op.get("status") or one.status in op["status"]) and inside(one.created, low, high) and
                (not needle or needle in folded(one.holder.id) or needle in folded(a.readers.get(one.reader) or ""))]
        if op.get("sort_dir") != "asc":
            rows.reverse()
        rows, headers = page(rows, op)
        with_pass = op.get("pass_info") in ("true", "1", "t")
        return Body(200, lambda: [{**row.shown(Spaced(row.created)), **({"pass": row.holder.shown()} if with_pass else {})} for row in rows], headers)


@operation(0.1)
class scan_delete:
    def make(w, a):
        labels = [label for label, thing in w.things.items() if type(thing) is Scan]
        return {"of": w.chance.choice([*labels[-10:], -1])}

    def ask(w, a, op):
        return Line(("scan", "delete", a.id, w.id_of(op["of"], "Scan")))

    def want(w, a, op, when):
        scan = w.thing(a, op["of"], "Scan")
        if scan is None or scan.gone:
            return NOT_FOUND
        scan.gone = True
        return Printed({})


@operation(0.1)
class reader_put:
    def make(w, a):
        return {"id": w.chance.choice(READERS), "name": w.chance.choice(["Desk", "Tür", "Front desk 1"])}

    def ask(w, a, op):
        return Line(("reader", "put", a.id, "--id", op["id"], "--name", op["name"]))

    def want(w, a, op, when):
        a.readers[op["id"]] = op["name"]
        return Printed({})


@operation(0.04)
class reader_delete:
    def make(w, a):
        return {"id": w.chance.choice([*READERS, "nobody", "x" * 201, "a\nb"])}

    def ask(w, a, op):
        return Line(("reader", "delete", a.id, op["id"]))

    def want(w, a, op, when):
        return Printed({}) if a.readers.pop(op["id"], None) else NOT_FOUND
