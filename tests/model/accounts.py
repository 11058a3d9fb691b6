"""Operator commands for accounts, keys and the clock; repeated requests; unknown paths."""
import copy
import re

from values import Hole
from world import OPERATIONS, Ask, Error, Line, Printed, operation

KEY_ID = re.compile(r"\S+")


@operation(0.35)
class account_set:
    def make(w, a):
        dice = w.chance.random()
        if dice < 0.25:
            return {"suspended": w.chance.random() < 0.8}
        if dice < 0.7:
            return {"function": w.chance.choice(["webhooks", "rewards"]), "on": w.chance.random() < 0.6}
        return {"window": w.chance.choice([0, 10, 10, 60, 3600])}

    def ask(w, a, op):
        if "suspended" in op:
            option = ["--suspended", "on" if op["suspended"] else "off"]
        elif "window" in op:
            option = ["--double-scan-window", f"{op['window']}s"]
        else:
            option = [f"--{op['function']}", "on" if op["on"] else "off"]
        return Line(("account", "set", a.id, *option))

    def want(w, a, op, when):
        if "suspended" in op:
            a.suspended = op["suspended"]
        elif "window" in op:
            a.window = op["window"]
        else:
            a.functions[op["function"]] = op["on"]
        return Printed(shown(a))


@operation(0.05)
class account_rename:
    def make(w, a):
        return {"name": w.chance.choice(["A", "Café", "x" * 200, "", "x" * 201])}

    def ask(w, a, op):
        return Line(("account", "rename", a.id, op["name"]))

    def want(w, a, op, when):
        if not 1 <= len(op["name"].encode()) <= 200:
            return Error((400, "INVALID_INPUT", "name"))
        a.name = op["name"]
        return Printed(shown(a))


def shown(a):
    return {"account_id": a.id, "name": a.name, **a.functions, "suspended": a.suspended,
            "double_scan_window_seconds": a.window, "rate_limit": 0, "wallet": "on", "created_at": a.created}


class Key:
    def __init__(self, account):
        self.account, self.id, self.key, self.revoked = account, Hole(KEY_ID), Hole(re.compile(r"sk_\S+")), False


@operation(0.06)
class key_create:
    def make(w, a):
        return {} if sum(1 for key in a.keys if not key.revoked) < 5 else None

    def ask(w, a, op):
        return Line(("key", "create", a.id))

    def want(w, a, op, when):
        made = Key(a)
        a.keys.append(made)
        w.things[op["n"]] = made
        return Printed({"key_id": made.id, "api_key": made.key})


@operation(0.05)
class key_revoke:
    def make(w, a):
        keys = [label for label, thing in w.things.items() if type(thing) is Key]
        return {"of": w.chance.choice(keys)} if keys else None

    def ask(w, a, op):
        return Line(("key", "revoke", a.id, w.id_of(op["of"], "Key")))

    def want(w, a, op, when):
        key = w.thing(a, op["of"], "Key")
        if key is None:
            return Error((404, "RESOURCE_NOT_FOUND", None))
        if not key.revoked:
            key.revoked = when
        return Printed({"key_id": key.id, "created_at": Hole(re.compile(r"\S+Z")), "revoked_at": key.revoked})


@operation(0)
class clock_advance:
    """The clock is shared: the run moves it and notifies every world."""

    def ask(w, a, op):
        return Line(("clock", "advance", op["by"]))

    def want(w, a, op, when):
        w.clock.advanced(int(op["by"][:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[op["by"][-1]])
        when.low, when.high = w.clock.now() - 5 * 10**6, w.clock.now() + 10**6
        return Printed({"now": when})


@operation(0.8)
class again:
    """Repeats a request with a key. It may have been refused before, or be old."""

    def make(w, a):
        past = [op for op in w.past[-200:] if "key" in op and op["who"] == a.number and op["do"] != "again"]
        if not past:
            return None
        op = w.chance.choice(past)
        return {"of": op["n"], "key": op["key"], "op": copy.deepcopy({name: value for name, value in op.items() if name not in ("key", "auth")})}

    def ask(w, a, op):
        kept = a.kept.get(op["key"])
        return Ask(*kept[0]) if kept else OPERATIONS[op["op"]["do"]].ask(w, a, {**op["op"], "n": op["n"]})
