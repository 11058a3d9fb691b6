"""Short functions for webhook subscriptions."""
import re
from itertools import count

from harness import ROOT

HOOKS = "/v1/webhook-subscriptions"
EVENTS = re.findall(r'^E\(\w+, "([^"]+)", \w+, (\w+)\)', (ROOT / "schemas/events.def").read_text(), re.M)
KINDS, RULE_KINDS = [kind for kind, _ in EVENTS], [kind for kind, rules in EVENTS if rules == "RULES"]
_number = count(1)


def hook_path(hook_id):
    return f"{HOOKS}/{hook_id}"


def new_url():
    return f"https://hooks.example/{next(_number)}"


def try_subscribe(shop, url=None, kinds=KINDS, **options):
    return shop.client.post(HOOKS, {"url": url or new_url(), "event_types": kinds}, **options)


def subscribe(shop, url=None, kinds=KINDS):
    """Creates a subscription. Returns the 201 answer, which includes the secret."""
    answer = try_subscribe(shop, url, kinds)
    assert answer.status == 201, answer
    return answer.json


def shown(hook):
    """The subscription as GET shows it, without the secret."""
    return {name: value for name, value in hook.items() if name != "secret"}


def change(shop, hook, **fields):
    """Changes a subscription. Returns the 200 answer."""
    answer = shop.client.patch(hook_path(hook["id"]), fields)
    assert answer.status == 200, answer
    return answer.json


def get(shop, hook):
    answer = shop.client.get(hook_path(hook["id"]))
    assert answer.status == 200, answer
    return answer.json


def hooks_of(shop):
    answer = shop.client.get(HOOKS)
    assert answer.status == 200 and set(answer.json) == {"subscriptions"}, answer
    return answer.json["subscriptions"]
