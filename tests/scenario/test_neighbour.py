"""One account sends its heaviest requests continuously. Another account's deltas must take no longer than beside the
same number of clients that send light ones. Both are measured in slices of one round, because the machine may be busy,
and the best of several rounds counts: a shard that blocks for one account does so in every round."""
import json
import multiprocessing
import statistics
import time

import pytest

from client import Client
from harness import commands
from hooks import subscribe
from rewards import offer
from rules import put_rule
from shop import Shop, path_of, template_file

pytestmark = pytest.mark.plain

TEMPLATES, FIELDS = 300, 64
RULES, ACTIVE = 150, 30
OPEN = 300  # entitlements that one assignment replaces
PASSES, LEDGER, REWARDS, HOOKS, READERS = 2000, 2000, 300, 60, 200
CALLERS = 4
ROUNDS, DELTAS = 4, 40
TIMES = 2  # limit of the ratio in the best round; equal load gives 1
SETTLE_SECONDS = 0.2
LARGE = "x" * 900_000


def move(client, at, n):
    client.post(path_of(f"p{n % 50}", "/loyalty"), {"balance_to_add": 1}).is_empty(202)


def switch(client, at, n):
    assert client.patch(at["hook"], {"active": n % 2 == 0}).status == 200


def patch(client, at, n):
    assert client.patch(path_of("large"), {"hidden": {"a": LARGE + str(n % 10)}}).status == 204


def replace(client, at, n):
    """Now and then one assignment replaces all earlier ones, as do those at the beginning of a round."""
    body = {"slug": at["slug"], "replace": n < CALLERS or n % OPEN >= OPEN - CALLERS}
    assert client.post(path_of("p0", "/rewards/assign"), body).status == 201


def fields(client, at, n):
    answer = client.get("/v1/pass-templates/accepted-fields?pass_template_id=" + at["templates"][n % len(at["templates"])])
    assert answer.status == 200


def read(client, at, n):
    assert client.get(path_of("large")).status == 200


def show_page(client, at, n):
    assert client.get(at["page"], key="").status == 200


def search(client, at, n):
    assert client.get(f"/v1/passes?limit=100&q={n % 10}&sort_by=updated_at").status == 200


