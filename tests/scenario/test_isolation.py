"""One account learns nothing about another. For every route and every id in it, an id of another account gets exactly
the same answer as an unknown one: same bytes and headers except request id and date. The one exception is another
account's template, which the interface answers with 403. All requests without a valid key get the same answer.

The routes are those of schemas/api/; each id in a path is a separate case."""
import json
import re
from urllib.parse import quote

import pytest
from entitlements import assign, counts, given_path, history, redeem_path
from harness import refusal
from hooks import hook_path, hooks_of, subscribe
from rewards import archive, offer, reward_path, rewards_of, terms
from routes import ROUTES
from shop import Shop, path_of

pytestmark = pytest.mark.plain  # tests the contents of answers

VARYING = {"date", "x-request-id"}
ROUTES_BY_MESSAGE = {route.message: route for route in ROUTES}
ACCEPTED = "/v1/pass-templates/accepted-fields?pass_template_id="

GOOD = {"pass_id": "fresh", "visible": {"name": "A"}}
NEVER = "01900000-0000-7000-8000-000000000000"
# The kind of object that an id of a path names. The first id of a path is the other account's.
KINDS = {"pass_id": "pass", "subscription_id": "subscription", "reward_slug": "reward"}


def path_with(route, first):
    """The route's path with its first id, and unknown ones after it."""
    return route.at(**{**dict.fromkeys(route.ids, NEVER), **dict.fromkeys(route.ids[:1], first)})


def by_default(route):
    """Requests of a route with an id filled in: (kind of the id, id -> request). The body is empty, because an unknown
    id is reported before faults of the body."""
    if not route.ids:
        return []
    methods = [route.method] + ["HEAD"] * (route.method == "GET")
    return [(KINDS[route.ids[0]], lambda i, method=method: (method, path_with(route, quote(i, safe="")), None))
            for method in methods]


# Further cases: valid and invalid bodies, and ids in bodies and queries.
OWN = {
    "PASS_CREATE": [("template", lambda i: ("POST", "/v1/passes", {**GOOD, "pass_template_id": i}))],
    "PASS_GET": [("pass", lambda i: ("GET", path_of(i, "?include_deleted=true"), None))],
    "PASS_PATCH": [("pass", lambda i: ("PATCH", path_of(i), {"hidden": {"a": 1}})),
                   ("pass", lambda i: ("PATCH", path_of(i), {})),
                   ("pass", lambda i: ("PATCH", path_of(i), {"visible": {"points": 1}})),
                   ("pass", lambda i: ("PATCH", path_of(i), {"visible": {"name": 5}, "appearance": None}))],
    "PASS_LOYALTY": [("pass", lambda i: ("POST", path_of(i, "/loyalty"), {"balance_to_add": 1})),
                     ("pass", lambda i: ("POST", path_of(i, "/loyalty"), {"balance_to_add": -(2**53 - 1)}))],
    "CARD_LIST": [("pass", lambda i: ("HEAD", path_of(i, "/cards?limit=1"), None))],
    "SCAN_CREATE": [("pass", lambda i: ("POST", "/v1/scans", {"pass_id": i})),
                    ("pass", lambda i: ("POST", "/v1/scans", {"qr_value": i, "reader_id": "till"}))],
    "TEMPLATE_FIELDS": [("template", lambda i: ("GET", ACCEPTED + i, None))],
    "SUBSCRIPTION_PATCH": [("subscription", lambda i: ("PATCH", hook_path(i), {"active": False})),
                           ("subscription", lambda i: ("PATCH", hook_path(i), {"url": "https://taken.example/"})),
                           ("subscription", lambda i: ("PATCH", hook_path(i), {"event_types": ["x"]}))],
    "ENTITLEMENT_LIST": [("pass", lambda i: ("GET", path_of(i, "/rewards?include_history=1"), None))],
    "ENTITLEMENT_ASSIGN": [("pass", lambda i: ("POST", path_of(i, "/rewards/assign"), {"slug": "coffee"})),
                           ("pass", lambda i: ("POST", path_of(i, "/rewards/assign"), {"slug": "x", "replace": True}))],
    "REWARD_PUT": [("reward", lambda i: ("PUT", reward_path(i), terms())), ("reward", lambda i: ("PUT", reward_path(i), terms(kind="x")))],
    "REWARD_RESTORE": [("reward", lambda i: ("POST", reward_path(i, "/restore"), terms()))],
}
CASES = {message: by_default(route) + OWN.get(message, []) for message, route in ROUTES_BY_MESSAGE.items()}


