"""A valid request for every operation of the OpenAPI document."""
import json
import re
from urllib.parse import quote

from contract import contract
from hooks import HOOKS, KINDS, hook_path, new_url, subscribe
from shop import Shop, new_id, path_of, template_file

DOCUMENT = contract()
OPERATIONS = {operation["operationId"]: (path, method.upper(), operation) for path, method, operation in DOCUMENT.operations()}


class Shops:
    """One account that has everything, and accounts that each lack something."""

    def __init__(self, service):
        self.service = service
        functions = ("--webhooks", "--rewards")
        self.shop = Shop(service, ("balance", "none"), functions=functions)
        self.shop.templates["floor"] = self.shop.put_template(template_file("balance", min_balance=0))
        self.bare = Shop(service, ("balance",))
        self.other = Shop(service, ("balance",))
        self.full = Shop(service, ("balance",), functions=functions)
        self.suspended = Shop(service, ("balance",), functions=functions)
        self.hasty = Shop(service, ("balance",), functions=functions)
        self.hasty.set("--rate-limit", "1")

    def close(self):
        for shop in (self.shop, self.bare, self.other, self.full, self.suspended, self.hasty):
            shop.close()


# For each operation the ids, query and body of a request that succeeds.

def a_pass(shop):
    return {"pass_id": shop.create()["id"]}


def a_subscription(shop):
    for hook in shop.client.get(HOOKS).json["subscriptions"]:
        shop.client.delete(hook_path(hook["id"])).is_empty(204)
    return {"subscription_id": subscribe(shop)["id"]}


def nothing(shop):
    return {}


def a_reward(shop, **terms):
    answer = shop.client.post("/v1/rewards", {**TERMS, **terms})
    assert answer.status == 201, answer
    return {"reward_slug": answer.json["slug"]}


def slug_of(ids):
    return {"slug": ids["reward_slug"]}


def an_archived_reward(shop):
    ids = a_reward(shop)
    shop.client.post(f"/v1/rewards/{ids['reward_slug']}/archive").is_empty(204)
    return ids


def an_entitlement(shop, **terms):
    ids = a_pass(shop)
    answer = shop.client.post(path_of(ids["pass_id"], "/rewards/assign"), slug_of(a_reward(shop, **terms)))
    assert answer.status == 201, answer
    return {**ids, "entitlement_id": answer.json["id"]}


TERMS = {"name": "Free coffee", "kind": "gift", "expiration": {"kind": "none"}}
# For each id of a path the function that creates its object, for operations that are not in OWN.
MAKES = {"pass_id": a_pass, "subscription_id": a_subscription, "reward_slug": a_reward, "entitlement_id": an_entitlement}
# Operations that need other objects first, or a body.
OWN = {
    "passCreate": (nothing, lambda _: {"pass_id": new_id(), "visible": {"name": "Ada"}}),
    "passPatch": (a_pass, lambda _: {"appearance": {"title": "T"}}),
    "passLoyalty": (a_pass, lambda _: {"balance_to_add": 1}),
    "subscriptionCreate": (lambda shop: a_subscription(shop) and {}, lambda _: {"url": new_url(), "event_types": KINDS}),
    "subscriptionList": (a_subscription, None),
    "subscriptionPatch": (a_subscription, lambda _: {"active": False}),
    "rewardCreate": (nothing, lambda _: TERMS),
    "rewardPut": (a_reward, lambda _: TERMS),
    "rewardRestore": (an_archived_reward, lambda _: TERMS),
    "entitlementList": (an_entitlement, None),
    "entitlementAssign": (a_pass, lambda shop: slug_of(a_reward(shop))),
    "entitlementRedeem": (an_entitlement, lambda _: {"amount": 1}),
    "scanCreate": (nothing, a_pass),
}


def by_default(path):
    """The last id needs the most setup: its object is created together with those of the ids before it."""
    ids = re.findall(r"{(\w+)}", path)
    return MAKES[ids[-1]] if ids else nothing, None


GOOD = {name: OWN.get(name) or by_default(path) for name, (path, _, _) in OPERATIONS.items()}
assert set(OWN) <= set(OPERATIONS)


def target_of(name, ids):
    wanted = {id_name: quote(ids[id_name], safe="") for id_name in re.findall(r"{(\w+)}", OPERATIONS[name][0])}
    return OPERATIONS[name][0].format(**wanted)


def body_of(shop, name):
    return GOOD[name][1] and GOOD[name][1](shop)


def ask(shop, name, target=None, body=None, **options):
    """Sends a valid request, with the given parts replaced."""
    body = body_of(shop, name) if body is None else body
    return shop.client.request(OPERATIONS[name][1], target or target_of(name, GOOD[name][0](shop)), body, **options)


def path_to_nobody(name):
    return OPERATIONS[name][0].replace("{", "").replace("}", "")


def ask_vainly(shops, shop, name, **options):
    """Sends a valid body to a path with unknown ids, from an account for which the request fails."""
    return ask(shop, name, path_to_nobody(name), body_of(shops.shop, name), **options)


def create(shops, **fields):
    return ask(shops.shop, "passCreate", body={"pass_id": new_id(), "visible": {"name": "Ada"}, **fields})


# Requests that return members which the valid requests above do not return. Used where the operation exists.
MORE = {
    "passGet": lambda shops: (create(shops, appearance={"logo": "https://127.0.0.1/l.png"}),
                              create(shops, appearance={"background_color": "#112233", "logo": "https://127.0.0.1/l.png",
                                                        "banner": "https://127.0.0.1/b.png", "title": "T"}),
                              create(shops, appearance={"background_color": "#112233"}),
                              shops.shop.create(kind="none"), gone(shops.shop)),
    "rewardGet": lambda shops: (a_reward(shops.shop, expiration={"kind": "relative_window", "window_seconds": 60}),
                                a_reward(shops.shop, expiration={"kind": "fixed_end", "fixed_end": "2099-01-01T00:00:00Z"})),
    "scanCreate": lambda shops: ask(shops.shop, "scanCreate", "/v1/scans?pass_info=true"),
    "scanList": lambda shops: shops.shop.client.get("/v1/scans?pass_info=true"),
    "ruleList": lambda shops: [put_rule(shops.shop, rule) for rule in RULES],
    "cardList": lambda shops: a_card(shops.shop),
    "notificationList": lambda shops: shops.shop.add(a_pass(shops.shop)["pass_id"], 1, message="Hello"),
}
RULE = {"name": "Rule", "event": "scan.created", "active": False, "actions": [{"type": "add_balance", "amount": 1}]}
RULES = [RULE, {**RULE, "conditions": {"min_balance": 1, "every_n_scans": 2, "template_id": "tpl_x", "reader_id": "till",
                                       "once_per_pass": True}},
         {**RULE, "actions": [{"type": "assign_reward", "slug": "free", "replace": True},
                              {"type": "send_notification", "message": "Hello"}]}]


def put_rule(shop, rule):
    shop.service.cli("rule", "put", shop.account, "-", "--force", stdin=json.dumps(rule).replace("tpl_x", shop.templates["balance"]))


def a_card(shop):
    pass_id = shop.create()["id"]
    shop.service.cli("card", "link", shop.account, "--pass", pass_id, "--code", new_id("card"))
    return shop.client.get(path_of(pass_id, "/cards"))


def gone(shop):
    pass_id = shop.create()["id"]
    shop.delete(pass_id)
    return shop.get(pass_id, "?include_deleted=true")
