"""A way to provoke every documented error of every operation. provoke() is the entry."""
from good_requests import GOOD, MAKES, OPERATIONS, TERMS, a_pass, a_reward, a_subscription, an_archived_reward, an_entitlement, ask, \
    ask_vainly, body_of, create, path_to_nobody, slug_of, target_of
from hooks import HOOKS, KINDS, hook_path, new_url, subscribe
from shop import new_id, path_of

# Other scenarios provoke these: full disks, floods, missing or failing processes.
ELSEWHERE = {"INTERNAL", "STORAGE_FULL", "OVERLOADED", "SHARD_UNAVAILABLE", "OUTCOME_UNKNOWN"}

# For each error code, how to make any operation return it.

def reuse_key(shops, name):
    key = {"Idempotency-Key": new_id("key")}
    target, body = target_of(name, GOOD[name][0](shops.shop)), body_of(shops.shop, name)
    assert ask(shops.shop, name, target, body, headers=key).status < 300
    return ask(shops.shop, name, target + "?another", body, headers=key)


def hurry(shops, name):
    return next(answer for answer in (ask_vainly(shops, shops.hasty, name) for _ in range(1000)) if answer.status == 429)


def spoil_input(shops, name):
    _, method, operation = OPERATIONS[name]
    if method != "GET":
        return ask_vainly(shops, shops.shop, name, headers={"Idempotency-Key": "a key"})
    query = next(one["name"] for one in operation["parameters"] if one.get("in") == "query" and not one.get("explode"))
    return shops.shop.client.get(path_to_nobody(name) + f"?{query}=1&{query}=1")


def suspend(shops, name):
    shops.suspended.set("--suspended", "on")
    return ask_vainly(shops, shops.suspended, name)


def send_bytes(shops, name, kind, size):
    return shops.shop.client.post_raw(path_to_nobody(name), b" " * size, OPERATIONS[name][1], **{"Content-Type": kind})


def find_nobody(shops, name):
    return ask(shops.shop, name, target_of(name, dict.fromkeys(MAKES, "nobody")))


ANY = {
    "INVALID_REQUEST": lambda shops, name: ask_vainly(shops, shops.shop, name, headers={"Expect": "nonsense"}),
    "INVALID_INPUT": spoil_input,
    "UNAUTHENTICATED": lambda shops, name: ask_vainly(shops, shops.shop, name, key="nonsense"),
    "ACCOUNT_SUSPENDED": suspend,
    "FEATURE_DISABLED": lambda shops, name: ask_vainly(shops, shops.bare, name),
    "REWARDS_DISABLED": lambda shops, name: ask_vainly(shops, shops.bare, name),
    "RESOURCE_NOT_FOUND": find_nobody,
    "WEBHOOK_SUBSCRIPTION_NOT_FOUND": find_nobody,
    "IDEMPOTENCY_KEY_REUSED": reuse_key,
    "PAYLOAD_TOO_LARGE": lambda shops, name: send_bytes(shops, name, "application/json", 65537),
    "URI_TOO_LONG": lambda shops, name: ask(shops.shop, name, "/v1/" + "x" * 9000),
    "UNSUPPORTED_MEDIA_TYPE": lambda shops, name: send_bytes(shops, name, "text/plain", 10),
    "RATE_LIMITED": hurry,
    "HEAD_TOO_LARGE": lambda shops, name: ask_vainly(shops, shops.shop, name, headers={"X-Long": "x" * 20000}),
}


def make_inactive(shop):
    pass_id = shop.create()["id"]
    shop.event(pass_id, "deactivated")
    return pass_id


def with_five(shops):
    """Creates five active subscriptions and an inactive one. Returns the path of the inactive one."""
    paused = hook_path(a_subscription(shops.full)["subscription_id"])
    shops.full.client.patch(paused, {"active": False})
    for _ in range(5):
        subscribe(shops.full)
    return paused


def with_two(shops):
    """Creates two active subscriptions. Returns the path of one and the URL of the other."""
    path = hook_path(a_subscription(shops.full)["subscription_id"])
    return path, subscribe(shops.full)["url"]


def pause_issuer(shops, name):
    shops.service.cli("issuer", "pause")
    answer = ask(shops.shop, name)
    shops.service.cli("issuer", "resume")
    return answer


def wrong_hook(shops, name, **wrong):
    return ask(shops.shop, name, body={"url": new_url(), "event_types": KINDS, **wrong})


def duplicate_url(shops, name):
    path, url = with_two(shops)
    return ask(shops.full, name, path if "{" in OPERATIONS[name][0] else HOOKS, {"url": url, "event_types": KINDS})


def accepted(shops, template):
    return shops.shop.client.get(f"/v1/pass-templates/accepted-fields?pass_template_id={template}")


def add(shops, kind, amount):
    return shops.shop.try_add(shops.shop.create(kind=kind)["id"], amount)


def ask_of(shops, name, ids):
    return ask(shops.shop, name, target_of(name, ids))


def an_assigned_reward(shop, **terms):
    ids = a_reward(shop, **terms)
    assert shop.client.post(path_of(a_pass(shop)["pass_id"], "/rewards/assign"), slug_of(ids)).status == 201
    return ids