def move_and_search(client, at, n):
    """The list must show a change made just before it."""
    (search if n // CALLERS % 2 else move)(client, at, n)


def list_rewards(client, at, n):
    assert client.get("/v1/rewards").status == 200


def list_hooks(client, at, n):
    assert client.get("/v1/webhook-subscriptions").status == 200


def move_once(client, at, n):
    client.post(path_of(f"p{n % 50}", "/loyalty"), {"balance_to_add": 1},
                headers={"Idempotency-Key": f"{time.monotonic_ns()}-{n}"}).is_empty(202)


def delete(client, at, n):
    made = {"pass_id": f"d{time.monotonic_ns()}-{n}", "visible": {"name": "Ada"}, "hidden": {"a": LARGE},
            "pass_template_id": at["own"]}
    assert client.post("/v1/passes", made).status == 201
    client.delete(path_of(made["pass_id"])).is_empty(204)


def put_audience(client, at, n):
    at["service"].cli("audience", "put", at["account"], "--id", at["audience"], "--name", "all", *at["members"])


def announce(client, at, n):
    at["service"].cli("notification", "schedule", at["account"], "--audience", at["audience"], "--message", "m" * 2000,
                      "--at", "2020-01-01T00:00:00Z")


def show_history(client, at, n):
    assert len(at["service"].cli("pass", "history", at["account"], "p0")) > LEDGER


def export(client, at, n):
    at["service"].cli("pass", "export", at["account"], "p0")


def list_readers(client, at, n):
    assert len(at["service"].cli("reader", "list", at["account"])) == READERS


def put_template(client, at, n):
    file = {**large_template(n), "pass_template_id": at["templates"][n % len(at["templates"])]}
    at["service"].cli("template", "put", at["account"], "-", stdin=json.dumps(file))


OVER_HTTP = [switch, patch, replace, fields, read, show_page, search, move_and_search, list_rewards, list_hooks, move_once,
             delete]
COMMANDS = [put_audience, announce, show_history, export, list_readers, put_template]


def keep_at(what, address, key, at, number, stop, begun):
    commands.cache_clear()  # this process needs its own command runner
    client = Client(address, key)
    n = number
    while not stop.is_set():
        what(client, at, n)
        n += CALLERS
        begun.release()


class Beside:
    """Clients in their own processes, so that they do not delay the measuring one. Operator commands run one after
    another."""

    def __init__(self, what, shop, at):
        count = 1 if what in COMMANDS else CALLERS
        context = multiprocessing.get_context("fork")
        self.stop, begun = context.Event(), context.Semaphore(0)
        arguments = (what, shop.service.http, shop.key, at)
        self.callers = [context.Process(target=keep_at, args=(*arguments, number, self.stop, begun), daemon=True)
                        for number in range(count)]
        for caller in self.callers:
            caller.start()
        for _ in self.callers:
            assert begun.acquire(timeout=30), "no request was answered"
        time.sleep(SETTLE_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        for caller in self.callers:
            caller.join(30)
        assert all(caller.exitcode == 0 for caller in self.callers), "a client failed"


def median_delta(shop):
    took = []
    for _ in range(DELTAS):
        begun = time.perf_counter()
        shop.add("q", 1)
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def large_template(number):
    return template_file("none", name=f"{number}" + "n" * 150, name_field=None, fields=[
        {"key": f"k{field}" + "k" * 20, "type": "text", "label": "l" * 180} for field in range(FIELDS)])


def fill(shop):
    """Fills the account up to its limits, or with enough rows to be noticed where the limit is high."""
    file = shop.service.home / "members.jsonl"
    file.write_text("".join(json.dumps({"pass_id": f"i{number}", "visible": {"name": f"Ada {number}"}}) + "\n"
                            for number in range(PASSES)))
    assert shop.service.cli("pass", "import", shop.account, file)["created"] == PASSES
    for _ in range(LEDGER):
        shop.add("p0", 1)
    for _ in range(REWARDS):
        offer(shop, description="d" * 2000)
    for number in range(HOOKS):
        hook = subscribe(shop, url=f"https://example.com/{number}/" + "u" * 1500)["id"]
        assert shop.client.patch("/v1/webhook-subscriptions/" + hook, {"active": False}).status == 200
    for number in range(READERS):
        shop.service.cli("reader", "put", shop.account, "--id", f"reader-{number}", "--name", f"Till {number}" + "t" * 150)
    members = [word for number in range(PASSES) for word in ("--pass", f"i{number}")]
    audience = shop.service.cli("audience", "put", shop.account, "--name", "all", *members)["audience_id"]
    return {"service": shop.service, "account": shop.account, "members": members, "audience": audience}


@pytest.fixture(scope="module")
def shops(module_services):
    service = module_services(shards=1)
    large = Shop(service, functions=("--webhooks", "--rewards"))
    small = Shop(service)
    small.create("first")
    small.create("q")
    for number in range(50):
        large.create(f"p{number}")
    shown = large.create("large", hidden={"a": LARGE})
    at = {**fill(large), "page": "/p/" + shown["download_url"].rsplit("/", 1)[1], "own": large.templates["balance"]}
    at |= {"templates": [large.put_template(large_template(number)) for number in range(TEMPLATES)],
          "hook": "/v1/webhook-subscriptions/" + subscribe(large)["id"],
          "slug": offer(large, repeat_assignment=True)["slug"]}
    yield large, small, at
    large.close()
    small.close()


def expect_no_slower(shops, what):
    large, small, at = shops
    ratios = []
    for _ in range(ROUNDS):
        with Beside(move, large, at):
            beside_light = median_delta(small)
        with Beside(what, large, at):
            ratios.append(median_delta(small) / beside_light)
        if ratios[-1] <= TIMES:
            return
    raise AssertionError(f"{what.__name__}: {ratios} times as long")


@pytest.mark.parametrize("what", OVER_HTTP + COMMANDS)
def test_heavy_requests_of_one_account_do_not_slow_down_another(shops, what):
    expect_no_slower(shops, what)


def median_list(shop):
    took = []
    for _ in range(DELTAS):
        begun = time.perf_counter()
        assert len(shop.list("?limit=1&offset=1")[0]) == 1
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def test_a_list_is_not_slowed_down_by_templates_that_it_does_not_show(shops):
    large, small, _ = shops
    ratios = []
    for _ in range(ROUNDS):
        beside_few = median_list(small)
        ratios.append(median_list(large) / beside_few)
        if ratios[-1] <= TIMES:
            return
    raise AssertionError(f"{ratios} times as long")


@pytest.fixture(scope="module")
def ruled(shops):
    """A shop with many long inactive rules, and active rules that every change is checked against."""
    large, small, _ = shops
    shop = Shop(large.service, functions=("--webhooks",))
    for number in range(50):
        shop.create(f"p{number}")
    for number in range(RULES):
        put_rule(shop, "pass.balanceUpdate", {"type": "send_notification", "message": "m" * 1900}, active=False,
                 name=f"r{number}")
    for number in range(ACTIVE):
        put_rule(shop, "pass.balanceUpdate", conditions={"min_balance": 10**9 + number})
    yield shop, small, {"hook": "/v1/webhook-subscriptions/" + subscribe(shop)["id"]}
    shop.close()


def move_and_switch(client, at, n):
    (move if n // CALLERS % 2 else switch)(client, at, n // 2)


def test_rules_of_one_account_do_not_slow_down_another(ruled):
    expect_no_slower(ruled, move_and_switch)
