"""Activation rules: their files, their list, and their actions in the triggering event's own commit."""
import json

from entitlements import assign, may_be_assigned, near_an_end
from hooks import RULE_KINDS
from lists import page, paging, paging_faults, query_of
from notifications import notify
from passes import MOST, NOT_FOUND
from templates import there
from values import Hole, Spaced
from world import Ask, Body, Error, Line, Printed, operation

EVENTS = [*RULE_KINDS, "scan.created"]  # twice as often: it has more conditions
ACTIVE_MAX = 12  # fewer than the service allows


class Rule:
    def __init__(self, account, file, template, when):
        self.account, self.id, self.created, self.updated = account, Hole(), when, when
        self.file, self.template, self.fired = file, template, set()

    def replace(self, file, template, when):
        before = self.meaning()
        self.file, self.template = file, template
        if self.meaning() != before:
            self.updated = when

    def meaning(self):
        """The meaning of a file, with defaults for what it omits."""
        file = self.file
        conditions = {key: value for key, value in file.get("conditions", {}).items() if value is not False}
        if "template_id" in conditions:
            conditions["template_id"] = self.template.id
        actions = [{**action, "replace": action.get("replace", False)} if action["type"] == "assign_reward" else action
                   for action in file["actions"]]
        return {"name": file["name"], "active": file.get("active", True), "event": file["event"], "conditions": conditions, "actions": actions}

    def shown(self):
        return {"id": self.id, **self.meaning(), "created_at": Spaced(self.created), "updated_at": Spaced(self.updated)}


def some_action(w, a):
    kind = w.chance.choice(["add_balance", "assign_reward", "assign_reward", "send_notification"])
    if kind == "add_balance":
        return {"type": kind, "amount": w.chance.choice([1, 5, -5, -100, MOST])}
    if kind == "send_notification":
        return {"type": kind, "message": w.chance.choice(["Hello", "Größe 1", "x"])}
    slugs = [reward.slug for reward in a.rewards] + ["nothing"]
    return {"type": kind, "slug": w.chance.choice(slugs), **({"replace": w.chance.random() < 0.5} if w.chance.random() < 0.5 else {})}


def some_conditions(w, a, event):
    chance, conditions = w.chance, {}
    if chance.random() < 0.25:
        conditions["min_balance"] = chance.choice([0, 1, 5, 100])
    if event == "scan.created" and chance.random() < 0.4:
        conditions["every_n_scans"] = chance.choice([1, 2, 3])
    if a.templates and chance.random() < 0.25:
        conditions["template_id"] = chance.choice(a.templates).made
    if event == "scan.created" and chance.random() < 0.2:
        conditions["reader_id"] = chance.choice(["till", "door"])
    if chance.random() < 0.25:
        conditions["once_per_pass"] = chance.random() < 0.8
    return conditions


@operation(0.15)
class rule_put:
    def make(w, a):
        event = w.chance.choice(EVENTS)
        file = {"name": w.chance.choice(["Rule", "Ünï"]), "event": event, "conditions": some_conditions(w, a, event),
                "actions": [some_action(w, a) for _ in range(w.chance.choice([1, 1, 2]))]}
        if w.chance.random() < 0.3:
            file["active"] = w.chance.random() < 0.7
        labels = [label for label, thing in w.things.items() if type(thing) is Rule and thing in a.rules]
        of = w.chance.choice([*labels, -1]) if len(a.rules) >= ACTIVE_MAX or w.chance.random() < 0.2 else None
        return {"of": of, "file": file}

    def ask(w, a, op):
        file = json.loads(json.dumps(op["file"]))
        if "template_id" in file["conditions"]:
            file["conditions"]["template_id"] = w.id_of(file["conditions"]["template_id"], "Template", a.id.replace("acc_", "tpl_") + "_999")
        if op["of"] is not None:
            file["id"] = w.id_of(op["of"], "Rule")
        return Line(("rule", "put", a.id, "-", "--force"), json.dumps(file))

    def want(w, a, op, when):
        rule, template = w.thing(a, op["of"], "Rule"), None
        if op["of"] is not None and rule not in a.rules:
            return Error((404, "RESOURCE_NOT_FOUND", "id"))
        if "template_id" in op["file"]["conditions"]:
            template = there(w, a, op["file"]["conditions"]["template_id"])
            if template is None:
                return Error((422, "PASS_TEMPLATE_NOT_FOUND", "conditions.template_id"))
        if rule is None:
            rule = Rule(a, op["file"], template, when)
            a.rules.append(rule)
            w.things[op["n"]] = rule
        else:
            rule.replace(op["file"], template, when)
        return Printed({"id": rule.id})


@operation(0.06)
class rule_delete:
    def make(w, a):
        return {"of": w.chance.choice([-1, *(label for label, thing in w.things.items() if type(thing) is Rule)])}

    def ask(w, a, op):
        return Line(("rule", "delete", a.id, w.id_of(op["of"], "Rule")))

    def want(w, a, op, when):
        rule = w.thing(a, op["of"], "Rule")
        if rule not in a.rules:
            return NOT_FOUND
        a.rules.remove(rule)
        return Printed({})


@operation(0.6)
class rule_list:
    def make(w, a):
        return paging(w.chance, {})

    def ask(w, a, op):
        return Ask("GET", "/v1/trigger-rules" + query_of([(name, op[name]) for name in ("limit", "offset") if name in op]))

    def want(w, a, op, when):
        faults = paging_faults(op)
        if faults:
            return Error(*faults)
        rows, _ = page(a.rules[::-1], op)
        return Body(200, [rule.shown() for rule in rows], ((b"x-total-count", None), (b"x-has-more", None)))


# Actions of an event

def happened(w, a, event, one, when, reader=None):
    """All conditions are evaluated on the state after the event. Then actions run in order, and impossible ones are
    skipped."""
    due = [rule for rule in a.rules if rule.file.get("active", True) and rule.file["event"] == event and holds(rule, one, reader)]
    for rule in due:
        done = [act(w, a, action, one, when) for action in rule.file["actions"]]
        if any(done) and rule.file.get("conditions", {}).get("once_per_pass"):
            rule.fired.add(one)  # actions during its repeated runs do not count


def in_doubt(w, a):
    """True if rules could now assign something whose end is too near."""
    return near_an_end(w, a, may_be_assigned(a))


def holds(rule, one, reader):
    conditions = rule.file.get("conditions", {})
    if "min_balance" in conditions and (not one.template.counter or one.balance < conditions["min_balance"]):
        return False
    if "every_n_scans" in conditions and one.scan_count % conditions["every_n_scans"]:
        return False
    if "template_id" in conditions and rule.template is not one.template:
        return False
    if "reader_id" in conditions and conditions["reader_id"] != reader:
        return False
    return not (conditions.get("once_per_pass") and one in rule.fired)


def act(w, a, action, one, when):
    """True if the action was carried out. A rule without any such action has not fired."""
    if action["type"] == "add_balance":
        after, least = one.balance + action["amount"], one.template.file.get("min_balance")
        low = least is not None and action["amount"] < 0 and after < least
        if not one.template.counter or abs(after) > MOST or low:
            return False
        one.balance = after
        one.changed(when)
        return True
    if action["type"] == "assign_reward":
        return a.functions["rewards"] and not isinstance(assign(w, a, one, action["slug"], action.get("replace", False), when, "automatic"), Error)
    notify(w, a, one, action["message"], when)
    return True