def told(answer, given=None):
    """The parts of an answer that must be equal for two requests of the same meaning. A message may repeat the id of
    the request."""
    body = answer.body.replace(answer.headers["x-request-id"].encode(), b"ID")
    varying = VARYING
    if given is not None:
        body, varying = body.replace(f"`{given}`".encode(), b"`GIVEN`"), {*VARYING, "content-length"}
    return answer.status, body, {name: value for name, value in answer.headers.items() if name not in varying}


def ask(shop, request):
    method, path, body = request
    return shop.client.request(method, path, body, headers={"X-Request-Id": "same"})


def accounts_per_shard(service):
    return [shard["accounts"] for shard in sorted(service.status()["shards"], key=lambda one: one["index"])]


class Neighbours:
    """An account, a second one on its shard, and a third one on the other shard. Each has passes in every state with
    its own ids."""

    def __init__(self, service):
        self.shops = []
        self.mine = self.add(service)
        self.near = self.far = None
        while not (self.near and self.far):
            shop = self.add(service)
            if shop.shard == self.mine.shard:
                self.near = self.near or shop
            else:
                self.far = self.far or shop
        for name, shop in (("near", self.near), ("far", self.far)):
            fill(shop, name)

    def add(self, service):
        before = accounts_per_shard(service)
        shop = Shop(service, ("balance",), functions=("--webhooks", "--rewards"))
        after = accounts_per_shard(service)
        shop.shard = next(index for index, count in enumerate(after) if count != before[index])
        self.shops.append(shop)
        return shop


def fill(shop, name):
    """Creates passes in every state. All ids have the same length, so that answers cannot differ in length."""
    shop.ids = {state: f"{name:.>4}-{state:.>8}" for state in ("issued", "active", "inactive", "deleted")}
    shop.nobody = f"{name:.>4}-{'never':.>8}"
    for pass_id in shop.ids.values():
        shop.create(pass_id, hidden={"of": name})
        shop.add(pass_id, 7)
    shop.event(shop.ids["active"], "installed")
    shop.event(shop.ids["inactive"], "deactivated")
    shop.delete(shop.ids["deleted"])
    shop.hooks = {state: subscribe(shop, f"https://{name}.example/{state}")["id"] for state in ("active", "paused", "deleted")}
    shop.client.patch(hook_path(shop.hooks["paused"]), {"active": False})
    shop.client.delete(hook_path(shop.hooks["deleted"])).is_empty(204)
    shop.rewards = {state: offer(shop, slug=f"{name}_{state}")["slug"] for state in ("active", "archived", "deleted")}
    archive(shop, shop.rewards["archived"])
    shop.client.delete(reward_path(shop.rewards["deleted"])).is_empty(204)
    shop.entitlement = assign(shop, shop.ids["issued"], shop.rewards["active"])
    shop.code = f"{name}-card"
    shop.card = shop.service.cli("card", "link", shop.account, "--pass", shop.ids["issued"], "--code", shop.code)["id"]


@pytest.fixture(scope="module")
def everyone(shared_service):
    neighbours = Neighbours(shared_service)
    yield neighbours
    for shop in neighbours.shops:
        shop.close()