def redeem_of_inactive(shops, name):
    ids = an_entitlement(shops.shop)
    shops.shop.event(ids["pass_id"], "deactivated")
    return ask_of(shops, name, ids)


def redeem_twice(shops, name):
    ids = an_entitlement(shops.shop)
    assert ask_of(shops, name, ids).status == 200
    return ask_of(shops, name, ids)


ONE = {
    ("passCreate", "UNAUTHORIZED"): lambda shops, _: create(shops, pass_template_id=shops.other.templates["balance"]),
    ("passCreate", "PASS_TEMPLATE_NOT_FOUND"): lambda shops, _: create(shops, pass_template_id="tpl_none"),
    ("passCreate", "PASS_TEMPLATE_DATA_INVALID"): lambda shops, _: create(shops, visible={"name": 5}),
    ("passCreate", "RESOURCE_CONFLICT"): lambda shops, _: create(shops, pass_id=a_pass(shops.shop)["pass_id"]),
    ("passCreate", "PASS_PROVIDER_UNAVAILABLE"): pause_issuer,
    ("passPatch", "PASS_TEMPLATE_DATA_INVALID"): lambda shops, name: ask(shops.shop, name, body={"visible": {"name": 5}}),
    ("passLoyalty", "NO_LOYALTY_PROGRAM"): lambda shops, _: add(shops, "none", 1),
    ("passLoyalty", "INSUFFICIENT_BALANCE"): lambda shops, _: add(shops, "floor", -1),
    ("passLoyalty", "RESOURCE_CONFLICT"): lambda shops, _: shops.shop.try_add(make_inactive(shops.shop), 1),
    ("templateFields", "UNAUTHORIZED"): lambda shops, _: accepted(shops, shops.other.templates["balance"]),
    ("templateFields", "PASS_TEMPLATE_NOT_FOUND"): lambda shops, _: accepted(shops, "tpl_none"),
    ("subscriptionCreate", "INVALID_WEBHOOK_URL"): lambda shops, name: wrong_hook(shops, name, url="http://a.example"),
    ("subscriptionPatch", "INVALID_WEBHOOK_URL"): lambda shops, name: wrong_hook(shops, name, url="http://a.example"),
    ("subscriptionCreate", "INVALID_WEBHOOK_EVENT_TYPE"): lambda shops, name: wrong_hook(shops, name, event_types=["x"]),
    ("subscriptionPatch", "INVALID_WEBHOOK_EVENT_TYPE"): lambda shops, name: wrong_hook(shops, name, event_types=["x"]),
    ("subscriptionCreate", "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED"): lambda shops, name: with_five(shops) and ask(
        shops.full, name, HOOKS),
    ("subscriptionPatch", "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED"): lambda shops, name: ask(
        shops.full, name, with_five(shops), {"active": True}),
    ("subscriptionCreate", "WEBHOOK_SUBSCRIPTION_DUPLICATE_URL"): duplicate_url,
    ("subscriptionPatch", "WEBHOOK_SUBSCRIPTION_DUPLICATE_URL"): duplicate_url,
    ("rewardCreate", "RESOURCE_CONFLICT"): lambda shops, name: ask(shops.shop, name, body={**TERMS, **slug_of(a_reward(shops.shop))}),
    ("rewardArchive", "RESOURCE_CONFLICT"): lambda shops, name: ask_of(shops, name, an_archived_reward(shops.shop)),
    ("rewardRestore", "RESOURCE_CONFLICT"): lambda shops, name: ask_of(shops, name, a_reward(shops.shop)),
    ("rewardDelete", "RESOURCE_CONFLICT"): lambda shops, name: ask_of(shops, name, an_assigned_reward(shops.shop)),
    ("entitlementAssign", "RESOURCE_CONFLICT"): lambda shops, name: ask_of(shops, name, {"pass_id": make_inactive(shops.shop)}),
    ("entitlementAssign", "REWARD_NOT_ASSIGNABLE"): lambda shops, name: ask(
        shops.shop, name, body=slug_of(an_archived_reward(shops.shop))),
    ("entitlementAssign", "REWARD_ASSIGNMENT_LIMIT_REACHED"): lambda shops, name: ask(
        shops.shop, name, body=slug_of(an_assigned_reward(shops.shop, assignment_limit=1))),
    ("entitlementAssign", "REWARD_FIXED_END_PASSED"): lambda shops, name: ask(shops.shop, name, body=slug_of(a_reward(
        shops.shop, expiration={"kind": "fixed_end", "fixed_end": "2020-01-01T00:00:00Z"}))),
    ("entitlementRedeem", "RESOURCE_CONFLICT"): redeem_of_inactive,
    ("entitlementRedeem", "REWARD_NOT_REDEEMABLE"): redeem_twice,
    ("entitlementRedeem", "REWARD_INSUFFICIENT_REDEMPTIONS"): lambda shops, name: ask(shops.shop, name, body={"amount": 2}),
    ("scanCreate", "RESOURCE_NOT_FOUND"): lambda shops, name: ask(shops.shop, name, body={"pass_id": "nobody"}),
}


def provoke(shops, name, code):
    return (ONE.get((name, code)) or ANY[code])(shops, name)
