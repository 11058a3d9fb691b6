"""Webhook subscriptions, without their deliveries."""
import re

from hooks import HOOKS, KINDS
from passes import BAD_BODY, is_junk, some_junk
from values import Hole
from world import Ask, Body, Empty, Error, Fields, operation

SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
# Documentation addresses: no name is resolved, and a connection is refused at once. Maps a URL to its normal form.
URLS = {"https://203.0.113.7": "a", "https://203.0.113.7/": "a", "HTTPS://203.0.113.7:443/#x": "a", "https://203.0.113.7/A": "b",
        "https://203.0.113.7/a": "c", "https://203.0.113.7:444/a": "d", "https://203.0.113.7/a?": "e", "https://203.0.113.7/a?q=1": "f",
        "https://203.0.113.8/a#": "g", "https://203.0.113.8/a": "g", "https://203.0.113.8/%61": "h"}
BAD_URLS = ["http://203.0.113.7/", "https://localhost/", "https://a.internal/", "https://127.0.0.1/", "https://10.1.2.3/x", "", "x", 5, None, [],
            "https://2130706433/", "https://[::1]/", "https://192.168.0.1", "https://a@203.0.113.7/", "https://localhost./"]
NOT_FOUND = Error((404, "WEBHOOK_SUBSCRIPTION_NOT_FOUND", None))
DUPLICATE = Error((409, "WEBHOOK_SUBSCRIPTION_DUPLICATE_URL", None))
LIMIT = Error((409, "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED", None))


class Subscription:
    def __init__(self, account, url, kinds, when):
        self.account, self.id, self.url, self.kinds, self.active = account, Hole(), url, kinds, True
        self.secret, self.created, self.updated = Hole(SECRET), when, when
        self.text = None

    def shown(self):
        return {"id": self.id, "url": self.url, "event_types": list(self.kinds), "active": self.active, "created_at": self.created,
                "updated_at": self.updated}


def url_error(url):
    return None if type(url) is str and url in URLS else Error((400, "INVALID_WEBHOOK_URL", "url"))


def kinds_error(kinds, making):
    good = type(kinds) is list and all(type(kind) is str and kind in KINDS for kind in kinds) and (kinds or not making)
    return None if good else Error((400, "INVALID_WEBHOOK_EVENT_TYPE", "event_types"))


def taken(a, url, but=None):
    return any(one.active and one is not but and URLS[one.url] == URLS[url] for one in a.subscriptions)


def full(a):
    return sum(one.active for one in a.subscriptions) >= 5


def some_kinds(chance):
    if chance.random() < 0.05:
        return chance.choice([[], ["x"], "pass.created", None, ["pass.created", 1], {}])
    return [chance.choice(KINDS) for _ in range(chance.choice([1, 2, 4]))] if chance.random() < 0.15 else ["scan.created"]


def some_url(chance):
    return chance.choice(list(URLS)) if chance.random() < 0.93 else chance.choice(BAD_URLS)


@operation(1.5, function="webhooks")
class subscription_create:
    def make(w, a):
        return {"body": some_junk(w.chance, {"url": some_url(w.chance), "event_types": some_kinds(w.chance)})}

    def ask(w, a, op):
        return Ask("POST", HOOKS, op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body):
            return BAD_BODY
        fields = Fields(body, ("url", "event_types"))
        error = fields.error() or url_error(body.get("url")) or kinds_error(body.get("event_types"), True)
        if error or taken(a, body["url"]):
            return error or DUPLICATE
        if full(a):
            return LIMIT
        made = Subscription(a, body["url"], list(dict.fromkeys(body["event_types"])), when)
        a.subscriptions.append(made)
        w.things[op["n"]] = made
        return Body(201, {**made.shown(), "secret": made.secret})


@operation(1.2, function="webhooks")
class subscription_list:
    def make(w, a):
        return {}

    def ask(w, a, op):
        return Ask("GET", HOOKS)

    def want(w, a, op, when):
        return Body(200, {"subscriptions": [one.shown() for one in a.subscriptions]})


def some_subscription(w, a):
    others = [label for label, thing in w.things.items() if type(thing) is Subscription]
    mine = [label for label in others if w.things[label] in a.subscriptions]
    return w.chance.choice(mine) if mine and w.chance.random() < 0.93 else w.chance.choice([-1, *others])


def alive(w, a, op):
    one = w.thing(a, op["of"], "Subscription")
    return one if one in a.subscriptions else None


def path_of(w, op):
    return f"{HOOKS}/{w.id_of(op['of'], 'Subscription')}"


@operation(1.2, function="webhooks")
class subscription_get:
    def make(w, a):
        return {"of": some_subscription(w, a)}

    def ask(w, a, op):
        return Ask("GET", path_of(w, op))

    def want(w, a, op, when):
        one = alive(w, a, op)
        return Body(200, one.shown) if one else NOT_FOUND


@operation(2, function="webhooks")
class subscription_patch:
    def make(w, a):
        chance, body = w.chance, {}
        if chance.random() < 0.4:
            body["url"] = some_url(chance)
        if chance.random() < 0.3:
            body["event_types"] = some_kinds(chance)
        if chance.random() < 0.6:
            body["active"] = chance.random() < 0.6
        return {"of": some_subscription(w, a), "body": some_junk(chance, body)}

    def ask(w, a, op):
        return Ask("PATCH", path_of(w, op), op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body) and body != "":
            return BAD_BODY
        body = body or {}
        fields = Fields(body, ("url", "event_types", "active"))
        fields.may("active", lambda value: type(value) is bool)
        url, kinds, active = body.get("url"), body.get("event_types"), body.get("active")
        error = fields.error() or (url_error(url) if url is not None else None) or (kinds_error(kinds, False) if kinds is not None else None)
        if error:
            return error
        one = alive(w, a, op)
        if one is None:
            return NOT_FOUND
        after = url or one.url, list(dict.fromkeys(kinds or one.kinds)), one.active if active is None else active
        if after[2] and (not one.active or after[0] != one.url) and taken(a, after[0], one):
            return DUPLICATE
        if after[2] and not one.active and full(a):
            return LIMIT
        if after != (one.url, one.kinds, one.active):
            one.url, one.kinds, one.active = after
            one.updated = when
        return Body(200, one.shown)


@operation(0.3, function="webhooks")
class subscription_delete:
    def make(w, a):
        return {"of": some_subscription(w, a)}

    def ask(w, a, op):
        return Ask("DELETE", path_of(w, op))

    def want(w, a, op, when):
        one = alive(w, a, op)
        if one is None:
            return NOT_FOUND
        a.subscriptions.remove(one)
        return Empty(204)

