"""Deliveries as the operator sees them: in `status`, /metrics and the list of deliveries."""
import os
import signal

import pytest
from deliveries import BALANCE, CREATED, advance, await_that, deliveries_of, hooked_shop, options, posts_to, until, until_failed_once
from harness import CliError
from hooks import subscribe
from metrics import look
from shop import new_id

pytestmark = pytest.mark.plain


@pytest.fixture
def ticking(new_service, authority):
    return new_service(shards=2, options=options(authority, "--test-clock"))


def due(service):
    shards = service.status()["shards"]
    return sum(shard["due_deliveries"] for shard in shards), max(shard["oldest_due_seconds"] or 0 for shard in shards)


def attempts(service):
    """Attempts by outcome, summed over all shards or timers."""
    found = {}
    for (name, labels), value in look(service).values.items():
        if name == "stampede_delivery_attempts_total":
            outcome = dict(labels)["outcome"]
            found[outcome] = found.get(outcome, 0) + value
    return found


def test_due_deliveries_are_counted_with_the_age_of_the_oldest(ticking, receiver):
    ticking.expect_log("level=warn")
    shop, path = hooked_shop(ticking), "/status/200/due"
    subscribe(shop, receiver.url(path), [BALANCE])
    pass_id = shop.create()["id"]
    assert due(ticking) == (0, 0)
    pid = ticking.signal("timer", 0, signal.SIGSTOP)
    passes = {"visible": {"name": "Ada"}}
    await_that(lambda: shop.client.post("/v1/passes", {"pass_id": new_id(), **passes}).status == 502, "the timer to be reported")
    for _ in range(30):
        shop.add(pass_id, 1)
    advance(ticking, 600)
    number, oldest = due(ticking)
    assert number == 30 and 600 <= oldest < 700  # a shard hands nothing to a timer without heartbeats
    os.kill(pid, signal.SIGCONT)
    posts_to(receiver, path, 30)
    await_that(lambda: due(ticking) == (0, 0), "nothing to be due")
    shop.close()


def test_attempts_are_counted_by_outcome_and_failing_endpoints_named(ticking, receiver):
    shop = hooked_shop(ticking)
    hooks = {path: subscribe(shop, receiver.url(path), [CREATED]) for path in ("/status/204", "/status/500", "/status/404", "/reset")}
    shop.create()
    failing = list(hooks)[1:]
    for path in failing:
        until_failed_once(shop, hooks[path])
    await_that(lambda: sum(attempts(ticking).values()) == 4, "four attempts to be counted")
    assert {outcome: number for outcome, number in attempts(ticking).items() if number} == {"delivered": 1, "status": 2, "reset": 1}
    metrics = look(ticking)
    assert metrics.sum("stampede_shard_first_attempt_seconds_count") == 4
    assert metrics.sum("stampede_shard_waiting_deliveries") == 3
    for path in failing:
        named = {"subscription": hooks[path]["id"], "endpoint": f"127.0.0.1:{receiver.port}"}
        assert metrics.sum("stampede_delivery_retries", **named) == 1
    rows = [row for shard in ticking.status()["shards"] for row in shard["failing_subscriptions"]]
    assert {(row["account_id"], row["subscription_id"], row["retries"], row["last_status"], row["last_error"]) for row in rows} == {
        (shop.account, hooks["/status/500"]["id"], 1, 500, None), (shop.account, hooks["/status/404"]["id"], 1, 404, None),
        (shop.account, hooks["/reset"]["id"], 1, None, "reset")}
    advance(ticking, 30)
    await_that(lambda: sum(attempts(ticking).values()) == 7, "three more attempts to be counted")
    assert look(ticking).sum("stampede_shard_first_attempt_seconds_count") == 4
    shop.close()


def test_ended_deliveries_are_counted_by_outcome(ticking, receiver):
    shop = hooked_shop(ticking)
    good, bad, gone = (subscribe(shop, receiver.url(path), [CREATED]) for path in ("/status/204", "/status/500", "/status/404"))
    shop.create()
    until(shop, good, outcome="delivered")
    until_failed_once(shop, gone)
    shop.client.delete(f"/v1/webhook-subscriptions/{gone['id']}").is_empty(204)
    for number, seconds in enumerate((30, 300, 1800, 7200, 28800, 86400), 2):
        until_failed_once(shop, bad, number - 1)
        advance(ticking, seconds)
    until(shop, bad, outcome="failed")
    await_that(lambda: {outcome: look(ticking).sum("stampede_delivery_ended_total", outcome=outcome)
                        for outcome in ("delivered", "failed", "discarded")} == {"delivered": 1, "failed": 1, "discarded": 1},
               "each outcome to be counted")
    shop.close()


def test_the_list_can_be_limited_to_an_account_or_subscription(ticking, receiver):
    shop, other = hooked_shop(ticking), hooked_shop(ticking)
    one, two = (subscribe(shop, receiver.url(f"/status/200/{name}"), [CREATED]) for name in "ab")
    assert deliveries_of(shop) == []
    shop.create()
    await_that(lambda: [row["outcome"] for row in deliveries_of(shop)] == ["delivered"] * 2, "both outcomes")
    rows = deliveries_of(shop)
    assert {row["last_status"] for row in rows} == {200} and {row["last_error"] for row in rows} == {None}
    assert {row["type"] for row in rows} == {CREATED} and len({row["event_id"] for row in rows}) == 1
    assert deliveries_of(shop, one) + deliveries_of(shop, two) == rows or deliveries_of(shop, two) + deliveries_of(shop, one) == rows
    assert deliveries_of(other) == []
    for words in ([other.account, "--subscription", one["id"]], [shop.account, "--subscription", new_id()], ["acc_" + "a" * 16]):
        with_refusal(ticking, words)
    for each in (shop, other):
        each.close()


def with_refusal(service, words):
    try:
        assert service.cli("delivery", "list", *words) == []
    except CliError as refusal:
        assert refusal.code and refusal.message
