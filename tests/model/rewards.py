"""The rewards catalogue."""
import re
import unicodedata

from passes import BAD_BODY, CONFLICT, NOT_FOUND, is_junk, some_junk
from values import DAY, SECOND, Fixed, Hole, Later, Num, time_of
from world import Ask, Body, Empty, Error, Fields, is_int, is_object, is_text, operation

KINDS = ["gift", "discount", "custom"]
NAMES = ["Free coffee", "Free coffee", "CAFÉ  gratis!", "10 %", "!!!", "日本", "a" * 80, "a" * 200, "__x__", "Ünï_cödé", "Reward", "reward 2", "x" * 79 + " y"]
CENTURY, LONGER = 100 * 365 * 86400, 100 * 366 * 86400  # the length of a year is not specified
NEVER, WINDOW, END = "none", "relative_window", "fixed_end"
FIELDS = ("name", "kind", "description", "repeat_assignment", "redemption_allowance", "assignment_limit", "expiration")


class Version:
    """The terms of one version of a reward. Entitlements keep theirs."""

    def __init__(self, body, number):
        self.number, self.id = number, Hole(re.compile(r"\S+"))
        self.name, self.kind, self.description = body["name"], body["kind"], body.get("description") or ""
        self.repeat = bool(body.get("repeat_assignment"))
        self.allowance = 1 if body.get("redemption_allowance") is None else max(1, body["redemption_allowance"])
        self.limit, expiration = body.get("assignment_limit"), body["expiration"]
        self.window = expiration.get("window_seconds") if expiration["kind"] == WINDOW else None
        self.end = Fixed(time_of(expiration["fixed_end"])) if expiration["kind"] == END else None

    def again(self, number):
        """Publishes the same terms once more."""
        copy = object.__new__(Version)
        copy.__dict__.update(self.__dict__, number=number, id=Hole(re.compile(r"\S+")))
        return copy


class Reward:
    def __init__(self, account, slug, body, when):
        self.account, self.slug, self.id = account, slug, Hole(re.compile(r"\S+"))
        self.status, self.created, self.updated = "active", when, when
        self.version, self.assigned = Version(body, 1), 0
        self.text = None

    def publish(self, version, when):
        self.version, self.updated = version, when

    def shown(self):
        version, expiration = self.version, {"kind": NEVER}
        if version.window is not None:
            expiration = {"kind": WINDOW, "window_seconds": version.window}
        if version.end:
            expiration = {"kind": END, "fixed_end": version.end}
        return {"slug": self.slug, "name": version.name, "kind": version.kind, "description": version.description, "status": self.status,
                "version": version.number, "repeat_assignment": version.repeat, "redemption_allowance": version.allowance,
                "assignment_limit": version.limit, "expiration": expiration, "created_at": self.created, "updated_at": self.updated}


def is_slug(value):
    return is_text(value) and len(value) <= 80 and re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", value) is not None


def is_time(value):
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", value)) and bool(time_of(value))
    except ValueError:
        return False


def slug_of(a, name):
    text = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if unicodedata.category(c) not in ("Mn", "Mc", "Me"))
    text = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:80].strip("_") or "reward"
    taken, slug, number = {reward.slug for reward in a.rewards}, text, 2
    while slug in taken:
        tail = f"_{number}"
        slug, number = text[:80 - len(tail)].strip("_") + tail, number + 1
    return slug