@pytest.fixture(params=["near", "far"])
def other(request, everyone, service):
    """Another account, on the shard of everyone.mine and on the other shard. Its data must not change."""
    shop = getattr(everyone, request.param)
    before = everything(shop)
    yield shop
    assert everything(shop) == before


def everything(shop):
    return (shop.list("?include_deleted=1&limit=100"), [shop.history(pass_id) for pass_id in shop.ids.values()],
            hooks_of(shop), rewards_of(shop, "?include_archived=1"), history(shop, shop.ids["issued"]), counts(shop),
            shop.client.get(path_of(shop.ids["issued"], "/cards")).json, shop.client.get("/v1/scans").json)


def test_every_route_with_ids_has_cases():
    assert set(OWN) <= set(ROUTES_BY_MESSAGE)
    for message, cases in CASES.items():
        route = ROUTES_BY_MESSAGE[message]
        assert not route.ids or cases, f"{route} has an id and no case"
        for _, request in cases:
            method, path, _ = request("x")
            assert path.split("?")[0] == path_with(route, "x") and method in (route.method, "HEAD"), (route, method, path)


@pytest.mark.parametrize("message", CASES)
def test_another_accounts_ids_are_like_unknown_ids(everyone, other, message):
    own = {"pass": (other.nobody, other.ids), "subscription": (NEVER, other.hooks), "reward": ("never", other.rewards)}
    for kind, request in CASES[message]:
        if kind == "template":
            continue
        nobody, ids = own[kind]
        never = told(ask(everyone.mine, request(nobody)), nobody)
        assert never[0] in (400, 404), never
        for each in ids.values():
            assert told(ask(everyone.mine, request(each)), each) == never, request(each)


def test_another_accounts_ids_below_an_own_pass_are_like_unknown_ids(other, service):
    """Covers ids in a body, and ids in a path after the pass's id."""
    mine = Shop(service, ("balance",), functions=("--rewards",))
    pass_id = mine.create()["id"]
    redeem, assigning, scans = (lambda one: redeem_path(pass_id, one)), given_path(pass_id, "/assign"), "/v1/scans"
    for request, never, theirs in [
        (lambda one: ("POST", redeem(one), None), NEVER, other.entitlement["id"]),
        (lambda one: ("POST", assigning, {"slug": one}), "never", other.rewards["active"]),
        (lambda one: ("POST", scans, {"qr_value": one}), "never", other.code),
    ]:
        none = told(ask(mine, request(never)), never)
        assert none[0] == 404 and told(ask(mine, request(theirs)), theirs) == none, theirs
    assert refusal(service.cli, "card", "unlink", mine.account, other.card).code == "RESOURCE_NOT_FOUND"
    mine.close()


def test_another_accounts_subscription_url_can_be_used(everyone, other):
    """Answers reveal neither another account's URLs nor its number of subscriptions."""
    hook = subscribe(everyone.mine, hooks_of(other)[0]["url"])
    assert [each["id"] for each in hooks_of(everyone.mine)] == [hook["id"]]
    everyone.mine.client.delete(hook_path(hook["id"])).is_empty(204)


def test_another_accounts_slug_can_be_used(everyone, other):
    """Answers reveal neither another account's slugs nor its number of rewards. Slugs are derived from names without
    regard to other accounts."""
    slug = rewards_of(other)[0]["slug"]
    assert offer(everyone.mine, slug=slug)["slug"] == slug
    assert offer(everyone.mine, name=slug)["slug"] == slug + "_2"
    assert [each["slug"] for each in rewards_of(everyone.mine, "?include_archived=1")] == [slug, slug + "_2"]
    for each in (slug, slug + "_2"):
        everyone.mine.client.delete(reward_path(each)).is_empty(204)


