"""Webhook deliveries as a subscriber receives them: every row of the interface's table, over HTTPS with a certificate
chain."""
import json
import socket
import time
from collections import Counter

import pytest
from certificates import Authority
from deliveries import (ATTEMPTS_MAX, BALANCE, CREATED, EVENT_ID, INSTALLED, REMOVED, RFC3339, advance, await_that, deliveries_of, envelope, event_id,
                        hooked_shop, now, options, posts_to, the_delivery, time_of, until, until_failed_once)
from exact import exact
from hooks import KINDS, subscribe
from receiver import Mute, Receiver
from retries import is_first, is_replay_of, new_key, once
from shop import new_id, path_of

FIRST_WAIT = 30
ATTEMPT_SECONDS = 10


@pytest.fixture(scope="module")
def delivering(module_services, authority):
    return module_services(shards=2, options=options(authority, "--test-clock"))


@pytest.fixture
def hooked(delivering):
    shop = hooked_shop(delivering)
    yield shop
    shop.close()
    assert delivering.unexpected_lines() == []


# What is sent

def proof(hook, request):
    """The input of the public verifier."""
    headers = {name: request.header(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    return {"secret": hook["secret"], "headers": headers, "body": request.body.decode()}


def has_the_form(request):
    assert request.method == "POST" and request.header("Content-Type") == "application/json"
    for name in ("Id", "Timestamp", "Signature"):
        assert request.header(f"Service-Webhook-{name}") == request.header(f"webhook-{name.lower()}")
    assert int(request.header("Content-Length")) == len(request.body)
    assert not [name for name, _ in request.headers if name.lower() in ("authorization", "cookie", "expect")]
    assert EVENT_ID.match(event_id(request)) and abs(int(request.header("webhook-timestamp")) - time.time()) < 60
    fields = [name for name, _ in exact(request.body)]
    assert fields == ["id", "type", "created_at", "data"]
    said = envelope(request)
    assert said["id"] == event_id(request) and said["type"] in KINDS and RFC3339.match(said["created_at"])
    return said


def data_of(request):
    return dict(exact(request.body))["data"]


def as_shown(shop, pass_id):
    return exact(shop.client.get(path_of(pass_id)).body)


def test_the_form_of_a_delivery_and_the_pass_in_it(hooked, delivering, receiver, verify):
    one, two = (subscribe(hooked, receiver.url(f"/status/200/form-{i}")) for i in (1, 2))
    began = now(delivering)
    made = hooked.create("päss/1 ?", visible={"name": "Zoë 🎟 \"\\\n", "visits": 3}, appearance={"title": "<&>"})["id"]
    hooked.client.patch(path_of(made), {"hidden": {"z": 1, "a": {"deep": [True, None]}}}).is_empty(204)
    hooked.client.post_raw(path_of(made), b'{"hidden":{"b":1.10,"n":12345678901234567890}}', method="PATCH").is_empty(204)
    hooked.add(made, 5)
    requests = {hook["id"]: posts_to(receiver, f"/status/200/form-{i}", 2) for i, hook in ((1, one), (2, two))}
    for group in requests.values():
        for request in group:
            said = has_the_form(request)
            assert began - 0.001 <= time_of(said["created_at"]) <= now(delivering)
        assert sorted(envelope(request)["type"] for request in group) == [BALANCE, CREATED]
    ids = {hook: {envelope(request)["type"]: event_id(request) for request in group} for hook, group in requests.items()}
    assert ids[one["id"]] == ids[two["id"]] and len(set(ids[one["id"]].values())) == 2
    shown = as_shown(hooked, made)
    for group in requests.values():
        last = next(request for request in group if envelope(request)["type"] == BALANCE)
        assert data_of(last) == shown
    good = [proof(hook, request) for hook in (one, two) for request in requests[hook["id"]]]
    crossed = [proof(two if hook is one else one, request) for hook in (one, two) for request in requests[hook["id"]]]
    assert verify(good) == ["ok"] * 4
    assert all(verdict.startswith("WebhookVerificationError") for verdict in verify(crossed)), "a header of another subscription"


def test_a_tampered_delivery_is_refused_by_verifiers(hooked, receiver, verify):
    hook = subscribe(hooked, receiver.url("/status/200/tampered"))
    hooked.create()
    good = proof(hook, posts_to(receiver, "/status/200/tampered", 1)[0])
    headers = good["headers"]
    later = str(int(headers["webhook-timestamp"]) + 1)
    bad = [{**good, "body": good["body"].replace('"balance":0', '"balance":9')},
           {**good, "body": good["body"] + " "},
           {**good, "headers": {**headers, "webhook-id": headers["webhook-id"][:-1] + "x"}},
           {**good, "headers": {**headers, "webhook-timestamp": later}}]
    assert all(one != good for one in bad) and verify([good]) == ["ok"]
    assert all(verdict.startswith("WebhookVerificationError") for verdict in verify(bad))


def test_a_retry_has_the_id_and_the_state_of_now(hooked, delivering, receiver, verify):
    """The first attempt fails. The second has the same id and shows the pass as it is at that time."""
    path = "/retried"
    receiver.play(path, "/status/500", "/status/200")
    hook = subscribe(hooked, receiver.url(path), [BALANCE])
    pass_id = hooked.create()["id"]
    hooked.add(pass_id, 5)
    row = until_failed_once(hooked, hook)
    assert (row["type"], row["last_status"], row["last_error"]) == (BALANCE, 500, None)
    hooked.client.patch(path_of(pass_id), {"visible": {"name": "Grace"}}).is_empty(204)
    hooked.set("--webhooks", "on")
    hooked.client.patch(f"/v1/webhook-subscriptions/{hook['id']}", {"event_types": [CREATED]})
    hooked.add(pass_id, 70)  # the subscription no longer wants this pass's event
    advance(delivering, FIRST_WAIT)
    first, second = posts_to(receiver, path, 2)
    assert event_id(first) == event_id(second) == row["event_id"]
    was, is_now = envelope(first), envelope(second)
    assert (was["data"]["balance"], is_now["data"]["balance"]) == (5, 75)
    assert was["created_at"] == is_now["created_at"] and is_now["data"]["visible"]["name"] == "Grace"
    assert data_of(second) == as_shown(hooked, pass_id)
    assert verify([proof(hook, first), proof(hook, second)]) == ["ok", "ok"]
    assert until(hooked, hook, outcome="delivered")["attempts"] == 2


def test_only_subscribed_event_types_are_sent(hooked, receiver):
    for name, kinds in (("created", [CREATED]), ("balance", [BALANCE]), ("scan", ["scan.created"]), ("all", KINDS)):
        subscribe(hooked, receiver.url(f"/status/200/kind-{name}"), kinds)
    pass_id = hooked.create()["id"]
    hooked.add(pass_id, 1)
    posts_to(receiver, "/status/200/kind-all", 2)
    assert [envelope(one)["type"] for one in posts_to(receiver, "/status/200/kind-created", 1)] == [CREATED]
    assert [envelope(one)["type"] for one in posts_to(receiver, "/status/200/kind-balance", 1)] == [BALANCE]
    assert receiver.to["/status/200/kind-scan"] == []
    assert Counter(row["type"] for row in deliveries_of(hooked)) == {CREATED: 2, BALANCE: 2}


def test_each_change_has_one_event_and_an_unchanged_pass_none(hooked, delivering, receiver):
    path, other_path = "/status/200/facts", "/status/200/facts-of-another"
    subscribe(hooked, receiver.url(path))
    other = hooked_shop(delivering)
    subscribe(other, receiver.url(other_path))
    key, pass_id = new_key(), new_id()
    first = is_first(hooked.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "A"}}, headers=once(key)), 201)
    is_replay_of(first, hooked.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "A"}}, headers=once(key)))
    hooked.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "A"}}).is_error(409, "RESOURCE_CONFLICT")
    hooked.client.post("/v1/passes", {"pass_id": new_id()}).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    for _ in range(2):
        hooked.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 7}, headers=once(key + "-7")).is_empty(202)
    hooked.add(pass_id, 0)
    hooked.add(pass_id, -3)
    hooked.try_add("nobody", 1).is_error(404, "RESOURCE_NOT_FOUND")
    hooked.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": "1"}).is_error(400, "INVALID_INPUT")
    hooked.client.patch(path_of(pass_id), {"visible": {"name": "B"}}).is_empty(204)
    hooked.event(pass_id, "installed")
    hooked.event(pass_id, "uninstalled")
    other.create(pass_id)
    requests = posts_to(receiver, path, 6)
    posts_to(receiver, other_path, 1)
    assert Counter(envelope(request)["type"] for request in requests) == {CREATED: 1, BALANCE: 3, INSTALLED: 1, REMOVED: 1}
    assert len({event_id(request) for request in requests}) == 6
    assert len(deliveries_of(hooked)) == 6
    other.close()


