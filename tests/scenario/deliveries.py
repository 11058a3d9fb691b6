"""Webhook deliveries as receivers and as the operator see them."""
import json
import re
from datetime import datetime

from contract import contract
from harness import wait_for
from hooks import KINDS, subscribe
from shop import Shop

EVENT_ID = re.compile(r"^evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
RFC3339 = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
ROW = {"event_id", "type", "subscription_id", "attempts", "next_due_at", "outcome", "last_status", "last_error",
       "detail"}
CREATED, BALANCE = "pass.created", "pass.balanceUpdate"
INSTALLED, REMOVED = "pass.installed", "pass.removed"
WAITS_SECONDS = [30, 300, 1800, 7200, 28800, 86400]  # before attempts 2 to 7
ATTEMPTS_MAX = 1 + len(WAITS_SECONDS)
PROMPT_SECONDS = 5  # seconds for first attempts: half of the limit of one attempt
SOON_SECONDS = 10  # seconds for immediate actions on a busy machine


def options(authority, *more):
    """Options of a service that calls receivers and galleries on this host, with certificates of the given authority."""
    return ["--egress-ca", authority.root, "--egress-allow", "127.0.0.0/8", *more]


def hooked_shop(service, *templates):
    return Shop(service, templates or ("balance",), functions=("--webhooks",))


def await_that(condition, what, seconds=SOON_SECONDS):
    return wait_for(condition, seconds, what)


# Requests received

def envelope(request):
    """The body of a webhook, which the OpenAPI document must allow."""
    event = json.loads(request.body)
    contract().hold_event(event)
    return event


def event_id(request):
    return request.header("Service-Webhook-Id")


def posts_to(receiver, path, number, seconds=SOON_SECONDS):
    """Waits for exactly `number` requests to a path, and returns them."""
    wait_for(lambda: len(receiver.to[path]) >= number, seconds, f"request {number} to {path}")
    assert len(receiver.to[path]) == number, path
    return list(receiver.to[path])


# The operator's view

def deliveries_of(shop, hook=None):
    rows = shop.service.cli("delivery", "list", shop.account, *(["--subscription", hook["id"]] if hook else []))
    for row in rows:
        assert set(row) == ROW and EVENT_ID.match(row["event_id"]) and row["type"] in KINDS, row
        assert row["outcome"] in ("pending", "delivered", "failed", "discarded"), row
        assert (row["next_due_at"] is not None) == (row["outcome"] == "pending"), row
        assert row["detail"] is None or row["last_error"], row
        assert 0 <= row["attempts"] <= ATTEMPTS_MAX, row
        assert not hook or row["subscription_id"] == hook["id"]
    assert len({(row["event_id"], row["subscription_id"]) for row in rows}) == len(rows)
    return rows


def the_delivery(shop, hook):
    rows = deliveries_of(shop, hook)
    assert len(rows) == 1, rows
    return rows[0]


def until(shop, hook, seconds=SOON_SECONDS, **wanted):
    """The subscription's only delivery, as soon as its row meets the condition."""
    seen = []

    def is_so():
        seen[:] = deliveries_of(shop, hook)
        return len(seen) == 1 and all(seen[0][name] == value for name, value in wanted.items())

    try:
        wait_for(is_so, seconds, f"{wanted}")
    except AssertionError as late:
        raise AssertionError(f"{late}: {seen}") from None
    return seen[0]


def until_failed_once(shop, hook, number=1, seconds=SOON_SECONDS):
    """The delivery, as soon as the failure of attempt `number` is stored."""
    def is_told():
        row = the_delivery(shop, hook)
        told = row["attempts"] == number and (row["last_status"] or row["last_error"])
        waits = row["outcome"] != "pending" or time_of(row["next_due_at"]) > now(shop.service)
        return row if told and waits else None

    return wait_for(is_told, seconds, f"the failure of attempt {number}")


# The test clock

def time_of(text):
    assert RFC3339.match(text), text
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def now(service):
    shown = service.cli("clock", "show")
    assert set(shown) == {"now"}
    return time_of(shown["now"])


def advance(service, seconds):
    """Moves the clock and returns the new time."""
    shown = service.cli("clock", "advance", f"{seconds}s")
    assert set(shown) == {"now"}
    return time_of(shown["now"])


class Witness:
    """A working endpoint of another account. Deliveries are handed out in order of due time. When this endpoint
    receives its event, all deliveries due earlier have been handed out."""

    def __init__(self, service, receiver, name="witness"):
        self.receiver, self.path = receiver, f"/status/200/{name}"
        self.shop = hooked_shop(service)
        subscribe(self.shop, receiver.url(self.path), [BALANCE])
        self.pass_id = self.shop.create()["id"]
        self.seen = 0

    def look(self):
        self.shop.add(self.pass_id, 1)
        self.seen += 1
        wait_for(lambda: len(self.receiver.to[self.path]) >= self.seen, PROMPT_SECONDS, "the witness' event")

    def close(self):
        self.shop.close()
