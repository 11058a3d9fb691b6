"""Idempotency-Key: a request that is sent again with its key happens once, whatever became of its answer."""
import json
import random
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPException
from itertools import count

import pytest
from clocks import HOUR_SECONDS, ClockService
from harness import wait_for
from history import deltas_of
from shop import Shop, new_id, path_of

_number = count(1)


def new_key():
    return f"key-{next(_number)}"


def once(key):
    return {"Idempotency-Key": key}


def add(shop, pass_id, amount, key, client=None):
    return (client or shop.client).post(path_of(pass_id, "/loyalty"), {"balance_to_add": amount}, headers=once(key))


def create(shop, pass_id, key, **fields):
    body = {"pass_id": pass_id, "visible": {"name": "Ada"}, **fields}
    return shop.client.post("/v1/passes", body, headers=once(key))


def is_first(answer, status):
    assert answer.status == status and "idempotency-replayed" not in answer.headers, answer
    return answer


def is_replay_of(first, answer):
    assert (answer.status, answer.body) == (first.status, first.body), (first, answer)
    assert answer.headers.get("idempotency-replayed") == "true", answer
    assert answer.headers["x-request-id"] != first.headers["x-request-id"]
    for name in ("content-type", "content-length"):
        assert answer.headers.get(name) == first.headers.get(name), name


def is_reused(answer):
    answer.is_error(409, "IDEMPOTENCY_KEY_REUSED")
    assert "idempotency-replayed" not in answer.headers


# The same request again