def test_imported_passes_have_their_events(hooked, receiver, tmp_path):
    path = "/status/200/imported"
    subscribe(hooked, receiver.url(path), [CREATED])
    (tmp_path / "rows.jsonl").write_text("".join(
        json.dumps({"pass_id": f"row-{i}", "visible": {"name": "Ada"}}) + "\n" for i in range(50)))
    hooked.service.cli("pass", "import", hooked.account, tmp_path / "rows.jsonl")
    requests = posts_to(receiver, path, 50)
    assert {envelope(request)["data"]["id"] for request in requests} == {f"row-{i}" for i in range(50)}


def test_changes_before_a_subscription_are_not_sent_to_it(hooked, receiver):
    pass_id = hooked.create()["id"]
    hooked.add(pass_id, 1)
    subscribe(hooked, receiver.url("/status/200/later"))
    hooked.add(pass_id, 2)
    assert envelope(posts_to(receiver, "/status/200/later", 1)[0])["data"]["balance"] == 3
    assert len(deliveries_of(hooked)) == 1


def test_a_large_pass_is_sent_completely(hooked, receiver, verify):
    hook = subscribe(hooked, receiver.url("/status/200/large"))
    pass_id = hooked.create(hidden={f"k{i}": "ž" * 4000 for i in range(100)})["id"]
    for _ in range(4):
        hooked.add(pass_id, 1)
    requests = posts_to(receiver, "/status/200/large", 5)
    assert verify([proof(hook, request) for request in requests]) == ["ok"] * 5
    assert as_shown(hooked, pass_id) in [data_of(request) for request in requests]


