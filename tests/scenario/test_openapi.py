"""The document of the interface: it is the same wherever it is to be had, leaves no operation out, pleases a public
checker, and is kept: every status and code of every operation is provoked, and the answers held against it (contract.py,
through which the answers of all other scenarios go too)."""
import json
import os
import subprocess
from itertools import count
from urllib.parse import quote

import pytest
from contract import contract
from harness import ROOT
from hooks import HOOKS, KINDS, hook_path, new_url, subscribe
from routes import ROUTES
from shop import Shop, new_id, path_of, template_file

DOCUMENT = contract()
OPERATIONS = {operation["operationId"]: (path, method.upper(), operation) for path, method, operation in DOCUMENT.operations()}
_number = count(1)


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


GOOD = {
    "passCreate": (nothing, lambda: {"pass_id": new_id(), "visible": {"name": "Ada"}}),
    "passList": (nothing, None),
    "passGet": (a_pass, None),
    "passPatch": (a_pass, lambda: {"appearance": {"title": "T"}}),
    "passDelete": (a_pass, None),
    "passLoyalty": (a_pass, lambda: {"balance_to_add": 1}),
    "templateFields": (nothing, None),
    "subscriptionCreate": (lambda shop: a_subscription(shop) and {}, lambda: {"url": new_url(), "event_types": KINDS}),
    "subscriptionList": (a_subscription, None),
    "subscriptionGet": (a_subscription, None),
    "subscriptionPatch": (a_subscription, lambda: {"active": False}),
    "subscriptionDelete": (a_subscription, None),
}


def target_of(name, ids):
    return OPERATIONS[name][0].format(**{id_name: quote(value, safe="") for id_name, value in ids.items()})


def ask(shop, name, target=None, body=None, **options):
    """Sends a request that is right, but for what is given in its place."""
    prepare, make_body = GOOD[name]
    if body is None and make_body:
        body = make_body()
    return shop.client.request(OPERATIONS[name][1], target or target_of(name, prepare(shop)), body, **options)


def ask_anything(shop, name, **options):
    """The same, where nobody will look for what it names."""
    return ask(shop, name, OPERATIONS[name][0].replace("{", "").replace("}", ""), **options)


# What is wrong, by code: how any operation is brought to answer it.

def reuse_key(shops, name):
    key = {"Idempotency-Key": new_id("key")}
    target = target_of(name, GOOD[name][0](shops.shop))
    assert ask(shops.shop, name, target, headers=key).status < 300
    return ask(shops.shop, name, target + "?another", headers=key)


def hurry(shops, name):
    return next(answer for answer in (ask_anything(shops.hasty, name) for _ in range(1000)) if answer.status == 429)


def spoil_input(shops, name):
    path, method, operation = OPERATIONS[name]
    if method != "GET":
        return ask_anything(shops.shop, name, headers={"Idempotency-Key": "a key"})
    query = next(one["name"] for one in operation["parameters"] if one.get("in") == "query" and not one.get("explode"))
    return shops.shop.client.get(path.replace("{", "").replace("}", "") + f"?{query}=1&{query}=1")


def suspend(shops, name):
    shops.suspended.set("--suspended", "on")
    return ask_anything(shops.suspended, name)


def send_bytes(shops, name, kind, size):
    path, method, _ = OPERATIONS[name]
    return shops.shop.client.post_raw(path.replace("{", "").replace("}", ""), b" " * size, method, **{"Content-Type": kind})


def find_nobody(shops, name):
    ids = {id_name: "nobody" for id_name in ("pass_id", "subscription_id", "slug", "entitlement_id")}
    return ask(shops.shop, name, target_of(name, ids))


ANY = {
    "INVALID_REQUEST": lambda shops, name: ask_anything(shops.shop, name, headers={"Expect": "nonsense"}),
    "INVALID_INPUT": spoil_input,
    "UNAUTHENTICATED": lambda shops, name: ask_anything(shops.shop, name, key="nonsense"),
    "ACCOUNT_SUSPENDED": suspend,
    "FEATURE_DISABLED": lambda shops, name: ask_anything(shops.bare, name),
    "REWARDS_DISABLED": lambda shops, name: ask_anything(shops.bare, name),
    "RESOURCE_NOT_FOUND": find_nobody,
    "WEBHOOK_SUBSCRIPTION_NOT_FOUND": find_nobody,
    "IDEMPOTENCY_KEY_REUSED": reuse_key,
    "PAYLOAD_TOO_LARGE": lambda shops, name: send_bytes(shops, name, "application/json", 65537),
    "URI_TOO_LONG": lambda shops, name: ask(shops.shop, name, "/v1/" + "x" * 9000),
    "UNSUPPORTED_MEDIA_TYPE": lambda shops, name: send_bytes(shops, name, "text/plain", 10),
    "RATE_LIMITED": hurry,
    "HEAD_TOO_LARGE": lambda shops, name: ask_anything(shops.shop, name, headers={"X-Long": "x" * 20000}),
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
    assert set(GOOD) == set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name, status in SUCCESSES if status != 202 or "passLoyalty" in name])
def test_what_is_right_is_answered_as_documented(shops, name):
    """Also with a key, and again with that key."""
    wanted = min(status for each, status in SUCCESSES if each == name)
    assert ask(shops.shop, name).status == wanted
    key = {"Idempotency-Key": new_id("key")}
    target, body = target_of(name, GOOD[name][0](shops.shop)), GOOD[name][1] and GOOD[name][1]()
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
