"""Every operation that accepts a body: its fields from the OpenAPI document, and a body that succeeds. The hostile-body
tests derive their bodies from it."""
import json

from contract import contract
from hostile import raw
from rewards import terms
from routes import ROUTES

# "subscription_id" is added once a subscription exists.
IDS = {"pass_id": "victim", "entitlement_id": "01900000-0000-7000-8000-000000000000", "reward_slug": "victim"}
# Fields with their own error code, which every invalid value gets.
CODES = {"initial_platform": "INVALID_REQUEST", "url": "INVALID_WEBHOOK_URL", "event_types": "INVALID_WEBHOOK_EVENT_TYPE"}


def code_of(field):
    return CODES.get(field, "INVALID_INPUT")


class Operation:
    """`fields` maps a body's fields to the kinds of value that they accept. `good` is a body that succeeds. `path` is
    the route with the ids of IDS filled in. `ignored` are fields whose value is not checked. `bare` operations need no
    body."""

    def __init__(self, route, schema, good, never_null=(), bare=False):
        self.method, self.pattern, self.good, self.bare = route.method, route.path, good, bare
        properties = schema["properties"]
        self.ignored = [name for name, member in properties.items() if not set(member) - {"description"}]
        self.fields = {name: [kind for kind in kinds_of(member) if kind != "null" or name not in never_null]
                       for name, member in properties.items() if name not in self.ignored}

    @property
    def path(self):
        return self.pattern.format(**IDS)

    def required(self):
        return [field for field, kinds in self.fields.items() if "null" not in kinds and field in self.good]

    def body(self, field, value):
        """The good body with one field's value replaced by any text or bytes."""
        members = {name: raw(json.dumps(member)) for name, member in self.good.items()}
        members[field] = raw(value)
        return b"{" + b",".join(b'"%s":%s' % (raw(name), text) for name, text in members.items()) + b"}"


def kinds_of(schema):
    """The kinds of value that the schema accepts."""
    if "anyOf" in schema:
        return [kind for one in schema["anyOf"] for kind in kinds_of(one)]
    kinds = contract().resolved(schema)["type"]
    return kinds if isinstance(kinds, list) else [kinds]


REWARD = terms(description="d", repeat_assignment=True, redemption_allowance=2, assignment_limit=3)
# message: a body that succeeds, and properties that the document does not have.
GOOD = {
    "PASS_CREATE": ({"pass_id": "hostile", "visible": {"name": "A"}, "hidden": {"a": 1}, "appearance": {"title": "T"}}, {}),
    "PASS_PATCH": ({"visible": {"name": "B"}, "hidden": {"a": 2}, "appearance": {"title": "U"}}, {}),
    "PASS_LOYALTY": ({"balance_to_add": 5, "message": "m"}, {}),
    "SCAN_CREATE": ({"pass_id": "victim", "reader_id": "till"}, {}),
    "SUBSCRIPTION_CREATE": ({"url": "https://hostile.example/", "event_types": ["pass.created"]}, {}),
    "SUBSCRIPTION_PATCH": ({"url": "https://other.example/", "event_types": ["pass.created"], "active": False}, {}),
    "ENTITLEMENT_ASSIGN": ({"slug": "hostile", "replace": True}, {}),
    "ENTITLEMENT_REDEEM": ({"amount": 1, "context": "till", "note": "n"}, {}),
    "REWARD_CREATE": ({**REWARD, "slug": "hostile"}, {}),
    "REWARD_PUT": ({**REWARD, "slug": "victim"}, {}),
    "REWARD_RESTORE": ({**REWARD, "slug": "victim"}, {"never_null": ["name", "kind", "expiration"], "bare": True}),
}


def operations():
    paths = contract().document["paths"]
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        if "requestBody" in operation:
            good, exceptions = GOOD[route.message]
            schema = contract().resolved(operation["requestBody"]["content"]["application/json"]["schema"])
            yield route.message, Operation(route, schema, good, **exceptions)


OPERATIONS = dict(operations())
