"""Webhook subscriptions: every clause of the interface on creating, reading, changing and deleting one."""
import base64
import json
import re

import pytest
from harness import wait_for
from hooks import HOOKS, KINDS, change, get, hook_path, hooks_of, new_url, shown, subscribe, try_subscribe
from shop import Shop, at_once

NOBODY = hook_path("01900000-0000-7000-8000-000000000000")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOT_FOUND, LIMIT, DUPLICATE, BAD_URL, BAD_KIND = (
    (404, "WEBHOOK_SUBSCRIPTION_NOT_FOUND"), (409, "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED"),
    (409, "WEBHOOK_SUBSCRIPTION_DUPLICATE_URL"), (400, "INVALID_WEBHOOK_URL"), (400, "INVALID_WEBHOOK_EVENT_TYPE"))


@pytest.fixture
def hooked(new_shop):
    return new_shop(functions=("--webhooks",))


def fill(shop, count=5):
    return [subscribe(shop) for _ in range(count)]


def try_change(shop, hook, **fields):
    return shop.client.patch(hook_path(hook["id"]), fields)


# Creation

def test_only_the_creation_shows_the_secret(hooked):
    url = "https://Example.com:443/Hook?a=B#c"
    made = subscribe(hooked, url, ["scan.created", "pass.created"])
    assert list(made) == ["id", "url", "event_types", "active", "created_at", "updated_at", "secret"]
    assert UUID.fullmatch(made["id"]) and TIME.fullmatch(made["created_at"])
    assert (made["url"], made["event_types"], made["active"]) == (url, ["scan.created", "pass.created"], True)
    assert made["updated_at"] == made["created_at"]
    prefix, key = made["secret"][:6], base64.b64decode(made["secret"][6:], validate=True)
    assert (prefix, len(key)) == ("whsec_", 32)
    assert get(hooked, made) == shown(made) and hooks_of(hooked) == [shown(made)]
    assert change(hooked, made) == shown(made)
    assert change(hooked, made, active=False).keys() == shown(made).keys()


def test_secrets_and_ids_are_unique(hooked):
    made = fill(hooked)
    assert len({hook["secret"] for hook in made}) == len({hook["id"] for hook in made}) == 5
    assert [hook["id"] for hook in made] == sorted(hook["id"] for hook in made)
    assert hooks_of(hooked) == [shown(hook) for hook in made], "oldest first"


@pytest.mark.parametrize("kinds, kept", [
    (KINDS, KINDS), (KINDS[::-1], KINDS[::-1]), (["scan.created"] * 3, ["scan.created"]),
    (["scan.created", "pass.created", "scan.created", "pass.created"], ["scan.created", "pass.created"]),
    (["pass.balanceUpdate"] * 700, ["pass.balanceUpdate"])])
def test_event_types_keep_their_order_without_duplicates(hooked, kinds, kept):
    hook = subscribe(hooked, kinds=kinds)
    assert hook["event_types"] == kept
    assert change(hooked, hook, event_types=["pass.balanceUpdate"])["event_types"] == ["pass.balanceUpdate"]
    assert change(hooked, hook, event_types=kinds)["event_types"] == get(hooked, hook)["event_types"] == kept


BAD_URLS = ["", " ", "x", "https", "https:", "https://", "https:///x", "http://a.example/", "HTTP://a.example/", "ftp://a.example/",
            "file:///etc/passwd", "javascript:alert(1)", "//a.example/", "/x", "a.example", "https://localhost", "https://LOCALHOST:8080/x",
            "https://a.localhost/", "https://x.internal/", "https://INTERNAL/", "https://a.b.Internal:444/", "https://localhost./",
            "https://x.internal./", "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.1/", "https://10.1.2.3/",
            "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.0.1/", "https://169.254.169.254/latest/", "https://0.0.0.0/",
            "https://[::1]/", "https://[::]/", "https://[fe80::1]/", "https://[fd00::1]/", "https://user:pass@a.example/",
            "https://a.example/" + "x" * 1800, "https://a b.example/", "https://a.example/\n", "https://a.example/\u0000"]


@pytest.mark.parametrize("url", BAD_URLS)
def test_invalid_urls(till, url):
    hook = subscribe(till)
    post = till.client.post
    for body in ({"url": url, "event_types": KINDS}, {"url": url, "event_types": []}, {"url": url}, {"event_types": ["x"], "url": url}):
        post(HOOKS, body).is_error(*BAD_URL, "url")
    try_change(till, hook, url=url).is_error(*BAD_URL, "url")
    try_change(till, hook, url=url, event_types=["x"]).is_error(*BAD_URL, "url")
    till.client.patch(NOBODY, {"url": url}).is_error(*BAD_URL, "url")
    assert get(till, hook) == shown(hook)
    till.client.delete(hook_path(hook["id"])).is_empty(204)


