"""Entitlements: assigned, listed, redeemed, counted, and expired by time."""
from passes import BAD_BODY, CONFLICT, NOT_FOUND, is_junk, path_of, some_junk, some_pass
from rewards import reward_of, some_slug
from values import SECOND, After, Hole, Num
from world import Ask, Body, Error, Fields, is_int, is_text, operation

NEAR = 20 * SECOND  # an answer can be this late when its process was killed on a slow machine
NOT_ASSIGNABLE = Error((409, "REWARD_NOT_ASSIGNABLE", None))
NOT_REDEEMABLE = Error((409, "REWARD_NOT_REDEEMABLE", None))


class Entitlement:
    def __init__(self, reward, holder, when, source):
        self.account, self.reward, self.version, self.holder, self.source = reward.account, reward, reward.version, holder, source
        self.id, self.created, self.updated = Hole(), when, when
        self.remaining, self.replaced = self.version.allowance, False
        self.end = After(when, self.version.window) if self.version.window is not None else self.version.end

    def has_ended(self, when):
        """None: only the answer can show it."""
        if not self.end or when.high < self.end.low:
            return False
        return True if when.low >= self.end.high else None

    def status(self, ended):
        if self.remaining == 0:
            return "redeemed"
        return "expired" if self.replaced or ended else "available"

    def shown(self, ended):
        status, version = self.status(ended), self.version
        reason = None if status != "expired" else "replaced" if self.replaced else "time_elapsed"
        return {"id": self.id, "family_id": self.reward.id, "definition_id": version.id, "reward_slug": self.reward.slug,
                "reward_name": version.name, "reward_kind": version.kind, "pass_id": self.holder.id, "status": status,
                "remaining_redemptions": self.remaining, "expiration_timestamp": self.end, "expiration_reason": reason,
                "assignment_source_type": self.source, "created_at": self.created,
                "updated_at": self.end if reason == "time_elapsed" else self.updated}


def doubtful(entitlements, when):
    """(those that have certainly ended, those for which only the answer can show it)."""
    return ([one for one in entitlements if one.has_ended(when)],
            [one for one in entitlements if one.has_ended(when) is None and one.remaining and not one.replaced])


class Either:
    """Any of several expected values, because an end is too near. `then` gets the one that matched."""

    def __init__(self, wants, then=lambda number: None):
        self.wants, self.then = wants, then

    def differs(self, answer):
        said = []
        for number, want in enumerate(self.wants):
            wrong = want.differs(answer)
            if not wrong:
                self.then(number)
                return None
            said.append(wrong)
        return " or ".join(said)


def assign(w, a, holder, slug, replace, when, source):
    """An Entitlement, or the reason for a refusal. Only a fixed end depends on the time."""
    reward = reward_of(a, slug)
    if reward is None:
        return NOT_FOUND
    version = reward.version
    if reward.status == "archived":
        return NOT_ASSIGNABLE
    if version.end and when.high >= version.end.low:
        if when.low < version.end.high:
            raise Doubt
        return Error((409, "REWARD_FIXED_END_PASSED", None))
    if version.limit is not None and reward.assigned >= version.limit:
        return Error((409, "REWARD_ASSIGNMENT_LIMIT_REACHED", None))
    old = [one for one in a.entitlements if one.reward is reward and one.holder is holder]
    if old and not version.repeat:
        return NOT_ASSIGNABLE
    if replace and version.repeat:
        for one in old:
            ended = one.has_ended(when)
            if ended is None and one.remaining and not one.replaced:
                raise Doubt
            if one.status(ended) == "available":
                one.replaced, one.updated = True, when
    made = Entitlement(reward, holder, when, source)
    reward.assigned += 1
    a.entitlements.append(made)
    return made


class Doubt(Exception):
    """An end is so near that only the service knows whether it has passed. Such an operation is not started (see
    depends_on_an_end in world.py)."""


def near_an_end(w, a, slugs, pass_id=None):
    """True if an end on which an assignment of these rewards depends is very near. Then the clock must move first."""
    rewards, now = [reward for reward in a.rewards if reward.slug in slugs], w.clock.now()
    ends = [reward.version.end for reward in rewards if reward.version.end]
    ends += [one.end for one in a.entitlements if one.end and one.reward in rewards and pass_id in (None, one.holder.id)]
    return any(end.low - NEAR < now < end.high + NEAR for end in ends)


def may_be_assigned(a):
    """Rewards that rules may assign at this event."""
    return [action["slug"] for rule in a.rules if rule.file.get("active", True) for action in rule.file["actions"] if "slug" in action]


@operation(4, function="rewards")
class entitlement_assign:
    def make(w, a):
        body, pass_id = {"slug": some_slug(w, a)}, some_pass(w, a)
        if w.chance.random() < 0.3:
            body["replace"] = w.chance.choice([True, True, False, None])
        if w.chance.random() < 0.03:
            body[w.chance.choice(["slug", "replace"])] = w.chance.choice([5, "x", {}, None, Num("1.5")])
        return {"id": pass_id, "body": some_junk(w.chance, body)}

    def is_doubtful(w, a, op):
        return not is_junk(op["body"]) and near_an_end(w, a, [op["body"].get("slug")], op["id"])

    def ask(w, a, op):
        return Ask("POST", path_of(op["id"], "/rewards/assign"), op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body):
            return BAD_BODY
        fields = Fields(body, ("slug", "replace"))
        fields.need("slug", is_text)
        fields.may("replace", lambda value: type(value) is bool)
        if fields.faults:
            return fields.error()
        holder = a.live.get(op["id"])
        if holder is None:
            return NOT_FOUND
        if holder.status == "deactivated":
            return CONFLICT
        made = assign(w, a, holder, body["slug"], body.get("replace"), when, "manual")
        if isinstance(made, Error):
            return made
        w.things[op["n"]] = made
        return Body(201, made.shown(False))


