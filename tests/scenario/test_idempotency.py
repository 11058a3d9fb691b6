"""Idempotency-Key: a repeated request with its key is executed once and answered again; a different request with the
key is refused."""
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from entitlements import assign, counts
from hooks import HOOKS, hooks_of, subscribe
from patience import PATIENCE
from retries import add, create, is_first, is_replay_of, is_reused, new_key, once
from rewards import REWARDS, archive, new_slug, offer, rewards_of, terms
from routes import ROUTES
from scans import list_scans
from shop import new_id, path_of

# The same request again

REQUESTS = {
    "create": ("POST", "/v1/passes", {"pass_id": "{id}-new", "visible": {"name": "Bo"}, "hidden": {"n": 1.50}}, 201),
    "delta": ("POST", "/v1/passes/{id}/loyalty", {"balance_to_add": 7}, 202),
    "nothing": ("POST", "/v1/passes/{id}/loyalty", {"balance_to_add": 0}, 202),
    "edit": ("PATCH", "/v1/passes/{id}", {"hidden": {"a": 2}}, 204),
    "no edit": ("PATCH", "/v1/passes/{id}", {}, 204),
    "delete": ("DELETE", "/v1/passes/{id}", None, 204),
    "subscribe": ("POST", HOOKS, {"url": "https://a.example/{id}", "event_types": ["scan.created", "pass.created"]}, 201),
    "change": ("PATCH", HOOKS + "/{hook}", {"url": "https://b.example/{id}", "event_types": ["scan.created"]}, 200),
    "no change": ("PATCH", HOOKS + "/{hook}", {}, 200),
    "pause": ("PATCH", HOOKS + "/{hook}", {"active": False}, 200),
    "unsubscribe": ("DELETE", HOOKS + "/{hook}", None, 204),
    "offer": ("POST", REWARDS, terms(name="New", redemption_allowance=2), 201),
    "publish": ("PUT", REWARDS + "/{reward}", terms(name="Edited", description="d"), 200),
    "archive": ("POST", REWARDS + "/{reward}/archive", None, 204),
    "restore": ("POST", REWARDS + "/{archived}/restore", terms(name="Back"), 200),
    "withdraw": ("DELETE", REWARDS + "/{reward}", None, 204),
    "assign": ("POST", "/v1/passes/{id}/rewards/assign", {"slug": "{given}"}, 201),
    "redeem": ("POST", "/v1/passes/{id}/rewards/{entitlement}/redeem", {"context": "Till 1"}, 200),
    "scan": ("POST", "/v1/scans", {"pass_id": "{id}", "reader_id": "till"}, 200),
    "scan refused": ("POST", "/v1/scans?pass_info=true", {"pass_id": "{off}"}, 200),
}


def test_every_write_operation_is_covered():
    """A new operation must define how its replayed answer is built. Only a request with a key shows that."""
    writes = {(route.method, route.path) for route in ROUTES if route.method != "GET"}
    named = {"id": "{pass_id}", "hook": "{subscription_id}", "reward": "{reward_slug}", "archived": "{reward_slug}",
             "entitlement": "{entitlement_id}"}
    assert writes and writes == {(method, path.split("?")[0].format(**named)) for method, path, *_ in REQUESTS.values()}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_write_is_executed_once(till, name):
    method, path, body, status = REQUESTS[name]
    for hook in hooks_of(till):
        till.client.delete(f"{HOOKS}/{hook['id']}").is_empty(204)
    pass_id, hook, key = till.create()["id"], subscribe(till)["id"], new_key()
    slugs = {"reward": offer(till, slug=new_slug())["slug"], "archived": offer(till, slug=new_slug())["slug"]}
    archive(till, slugs["archived"])
    given, off = offer(till, slug=new_slug(), repeat_assignment=True)["slug"], till.create()["id"]
    till.event(off, "deactivated")
    ids = {"id": pass_id, "hook": hook, **slugs, "given": given, "off": off, "entitlement": assign(till, pass_id, given)["id"]}
    path, text = path.format(**ids), json.dumps(body) if body is not None else None
    for field in ("id", "given", "off") if text else ():
        text = text.replace("{" + field + "}", ids[field])
    options = {"body": text and text.encode(), "headers": {**once(key), "Content-Type": "application/json"}}
    first = is_first(till.client.request(method, path, **options), status)
    def everything():
        return (till.history(pass_id), till.list("?include_deleted=1")[1], till.get(pass_id, "?include_deleted=1"),
                hooks_of(till), rewards_of(till, "?include_archived=1"), counts(till), list_scans(till, limit=100))

    after = everything()
    for _ in range(3):
        is_replay_of(first, till.client.request(method, path, **options))
    assert everything() == after