def test_an_address_that_is_no_longer_allowed_is_not_called(new_service, authority, receiver):
    """The operator's allowed addresses are checked at each attempt, not only when the subscription is created."""
    service = new_service(shards=1, options=options(authority, "--test-clock"))
    shop = hooked_shop(service)
    hook = subscribe(shop, receiver.url("/status/200/forbidden"), [CREATED])
    allowed, narrow = service.options, [word for word in service.options if word not in ("--egress-allow", "127.0.0.0/8")]
    for service.options, number in ((narrow, 1), (allowed, 2)):
        service.restart()
        shop.client.address = service.http
        if number == 1:
            shop.create()
            assert until_failed_once(shop, hook)["last_error"] == "address_refused"
            assert receiver.connections == 0
    advance(service, FIRST_WAIT)
    posts_to(receiver, "/status/200/forbidden", 1)
    assert until(shop, hook, outcome="delivered")["attempts"] == 2
    shop.close()


# Independence of requests and deliveries

def test_requests_do_not_wait_for_deliveries(hooked, receiver):
    path = "/held/200/waiting"
    hook = subscribe(hooked, receiver.url(path))
    pass_id = hooked.create()["id"]
    hooked.add(pass_id, 1)
    assert hooked.get(pass_id)["balance"] == 1
    posts_to(receiver, path, 2)
    assert {row["outcome"] for row in deliveries_of(hooked, hook)} == {"pending"}
    receiver.release()

    def all_delivered():
        return {row["outcome"] for row in deliveries_of(hooked, hook)} == {"delivered"}

    await_that(all_delivered, "both to be delivered")


def test_a_failing_endpoint_causes_no_retry_at_another(hooked, delivering, receiver):
    receiver.play("/failing", "/status/503", "/reset", "/status/200")
    good, bad = subscribe(hooked, receiver.url("/status/200/good"), [CREATED]), subscribe(hooked, receiver.url("/failing"), [CREATED])
    hooked.create()
    for number in (1, 2):
        until_failed_once(hooked, bad, number)
        advance(delivering, 300)
    requests = posts_to(receiver, "/failing", 3)
    assert until(hooked, bad, outcome="delivered")["attempts"] == 3
    assert until(hooked, good, outcome="delivered")["attempts"] == 1
    assert {event_id(request) for request in requests} == {event_id(posts_to(receiver, "/status/200/good", 1)[0])}


# Successful attempts

SUCCESSES = ["/status/200", "/status/201", "/status/202", "/status/204", "/status/299", "/body/200/100000", "/endless",
             "/drip-body", "/short", "/provisional"]


def outcome_rows(hooks):
    """By name: the only delivery of each subscription, from one list for each account."""
    rows = {}
    for shop in {id(shop): shop for shop, _ in hooks.values()}.values():
        for row in deliveries_of(shop):
            assert row["subscription_id"] not in rows, "one event, one delivery"
            rows[row["subscription_id"]] = row
    return {name: rows[hook["id"]] for name, (_, hook) in hooks.items()}