def test_the_operator_may_allow_private_urls(new_service):
    """The scheme must still be https."""
    service = new_service(shards=1, options=["--egress-allow-private"])
    shop = Shop(service, (), functions=("--webhooks",))
    for url in ("https://127.0.0.1:8443/x", "https://localhost/", "https://a.internal/", "https://10.0.0.1/"):
        assert subscribe(shop, url)["url"] == url
    try_subscribe(shop, "http://127.0.0.1/").is_error(*BAD_URL, "url")
    shop.close()


def test_missing_fields_have_their_own_error_codes(till):
    post = till.client.post
    for body in ({}, {"event_types": KINDS}, {"url": None, "event_types": KINDS}, {"url": 5, "event_types": 5}, {"url": ["https://a.example"]}):
        post(HOOKS, body).is_error(*BAD_URL, "url")
    for kinds in ({}, {"event_types": None}, {"event_types": []}, {"event_types": "pass.created"}, {"event_types": ["x"]},
                  {"event_types": ["pass.created", "pass.deleted"]}, {"event_types": {}}, {"event_types": [None]}):
        post(HOOKS, {"url": new_url(), **kinds}).is_error(*BAD_KIND, "event_types")
    post(HOOKS).is_error(400, "INVALID_REQUEST")
    post(HOOKS, {"url": "x", "active": True}).is_error(400, "INVALID_INPUT", "active")
    post(HOOKS, {"url": new_url(), "event_types": KINDS, "secret": "whsec_x"}).is_error(400, "INVALID_INPUT", "secret")


# At most five active subscriptions, and one for each URL

def test_the_limit_of_five_active_ones(hooked):
    made = fill(hooked)
    try_subscribe(hooked).is_error(*LIMIT)
    paused = change(hooked, made[0], active=False)
    assert paused["active"] is False
    sixth = subscribe(hooked)
    try_change(hooked, paused, active=True).is_error(*LIMIT)
    assert get(hooked, paused) == paused
    change(hooked, made[1], url=new_url(), event_types=["scan.created"])  # a change of an active one is allowed at the limit
    change(hooked, made[1], active=True)
    hooked.client.delete(hook_path(sixth["id"])).is_empty(204)
    assert change(hooked, paused, active=True)["active"] is True
    assert len(hooks_of(hooked)) == 5


def test_inactive_subscriptions_do_not_count(hooked):
    for _ in range(12):
        change(hooked, subscribe(hooked), active=False)
    fill(hooked)
    assert len(hooks_of(hooked)) == 17


SAME = [("https://example.com", "https://example.com/"), ("https://example.com/a", "HTTPS://EXAMPLE.com/a"),
        ("https://example.com:443/a", "https://example.com/a"), ("https://example.com/a#x", "https://example.com/a#y"),
        ("https://example.com?q", "https://example.com/?q"), ("https://b\u00fccher.example/", "https://xn--bcher-kva.example"), ("https://example.com/a", "https://example.com/a#")]
OTHER = ["https://example.com/A", "https://example.com/a/", "https://example.com/a?", "https://example.com/a?q=1", "https://example.com:444/a",
         "https://a.example.com/a", "https://example.com/%61", "https://example.com/a/../a"]


@pytest.mark.parametrize("first, second", SAME)
def test_one_active_subscription_for_each_url(hooked, first, second):
    hook = subscribe(hooked, first)
    try_subscribe(hooked, second).is_error(*DUPLICATE)
    other = subscribe(hooked)
    try_change(hooked, other, url=second).is_error(*DUPLICATE)
    assert change(hooked, hook, url=second)["url"] == second, "a subscription may keep its own URL"
    change(hooked, other, active=False)
    assert change(hooked, other, url=first)["url"] == first, "an inactive one may have any URL"
    try_change(hooked, other, active=True).is_error(*DUPLICATE)
    try_change(hooked, other, active=True, url=second).is_error(*DUPLICATE)
    change(hooked, other, active=True, url=new_url())
    change(hooked, hook, active=False)
    assert change(hooked, other, url=first)["active"] is True
    try_change(hooked, hook, active=True).is_error(*DUPLICATE)
    change(hooked, other, url=second, active=False)
    change(hooked, hook, active=True)


def test_urls_differ_by_path_and_query(hooked):
    first = subscribe(hooked, "https://example.com/a")
    for url in OTHER:
        hook = subscribe(hooked, url)
        assert hook["url"] == url
        hooked.client.delete(hook_path(hook["id"])).is_empty(204)
    hooked.client.delete(hook_path(first["id"])).is_empty(204)
    subscribe(hooked, "https://example.com/a")


