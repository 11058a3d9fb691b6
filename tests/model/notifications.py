"""Notifications: from a loyalty request, a rule or the operator; sent by the timer in its own time."""
import time

from lists import bounds_of, folded, inside, page, paging, paging_faults, query_of, time_pair
from passes import CONFLICT, NOT_FOUND, some_pass
from values import DAY, MS, SECOND, Fixed, Hole, Later, Mismatch, Moment, Zoned, time_of
from world import SLACK, Ask, Body, Error, Line, Printed, operation

SEND_SECONDS = 20


class Notification:
    def __init__(self, account, message, when, holder=None, audience=None, due=None):
        self.account, self.message, self.holder, self.audience = account, message, holder, audience
        self.id, self.created, self.due, self.sent = Hole(), when, due or when, None
        self.status, self.order = "scheduled", account.notifications[-1].order + 1 if account.notifications else 0

    def shown(self):
        return {"id": self.id, "message": self.message, "pass_id": self.holder.id if self.holder else None,
                "audience_id": self.audience.id if self.audience else None, "status": self.status, "scheduled_at": Zoned(self.due),
                "sent_at": self.sent and Zoned(self.sent), "created_at": Zoned(self.created)}

    def may_become(self, now):
        """The states to which the timer may have changed it by now."""
        gone = (self.holder or self.audience).deleted
        if self.status != "scheduled" or self.due.low > now:
            return {self.status} | ({"failed"} if self.status == "scheduled" and gone else set())
        return {"scheduled", "failed"} | ({"sent"} if not gone or self.due.low <= gone.high else set()) if gone else {"scheduled", "sent"}


class Audience:
    def __init__(self, account):
        self.account, self.id, self.deleted = account, Hole(), None


def one_of(w, a, kind):
    """The label of one of the account's latest ones, sometimes of another account's or of none."""
    labels = [label for label, thing in w.things.items() if type(thing) is kind and (thing.account is a or w.chance.random() < 0.1)]
    return w.chance.choice([*labels[-4:], -1])


def audience_of(w, a, label):
    found = w.thing(a, label, "Audience")
    return found if found and not found.deleted else None


def notify(w, a, holder, message, when):
    a.notifications.append(Notification(a, message, when, holder))


def see(one, row, now):
    """Accepts the state that the service returned, if it is possible. Returns the fault otherwise."""
    if row.get("status") not in one.may_become(now):
        return f"{row}: want one of {one.may_become(now)}"
    if row["status"] != one.status:
        one.status = row["status"]
        if one.status == "sent":
            one.sent = Moment(max(one.due.low, one.created.low), now)
    return None


class Seen(Body):
    """A page, some of whose notifications the timer may just have sent."""

    def __init__(self, rows, headers, now):
        super().__init__(200, lambda: [row.shown() for row in rows], headers)
        self.rows, self.now = rows, now

    def differs(self, answer):
        if answer.status == 200 and isinstance(answer.json, list) and len(answer.json) == len(self.rows):
            for one, row in zip(self.rows, answer.json):
                if one.id.value in (None, row.get("id")):
                    wrong = see(one, row, self.now)
                    if wrong:
                        return wrong
        return super().differs(answer)


