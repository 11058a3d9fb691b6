"""The document of the interface: it is the same wherever it is to be had, leaves no operation out, pleases a public
checker, and is kept: every status and code of every operation is provoked, and the answers held against it (contract.py,
through which the answers of all other scenarios go too)."""
import json
import os
import re
import signal
import subprocess
from urllib.parse import quote

import pytest
from contract import Contract, contract, held_by
from harness import ROOT
from hooks import HOOKS, KINDS, hook_path, new_url, subscribe
from routes import ROUTES
from shop import Shop, new_id, path_of, template_file

DOCUMENT = contract()
OPERATIONS = {operation["operationId"]: (path, method.upper(), operation) for path, method, operation in DOCUMENT.operations()}


def codes_of(response):
    return DOCUMENT.resolved(response)["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"]


SUCCESSES = [(name, int(status)) for name, (_, _, operation) in OPERATIONS.items() for status in operation["responses"]
             if int(status) < 400]
REFUSALS = [(name, int(status), code) for name, (_, _, operation) in OPERATIONS.items()
            for status, response in operation["responses"].items() if int(status) >= 400 for code in codes_of(response)]
# Of these other scenarios tell: full disks, floods, processes that are gone or fail.
ELSEWHERE = {"INTERNAL", "STORAGE_FULL", "OVERLOADED", "SHARD_UNAVAILABLE", "OUTCOME_UNKNOWN"}


class Shops:
    """Accounts that are in want of something, and one that is not."""

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


@pytest.fixture(scope="module")
def shops(module_services):
    shops = Shops(module_services(shards=1, options=["--max-body", "65536"]))
    yield shops
    shops.close()


# What is right: of each operation the ids and the query of a request that is carried out, and its body.

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
GOOD = {
    "passCreate": (nothing, lambda _: {"pass_id": new_id(), "visible": {"name": "Ada"}}),
    "passList": (nothing, None),
    "passGet": (a_pass, None),
    "passPatch": (a_pass, lambda _: {"appearance": {"title": "T"}}),
    "passDelete": (a_pass, None),
    "passLoyalty": (a_pass, lambda _: {"balance_to_add": 1}),
    "templateFields": (nothing, None),
    "subscriptionCreate": (lambda shop: a_subscription(shop) and {}, lambda _: {"url": new_url(), "event_types": KINDS}),
    "subscriptionList": (a_subscription, None),
    "subscriptionGet": (a_subscription, None),
    "subscriptionPatch": (a_subscription, lambda _: {"active": False}),
    "subscriptionDelete": (a_subscription, None),
    "rewardCreate": (nothing, lambda _: TERMS),
    "rewardList": (nothing, None),
    "rewardGet": (a_reward, None),
    "rewardPut": (a_reward, lambda _: TERMS),
    "rewardArchive": (a_reward, None),
    "rewardRestore": (an_archived_reward, lambda _: TERMS),
    "rewardDelete": (a_reward, None),
    "entitlementCounts": (nothing, None),
    "entitlementList": (an_entitlement, None),
    "entitlementAssign": (a_pass, lambda shop: slug_of(a_reward(shop))),
    "entitlementRedeem": (an_entitlement, lambda _: {"amount": 1}),
    "scanCreate": (nothing, a_pass),
    "scanList": (nothing, None),
    "ruleList": (nothing, None),
    "notificationList": (nothing, None),
    "cardList": (a_pass, None),
}


def target_of(name, ids):
    wanted = {id_name: quote(ids[id_name], safe="") for id_name in re.findall(r"{(\w+)}", OPERATIONS[name][0])}
    return OPERATIONS[name][0].format(**wanted)


def body_of(shop, name):
    return GOOD[name][1] and GOOD[name][1](shop)


def ask(shop, name, target=None, body=None, **options):
    """Sends a request that is right, but for what is given in its place."""
    body = body_of(shop, name) if body is None else body
    return shop.client.request(OPERATIONS[name][1], target or target_of(name, GOOD[name][0](shop)), body, **options)


def path_to_nobody(name):
    return OPERATIONS[name][0].replace("{", "").replace("}", "")


def ask_vainly(shops, shop, name, **options):
    """The same of an account for which it is not carried out."""
    return ask(shop, name, path_to_nobody(name), body_of(shops.shop, name), **options)


# What is wrong, by code: how any operation is brought to answer it.

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
    ids = {id_name: "nobody" for id_name in ("pass_id", "subscription_id", "reward_slug", "entitlement_id")}
    return ask(shops.shop, name, target_of(name, ids))


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
    """Five active subscriptions and one that is not, whose path is returned."""
    paused = hook_path(a_subscription(shops.full)["subscription_id"])
    shops.full.client.patch(paused, {"active": False})
    for _ in range(5):
        subscribe(shops.full)
    return paused


