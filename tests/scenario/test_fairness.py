"""Accounts that share a shard: one account's lists do not delay another's."""
import concurrent.futures
import json
import select
import threading

from shop import Shop

LISTS = 30
PASSES = 10
WRITES = 200


def ask_and_leave(shop, path):
    client = shop.service.client(shop.key)
    client.send("GET", path)
    return client


def test_many_slow_lists_of_one_account_do_not_delay_another(new_service):
    """Each list of the busy account searches nine megabytes. An account has one reader at a time, so the other
    account's list is answered before the busy account's lists are done."""
    service = new_service(shards=1)
    busy, other = Shop(service), Shop(service)
    for number in range(PASSES):
        busy.create(f"large-{number}", visible={"name": "Ada", "site": "https://x.example/" + "y" * 900_000})
    other.create("small")
    busy_lists = [ask_and_leave(busy, f"/v1/passes?limit=1&q={'y' * 100}z{'y' * 99}") for _ in range(LISTS)]
    for _ in range(3):  # the shard has received all lists: it has answered later requests of another connection
        with service.client(other.key) as later:
            assert later.get("/v1/passes/small").status == 200
    page, total, _ = other.list("?q=sma")
    assert [entry["id"] for entry in page] == ["small"] and total == 1
    answered, _, _ = select.select([client.connection.sock for client in busy_lists], [], [], 0)
    assert len(answered) < LISTS // 2, "the other account's list waited for them"
    for client in busy_lists:
        answer = client.receive()
        if answer.status == 200:
            assert json.loads(answer.body) == []
        else:  # the list's deadline passed: the machine is slow
            assert (answer.status, answer.json["code"]) in ((503, "OVERLOADED"), (503, "SHARD_UNAVAILABLE")), answer
        client.close()
    for shop in (busy, other):
        shop.close()


def test_a_list_shows_acknowledged_changes_while_others_write(new_service):
    """The other account's writes are applied and not yet committed all the time. The list must wait only for the own
    account's writes."""
    service = new_service(shards=1)
    own, other = Shop(service), Shop(service)
    own.create("own")
    other.create("other")
    stop = threading.Event()

    def keep_writing():
        with service.client(other.key) as client:
            while not stop.is_set():
                client.post("/v1/passes/other/loyalty", {"balance_to_add": 1}).is_empty(202)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        writing = pool.submit(keep_writing)
        try:
            for balance in range(1, WRITES + 1):
                own.add("own", 1)
                shown, total, _ = own.list()
                assert (total, shown[0]["visible"]["points"]) == (1, balance)
                again, _, _ = own.list(f"?q={balance}")
                assert [entry["visible"]["points"] for entry in again] == [balance]
        finally:
            stop.set()
        writing.result(30)
    for shop in (own, other):
        shop.close()
