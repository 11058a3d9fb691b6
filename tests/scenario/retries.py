"""Requests sent again with the same Idempotency-Key."""
import random
from http.client import HTTPException
from itertools import count

from shop import new_id, path_of

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


def until_done(client, service, status, request):
    """Repeats the request until an answer gives its result, which must have `status`. Returns the number of attempts."""
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
    """A client that repeats each request until an answer gives its result. Most requests are deltas, some are
    creations."""

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