def with_two(shops):
    """Two active subscriptions: the path of one, the URL of the other."""
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


def create(shops, **fields):
    return ask(shops.shop, "passCreate", body={"pass_id": new_id(), "visible": {"name": "Ada"}, **fields})


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


def test_it_is_the_same_without_a_service_and_without_a_key(service):
    printed = json.loads(service.run("openapi", data=False).stdout)
    with service.client() as client:
        answer, head = client.get("/openapi.json"), client.head("/openapi.json?v=1")
        client.post("/openapi.json", {}).is_error(405, "METHOD_NOT_ALLOWED")
        refused = client.request("DELETE", "/openapi.json")
    assert (answer.status, answer.headers["content-type"], answer.json) == (200, "application/json", printed)
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(answer.body)))
    refused.is_error(405, "METHOD_NOT_ALLOWED")
    assert refused.headers["allow"] == "GET, HEAD"
    with service.admin() as admin:
        assert admin.get("/openapi.json").status == 404


def test_every_operation_is_there_and_no_other():
    got = [(path, method) for path, method, _ in OPERATIONS.values()]
    assert sorted(got) == sorted((route.path, route.method) for route in ROUTES)
    ids = [operation["operationId"] for _, _, operation in DOCUMENT.operations()]
    assert len(ids) == len(set(ids)) == len(ROUTES)
    for route in ROUTES:
        operation = DOCUMENT.document["paths"][route.path][route.method.lower()]
        assert str(route.status) in operation["responses"], route
        parameters = [DOCUMENT.resolved(one) for one in operation["parameters"]]
        assert [one["name"] for one in parameters if one["in"] == "path"] == route.ids, route
        assert ("Idempotency-Key" in [one["name"] for one in parameters]) == (route.method != "GET"), route


def test_a_public_checker_finds_nothing(tmp_path):
    found = subprocess.run([ROOT / "ops" / "redocly"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no checker: {found.stderr}")
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(DOCUMENT.document, indent=1))
    env = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    run = subprocess.run([found.stdout.strip(), "lint", file, "--max-problems", "20", "--format", "json"], cwd=tmp_path, env=env,
                         capture_output=True, text=True, check=False)
    verdict = json.loads(run.stdout)
    assert run.returncode == 0 and verdict["problems"] == [], run.stdout


def test_every_operation_has_a_good_request():
    assert set(GOOD) >= set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name, status in SUCCESSES if status != 202 or "passLoyalty" in name])
def test_what_is_right_is_answered_as_documented(shops, name):
    """Also with a key, and again with that key."""
    wanted = min(status for each, status in SUCCESSES if each == name)
    assert ask(shops.shop, name).status == wanted
    key = {"Idempotency-Key": new_id("key")}
    target, body = target_of(name, GOOD[name][0](shops.shop)), body_of(shops.shop, name)
    first = ask(shops.shop, name, target, body, headers=key)
    again = ask(shops.shop, name, target, body, headers=key)
    assert (first.status, again.status) == (wanted, wanted)
    assert ("idempotency-replayed" in again.headers) == (OPERATIONS[name][1] != "GET")
    if OPERATIONS[name][1] == "GET":
        assert shops.shop.client.head(target).status == wanted


@pytest.mark.parametrize(("name", "status", "code"), [one for one in REFUSALS if one[2] not in ELSEWHERE])
def test_what_is_wrong_is_refused_as_documented(shops, name, status, code):
    provoke = ONE.get((name, code)) or ANY[code]
    provoke(shops, name).is_error(status, code)
    shops.service.unexpected_lines()


def test_a_creation_that_fails_is_202(shops):
    answer = create(shops, appearance={"logo": "https://127.0.0.1/logo.png"})
    assert (answer.status, answer.json["status"]) == (202, "creation_failed")


# What shows members that the good requests do not show, where operations are there for it.
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
}
RULE = {"name": "Rule", "event": "scan.created", "active": False, "actions": [{"type": "add_balance", "amount": 1}]}
RULES = [RULE, {**RULE, "conditions": {"min_balance": 1, "every_n_scans": 2, "template_id": "tpl_x", "reader_id": "till",
                                       "once_per_pass": True}},
         {**RULE, "actions": [{"type": "assign_reward", "slug": "free", "replace": True},
                              {"type": "send_notification", "message": "Hello"}]}]


def put_rule(shop, rule):
    shop.service.cli("rule", "put", shop.account, "-", stdin=json.dumps(rule).replace("tpl_x", shop.templates["balance"]))


def a_card(shop):
    pass_id = shop.create()["id"]
    shop.service.cli("card", "link", shop.account, "--pass", pass_id, "--code", new_id("card"))
    return shop.client.get(path_of(pass_id, "/cards"))


