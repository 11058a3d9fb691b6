"""Idempotency-Key across failures: lost answers, kills, restarts, many keys, and a day."""
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from clocks import HOUR_SECONDS, ClockService
from harness import wait_for
from history import deltas_of
from retries import Retrier, add, create, is_first, is_replay_of, is_reused, new_key, once
from shop import Shop, new_id, path_of

# Lost answers

def send_and_leave(shop, path, document, key):
    """Sends the whole request and closes without reading the answer."""
    with shop.service.client(shop.key) as client:
        client.send("POST", path, document, headers=once(key))
        return document


def test_a_creation_whose_answer_is_lost(shop):
    pass_id, key = new_id(), new_key()
    body = send_and_leave(shop, "/v1/passes", {"pass_id": pass_id, "visible": {"name": "Ada"}}, key)
    wait_for(lambda: shop.client.get(path_of(pass_id)).status == 200, 5, "the pass")
    answer = shop.client.post("/v1/passes", body, headers=once(key))
    assert (answer.status, answer.headers["idempotency-replayed"]) == (201, "true")
    assert answer.json == shop.get(pass_id)


def test_a_replay_of_a_creation_needs_no_issuer(new_service):
    service = new_service(shards=1)
    shop, pass_id, key = Shop(service, ("balance",)), new_id(), new_key()
    first = is_first(create(shop, pass_id, key), 201)
    service.cli("issuer", "pause")
    is_replay_of(first, create(shop, pass_id, key))
    is_reused(create(shop, new_id(), key))
    create(shop, new_id(), new_key()).is_error(502, "PASS_PROVIDER_UNAVAILABLE")
    shop.close()


def test_a_creation_refused_without_the_issuer_can_be_repeated(new_service):
    service = new_service(shards=1)
    service.cli("issuer", "pause")
    shop, pass_id, key = Shop(service, ("balance",)), new_id(), new_key()
    for _ in range(2):
        create(shop, pass_id, key).is_error(502, "PASS_PROVIDER_UNAVAILABLE")
    service.cli("issuer", "resume")
    is_replay_of(is_first(create(shop, pass_id, key), 201), create(shop, pass_id, key))
    shop.close()


def test_retries_are_exact_over_kills(new_service):
    """kill -9 of shard and http process, while clients repeat every delta and creation until it is acknowledged."""
    service, rng, ended = new_service(shards=1, http_threads=2), random.Random(11), threading.Event()
    service.expect_log("level=warn")
    shop = Shop(service, ("balance",))
    pass_id = shop.create()["id"]
    retriers = [Retrier(shop, pass_id, seed) for seed in range(6)]

    def done():
        return sum(len(one.tries) for one in retriers)

    with ThreadPoolExecutor(6) as pool:
        workers = [pool.submit(one.work, ended) for one in retriers]
        try:
            for role in ("shard", "http", "shard", "shard", "http"):
                wait_for(lambda at=done() + rng.randrange(30, 300): done() >= at, 20, "answers")
                service.kill_child(role)
        finally:
            ended.set()
        for worker in workers:
            worker.result()
    assert max(max(one.tries) for one in retriers) > 1, "no request was hit by a kill"
    shop.client.close()
    amounts = [amount for one in retriers for amount in one.amounts]
    assert shop.get(pass_id)["balance"] == sum(amounts)
    assert sorted(deltas_of(shop.history(pass_id))) == sorted(amounts)
    assert shop.list("?include_deleted=1")[1] == 1 + sum(len(one.made) for one in retriers)
    assert service.cli("verify")["faults"] == []
    shop.close()


def test_a_replay_by_any_thread_and_after_a_restart(new_service):
    service = new_service(shards=2, http_threads=2)
    shop, key = Shop(service, ("balance",)), new_key()
    pass_id = shop.create()["id"]
    first = is_first(add(shop, pass_id, 6, key), 202)
    for how in (service.restart, lambda: service.kill_everything() or service.start()):
        for client in [service.client(shop.key) for _ in range(8)]:
            is_replay_of(first, add(shop, pass_id, 6, key, client))
            client.close()
        how()
        shop.client.address = service.http
        assert shop.get(pass_id)["balance"] == 6
    shop.close()


# Limits

def test_the_operators_limit_on_keys_and_their_header_in_cors(new_service):
    service = new_service(shards=1, options=["--idempotency-keys", "3", "--cors-origin", "https://till.example"])
    shop, other = Shop(service, ("balance",)), Shop(service, ("balance",))
    pass_id, keys = shop.create()["id"], [new_key() for _ in range(4)]
    other.create(pass_id)
    others = is_first(add(other, pass_id, 1, keys[0]), 202)
    for key in keys:
        is_replay_of(is_first(add(shop, pass_id, 1, key), 202), add(shop, pass_id, 1, key))
    for key in reversed(keys[1:]):
        assert add(shop, pass_id, 1, key).headers["idempotency-replayed"] == "true"
    is_first(add(shop, pass_id, 1, keys[0]), 202)  # its key was evicted, so it now evicts the second key
    is_first(add(shop, pass_id, 1, keys[1]), 202)
    assert add(shop, pass_id, 1, keys[3]).headers["idempotency-replayed"] == "true"
    assert shop.get(pass_id)["balance"] == 6
    is_replay_of(others, add(other, pass_id, 1, keys[0]))
    preflight = shop.client.request("OPTIONS", "/v1/passes", headers={
        "Origin": "https://till.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "idempotency-key"})
    assert preflight.status == 204 and "Idempotency-Key" in preflight.headers["access-control-allow-headers"]
    assert service.cli("verify")["faults"] == []
    for one in (shop, other):
        one.close()


@pytest.mark.parametrize("number", ["0", "-1", "x", "100000001"])
def test_invalid_limits(service, number):
    done = service.run("serve", "--idempotency-keys", number)
    assert done.returncode == 2 and "--idempotency-keys" in done.stderr, done


def test_keys_expire_after_a_day_of_service_time():
    service = ClockService(shards=1)
    try:
        service.set_clock(0)
        service.start()
        shop, old, fresh = Shop(service, ("balance",)), new_key(), new_key()
        pass_id = shop.create()["id"]
        first = is_first(add(shop, pass_id, 1, old), 202)

        def at(hours):
            assert service.stop() == 0
            service.set_clock(hours * HOUR_SECONDS)
            service.start()
            shop.client.address = service.http

        at(23)
        is_replay_of(first, add(shop, pass_id, 1, old))
        is_first(add(shop, pass_id, 1, fresh), 202)
        at(25)
        is_first(add(shop, pass_id, 2, old), 202)  # a different request: the key is free again
        is_reused(add(shop, pass_id, 1, old))
        assert add(shop, pass_id, 1, fresh).headers["idempotency-replayed"] == "true"
        at(0)  # service time does not go back
        assert add(shop, pass_id, 2, old).headers["idempotency-replayed"] == "true"
        assert shop.get(pass_id)["balance"] == 4
        assert service.cli("verify")["faults"] == []
        shop.close()
    finally:
        assert service.close() == []