@pytest.mark.parametrize("message", CASES)
def test_another_accounts_template_is_403_whether_it_exists_or_not(everyone, other, message):
    """The answer is the same if that account has no such template, and if there is no such account."""
    real = other.templates["balance"]
    account, number = real.rsplit("_", 1)
    nobody = "tpl_" + account.removeprefix("tpl_")[::-1]
    for kind, request in CASES[message]:
        if kind != "template":
            continue
        forbidden = told(ask(everyone.mine, request(real)))
        assert (forbidden[0], json.loads(forbidden[1])["code"]) == (403, "UNAUTHORIZED")
        for template in (account + "_9", f"{nobody}_{number}"):
            assert told(ask(everyone.mine, request(template))) == forbidden, template
        own = everyone.mine.templates["balance"].rsplit("_", 1)[0] + "_9"
        answer = ask(everyone.mine, request(own))
        answer.is_error(422, "PASS_TEMPLATE_NOT_FOUND")


def test_lists_and_counts_are_of_the_own_account(everyone, other):
    mine = everyone.mine
    queries = ["", "?include_deleted=1", "?limit=1", "?offset=1", "?sort_by=id&sort_dir=asc", "?sort_by=name",
               "?sort_by=updated_at", "?q=" + other.ids["issued"], "?q=7", "?status=active",
               "?status=deactivated&include_deleted=1", "?created_from=2020-01-01T00:00:00Z"]
    nothing = [told(mine.client.get("/v1/passes" + query)) for query in queries]
    for status, body, headers in nothing:
        assert (status, body, headers["x-total-count"], headers["x-has-more"]) == (200, b"[]", "0", "false")
    assert other.list()[1] == 3 and other.list("?include_deleted=1")[1] == 4
    for query, before in zip(queries, nothing, strict=True):
        assert told(mine.client.head("/v1/passes" + query)) == (200, b"", before[2])


def test_the_same_id_in_two_accounts(other, service):
    """Requests with the id reach the account's own pass only."""
    mine, pass_id = Shop(service, ("balance",)), other.ids["issued"]
    theirs = other.get(pass_id)
    made = mine.create(pass_id, hidden={"of": "mine"})
    assert made["download_url"] != theirs["download_url"] and made["balance"] == 0
    mine.add(pass_id, 100)
    mine.client.patch(path_of(pass_id), {"visible": {"name": "Mine"}}).is_empty(204)
    mine.event(pass_id, "installed")
    assert (other.get(pass_id), mine.get(pass_id)["balance"]) == (theirs, 100)
    assert [entry["id"] for entry in mine.list()[0]] == [pass_id]
    mine.delete(pass_id)
    assert other.get(pass_id) == theirs
    assert mine.get(pass_id, "?include_deleted=1")["visible"]["name"] == "Mine"
    mine.close()


def test_another_accounts_pass_id_can_be_used(everyone, other, service):
    shop = Shop(service, ("balance",))
    for pass_id in other.ids.values():
        assert shop.create(pass_id)["status"] == "issued"
    assert shop.list()[1] == len(other.ids)
    shop.close()


def test_suspension_and_rate_apply_to_one_account(everyone, other):
    mine = everyone.mine
    before = told(mine.client.get("/v1/passes"))
    other.set("--suspended", "on", "--rate-limit", "1")
    try:
        for _ in range(20):
            assert told(mine.client.get("/v1/passes")) == before
        there, nowhere = other.ids["issued"], other.nobody
        assert told(ask(mine, ("GET", path_of(there), None)), there) == \
            told(ask(mine, ("GET", path_of(nowhere), None)), nowhere)
    finally:
        other.set("--suspended", "off", "--rate-limit", "0")


# Keys

KEY_FORM = re.compile(r"sk_[a-z2-7]{16}_[a-z2-7]{52}")


def flipped(key, at):
    return key[:at] + ("a" if key[at] != "a" else "b") + key[at + 1:]