def gone(shop):
    pass_id = shop.create()["id"]
    shop.delete(pass_id)
    return shop.get(pass_id, "?include_deleted=true")


def test_every_member_comes_and_what_may_be_absent_is_so_at_times(shops):
    looks = Contract(DOCUMENT.document)
    with held_by(looks):
        for name in OPERATIONS:
            MORE.get(name, nothing)(shops)
            ask(shops.shop, name)
    expected = set()
    for name, schema in DOCUMENT.document["components"]["schemas"].items():
        for member in schema.get("properties", {}) if name != "Error" and not name.endswith("Change") else ():
            expected.add((name, member, True))
            if member not in schema["required"]:
                expected.add((name, member, False))
    assert expected - looks.seen == set()


# The checker's own test: what it must find.

def spoilt_by(change):
    document = json.loads(json.dumps(DOCUMENT.document))
    change(document)
    return Contract(document)


def listed(document):
    return document["paths"]["/v1/passes"]["get"]["responses"]


def of_pass(document):
    return document["components"]["schemas"]["Pass"]


SPOILT = {
    "an operation": lambda document: document["paths"]["/v1/passes"].pop("get"),
    "a path": lambda document: document["paths"].pop("/v1/passes"),
    "a status": lambda document: listed(document).pop("200"),
    "a member": lambda document: of_pass(document)["properties"].pop("balance"),
    "a member that is always there": lambda document: of_pass(document)["required"].append("deleted_at"),
    "a type": lambda document: of_pass(document)["properties"]["balance"].update(type="string"),
    "a null": lambda document: of_pass(document)["properties"].update(appearance={"type": "object"}),
    "a word": lambda document: document["components"]["schemas"]["PassStatus"]["enum"].remove("issued"),
    "a form": lambda document: of_pass(document)["properties"]["id"].update(format="uuid"),
    "a time's form": lambda document: of_pass(document)["properties"]["id"].update(format="date-time"),
    "a header": lambda document: listed(document)["200"]["headers"].pop("X-Total-Count"),
    "a header's type": lambda document: document["components"]["headers"]["X-Has-More"]["schema"].update(type="integer"),
    "a header that is always there": lambda document: listed(document)["200"]["headers"].update(
        {"Retry-After": {"required": True, "schema": {"type": "integer"}}}),
    "a body": lambda document: listed(document)["200"].pop("content"),
    "a kind of body": lambda document: listed(document)["200"].update(content={"text/plain": {"schema": {}}}),
}


@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_the_checker_finds(shops, change):
    shops.shop.create()
    answer = shops.shop.client.get("/v1/passes")
    Contract(DOCUMENT.document).hold(("GET", "/v1/passes", None), answer)
    with pytest.raises(AssertionError):
        spoilt_by(change).hold(("GET", "/v1/passes", None), answer)


def test_the_checker_finds_requests_that_are_not_documented(shops):
    answer = shops.shop.client.patch(path_of(shops.shop.create()["id"]), {"appearance": {"title": "T"}, "visible": None})
    for body in ({"appearance": {"title": 1}}, {"hidden": []}, {"other": 1}):
        with pytest.raises(AssertionError):
            Contract(DOCUMENT.document).hold(("PATCH", "/v1/passes/x", json.dumps(body).encode()), answer)


def test_the_checker_finds_codes_and_methods_that_are_not_documented(shops):
    refused = shops.shop.client.get("/v1/passes?limit=0")
    with pytest.raises(AssertionError):
        spoilt_by(lambda document: listed(document).update({"400": listed(document)["401"]})).hold(("GET", "/v1/passes", None), refused)
    stray = shops.shop.client.request("PUT", "/v1/passes")
    with pytest.raises(AssertionError):
        spoilt_by(lambda document: document["paths"]["/v1/passes"].pop("get")).hold(("PUT", "/v1/passes", None), stray)


def test_a_shard_that_says_nothing(new_service):
    """What is read is 503 after a while, and what may have been written 504; both as documented."""
    shop = Shop(new_service(shards=1), ("balance",), functions=("--webhooks", "--rewards"))
    ready = {name: (target_of(name, GOOD[name][0](shop)), body_of(shop, name)) for name in OPERATIONS}
    clients = {name: shop.service.client(shop.key) for name in OPERATIONS}
    pid = shop.service.signal("shard", 0, signal.SIGSTOP)
    for name, (target, body) in ready.items():
        clients[name].send(OPERATIONS[name][1], target, body)
    answers = {name: client.receive() for name, client in clients.items()}
    os.kill(pid, signal.SIGCONT)
    for name, answer in answers.items():
        reads = OPERATIONS[name][1] == "GET"
        answer.is_error(*((503, "SHARD_UNAVAILABLE") if reads else (504, "OUTCOME_UNKNOWN")))
        clients[name].close()
    shop.close()