def subscribe_all(service, urls):
    """(accounts, {name: (account, subscription)}) with five subscriptions an account. Each account has created one pass
    since."""
    shops, hooks = [], {}
    for at, (name, url) in enumerate(urls.items()):
        if at % 5 == 0:
            shops.append(hooked_shop(service))
        hooks[name] = shops[-1], subscribe(shops[-1], url, [CREATED])
    for shop in shops:
        shop.create()
    return shops, hooks


def test_any_2xx_is_success_even_if_its_body_fails(delivering, receiver):
    shops, hooks = subscribe_all(delivering, {path: receiver.url(path) for path in SUCCESSES})
    await_that(lambda: all(row["outcome"] != "pending" for row in outcome_rows(hooks).values()), "outcomes")
    got = {name: (row["outcome"], row["attempts"], row["last_error"]) for name, row in outcome_rows(hooks).items()}
    assert got == {path: ("delivered", 1, None) for path in SUCCESSES}
    assert {path: len(receiver.to[path]) for path in SUCCESSES} == dict.fromkeys(SUCCESSES, 1)
    for shop in shops:
        shop.close()


# Failed attempts

STATUSES = [300, 304, 400, 401, 403, 404, 408, 410, 422, 429, 500, 501, 503, 599]
BROKEN = {"/reset": "reset", "/reset-in-head": "reset", "/close": "reset", "/garbage": "protocol", "/long-head": "protocol"}
SLOW = {"/hang": "timeout", "/drip": "timeout"}


class Endpoints:
    """One endpoint for each way to fail, on its own port where it would delay others. Those that answer return 200 to
    the second attempt."""

    def __init__(self, authority, receiver, slow, place):
        self.receiver, self.slow = receiver, slow
        self.own = {"expired": Receiver(authority.leaf("late", days=-1)),
                    "other name": Receiver(authority.leaf("other", names="DNS:example.com,IP:127.0.0.2")),
                    "stranger": Receiver(Authority(place / "stranger").leaf())}
        self.mute, self.closed = Mute(), socket.socket()
        self.closed.bind(("127.0.0.1", 0))
        self.want, self.urls = {}, {}  # by name: (last_status, last_error), address
        for status in STATUSES:
            self.answering(f"/status/{status}", (status, None))
        for status in (301, 302, 307, 308):
            self.answering(f"/redirect/{status}", (status, None))
        self.answering("/body/503/100000", (503, None))
        for path, word in BROKEN.items():
            self.answering(path, (None, word))
        for path, word in SLOW.items():
            self.answering(path, (None, word), slow)
        for name, other in self.own.items():
            self.refused(name, other.url(), "tls")
        self.refused("closed", f"https://127.0.0.1:{self.closed.getsockname()[1]}/", "connect")
        self.refused("mute", self.mute.url(), "timeout")
        self.late = {*SLOW, "mute"}

    def answering(self, path, want, receiver=None):
        receiver = receiver or self.receiver
        name = "/fails" + path
        receiver.play(name, path, "/status/200")
        self.urls[name], self.want[name] = receiver.url(name), want

    def refused(self, name, url, word):
        self.urls[name], self.want[name] = url, (None, word)

    def close(self):
        for other in self.own.values():
            assert other.requests == [], "no request was sent after the failed handshake"
            other.close()
        self.mute.close()
        self.closed.close()


def is_late(name):
    return name in ("mute", "/fails/hang", "/fails/drip")


def test_every_other_result_is_a_failure_and_retried(delivering, authority, chain, receiver, tmp_path):
    with Receiver(chain) as slow:
        endpoints = Endpoints(authority, receiver, slow, tmp_path)
        shops, hooks = subscribe_all(delivering, endpoints.urls)
        try:
            fail_once(delivering, endpoints, hooks)
            succeed_then(delivering, endpoints, hooks)
        finally:
            endpoints.close()
            for shop in shops:
                shop.close()


def told(rows, names):
    return all(rows[name]["last_status"] or rows[name]["last_error"] for name in names)


def fail_once(service, endpoints, hooks):
    quick = {name for name in hooks if not is_late(name)}
    await_that(lambda: told(outcome_rows(hooks), quick), "the first attempts to end")
    hang = endpoints.slow.to["/fails/hang"]
    assert len(hang) == 1
    assert not told(outcome_rows(hooks), ["/fails/hang"]) or time.monotonic() - hang[0].at >= ATTEMPT_SECONDS - 1
    await_that(lambda: told(outcome_rows(hooks), hooks), "the slow first attempts to end", ATTEMPT_SECONDS + 10)
    rows, at = outcome_rows(hooks), now(service)
    assert {name: (row["last_status"], row["last_error"]) for name, row in rows.items()} == endpoints.want
    assert {(row["outcome"], row["attempts"]) for row in rows.values()} == {("pending", 1)}
    for name, row in rows.items():
        assert time_of(row["next_due_at"]) <= at + FIRST_WAIT, name


