"""Short functions for notifications and audiences."""
import re
from datetime import datetime, timedelta

from harness import refusal, wait_for

NOTIFICATIONS = "/v1/notifications"
NOBODY = "01900000-0000-7000-8000-000000000000"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def notifications(shop, query=""):
    """(notifications, total count, has more) of a list."""
    answer = shop.client.get(NOTIFICATIONS + query)
    assert answer.status == 200, answer
    return answer.json, int(answer.headers["x-total-count"]), {"true": True, "false": False}[answer.headers["x-has-more"]]


def messages(shop, query=""):
    return [one["message"] for one in notifications(shop, query)[0]]


def states(shop):
    return {one["message"]: one["status"] for one in notifications(shop)[0]}


def schedule(shop, message, at, *to):
    made = shop.service.cli("notification", "schedule", shop.account, *to, "--message", message, "--at", at)
    assert list(made) == ["id"] and UUID.fullmatch(made["id"])
    return made["id"]


def put_audience(shop, *arguments):
    made = shop.service.cli("audience", "put", shop.account, *arguments)
    assert list(made) == ["audience_id"] and UUID.fullmatch(made["audience_id"])
    return made["audience_id"]


def await_state(shop, message, want, seconds=5):
    wait_for(lambda: states(shop).get(message) == want, seconds, f"{message} to be {want}")


def all_of(shop, query):
    """All pages of a list joined. The counts of every page must be consistent."""
    found, total, more = [], None, True
    while more:
        page, total, more = notifications(shop, f"{query}&limit=37&offset={len(found)}")
        found += page
    assert len(found) == total
    return found


def refused(code, field, call, *arguments):
    error = refusal(call, *arguments)
    assert (error.code, error.field) == (code, field)


def ahead(shop, **time):
    """The service's current time plus an offset."""
    now = datetime.fromisoformat(shop.service.cli("clock", "show")["now"].replace("Z", "+00:00"))
    return (now + timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")