def test_concurrent_repetitions_are_executed_once(service, shop):
    pass_id, clients = shop.create()["id"], [service.client(shop.key) for _ in range(6)]
    barrier, keys = threading.Barrier(len(clients)), [new_key() for _ in range(20)]

    def send(client, key):
        barrier.wait(10)
        return add(shop, pass_id, 3, key, client)

    with ThreadPoolExecutor(len(clients)) as pool:
        for key in keys:
            answers = list(pool.map(send, clients, [key] * len(clients)))
            first = [answer for answer in answers if "idempotency-replayed" not in answer.headers]
            assert len(first) == 1 and {answer.status for answer in answers} == {202}, answers
    assert shop.get(pass_id)["balance"] == 3 * len(keys)
    for client in clients:
        client.close()


def test_without_a_key_or_with_another_it_is_executed_again(till):
    pass_id = till.create()["id"]
    is_first(add(till, pass_id, 1, new_key()), 202)
    is_first(add(till, pass_id, 1, new_key()), 202)
    is_first(till.try_add(pass_id, 1), 202)
    assert till.get(pass_id)["balance"] == 3


def test_keys_differ_by_their_last_character(till):
    pass_id, long = till.create()["id"], "k" * 254
    for key in (long + "a", long + "b", long + "B", long, "k"):
        is_first(add(till, pass_id, 1, key), 202)
        is_replay_of(add(till, pass_id, 1, key), add(till, pass_id, 1, key))
    assert till.get(pass_id)["balance"] == 5


# Another request with the same key

def test_a_different_request_is_refused_and_changes_nothing(till):
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


def test_of_two_concurrent_requests_with_different_bodies_one_is_executed(service, shop):
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

def test_an_error_does_not_store_the_key(till):
    pass_id, key = new_id(), new_key()
    for _ in range(2):
        add(till, pass_id, 4, key).is_error(404, "RESOURCE_NOT_FOUND")
    till.create(pass_id)
    first = is_first(add(till, pass_id, 4, key), 202)
    is_replay_of(first, add(till, pass_id, 4, key))
    assert till.get(pass_id)["balance"] == 4


def test_a_replay_succeeds_even_if_the_request_would_now_fail(till):
    pass_id, key = new_id(), new_key()
    made = is_first(create(till, pass_id, key), 201)
    create(till, pass_id, new_key()).is_error(409, "RESOURCE_CONFLICT")
    first = is_first(add(till, pass_id, 4, new := new_key()), 202)
    till.event(pass_id, "deactivated")
    is_replay_of(first, add(till, pass_id, 4, new))
    answer = create(till, pass_id, key)
    assert (answer.status, answer.json["status"]) == (201, "deactivated")
    assert answer.json["created_at"] == made.json["created_at"]


# Deleted and re-created passes

def test_the_replay_of_a_deletion_does_not_delete_the_next_pass(till):
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
    assert till.get(pass_id) == second.json, "the replay deleted the next pass"
    assert create(till, pass_id, key).json == again.json, "the replay must show the pass that was created, not the next one with its id"


# The header

def talk(shop, head, body):
    lines = f"{head}Host: x\r\nAuthorization: Bearer {shop.key}\r\nConnection: close\r\n"
    lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with closing(socket.create_connection(shop.service.http, 10 * PATIENCE)) as connection:
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
def test_invalid_headers(till, name):
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
def test_valid_headers(till, line):
    pass_id = till.create()["id"]
    request = f"POST /v1/passes/{pass_id}/loyalty HTTP/1.1\r\n{line}\r\n", '{"balance_to_add":1}'
    assert "idempotency-replayed" not in talk(till, *request).lower()
    assert "\r\nidempotency-replayed: true\r\n" in talk(till, *request).lower()
    assert till.get(pass_id)["balance"] == 1


def test_the_header_is_checked_after_fields_and_before_the_resource(till):
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

def test_keys_of_accounts_are_independent(new_shop):
    """Three accounts, two of them on the same shard."""
    shops, pass_id, key = [new_shop("balance") for _ in range(3)], new_id(), new_key()
    made = [is_first(create(shop, pass_id, key), 201) for shop in shops]
    assert len({answer.json["download_url"] for answer in made}) == 3
    for shop, first in zip(shops, made, strict=True):
        is_replay_of(first, create(shop, pass_id, key))
    for amount, shop in enumerate(shops):
        is_first(add(shop, pass_id, amount, "mine"), 202)
    assert [shop.get(pass_id)["balance"] for shop in shops] == [0, 1, 2]


def test_api_keys_of_an_account_share_idempotency_keys(service, shop):
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