def check(fields):
    fields.need("name", lambda value: is_text(value) and 1 <= len(value) <= 200)
    fields.need("kind", lambda value: value in KINDS and is_text(value))
    fields.may("description", lambda value: is_text(value) and len(value) <= 2000)
    fields.may("repeat_assignment", lambda value: type(value) is bool)
    fields.may("redemption_allowance", lambda value: is_int(value) and 0 <= value <= 2**31 - 1)
    fields.may("assignment_limit", lambda value: is_int(value) and 1 <= value <= 2**53)
    expiration = fields.get("expiration")
    if not is_object(expiration):
        return fields.bad("expiration")
    kind, window, end = (expiration.get(key) for key in ("kind", "window_seconds", "fixed_end"))
    wrong = [key for key in expiration if key not in ("kind", "window_seconds", "fixed_end")]
    if not is_text(kind) or kind not in (NEVER, WINDOW, END):
        wrong.append("kind")
    if not (is_int(window) and 1 <= window <= CENTURY) if kind == WINDOW else window is not None:
        wrong.append("window_seconds")
    if not (is_text(end) and is_time(end)) if kind == END else end is not None:
        wrong.append("fixed_end")
    for key in wrong:
        fields.bad("expiration")
        fields.bad(f"expiration.{key}")


def some_body(w):
    chance = w.chance
    kind = chance.choice([NEVER, WINDOW, WINDOW, END])
    expiration = {"kind": kind}
    if kind == WINDOW:
        expiration["window_seconds"] = chance.choice([1, 10, 3600, 3600, 86400, CENTURY])
    if kind == END:
        expiration["fixed_end"] = Later(chance.choice([-DAY, 10 * SECOND, 3600 * SECOND, DAY]), chance.random() < 0.3)
    if chance.random() < 0.08:
        key, value = chance.choice([("kind", "x"), ("kind", None), ("window_seconds", 0), ("window_seconds", LONGER), ("fixed_end", "x"),
                                    ("x", 1), ("window_seconds", Num("1.0")), ("fixed_end", 5), ("window_seconds", 5)])
        expiration[key] = value
    body = {"name": chance.choice(NAMES), "kind": chance.choice(KINDS), "expiration": expiration}
    for key, values in (("description", ["", "D\n", "x" * 2000, None]), ("repeat_assignment", [True, True, False, None]),
                        ("redemption_allowance", [0, 1, 2, 3, 10, None]), ("assignment_limit", [1, 2, 3, None])):
        if chance.random() < 0.5:
            body[key] = chance.choice(values)
    if chance.random() < 0.06:
        key, value = chance.choice([("name", ""), ("name", "é" * 201), ("kind", "Gift"), ("description", "é" * 2001), ("assignment_limit", 0),
                                    ("redemption_allowance", -1), ("expiration", None), ("name", None), ("redemption_allowance", Num("1e1"))])
        body[key] = value
    return body


def some_slug(w, a):
    slugs = [reward.slug for reward in a.rewards]
    return w.chance.choice(slugs) if slugs and w.chance.random() < 0.9 else w.chance.choice(["nothing", "free_coffee", "X", "a__b"])


def reward_of(a, slug):
    return next((reward for reward in a.rewards if reward.slug == slug), None)


def is_named(a, slug):
    return any(action["type"] == "assign_reward" and action["slug"] == slug for rule in a.rules for action in rule.file["actions"])


@operation(1.5)
class reward_create:
    def make(w, a):
        body = some_body(w)
        if w.chance.random() < 0.5:
            body["slug"] = w.chance.choice(["free_coffee", "reward", "a1", "x_2", None, "a" * 80])
        if w.chance.random() < 0.05:
            body["slug"] = w.chance.choice(["", "A", "a__b", "_a", "a_", "a-b", "a" * 81, 5, "é"])
        return {"body": some_junk(w.chance, body)}

    def ask(w, a, op):
        return Ask("POST", "/v1/rewards", op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body):
            return BAD_BODY
        fields = Fields(body, (*FIELDS, "slug"))
        check(fields)
        fields.may("slug", is_slug)
        if fields.faults:
            return fields.error()
        slug = body.get("slug") or slug_of(a, body["name"])
        if reward_of(a, slug):
            return CONFLICT
        made = Reward(a, slug, body, when)
        a.rewards.append(made)
        w.things[op["n"]] = made
        return Body(201, made.shown)