def bad_keys(everyone, service):
    mine, near, far = everyone.mine, everyone.near, everyone.far
    prefix, account, secret = mine.key.split("_")
    revoked = service.cli("key", "create", mine.account)
    service.cli("key", "revoke", mine.account, revoked["key_id"])
    all_revoked = Shop(service, ())
    for key in service.cli("key", "list", all_revoked.account):
        service.cli("key", "revoke", all_revoked.account, key["key_id"])
    all_revoked.close()
    return {
        "none": None,
        "revoked": revoked["api_key"],
        "an account without keys": all_revoked.key,
        "its neighbour's secret": f"{prefix}_{account}_{near.key.split('_')[2]}",
        "a secret of the other shard": f"{prefix}_{account}_{far.key.split('_')[2]}",
        "its secret at a neighbour": f"{prefix}_{near.key.split('_')[1]}_{secret}",
        "its secret on the other shard": f"{prefix}_{far.key.split('_')[1]}_{secret}",
        "its secret at nobody's": f"{prefix}_{account[::-1]}_{secret}",
        "one letter off": flipped(mine.key, len(mine.key) - 1),
        "one letter off at the front": flipped(mine.key, len(prefix) + len(account) + 2),
        "too short": mine.key[:-1], "too long": mine.key + "a", "upper case": mine.key.upper(),
        "another prefix": mine.key.replace("sk_", "pk_"), "no prefix": mine.key[3:], "its account": mine.account,
        "letters that are none": mine.key[:-1] + "1", "a word": "x", "empty": " ", "two": f"{mine.key} {mine.key}",
        "a word after it": mine.key + " x",
        "very long": "sk_" + "a" * 4000, "a comma": mine.key + ",",
    }


def every_request():
    """One valid request for each route, and some invalid ones whose errors a client without a key must not see."""
    for message, route in ROUTES_BY_MESSAGE.items():
        cases = [request("x") for _, request in CASES[message]] or [(route.method, route.path, None)]
        yield cases[0]
    yield from [("HEAD", "/v1/passes", None), ("GET", "/v1/nowhere", None), ("PUT", "/v1/passes", None),
                ("GET", "/v1", None), ("GET", "/v1/", None), ("GET", "/v1/passes?limit=0", None),
                ("GET", "/v1/passes/%00", None), ("POST", "/v1/passes", {"colour": 5})]


def test_wrong_keys_get_the_same_answer(everyone, service):
    """All well-formed wrong keys get the same answer, whether their account exists or not. Only malformed keys get
    other messages."""
    keys = bad_keys(everyone, service)
    everyone.near.set("--suspended", "on")
    try:
        with service.client() as client:
            for method, path, body in every_request():
                want = {}
                for name, key in keys.items():
                    head = {"Authorization": f"Bearer {key}"} if key else {}
                    answer = client.request(method, path, body, headers=head)
                    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), (name, method, path)
                    if method != "HEAD":
                        answer.is_error(401, "UNAUTHENTICATED")
                    # Whether the connection is kept depends only on the form of the key: the service does not wait for
                    # a body after a malformed one.
                    answer.headers.pop("connection")
                    answer.headers.pop("keep-alive", None)
                    form = "key" if KEY_FORM.fullmatch(key or "") else "none" if not key else bool(key.strip())
                    assert told(answer) == want.setdefault(form, told(answer)), (name, method, path)
    finally:
        everyone.near.set("--suspended", "off")


def test_all_keys_of_an_account_get_the_same_answers(everyone, other, service):
    second = service.cli("key", "create", other.account)
    for message, cases in CASES.items():
        for kind, request in cases:
            ids = {"pass": other.ids["inactive"], "template": other.templates["balance"],
                   "subscription": other.hooks["paused"], "reward": other.rewards["archived"]}
            method, path, body = request(ids[kind])
            if method not in ("GET", "HEAD"):
                continue
            assert told(other.client.request(method, path, body)) == \
                told(other.client.request(method, path, body, key=second["api_key"])), message
    service.cli("key", "revoke", other.account, second["key_id"])