REQUESTS = {
    "create": ("POST", "/v1/passes", {"pass_id": "{id}-new", "visible": {"name": "Bo"}, "hidden": {"n": 1.50}}, 201),
    "delta": ("POST", "/v1/passes/{id}/loyalty", {"balance_to_add": 7}, 202),
    "nothing": ("POST", "/v1/passes/{id}/loyalty", {"balance_to_add": 0}, 202),
    "edit": ("PATCH", "/v1/passes/{id}", {"hidden": {"a": 2}}, 204),
    "no edit": ("PATCH", "/v1/passes/{id}", {}, 204),
    "delete": ("DELETE", "/v1/passes/{id}", None, 204),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_write_happens_once(till, name):
    method, path, body, status = REQUESTS[name]
    pass_id, key = till.create()["id"], new_key()
    path, text = path.format(id=pass_id), json.dumps(body).replace("{id}", pass_id) if body is not None else None
    options = {"body": text and text.encode(), "headers": {**once(key), "Content-Type": "application/json"}}
    first = is_first(till.client.request(method, path, **options), status)
    after = till.history(pass_id), till.list("?include_deleted=1")[1], till.get(pass_id, "?include_deleted=1")
    for _ in range(3):
        is_replay_of(first, till.client.request(method, path, **options))
    assert (till.history(pass_id), till.list("?include_deleted=1")[1],
            till.get(pass_id, "?include_deleted=1")) == after


def test_without_a_key_or_with_another_it_happens_again(till):
    pass_id = till.create()["id"]
    is_first(add(till, pass_id, 1, new_key()), 202)
    is_first(add(till, pass_id, 1, new_key()), 202)
    is_first(till.try_add(pass_id, 1), 202)
    assert till.get(pass_id)["balance"] == 3


def test_keys_are_told_apart_to_the_last_character(till):
    pass_id, long = till.create()["id"], "k" * 254
    for key in (long + "a", long + "b", long + "B", long, "k"):
        is_first(add(till, pass_id, 1, key), 202)
        is_replay_of(add(till, pass_id, 1, key), add(till, pass_id, 1, key))
    assert till.get(pass_id)["balance"] == 5


# Another request with the same key

def test_another_request_is_refused_and_does_nothing(till):
    pass_id, other, key = till.create()["id"], till.create()["id"], new_key()
    first = is_first(add(till, pass_id, 5, key), 202)
    before = till.get(pass_id), till.get(other), till.list()[1]
    loyalty = path_of(pass_id, "/loyalty")
    for method, path, body in [
        ("POST", loyalty, b'{"balance_to_add": 6}'), ("POST", loyalty, b'{"balance_to_add":5}'),
        ("POST", loyalty + "?", b'{"balance_to_add": 5}'), ("POST", loyalty + "?x=1", b'{"balance_to_add": 5}'),
        ("POST", path_of(other, "/loyalty"), b'{"balance_to_add": 5}'),
        ("POST", "/v1/passes", b'{"pass_id": "another"}'), ("DELETE", path_of(pass_id), None),
        ("PATCH", path_of(pass_id), b"{}"), ("PATCH", path_of("nobody"), b"{}"),
    ]:
        is_reused(till.client.request(method, path, body=body,
                                      headers={**once(key), "Content-Type": "application/json"}))
    assert (till.get(pass_id), till.get(other), till.list()[1]) == before
    is_replay_of(first, add(till, pass_id, 5, key))


def test_of_two_at_once_with_different_bodies_one_happens(service, shop):
    pass_id, clients = shop.create()["id"], [service.client(shop.key) for _ in range(2)]
    barrier, balance = threading.Barrier(2), 0

    def send(which, key):
        barrier.wait(10)
        return add(shop, pass_id, (which + 1) * 10, key, clients[which])

    with ThreadPoolExecutor(2) as pool:
        for key in [new_key() for _ in range(25)]:
            answers = list(pool.map(send, range(2), [key, key]))
            won = [which for which in range(2) if answers[which].status == 202]
            assert len(won) == 1, answers
            is_reused(answers[1 - won[0]])
            balance += (won[0] + 1) * 10
    assert shop.get(pass_id)["balance"] == balance
    for client in clients:
        client.close()


# Errors

def test_an_error_keeps_no_key(till):
    pass_id, key = new_id(), new_key()
    for _ in range(2):
        add(till, pass_id, 4, key).is_error(404, "RESOURCE_NOT_FOUND")
    till.create(pass_id)
    first = is_first(add(till, pass_id, 4, key), 202)
    is_replay_of(first, add(till, pass_id, 4, key))
    assert till.get(pass_id)["balance"] == 4


def test_what_came_first_is_answered_though_it_could_not_be_done_any_more(till):
    pass_id, key = new_id(), new_key()
    made = is_first(create(till, pass_id, key), 201)
    create(till, pass_id, new_key()).is_error(409, "RESOURCE_CONFLICT")
    first = is_first(add(till, pass_id, 4, new := new_key()), 202)
    till.event(pass_id, "deactivated")
    is_replay_of(first, add(till, pass_id, 4, new))
    answer = create(till, pass_id, key)
    assert (answer.status, answer.json["status"]) == (201, "deactivated")
    assert answer.json["created_at"] == made.json["created_at"]


# Passes that go and come back

def test_a_deletion_is_answered_again_and_does_not_meet_the_next_pass(till):
    pass_id, key, delete = new_id(), new_key(), new_key()
    made = is_first(create(till, pass_id, key), 201)
    first = is_first(till.client.delete(path_of(pass_id), headers=once(delete)), 204)
    is_replay_of(first, till.client.delete(path_of(pass_id), headers=once(delete)))
    till.client.delete(path_of(pass_id), headers=once(new_key())).is_error(404, "RESOURCE_NOT_FOUND")
    again = create(till, pass_id, key)
    assert again.status == 201 and again.headers["idempotency-replayed"] == "true"
    assert again.json["deleted_at"] and again.json["download_url"] == made.json["download_url"]
    second = is_first(create(till, pass_id, new_key(), hidden={"n": 2}), 201)
    assert second.json["download_url"] != made.json["download_url"]
    is_replay_of(first, till.client.delete(path_of(pass_id), headers=once(delete)))
    assert till.get(pass_id) == second.json, "it is still there"
    assert create(till, pass_id, key).json == again.json, "the pass that was made, not the one of its id"


# The header

def talk(shop, head, body):
    lines = f"{head}Host: x\r\nAuthorization: Bearer {shop.key}\r\nConnection: close\r\n"
    lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with closing(socket.create_connection(shop.service.http, 10)) as connection:
        connection.sendall(lines.encode("latin-1"))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer.decode("latin-1")


BAD_HEADERS = {
    "empty": ["Idempotency-Key:"], "blank": ["Idempotency-Key:   "], "long": ["Idempotency-Key: " + "k" * 256],
    "longer": ["Idempotency-Key: " + "k" * 8000], "two words": ["Idempotency-Key: a b"],
    "a tab": ["Idempotency-Key: a\tb"], "not ASCII": ["Idempotency-Key: k\xe9"],
    "twice": ["Idempotency-Key: a", "Idempotency-Key: b"], "the same twice": ["idempotency-key: a"] * 2,
    "once empty": ["Idempotency-Key: a", "IDEMPOTENCY-KEY:"],
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_header_that_holds_no_key(till, name):
    pass_id = till.create()["id"]
    lines = "".join(line + "\r\n" for line in BAD_HEADERS[name])
    answer = talk(till, f"POST /v1/passes/{pass_id}/loyalty HTTP/1.1\r\n{lines}", '{"balance_to_add":1}')
    assert answer.startswith("HTTP/1.1 400 "), answer
    error = json.loads(answer.split("\r\n\r\n", 1)[1])
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "Idempotency-Key"), answer
    assert till.get(pass_id)["balance"] == 0
    for method in ("GET", "HEAD"):
        assert talk(till, f"{method} /v1/passes/{pass_id} HTTP/1.1\r\n{lines}", "").startswith("HTTP/1.1 200 ")


@pytest.mark.parametrize("line", ["Idempotency-Key: " + "k" * 255, "iDEMPOTENCY-kEY:!#~[]", "idempotency-key:\t\"a,b\" "])
def test_a_header_that_holds_one(till, line):
    pass_id = till.create()["id"]
    request = f"POST /v1/passes/{pass_id}/loyalty HTTP/1.1\r\n{line}\r\n", '{"balance_to_add":1}'
    assert "idempotency-replayed" not in talk(till, *request).lower()
    assert "\r\nidempotency-replayed: true\r\n" in talk(till, *request).lower()
    assert till.get(pass_id)["balance"] == 1


def test_the_header_comes_last_of_the_fields_and_before_the_resource(till):
    pass_id, bad = till.create()["id"], {"Idempotency-Key": "a b"}
    post = till.client.post
    post(path_of(pass_id, "/loyalty"), {"balance_to_add": 1}, headers=bad, key="x").is_error(401, "UNAUTHENTICATED")
    post("/v1/nothing", {}, headers=bad).is_error(404, "ROUTE_NOT_FOUND")
    till.client.request("PUT", path_of(pass_id), headers=bad).is_error(405, "METHOD_NOT_ALLOWED")
    post(path_of(pass_id, "/loyalty"), body=b"{}", headers=bad).is_error(415, "UNSUPPORTED_MEDIA_TYPE")
    json_type = {**bad, "Content-Type": "application/json"}
    post(path_of(pass_id, "/loyalty"), body=b"[", headers=json_type).is_error(400, "INVALID_REQUEST")
    post(path_of(pass_id, "/loyalty"), {"x": 1}, headers=bad).is_error(400, "INVALID_INPUT", "x")
    post("/v1/passes/%00/loyalty", {"balance_to_add": 1}, headers=bad).is_error(400, "INVALID_INPUT", "Idempotency-Key")
    post("/v1/passes/nobody/loyalty", {"balance_to_add": 1}, headers=bad) \
        .is_error(400, "INVALID_INPUT", "Idempotency-Key")


# Accounts

def test_a_key_is_the_accounts_own(new_shop):
    """Of three accounts two live on one of the two shards."""
    shops, pass_id, key = [new_shop("balance") for _ in range(3)], new_id(), new_key()
    made = [is_first(create(shop, pass_id, key), 201) for shop in shops]
    assert len({answer.json["download_url"] for answer in made}) == 3
    for shop, first in zip(shops, made, strict=True):
        is_replay_of(first, create(shop, pass_id, key))
    for amount, shop in enumerate(shops):
        is_first(add(shop, pass_id, amount, "mine"), 202)
    assert [shop.get(pass_id)["balance"] for shop in shops] == [0, 1, 2]


def test_keys_of_one_account_serve_all_its_api_keys(service, shop):
    pass_id, key = shop.create()["id"], new_key()
    first = is_first(add(shop, pass_id, 2, key), 202)
    with service.client(service.cli("key", "create", shop.account)["api_key"]) as second:
        is_replay_of(first, add(shop, pass_id, 2, key, second))


def test_a_suspended_account(shop):
    pass_id, key, delete = shop.create()["id"], new_key(), new_key()
    first = is_first(add(shop, pass_id, 2, key), 202)
    shop.set("--suspended", "on")
    add(shop, pass_id, 2, key).is_error(402, "ACCOUNT_SUSPENDED")
    add(shop, pass_id, 3, key).is_error(402, "ACCOUNT_SUSPENDED")
    deleted = is_first(shop.client.delete(path_of(pass_id), headers=once(delete)), 204)
    is_replay_of(deleted, shop.client.delete(path_of(pass_id), headers=once(delete)))
    shop.set("--suspended", "off")
    is_replay_of(first, add(shop, pass_id, 2, key))


def test_a_retry_counts_towards_the_rate(shop):
    pass_id, key = shop.create()["id"], new_key()
    is_first(add(shop, pass_id, 1, key), 202)
    shop.set("--rate-limit", "1")
    answers = [add(shop, pass_id, 1, key) for _ in range(10)]
    assert {answer.status for answer in answers} == {202, 429}
    shop.set("--rate-limit", "0")
    assert shop.get(pass_id)["balance"] == 1


# Answers that are lost

def send_and_leave(shop, path, document, key):
    """The request goes out whole; nobody is there for the answer."""
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


def test_a_retry_meanwhile_waits_for_the_issuer_too(new_service):
    service = new_service(shards=1)
    shop, pass_id, key = Shop(service, ("balance",)), new_id(), new_key()
    body = {"pass_id": pass_id, "visible": {"name": "Ada"}}
    clients = [service.client(shop.key) for _ in range(4)]
    others = [{**body, "hidden": {"n": 1}}, {**body, "pass_id": new_id()}]
    service.signal("timer", 0, signal.SIGSTOP)
    for client, document in zip(clients, [body, body, *others], strict=True):
        client.send("POST", "/v1/passes", document, headers=once(key))
        for _ in range(2):  # what was sent before this is answered has reached the shard
            shop.client.get(path_of(pass_id)).is_error(404, "RESOURCE_NOT_FOUND")
    service.signal("timer", 0, signal.SIGCONT)
    first, second, third, fourth = [client.receive() for client in clients]
    is_first(first, 201)
    is_replay_of(first, second)
    is_reused(third)
    is_reused(fourth)
    assert shop.list()[1] == 1
    service.signal("timer", 0, signal.SIGSTOP)
    is_replay_of(first, shop.client.post("/v1/passes", body, headers=once(key)))
    service.signal("timer", 0, signal.SIGCONT)
    for client in [*clients, shop]:
        client.close()


def test_a_creation_that_the_issuer_refused_may_be_tried_again(new_service):
    service = new_service(shards=1)
    service.cli("issuer", "pause")
    shop, pass_id, key = Shop(service, ("balance",)), new_id(), new_key()
    for _ in range(2):
        create(shop, pass_id, key).is_error(502, "PASS_PROVIDER_UNAVAILABLE")
    service.cli("issuer", "resume")
    is_replay_of(is_first(create(shop, pass_id, key), 201), create(shop, pass_id, key))
    shop.close()


def until_done(client, service, status, request):
    """Sends until the answer says what happened, which must be `status`; how often that took."""
    for tries in count(1):
        client.address = service.http
        try:
            answer = request()
        except (OSError, HTTPException):
            continue
        if answer.status < 500:
            assert answer.status == status, answer
            return tries
    return None


class Retrier:
    """A client that repeats each request until it is told what became of it. Most are deltas, some creations."""

    def __init__(self, shop, pass_id, seed):
        self.shop, self.pass_id, self.chance = shop, pass_id, random.Random(seed)
        self.amounts, self.made, self.tries = [], [], []

    def work(self, ended):
        with self.shop.service.client(self.shop.key, seconds=10) as client:
            while not ended.is_set():
                if self.chance.randrange(8):
                    self.amounts.append(self.chance.randrange(1, 1 << 40))
                    request = path_of(self.pass_id, "/loyalty"), {"balance_to_add": self.amounts[-1]}, 202
                else:
                    self.made.append(new_id("retried"))
                    request = "/v1/passes", {"pass_id": self.made[-1], "visible": {"name": "Ada"}}, 201
                self.repeat(client, *request, once(new_key()))

    def repeat(self, client, path, document, status, headers):
        self.tries.append(until_done(client, self.shop.service, status,
                                     lambda: client.post(path, document, headers=headers)))


def test_retries_are_exact_over_kills(new_service):
    """kill -9 of shard and http process while clients retry every delta and creation until it is acknowledged."""
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
    assert max(max(one.tries) for one in retriers) > 1, "no request met a kill"
    shop.client.close()
    amounts = [amount for one in retriers for amount in one.amounts]
    assert shop.get(pass_id)["balance"] == sum(amounts)
    assert sorted(deltas_of(shop.history(pass_id))) == sorted(amounts)
    assert shop.list("?include_deleted=1")[1] == 1 + sum(len(one.made) for one in retriers)
    assert service.cli("verify")["faults"] == []
    shop.close()


def test_a_retry_may_come_by_any_thread_and_after_a_restart(new_service):
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


# What is kept

def test_as_many_as_the_operator_says_and_browsers_may_send_them(new_service):
    service = new_service(shards=1, options=["--idempotency-keys", "3", "--cors-origin", "https://till.example"])
    shop, other = Shop(service, ("balance",)), Shop(service, ("balance",))
    pass_id, keys = shop.create()["id"], [new_key() for _ in range(4)]
    other.create(pass_id)
    others = is_first(add(other, pass_id, 1, keys[0]), 202)
    for key in keys:
        is_replay_of(is_first(add(shop, pass_id, 1, key), 202), add(shop, pass_id, 1, key))
    for key in reversed(keys[1:]):
        assert add(shop, pass_id, 1, key).headers["idempotency-replayed"] == "true"
    is_first(add(shop, pass_id, 1, keys[0]), 202)  # forgotten: so it pushes out the second
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
def test_numbers_of_keys_that_cannot_be(service, number):
    done = service.run("serve", "--idempotency-keys", number)
    assert done.returncode == 2 and "--idempotency-keys" in done.stderr, done


def test_for_a_day_of_service_time():
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
        is_first(add(shop, pass_id, 2, old), 202)  # another request: the key is as good as new
        is_reused(add(shop, pass_id, 1, old))
        assert add(shop, pass_id, 1, fresh).headers["idempotency-replayed"] == "true"
        at(0)  # service time does not go back
        assert add(shop, pass_id, 2, old).headers["idempotency-replayed"] == "true"
        assert shop.get(pass_id)["balance"] == 4
        assert service.cli("verify")["faults"] == []
        shop.close()
    finally:
        assert service.close() == []