def succeed_then(service, endpoints, hooks):
    """No retry comes before it is due. Endpoints that answer then have their delivery; the others have failed twice."""
    deaf = {name for name in hooks if not name.startswith("/")}
    answering = set(hooks) - deaf
    advance(service, FIRST_WAIT)
    await_that(lambda: all(outcome_rows(hooks)[name]["outcome"] == "delivered" for name in answering), "second attempts")
    rows = outcome_rows(hooks)
    assert {rows[name]["attempts"] for name in answering} == {2}
    for name in answering:
        both = posts_to(endpoints.slow if is_late(name) else endpoints.receiver, name, 2)
        assert event_id(both[0]) == event_id(both[1]) == rows[name]["event_id"]
    assert endpoints.receiver.to["/status/200"] == [], "no redirect was followed"
    assert {rows[name]["outcome"] for name in deaf} == {"pending"}
    await_that(lambda: {outcome_rows(hooks)[name]["attempts"] for name in deaf} == {2}, "second attempts at the silent endpoints")


def test_retry_after_of_an_endpoint_is_ignored(hooked, delivering, receiver):
    receiver.answers["/later"] = b"HTTP/1.1 503 Busy\r\nRetry-After: 7200\r\nContent-Length: 0\r\n\r\n"
    hook = subscribe(hooked, receiver.url("/later"), [CREATED])
    hooked.create()
    row = until_failed_once(hooked, hook)
    assert time_of(row["next_due_at"]) <= now(delivering) + FIRST_WAIT
    advance(delivering, FIRST_WAIT)
    posts_to(receiver, "/later", 2)
    assert the_delivery(hooked, hook)["attempts"] == 2 < ATTEMPTS_MAX


# Stops

def test_a_stop_finishes_attempts_and_returns_unstarted_deliveries(new_service, authority, receiver):
    service = new_service(shards=1, options=options(authority))
    shop, path = hooked_shop(service), "/slow/1000/200/stopped"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    shop.create()
    posts_to(receiver, path, 1)
    assert service.stop() == 0
    service.start()
    row = until(shop, hook, outcome="delivered")
    assert (row["attempts"], row["last_status"]) == (1, 200)
    assert len(receiver.to[path]) == 1
    shop.close()


def test_an_attempt_cut_off_by_a_stop_is_retried_when_due(new_service, authority, receiver):
    service = new_service(shards=1, options=options(authority))
    shop, path = hooked_shop(service), "/hang/stopped"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    began = now(service)
    shop.create()
    posts_to(receiver, path, 1)
    assert service.stop() == 0
    service.start()
    row = the_delivery(shop, hook)
    assert (row["attempts"], row["outcome"], row["last_error"]) == (1, "pending", "unreported")
    assert time_of(row["next_due_at"]) >= began + FIRST_WAIT
    shop.close()


def test_attempts_that_had_not_begun_at_a_stop_are_not_counted(new_service, authority, receiver):
    """Two subscriptions on one host may lease more than the host gets at once."""
    service = new_service(shards=1, options=options(authority))
    shop, paths = hooked_shop(service), ("/hang/one", "/hang/two")
    for path in paths:
        subscribe(shop, receiver.url(path), [CREATED])
    for _ in range(30):
        shop.create()
    await_that(lambda: sum(len(receiver.to[path]) for path in paths) >= 4, "attempts to hang")
    assert service.stop() == 0
    sent = sum(len(receiver.to[path]) for path in paths)
    service.options.append("--no-deliveries")
    service.start()
    assert sum(row["attempts"] for row in deliveries_of(shop)) == sent < 60
    shop.close()


def test_repeated_deaths_of_the_timer_do_not_use_up_all_attempts(new_service, authority, receiver):
    """A delivery that the dead timer held is due at once after the first death, and after the usual wait after further
    deaths."""
    service = new_service(shards=1, options=options(authority))
    service.expect_log("level=warn")
    shop, path = hooked_shop(service), "/hang/dying"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    shop.create()
    for number in (1, 2):
        posts_to(receiver, path, number)
        service.kill_child("timer")
    await_that(lambda: time_of(the_delivery(shop, hook)["next_due_at"]) > now(service) + 60, "the third attempt to be scheduled")
    row = the_delivery(shop, hook)
    assert (row["attempts"], row["outcome"], row["last_error"]) == (2, "pending", "unreported")
    shop.close()