def test_the_url_is_checked_before_the_limit(hooked):
    made = fill(hooked)
    try_subscribe(hooked, made[2]["url"]).is_error(*DUPLICATE)
    try_subscribe(hooked, made[2]["url"], ["x"]).is_error(*BAD_KIND)
    try_subscribe(hooked, "http://a.example", ["x"]).is_error(*BAD_URL)


# Reading, changing, deleting

def test_a_patch_replaces_the_given_fields(hooked):
    hook = subscribe(hooked, kinds=["pass.created"])
    changed = change(hooked, hook, url="https://new.example/x")
    assert changed == {**shown(hook), "url": "https://new.example/x", "updated_at": changed["updated_at"]}
    changed = change(hooked, hook, event_types=["scan.created", "pass.created"])
    assert (changed["url"], changed["event_types"]) == ("https://new.example/x", ["scan.created", "pass.created"])
    changed = change(hooked, hook, active=False, url=None, event_types=None)
    assert (changed["active"], changed["url"]) == (False, "https://new.example/x")
    assert get(hooked, hook) == changed and hooks_of(hooked) == [changed]


def test_updated_at_moves_only_with_a_change(hooked):
    hook = subscribe(hooked, kinds=["pass.created", "scan.created"])
    before = shown(hook)
    for same in ({}, {"event_types": []}, {"event_types": None}, {"url": hook["url"]}, {"active": True}, {"active": None},
                 {"event_types": ["pass.created", "scan.created", "pass.created"]},
                 {"url": hook["url"], "event_types": [], "active": True}):
        assert change(hooked, hook, **same) == before
    answer = hooked.client.patch(hook_path(hook["id"]))
    assert (answer.status, answer.json) == (200, before), "an empty body is an empty object"
    for fields in ({"url": hook["url"] + "#x"}, {"event_types": ["scan.created", "pass.created"]}, {"event_types": ["pass.created"]},
                   {"active": False}, {"active": True}):
        time_passes(hooked, before)
        after = change(hooked, hook, **fields)
        assert after == {**before, **fields, "updated_at": after["updated_at"]}
        assert after["updated_at"] > before["updated_at"] and after["created_at"] == hook["created_at"]
        before = after


def time_passes(shop, hook):
    """Waits until the millisecond of its last change is over, by the account's own clock, which may be behind the wall
    clock."""
    def is_over():
        other = subscribe(shop)
        shop.client.delete(hook_path(other["id"])).is_empty(204)
        return other["created_at"] > hook["updated_at"]
    wait_for(is_over, 5, "the account's clock to advance")


def test_ids_are_case_insensitive(hooked):
    hook = subscribe(hooked)
    assert hooked.client.get(hook_path(hook["id"].upper())).json == shown(hook)


def test_a_deleted_subscription_is_404(hooked):
    hook, other = subscribe(hooked), subscribe(hooked)
    hooked.client.delete(hook_path(hook["id"])).is_empty(204)
    path = hook_path(hook["id"])
    for answer in (hooked.client.get(path), hooked.client.delete(path), hooked.client.patch(path, {}),
                   hooked.client.patch(path, {"active": False}), hooked.client.get(NOBODY)):
        answer.is_error(*NOT_FOUND)
    assert hooks_of(hooked) == [shown(other)]
    assert subscribe(hooked, hook["url"])["id"] != hook["id"]


def test_fields_are_checked_before_the_subscription(till):
    patch = till.client.patch
    patch(NOBODY, {"event_types": ["x"]}).is_error(*BAD_KIND, "event_types")
    patch(NOBODY, {"active": "no"}).is_error(400, "INVALID_INPUT", "active")
    patch(NOBODY, {"secret": "x"}).is_error(400, "INVALID_INPUT", "secret")
    patch(NOBODY, {"event_types": []}).is_error(*NOT_FOUND)
    patch(hook_path("x"), {"url": 5}).is_error(*BAD_URL, "url")
    patch(hook_path("x"), {}).is_error(*NOT_FOUND)
    till.client.post_raw(NOBODY, "{", "PATCH").is_error(400, "INVALID_REQUEST")


# The function and the account

def everything_asked(hook):
    return [("POST", HOOKS, {"url": new_url(), "event_types": KINDS}), ("GET", HOOKS, None), ("GET", hook_path(hook["id"]), None),
            ("PATCH", hook_path(hook["id"]), {"active": False}), ("DELETE", hook_path(hook["id"]), None)]