@operation(0.8)
class reward_list:
    def make(w, a):
        return {"archived": w.chance.choice([None, None, "true", "1", "t", "false", "0", "f", "x", ""])}

    def ask(w, a, op):
        return Ask("GET", "/v1/rewards" + ("" if op["archived"] is None else f"?include_archived={op['archived']}"))

    def want(w, a, op, when):
        flag = op["archived"] or ("f" if op["archived"] is None else "")
        if flag not in ("true", "1", "t", "false", "0", "f"):
            return Error((400, "INVALID_INPUT", "include_archived"))
        return Body(200, {"rewards": [reward.shown() for reward in a.rewards if reward.status == "active" or flag in ("true", "1", "t")]})


@operation(1)
class reward_get:
    def make(w, a):
        return {"slug": some_slug(w, a)}

    def ask(w, a, op):
        return Ask("GET", f"/v1/rewards/{op['slug']}")

    def want(w, a, op, when):
        reward = reward_of(a, op["slug"])
        return Body(200, reward.shown) if reward else NOT_FOUND


def edit(w, a, op, when, restoring):
    body = op["body"]
    if restoring and body in (None, ""):
        body = None
    elif body is None or is_junk(body):
        return BAD_BODY
    else:
        fields = Fields(body, (*FIELDS, "slug", "status", "version", "created_at", "updated_at"))
        check(fields)
        if body.get("slug") is not None and body["slug"] != op["slug"]:
            fields.bad("slug")
        if fields.faults:
            return fields.error()
    reward = reward_of(a, op["slug"])
    if reward is None:
        return NOT_FOUND
    if restoring and reward.status == "active":
        return CONFLICT
    number = reward.version.number + 1
    reward.publish(reward.version.again(number) if body is None else Version(body, number), when)
    if restoring:
        reward.status = "active"
    return Body(200, reward.shown)


@operation(1)
class reward_put:
    def make(w, a):
        slug, body = some_slug(w, a), some_body(w)
        if w.chance.random() < 0.15:
            body.update({"slug": w.chance.choice([slug, slug, "other"]), "status": "active", "version": 7, "created_at": "x"})
        return {"slug": slug, "body": some_junk(w.chance, body)}

    def ask(w, a, op):
        return Ask("PUT", f"/v1/rewards/{op['slug']}", op["body"])

    def want(w, a, op, when):
        return edit(w, a, op, when, False)


@operation(0.8)
class reward_restore:
    def make(w, a):
        archived = [reward.slug for reward in a.rewards if reward.status == "archived"]
        slug = w.chance.choice(archived) if archived and w.chance.random() < 0.7 else some_slug(w, a)
        return {"slug": slug, "body": some_junk(w.chance, some_body(w)) if w.chance.random() < 0.6 else None}

    def ask(w, a, op):
        return Ask("POST", f"/v1/rewards/{op['slug']}/restore", op["body"])

    def want(w, a, op, when):
        return edit(w, a, op, when, True)


@operation(1)
class reward_archive:
    def make(w, a):
        return {"slug": some_slug(w, a)}

    def ask(w, a, op):
        return Ask("POST", f"/v1/rewards/{op['slug']}/archive")

    def want(w, a, op, when):
        reward = reward_of(a, op["slug"])
        if reward is None:
            return NOT_FOUND
        if reward.status == "archived" or reward.assigned or is_named(a, reward.slug):
            return CONFLICT
        reward.status, reward.updated = "archived", when
        return Empty(204)


@operation(0.6)
class reward_delete:
    def make(w, a):
        return {"slug": some_slug(w, a)}

    def ask(w, a, op):
        return Ask("DELETE", f"/v1/rewards/{op['slug']}")

    def want(w, a, op, when):
        reward = reward_of(a, op["slug"])
        if reward is None:
            return NOT_FOUND
        if reward.assigned or is_named(a, reward.slug):
            return CONFLICT
        a.rewards.remove(reward)
        return Empty(204)


