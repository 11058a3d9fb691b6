"""Issuance runs in the timer process. While it is paused, stopped or dead, creations are refused and store nothing."""
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from harness import wait_for
from patience import PATIENCE
from shop import Shop, new_id

LOST_SECONDS = 2.0  # HEARTBEAT_LOST_MS is 1.5 s; then creations are refused, on a busy machine a little later
MISSED_SECONDS = LOST_SECONDS + PATIENCE - 1
AT_ONCE_SECONDS = 0.5 * PATIENCE
CROWD = 8


def try_create(shop, pass_id=None):
    return shop.client.post("/v1/passes", {"pass_id": pass_id or new_id(), "visible": {"name": "A"}})


def post_alone(shop):
    """Creates a pass over its own connection. Returns the status."""
    with shop.service.client(shop.key) as client:
        return client.post("/v1/passes", {"pass_id": new_id(), "visible": {"name": "A"}}).status


def is_refused_with_nothing_stored(shop):
    pass_id = new_id()
    total = shop.list("?include_deleted=1")[1]
    answer = try_create(shop, pass_id)
    answer.is_error(502, "PASS_PROVIDER_UNAVAILABLE")
    assert answer.seconds <= AT_ONCE_SECONDS, "a refusal does not wait for the timer"
    shop.client.get(f"/v1/passes/{pass_id}?include_deleted=1").is_error(404, "RESOURCE_NOT_FOUND")
    assert shop.list("?include_deleted=1")[1] == total
    return pass_id


def create_until_refused(shop, until):
    """The passes created before the timer counts as lost. Each request is answered at once, with 201 or 502."""
    made = []
    while True:
        answer = try_create(shop)
        assert answer.status in (201, 502) and answer.seconds <= AT_ONCE_SECONDS, answer
        if answer.status == 502:
            return made
        made.append(answer.json["id"])
        assert time.monotonic() < until, "the stopped timer still counts as alive"


def everything_else_works(shop, pass_id):
    before = shop.get(pass_id)["balance"]
    shop.add(pass_id, 3)
    shop.client.patch(f"/v1/passes/{pass_id}", {"hidden": {"n": before}}).is_empty(204)
    assert shop.get(pass_id)["balance"] == before + 3


def shops_on_every_shard(service):
    """Two shops, one on each shard, in order of the shards."""
    shops = {}

    def passes():
        return [shard["accounts"] for shard in sorted(service.status()["shards"], key=lambda one: one["index"])]

    while len(shops) < 2:
        before = passes()
        shop = Shop(service, ("balance",))
        after = passes()
        index = next(i for i, count in enumerate(after) if count != before[i])
        shops.setdefault(index, shop)
    return [shops[0], shops[1]]


def test_a_paused_issuer_refuses_creations(new_service):
    service = new_service()
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    assert service.cli("issuer", "pause") == {}
    refused = []
    for shop, pass_id in zip(shops, ids, strict=True):
        refused.append(is_refused_with_nothing_stored(shop))
        everything_else_works(shop, pass_id)
        try_create(shop, pass_id).is_error(409, "RESOURCE_CONFLICT")
    assert service.cli("issuer", "resume") == {}
    for shop, pass_id in zip(shops, refused, strict=True):
        assert try_create(shop, pass_id).status == 201
        shop.close()


def test_a_stopped_timer_is_detected_and_not_restarted(new_service):
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    pid = service.signal("timer", 0, signal.SIGSTOP)
    created = [create_until_refused(shop, time.monotonic() + MISSED_SECONDS) for shop in shops]
    refused = [is_refused_with_nothing_stored(shop) for shop in shops for _ in range(2)]
    for shop, made in zip(shops, created, strict=True):
        assert all(shop.get(pass_id)["status"] == "issued" for pass_id in made), "a pass without images needs no timer"
    for shop, pass_id in zip(shops, ids, strict=True):
        everything_else_works(shop, pass_id)
    wait_for(lambda: not service.is_ready(), 5, "/readyz to report the timer")
    assert service.pid_of("timer") == pid
    service.signal("timer", 0, signal.SIGCONT)
    for shop in shops:
        wait_for(lambda shop=shop: try_create(shop).status == 201, 5, "the timer's heartbeats")
        for pass_id in refused:
            assert try_create(shop, pass_id).status == 201, "a refused creation must not use up its id"
        shop.close()
    assert service.pid_of("timer") == pid


def test_a_shard_stopped_for_longer_than_heartbeats_count_does_not_refuse(new_service):
    """The timer's heartbeats of that time are queued behind the creations. The shard must take them into account before
    it decides."""
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    shop.create()
    with ThreadPoolExecutor(CROWD) as pool:
        for _ in range(3):
            pid = service.signal("shard", 0, signal.SIGSTOP)
            answers = [pool.submit(lambda: post_alone(shop)) for _ in range(CROWD)]
            time.sleep(LOST_SECONDS)
            os.kill(pid, signal.SIGCONT)
            assert [answer.result() for answer in answers] == [201] * CROWD
    shop.close()


def test_a_killed_timer_is_restarted(new_service):
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    old = service.signal("timer", 0, signal.SIGKILL)
    for shop in shops:
        pass_id = new_id()

        def created(shop=shop, pass_id=pass_id):
            answer = try_create(shop, pass_id)
            assert answer.status in (201, 502) and answer.seconds <= AT_ONCE_SECONDS, answer
            if answer.status == 502:
                shop.client.get(f"/v1/passes/{pass_id}").is_error(404, "RESOURCE_NOT_FOUND")
            return answer.status == 201

        wait_for(created, 5, "creation to work again")
        shop.close()
    assert service.await_successor("timer", 0, old) != old