def wrong_in_other_ways(hook):
    return [("POST", HOOKS, None), ("POST", HOOKS, {}), ("POST", HOOKS, {"url": "x"}), ("POST", HOOKS, {"x": 1}), ("GET", NOBODY, None),
            ("GET", hook_path("%00"), None), ("PATCH", NOBODY, {"url": 5}), ("PATCH", hook_path(hook["id"]), {"active": 5}),
            ("DELETE", hook_path("x"), None)]


def test_without_the_function(hooked):
    """403 comes before all errors of body, fields and id, and after all earlier checks."""
    hook = subscribe(hooked)
    hooked.set("--webhooks", "off")
    for method, path, body in everything_asked(hook) + wrong_in_other_ways(hook):
        hooked.client.request(method, path, body).is_error(403, "FEATURE_DISABLED")
    for text in ("{", "[]", '{"url":1,"url":1}', '"x"'):
        hooked.client.post_raw(HOOKS, text).is_error(403, "FEATURE_DISABLED")
    bad_key = {"Idempotency-Key": "a b"}
    hooked.client.post(HOOKS, {"url": new_url(), "event_types": KINDS}, headers=bad_key).is_error(403, "FEATURE_DISABLED")
    hooked.client.request("PUT", HOOKS).is_error(405, "METHOD_NOT_ALLOWED")
    hooked.client.get(HOOKS + "/a/b").is_error(404, "ROUTE_NOT_FOUND")
    hooked.client.post(HOOKS, body=b"{}").is_error(415, "UNSUPPORTED_MEDIA_TYPE")
    hooked.client.post(HOOKS, {}, key="x").is_error(401, "UNAUTHENTICATED")
    hooked.client.get("/v1/passes/nobody").is_error(404, "RESOURCE_NOT_FOUND")
    hooked.client.post("/v1/passes", {"x": 1}).is_error(400, "INVALID_INPUT", "x")
    hooked.set("--webhooks", "on")
    assert hooks_of(hooked) == [shown(hook)], "active subscriptions stay active"


def test_a_suspended_account(hooked):
    hook = subscribe(hooked)
    hooked.set("--suspended", "on")
    for method, path, body in everything_asked(hook) + wrong_in_other_ways(hook):
        hooked.client.request(method, path, body).is_error(402, "ACCOUNT_SUSPENDED")
    hooked.set("--webhooks", "off")
    hooked.client.get(HOOKS).is_error(402, "ACCOUNT_SUSPENDED")
    hooked.set("--webhooks", "on")
    hooked.set("--suspended", "off")
    assert hooks_of(hooked) == [shown(hook)]


def test_the_rate_is_checked_before_the_function(hooked):
    hooked.set("--webhooks", "off", "--rate-limit", "1")
    answers = [(answer.status, answer.json["code"]) for answer in (hooked.client.get(HOOKS) for _ in range(10))]
    assert set(answers) == {(403, "FEATURE_DISABLED"), (429, "RATE_LIMITED")}


# Concurrency

def outcomes(answers):
    return sorted((answer.status, answer.json.get("code")) for answer in answers)


def test_concurrent_creations_respect_the_limit_of_five(hooked):
    answers = at_once(hooked, 8, lambda client, n: client.post(HOOKS, {"url": new_url(), "event_types": KINDS}))
    assert outcomes(answers) == [(201, None)] * 5 + [LIMIT] * 3
    assert len(hooks_of(hooked)) == 5


def test_concurrent_creations_with_one_url(hooked):
    for _ in range(3):
        body = {"url": new_url(), "event_types": KINDS}
        assert outcomes(at_once(hooked, 6, lambda client, n, body=body: client.post(HOOKS, body))) == [(201, None)] + [DUPLICATE] * 5
    hooks = hooks_of(hooked)
    assert len(hooks) == 3
    [last] = [change(hooked, hook, active=False) for hook in hooks][-1:]
    same = [change(hooked, hook, url=last["url"]) for hook in hooks]
    answers = at_once(hooked, 3, lambda client, n: client.patch(hook_path(same[n]["id"]), {"active": True}))
    assert outcomes(answers) == [(200, None)] + [DUPLICATE] * 2
    assert sum(hook["active"] for hook in hooks_of(hooked)) == 1


def test_the_limit_of_all_subscriptions(new_service):
    service = new_service(shards=1)
    shop = Shop(service, (), functions=("--webhooks",))
    url = "https://long.example/" + "x" * 1700
    for n in range(500):
        change(shop, subscribe(shop, f"{url}{n}"), active=False)
    try_subscribe(shop).is_error(*LIMIT)
    assert len(hooks_of(shop)) == 500 and len({json.dumps(hook) for hook in hooks_of(shop)}) == 500
    shop.client.delete(hook_path(hooks_of(shop)[77]["id"])).is_empty(204)
    subscribe(shop)
    assert service.cli("verify")["ok"] is True
    shop.close()
