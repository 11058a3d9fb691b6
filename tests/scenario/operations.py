"""Every operation that takes a body: its fields, and a body that would be carried out. What hostile bodies are made of."""
import json

from hostile import raw
from rewards import REWARDS, terms

# And "subscription_id", once there is one.
IDS = {"pass_id": "victim", "entitlement_id": "01900000-0000-7000-8000-000000000000", "reward_slug": "victim"}
# Fields of which everything that is wrong has one code of its own.
CODES = {"initial_platform": "INVALID_REQUEST", "url": "INVALID_WEBHOOK_URL", "event_types": "INVALID_WEBHOOK_EVENT_TYPE"}


def code_of(field):
    return CODES.get(field, "INVALID_INPUT")


class Operation:
    """`fields` are the body's: name -> kinds of value that it takes. `good` is a body that would be carried out. `path`
    is the route's, with the ids of IDS in place. `fields` None: it ignores a body. `ignored`: fields of which the value is
    not looked at. `bare`: it needs no body."""

    def __init__(self, method, pattern, fields=None, good=None, ignored=(), bare=False):
        self.method, self.pattern, self.fields, self.good = method, pattern, fields, good
        self.ignored, self.bare = ignored, bare

    @property
    def path(self):
        return self.pattern.format(**IDS)

    def required(self):
        return [field for field, kinds in self.fields.items() if "null" not in kinds and field in self.good]

    def body(self, field, value):
        """The good body with a field's value replaced by any text or bytes."""
        members = {name: raw(json.dumps(member)) for name, member in self.good.items()}
        members[field] = raw(value)
        return b"{" + b",".join(b'"%s":%s' % (raw(name), text) for name, text in members.items()) + b"}"


TERMS = {"name": ["string"], "kind": ["string"], "description": ["string", "null"], "repeat_assignment": ["boolean", "null"],
         "redemption_allowance": ["integer", "null"], "assignment_limit": ["integer", "null"], "expiration": ["object"],
         "slug": ["string", "null"]}
GOOD_TERMS = terms(description="d", repeat_assignment=True, redemption_allowance=2, assignment_limit=3)
READ_ONLY = ("status", "version", "created_at", "updated_at")
OPERATIONS = {
    "PASS_CREATE": Operation(
        "POST", "/v1/passes",
        {"pass_id": ["string"], "pass_template_id": ["string", "null"], "visible": ["object", "null"],
         "hidden": ["object", "null"], "appearance": ["object", "null"], "initial_platform": ["string"]},
        {"pass_id": "hostile", "visible": {"name": "A"}, "hidden": {"a": 1}, "appearance": {"title": "T"}}),
    "PASS_PATCH": Operation(
        "PATCH", "/v1/passes/{pass_id}",
        {"visible": ["object", "null"], "hidden": ["object", "null"], "appearance": ["object", "null"]},
        {"visible": {"name": "B"}, "hidden": {"a": 2}, "appearance": {"title": "U"}}),
    "PASS_LOYALTY": Operation(
        "POST", "/v1/passes/{pass_id}/loyalty",
        {"balance_to_add": ["integer"], "message": ["string", "null"]},
        {"balance_to_add": 5, "message": "m"}),
    "SCAN_CREATE": Operation(
        "POST", "/v1/scans",
        {"pass_id": ["string", "null"], "qr_value": ["string", "null"], "reader_id": ["string", "null"]},
        {"pass_id": "victim", "reader_id": "till"}),
    "SUBSCRIPTION_CREATE": Operation(
        "POST", "/v1/webhook-subscriptions",
        {"url": ["string"], "event_types": ["array"]},
        {"url": "https://hostile.example/", "event_types": ["pass.created"]}),
    "ENTITLEMENT_ASSIGN": Operation(
        "POST", "/v1/passes/{pass_id}/rewards/assign",
        {"slug": ["string"], "replace": ["boolean", "null"]},
        {"slug": "hostile", "replace": True}),
    "ENTITLEMENT_REDEEM": Operation(
        "POST", "/v1/passes/{pass_id}/rewards/{entitlement_id}/redeem",
        {"amount": ["integer", "null"], "context": ["string", "null"], "note": ["string", "null"]},
        {"amount": 1, "context": "till", "note": "n"}),
    "SUBSCRIPTION_PATCH": Operation(
        "PATCH", "/v1/webhook-subscriptions/{subscription_id}",
        {"url": ["string", "null"], "event_types": ["array", "null"], "active": ["boolean", "null"]},
        {"url": "https://other.example/", "event_types": ["pass.created"], "active": False}),
    "REWARD_CREATE": Operation("POST", REWARDS, TERMS, {**GOOD_TERMS, "slug": "hostile"}),
    "REWARD_PUT": Operation("PUT", REWARDS + "/{reward_slug}", TERMS, {**GOOD_TERMS, "slug": "victim"}, ignored=READ_ONLY),
    "REWARD_ARCHIVE": Operation("POST", REWARDS + "/{reward_slug}/archive"),
    "REWARD_RESTORE": Operation("POST", REWARDS + "/{reward_slug}/restore", TERMS, {**GOOD_TERMS, "slug": "victim"},
                                ignored=READ_ONLY, bare=True),
}
