"""Accounts that share a shard: what one asks for does not hold up another's lists."""
import json
import select

from shop import Shop

LISTS = 30
PASSES = 10


def ask_and_leave(shop, path):
    client = shop.service.client(shop.key)
    client.send("GET", path)
    return client


def test_many_slow_lists_of_one_account_do_not_hold_up_another(new_service):
    """Each of the busy account's lists searches nine megabytes of one letter; the other's is answered before they are done, however
    long that takes, since no account has more than one reader at a time."""
    service = new_service(shards=1)
    busy, other = Shop(service), Shop(service)
    for number in range(PASSES):
        busy.create(f"large-{number}", visible={"name": "Ada", "site": "https://x.example/" + "y" * 900_000})
    other.create("small")
    busy_lists = [ask_and_leave(busy, f"/v1/passes?limit=1&q={'y' * 100}z{'y' * 99}") for _ in range(LISTS)]
    for _ in range(3):  # the shard has them all: it has answered what was sent later, on another connection
        with service.client(other.key) as later:
            assert later.get("/v1/passes/small").status == 200
    page, total, _ = other.list("?q=sma")
    assert [entry["id"] for entry in page] == ["small"] and total == 1
    answered, _, _ = select.select([client.connection.sock for client in busy_lists], [], [], 0)
    assert len(answered) < LISTS // 2, "the other account had to wait for them"
    for client in busy_lists:
        answer = client.receive()
        if answer.status == 200:
            assert json.loads(answer.body) == []
        else:  # its deadline came first: so slow a machine may be
            assert (answer.status, answer.json["code"]) in ((503, "OVERLOADED"), (503, "SHARD_UNAVAILABLE")), answer
        client.close()
    for shop in (busy, other):
        shop.close()