@operation(2)
class notification_list:
    def make(w, a):
        chance, op = w.chance, paging(w.chance, {})
        if chance.random() < 0.2:
            op["status"] = chance.sample(["scheduled", "sent", "failed"], chance.choice([1, 1, 2]))
            if chance.random() < 0.04:
                op["status"].append("issued")
        if chance.random() < 0.25:
            op["q"] = chance.choice(["hello", "GRUSSE", "e", "1", "", "x", "é" * 201])
        if chance.random() < 0.4:
            op["sort_by"] = chance.choice(["scheduled_at", "created_at", "created_at", "id"])
        if chance.random() < 0.4:
            op["sort_dir"] = chance.choice(["asc", "desc"])
        for end in ("from", "to"):
            if chance.random() < 0.15 and a.notifications:
                op[f"scheduled_{end}"] = chance.choice([-DAY // MS, -1000, 0, 0, 1, 1000]), chance.randrange(len(a.notifications))
        return op

    def times(w, a, op):
        return bounds_of(w, op, "scheduled", [one.due for one in a.notifications])

    def ask(w, a, op):
        low, high = notification_list.times(w, a, op)
        pairs = [(name, op[name]) for name in ("limit", "offset", "q", "sort_by", "sort_dir") if name in op]
        pairs += [("status", status) for status in op.get("status", [])]
        pairs += [(name, time_pair(bound)) for name, bound in (("scheduled_from", low), ("scheduled_to", high)) if bound is not None]
        return Ask("GET", "/v1/notifications" + query_of(pairs))

    def before(w, a, op):
        """The order uses their times, and with a filter by status the timer must have finished first."""
        if a.suspended or w.is_stranger(a, op):
            return
        if any(one.due.value is None for one in a.notifications):
            fresh(w, a)
        end = time.monotonic() + SEND_SECONDS
        while op.get("status") and any(one.status == "scheduled" and one.due.low <= w.clock.now() for one in a.notifications):
            assert time.monotonic() < end, "due notifications were not sent"
            time.sleep(0.02)
            fresh(w, a)

    def want(w, a, op, when):
        low, high = notification_list.times(w, a, op)
        faults = paging_faults(op)
        for name, good in (("status", set(op.get("status", [])) <= {"scheduled", "sent", "failed"}), ("q", len(op.get("q", "")) <= 200),
                           ("sort_by", op.get("sort_by") != "id")):
            if not good:
                faults.append((400, "INVALID_INPUT", name))
        if isinstance(low, int) and isinstance(high, int) and low > high:
            faults += [(400, "INVALID_INPUT", "scheduled_from"), (400, "INVALID_INPUT", "scheduled_to")]
        if faults:
            return Error(*faults)
        needle = folded(op.get("q", ""))
        rows = [one for one in a.notifications if (not op.get("status") or one.status in op["status"]) and inside(one.due, low, high) and
                needle in folded(one.message)]
        rows.sort(key=due_order if op.get("sort_by", "scheduled_at") == "scheduled_at" else lambda one: one.order, reverse=op.get("sort_dir") != "asc")
        rows, headers = page(rows, op, 100)
        return Seen(rows, headers, when.high)


def due_order(one):
    return one.due.low // MS, one.order


@operation(0.1)
class notification_cancel:
    def make(w, a):
        if a.suspended:
            return None  # what has been sent by now would not be visible
        return {"of": one_of(w, a, Notification)}

    def ask(w, a, op):
        return Line(("notification", "cancel", a.id, w.id_of(op["of"], "Notification")))

    def before(w, a, op):
        """A notification that is due, or nearly so, may have been sent."""
        found, end = w.thing(a, op["of"], "Notification"), time.monotonic() + SEND_SECONDS
        while not a.suspended and found in a.notifications and found.status == "scheduled" and found.due.low <= w.clock.now() + SLACK:
            assert time.monotonic() < end, "a due notification was not sent"
            time.sleep(0.02)
            fresh(w, a)

    def want(w, a, op, when):
        found = w.thing(a, op["of"], "Notification")
        if found is None or found not in a.notifications:
            return NOT_FOUND
        if found.status != "scheduled":
            return CONFLICT
        a.notifications.remove(found)
        return Printed({})


def fresh(w, a):
    """Reads all notifications, outside of the sequence."""
    for offset in range(0, len(a.notifications), 100):
        answer = w.get(a, f"/v1/notifications?sort_by=created_at&sort_dir=asc&limit=100&offset={offset}")
        wrong = Seen(a.notifications[offset:offset + 100], (), w.clock.now() + SLACK).differs(answer)
        if wrong:
            raise Mismatch(f"all notifications: {wrong}")


@operation(0.2)
class audience_put:
    def make(w, a):
        of = [label for label, thing in w.things.items() if type(thing) is Audience and thing.account is a]
        return {"of": w.chance.choice([None, None, *of, -1]), "ids": [some_pass(w, a, 0.97) for _ in range(w.chance.choice([1, 2, 3]))]}

    def ask(w, a, op):
        given = [] if op["of"] is None else ["--id", w.id_of(op["of"], "Audience")]
        return Line(("audience", "put", a.id, *given, "--name", "Guests", *(word for one in op["ids"] for word in ("--pass", one))))

    def want(w, a, op, when):
        gone = [one for one in op["ids"] if one not in a.live]
        old = op["of"] is not None and audience_of(w, a, op["of"])
        if gone or old is None:
            return Error(*((404, "RESOURCE_NOT_FOUND", field) for field in ["pass_id"] * bool(gone) + ["audience_id"] * (old is None)))
        if old:
            return Printed({"audience_id": old.id})
        made = Audience(a)
        w.things[op["n"]] = made
        return Printed({"audience_id": made.id})


@operation(0.06)
class audience_delete:
    def make(w, a):
        return {"of": one_of(w, a, Audience)}

    def ask(w, a, op):
        return Line(("audience", "delete", a.id, w.id_of(op["of"], "Audience")))

    def want(w, a, op, when):
        found = audience_of(w, a, op["of"])
        if found is None:
            return NOT_FOUND
        found.deleted = when
        return Printed({})


@operation(0.3)
class notification_schedule:
    def make(w, a):
        of = [label for label, thing in w.things.items() if type(thing) is Audience]
        at = Later(w.chance.choice([-DAY, 30 * SECOND, 3600 * SECOND, 2 * DAY]) + w.chance.randrange(1000) * MS)
        if w.chance.random() < 0.1:
            at = "2020-07-01T12:00:00.5+02:00"
        audience = w.chance.choice([*of, -1]) if w.chance.random() < 0.4 else None
        return {"id": some_pass(w, a), "of": audience, "message": w.chance.choice(["Hello", "Größe 1", "x"]), "at": at}

    def ask(w, a, op):
        to = ["--pass", op["id"]] if op["of"] is None else ["--audience", w.id_of(op["of"], "Audience")]
        return Line(("notification", "schedule", a.id, *to, "--message", op["message"], "--at", op["at"]))

    def want(w, a, op, when):
        holder = a.live.get(op["id"]) if op["of"] is None else None
        audience = audience_of(w, a, op["of"]) if op["of"] is not None else None
        if holder is None and audience is None:
            return NOT_FOUND
        made = Notification(a, op["message"], when, holder, audience, Fixed(time_of(op["at"])))
        a.notifications.append(made)
        w.things[op["n"]] = made
        return Printed({"id": made.id})