@operation(4)
class entitlement_list:
    def make(w, a):
        return {"id": some_pass(w, a), "history": w.chance.choice([None, None, "true", "1", "t", "false", "0", "f", "true", "no"])}

    def ask(w, a, op):
        return Ask("GET", path_of(op["id"], "/rewards") + ("" if op["history"] is None else f"?include_history={op['history']}"))

    def want(w, a, op, when):
        flag = op["history"] or "f"
        if flag not in ("true", "1", "t", "false", "0", "f"):
            return Error((400, "INVALID_INPUT", "include_history"))
        holder = a.live.get(op["id"])
        if holder is None:
            return NOT_FOUND
        mine = [one for one in a.entitlements if one.holder is holder]
        sure, doubt = doubtful(mine, when)
        return Either([Body(200, listed(mine, sure + some, flag in ("true", "1", "t"))) for some in subsets(doubt)])


def listed(mine, ended, history):
    rows = [one.shown(one in ended) for one in mine]
    return {"entitlements": [row for row in rows if history or row["status"] == "available"]}


def subsets(things):
    """All subsets of few things; of more, the prefixes in order of their ends."""
    if len(things) <= 4:
        return [[thing for number, thing in enumerate(things) if bits >> number & 1] for bits in range(1 << len(things))]
    ordered = sorted(things, key=lambda one: one.end.low)
    return [ordered[:count] for count in range(len(things) + 1)]


def some_entitlement(w, a):
    mine = [label for label, thing in w.things.items() if type(thing) is Entitlement and thing.account is a]
    open_ones = [label for label in mine if w.things[label].remaining]
    if open_ones and w.chance.random() < 0.8:
        return w.chance.choice(open_ones)
    return w.chance.choice([*mine, -1]) if mine or w.chance.random() < 0.1 else None


@operation(3, function="rewards")
class entitlement_redeem:
    def make(w, a):
        chance, of = w.chance, some_entitlement(w, a)
        if of is None:
            return None
        thing = w.things.get(of)
        pass_id = thing.holder.id if isinstance(thing, Entitlement) and chance.random() < 0.95 else some_pass(w, a)
        body = {}
        if chance.random() < 0.5:
            body["amount"] = chance.choice([1, 1, 2, 3, 11])
        if chance.random() < 0.3:
            body["context"] = chance.choice(["Till 1", "", "é" * 200, None])
        if chance.random() < 0.3:
            body["note"] = chance.choice(["N\n", "x" * 2000, None])
        if chance.random() < 0.05:
            key, value = chance.choice([("amount", 0), ("amount", -1), ("amount", Num("1.0")), ("context", "é" * 201), ("note", "x" * 2001), ("amount", "1")])
            body[key] = value
        return {"of": of, "id": pass_id, "body": some_junk(chance, body) if chance.random() < 0.9 else None}

    def ask(w, a, op):
        return Ask("POST", path_of(op["id"], f"/rewards/{w.id_of(op['of'], 'Entitlement')}/redeem"), op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body) and body != "":
            return BAD_BODY
        fields = Fields(body or {}, ("amount", "context", "note"))
        fields.may("amount", lambda value: is_int(value) and 1 <= value < 2**31)
        fields.may("context", lambda value: is_text(value) and len(value) <= 200)
        fields.may("note", lambda value: is_text(value) and len(value) <= 2000)
        if fields.faults:
            return fields.error()
        holder, one = a.live.get(op["id"]), w.thing(a, op["of"], "Entitlement")
        if holder is None or one is None or one.holder is not holder:
            return NOT_FOUND
        if holder.status == "deactivated":
            return CONFLICT
        ended = one.has_ended(when)
        if ended is None and one.remaining and not one.replaced:
            before = one.remaining, one.updated
            good = redeem(one, fields, when, False)
            after = one.remaining, one.updated

            def then(number):
                one.remaining, one.updated = (before, after)[number]

            return Either([NOT_REDEEMABLE, good], then)
        return redeem(one, fields, when, ended)


def redeem(one, fields, when, ended):
    amount = fields.get("amount") or 1
    if one.status(ended) != "available":
        return NOT_REDEEMABLE
    if amount > one.remaining:
        return Error((409, "REWARD_INSUFFICIENT_REDEMPTIONS", None))
    one.remaining -= amount
    one.updated = when
    record = {"id": Hole(), "entitlement_id": one.id, "amount": amount, "context": fields.get("context") or "", "note": fields.get("note") or "",
              "created_at": when}
    return Body(200, {"redemption": record, "entitlement": one.shown(False)})


@operation(1.5)
class entitlement_counts:
    def make(w, a):
        return {}

    def ask(w, a, op):
        return Ask("GET", "/v1/rewards/entitlement-counts")

    def want(w, a, op, when):
        sure, doubt = doubtful(a.entitlements, when)
        return Either([Body(200, counts(a.entitlements, sure + some)) for some in subsets(doubt)])


def counts(entitlements, ended):
    found = [one.status(one in ended) for one in entitlements]
    return {"total": len(found), "redeemable": found.count("available"), "redeemed": found.count("redeemed"), "expired": found.count("expired")}
