"""Short functions for the rewards catalogue."""
from itertools import count

REWARDS = "/v1/rewards"
NEVER = {"kind": "none"}
SHOWN = ["slug", "name", "kind", "description", "status", "version", "repeat_assignment", "redemption_allowance",
         "assignment_limit", "expiration", "created_at", "updated_at"]
_number = count(1)


def reward_path(slug, action=""):
    return f"{REWARDS}/{slug}{action}"


def terms(**changes):
    """A valid body; None removes a field."""
    body = {"name": "Free coffee", "kind": "gift", "expiration": NEVER, **changes}
    return {name: value for name, value in body.items() if value is not None}


def new_slug():
    return f"reward_{next(_number)}"


def try_offer(shop, **changes):
    return shop.client.post(REWARDS, terms(**changes))


def offer(shop, **changes):
    """Creates a reward. Returns the 201 answer."""
    answer = try_offer(shop, **changes)
    assert answer.status == 201, answer
    return answer.json


def reward(shop, slug):
    answer = shop.client.get(reward_path(slug))
    assert answer.status == 200, answer
    return answer.json


def edit(shop, slug, **changes):
    """Publishes a version. Returns the 200 answer."""
    answer = shop.client.request("PUT", reward_path(slug), terms(**changes))
    assert answer.status == 200, answer
    return answer.json


def archive(shop, slug):
    shop.client.post(reward_path(slug, "/archive")).is_empty(204)


def rewards_of(shop, query=""):
    answer = shop.client.get(REWARDS + query)
    assert answer.status == 200 and list(answer.json) == ["rewards"], answer
    return answer.json["rewards"]
