"""scan.created: sent for every scan with its verdict, in the form of the interface, and discarded only if the scan is
deleted."""
import pytest
from deliveries import (WAITS_SECONDS, Witness, advance, await_that, deliveries_of, envelope, event_id, hooked_shop, posts_to,
                        the_delivery, time_of, until, until_failed_once)
from exact import exact
from hooks import change, subscribe
from scans import FIELDS, SCANS, scan, verdict
from shop import new_id

SCANNED = "scan.created"


@pytest.fixture
def hooked(ticking):
    shop = hooked_shop(ticking)
    yield shop
    shop.close()
    assert ticking.unexpected_lines() == []


def hook_to(shop, receiver, *steps):
    """Subscribes to scans only and returns the path. With several `steps` each attempt uses the next one."""
    path = "/" + new_id("scans")
    receiver.play(path, *(steps or ["/status/200"]))
    return subscribe(shop, receiver.url(path), [SCANNED]), path


def test_events_of_every_verdict_equal_the_answer(hooked, receiver, verify):
    hook, path = hook_to(hooked, receiver)
    pass_id, suspended = hooked.create("päss \"1\"")["id"], hooked.create()["id"]
    hooked.event(suspended, "deactivated")
    hooked.service.cli("reader", "put", hooked.account, "--id", "door", "--name", "Türe")
    answers = [hooked.client.post(SCANS + "?pass_info=1", {"pass_id": pass_id, "reader_id": "door"}),
               hooked.client.post(SCANS, {"qr_value": pass_id}), hooked.client.post(SCANS, {"pass_id": suspended})]
    assert [answer.json["status"] for answer in answers] == ["succeeded", "failed", "failed"]
    requests = posts_to(receiver, path, 3)
    told = {dict(dict(exact(request.body))["data"])["id"]: request for request in requests}
    for answer in answers:
        request = told[answer.json["id"]]
        said = envelope(request)
        assert (list(said), said["type"]) == (["id", "type", "created_at", "data"], SCANNED)
        shown = [(name, value) for name, value in exact(answer.body) if name != "pass"]
        assert dict(exact(request.body))["data"] == shown and [name for name, _ in shown] == FIELDS
        assert time_of(said["created_at"]) == time_of(said["data"]["created_at"])
        headers = {name: request.header(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
        assert verify([{"secret": hook["secret"], "headers": headers, "body": request.body.decode()}]) == ["ok"]
    await_that(lambda: [(row["type"], row["outcome"]) for row in deliveries_of(hooked, hook)] == [(SCANNED, "delivered")] * 3,
               "three deliveries")


def test_only_subscribed_endpoints_get_the_event(hooked, receiver):
    hook, path = hook_to(hooked, receiver)
    other = subscribe(hooked, receiver.url("/status/200/passes"), ["pass.created", "pass.balanceUpdate"])
    pass_id = hooked.create()["id"]
    verdict(hooked, pass_id)
    hooked.client.post(SCANS, {"pass_id": "never"}).is_error(404, "RESOURCE_NOT_FOUND")
    hooked.client.post(SCANS, {}).is_error(400, "INVALID_INPUT")
    posts_to(receiver, path, 1)
    assert [row["type"] for row in deliveries_of(hooked, hook)] == [SCANNED]
    assert [row["type"] for row in deliveries_of(hooked, other)] == ["pass.created"]
    change(hooked, hook, active=False)
    verdict(hooked, pass_id)
    assert len(deliveries_of(hooked, hook)) == 1


def test_a_retry_shows_the_readers_current_name(hooked, receiver):
    hook, path = hook_to(hooked, receiver, "/status/503", "/status/200")
    made = scan(hooked, hooked.create()["id"], reader_id="till")
    until_failed_once(hooked, hook)
    hooked.service.cli("reader", "put", hooked.account, "--id", "till", "--name", "Kasse")
    advance(hooked.service, WAITS_SECONDS[0])
    first, second = posts_to(receiver, path, 2)
    assert event_id(first) == event_id(second)
    assert envelope(first)["data"] == made
    assert envelope(second)["data"] == {**made, "scanner_name": "Kasse"}
    until(hooked, hook, outcome="delivered")


def test_deleting_a_scan_discards_its_event(hooked, receiver):
    hook, path = hook_to(hooked, receiver, "/status/503", "/status/200")
    made = scan(hooked, hooked.create()["id"])
    until_failed_once(hooked, hook)
    assert hooked.service.cli("scan", "delete", hooked.account, made["id"]) == {}
    assert the_delivery(hooked, hook)["outcome"] == "discarded", "the row shows it at once"
    advance(hooked.service, WAITS_SECONDS[0])
    witness = Witness(hooked.service, receiver, new_id("witness"))
    for _ in range(2):
        witness.look()
        advance(hooked.service, 3 * 86400)
    row = until(hooked, hook, outcome="discarded")
    assert row["attempts"] == 1 and len(receiver.to[path]) == 1
    witness.close()


def test_deleting_a_scan_keeps_events_of_others(hooked, receiver):
    """A scan and a pass with the same internal number must not be confused."""
    hooked.set("--double-scan-window", "0s")
    passes = [hooked.create()["id"] for _ in range(3)]
    hook, path = hook_to(hooked, receiver, *["/status/503"] * 3, "/status/200")
    made = [scan(hooked, pass_id) for pass_id in passes]
    posts_to(receiver, path, 3)
    await_that(lambda: all(row["last_status"] == 503 for row in deliveries_of(hooked, hook)), "three attempts to end")
    hooked.service.cli("scan", "delete", hooked.account, made[1]["id"])
    hooked.delete(passes[0])
    hooked.delete(passes[2])
    advance(hooked.service, WAITS_SECONDS[0])
    requests = posts_to(receiver, path, 5)[3:]
    assert sorted((envelope(request)["data"] for request in requests), key=lambda data: data["id"]) == [made[0], made[2]]
    await_that(lambda: sorted(row["outcome"] for row in deliveries_of(hooked, hook)) == ["delivered", "delivered", "discarded"],
               "two deliveries, one discarded")


def test_events_survive_a_crash(hooked, ticking, receiver):
    hook, path = hook_to(hooked, receiver, "/status/503", "/status/200")
    made = scan(hooked, hooked.create()["id"], reader_id="till")
    until_failed_once(hooked, hook)
    ticking.expect_log("event=died")
    ticking.kill_child("shard")
    advance(ticking, WAITS_SECONDS[0])
    assert envelope(posts_to(receiver, path, 2)[1])["data"] == made
    until(hooked, hook, outcome="delivered")
    assert ticking.cli("verify")["ok"] is True
