"""A disk that fills up under load: writes are refused with 507, other requests succeed, and nothing acknowledged is
lost.

The operator's guide documents the thresholds: with less than 96 MiB free only deletions are accepted. On a full disk
deletions use reserved space.
"""
import os
import signal

import pytest
from backlog import DELTA, Backlog
from crowd import DECIDED, Crowd
from deliveries import options
from disk import MIB, Ballast, Disk, NotPermitted
from harness import wait_for
from hooks import hook_path, subscribe
from rewards import offer, reward_path
from rules import delete_rule, put_rule
from scans import list_scans, scan
from shop import Shop, path_of, template_file

pytestmark = pytest.mark.plain

DISK_MIB = 288
FILE_MIB = 192  # the least that a start accepts
BETWEEN_THE_FLOORS = 60 * MIB
DELIVERIES = 1000


@pytest.fixture
def disks():
    """Mounts disks. Unmounts them when their services have ended."""
    mounted = []

    def mount(kind, at):
        disk = Disk(kind, at, DISK_MIB)
        mounted.append(disk)
        try:
            return disk.mount()
        except NotPermitted as error:
            pytest.skip(f"cannot mount a file system: {error}")

    yield mount
    for disk in mounted:
        disk.unmount()


def test_a_limit_of_file_sizes_is_like_a_full_disk(new_service):
    """The tables are one file (`ulimit -f`)."""
    service = new_service(start=False, shards=1)
    command = ["bash", "-c", f'ulimit -f {FILE_MIB * 1024}; exec "$@"', "serve", *service.command()]
    service.start(command=command)
    shop = Shop(service, ("balance",))
    body = {"visible": {"name": "A"}, "hidden": {"text": "x" * 900_000}}

    def create(number):
        return shop.client.post("/v1/passes", {"pass_id": f"p{number}", **body})

    created = next(number for number in range(FILE_MIB) if create(number).status == 507)
    assert created > 8
    writes_are_refused(shop, "p0")
    assert shop.client.delete(path_of("p0")).status == 204
    shop.client.close()
    assert service.stop() == 0
    service.start(command=command)
    shop.client.address = service.http
    writes_are_refused(shop, "p1")
    assert shop.get("p1")["hidden"] == body["hidden"]
    shop.client.get(path_of("p0")).is_error(404, "RESOURCE_NOT_FOUND")
    shop.close()


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.slow)])
def on_small_disk(request, disks, new_service):
    """(service, disk). The service is not started."""
    service = new_service(start=False, shards=1)
    if request.param == "tmpfs":
        service.expect_log("level=warn .*event=file_system kind=tmpfs")
    return service, disks(request.param, service.data)


def pids(service):
    return {(one["role"], one["index"]): one["pid"] for one in service.status()["processes"]}


def reads_answer(crowd):
    for book in crowd.books:
        shop = book.shop
        _, total, _ = shop.list("?limit=1")
        assert total > 0
        shop.get(book.usable[0])


def writes_are_refused(shop, pass_id):
    shop.try_add(pass_id, 1).is_error(507, "STORAGE_FULL")
    shop.client.post("/v1/passes", {"pass_id": "more", "visible": {"name": "A"}}).is_error(507, "STORAGE_FULL")
    shop.client.patch(path_of(pass_id), {"hidden": {"a": 1}}).is_error(507, "STORAGE_FULL")


def add_once(shop, pass_id, key):
    return shop.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 0}, headers={"Idempotency-Key": key})


def what_was_done_is_answered_again(shop, pass_id):
    """A full disk accepts no new requests, but a request repeated with its idempotency key gets its first answer."""
    again = add_once(shop, pass_id, "kept")
    assert (again.status, again.headers.get("idempotency-replayed")) == (202, "true"), again
    add_once(shop, pass_id, "new").is_error(507, "STORAGE_FULL")


def shuts_off(service, shop, pass_id):
    """Creates an API key and a card, and returns a function that revokes and unlinks them. Both must work on a full
    disk."""
    key = service.cli("key", "create", shop.account)
    card = service.cli("card", "link", shop.account, "--pass", pass_id, "--code", key["key_id"])

    def now():
        with service.client(key["api_key"]) as client:
            assert client.get(path_of(pass_id)).status == 200
            service.cli("key", "revoke", shop.account, key["key_id"])
            client.get(path_of(pass_id)).is_error(401, "UNAUTHENTICATED")
            client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 1}).is_error(401, "UNAUTHENTICATED")
        service.cli("card", "unlink", shop.account, card["id"])
        shop.set("--suspended", "on")
        shop.client.get(path_of(pass_id)).is_error(402, "ACCOUNT_SUSPENDED")
        shop.try_add(pass_id, 1).is_error(402, "ACCOUNT_SUSPENDED")
        shop.set("--suspended", "off")
    return now


def test_a_disk_filled_to_the_last_byte_under_load(on_small_disk):
    service, disk = on_small_disk
    service.start()
    with Crowd(service) as crowd:
        ballast = Ballast(Shop(service, ("balance",)))
        for _ in range(5):
            assert ballast.try_create().status == 201
        crowd.await_deltas()
        assert add_once(ballast.shop, ballast.kept[0], "kept").status == 202
        before = pids(service)
        for _ in range(2):
            shut_off = shuts_off(service, ballast.shop, ballast.kept[0])
            disk.fill()
            crowd.await_answers(507, 100)
            assert disk.free_bytes() < MIB
            shut_off()
            writes_are_refused(crowd.books[0].shop, crowd.books[0].usable[0])
            what_was_done_is_answered_again(ballast.shop, ballast.kept[0])
            ballast.delete_one()  # uses the reserved space
            reads_answer(crowd)
            crowd.look()
            crowd.work()
            disk.drain()
            crowd.await_deltas()
        assert pids(service) == before, "no process died"
        ballast.look()
        crowd.look_settled()


class Disposable:
    """One of everything that can be deleted, except passes, which Ballast has."""

    def __init__(self, service):
        self.shop = shop = Shop(service, ("balance",), functions=("--webhooks",))
        self.reward, self.hook, self.rule = offer(shop)["slug"], subscribe(shop)["id"], put_rule(shop)
        pass_id = shop.create()["id"]
        self.scan = scan(shop, pass_id)["id"]
        self.template = shop.put_template(template_file("none"))
        self.notification = shop.service.cli("notification", "schedule", shop.account, "--pass", pass_id, "--message", "x",
                                             "--at", "2100-01-01T00:00:00Z")["id"]
        shop.service.cli("reader", "put", shop.account, "--id", "till", "--name", "Till")
        self.audience = shop.service.cli("audience", "put", shop.account, "--name", "x", "--pass", pass_id)["audience_id"]

    def delete(self):
        self.shop.client.delete(reward_path(self.reward)).is_empty(204)
        self.shop.client.delete(hook_path(self.hook)).is_empty(204)
        delete_rule(self.shop, self.rule)
        assert self.shop.service.cli("notification", "cancel", self.shop.account, self.notification) == {}
        for noun, thing in (("scan", self.scan), ("audience", self.audience), ("reader", "till"), ("template", self.template)):
            assert self.shop.service.cli(noun, "delete", self.shop.account, thing) == {}
        assert list_scans(self.shop)[0] == []


def test_deletions_succeed_below_the_threshold(on_small_disk):
    service, disk = on_small_disk
    service.start()
    with Crowd(service) as crowd:
        ballast, disposable = Ballast(Shop(service, ("balance",))), Disposable(service)
        for _ in range(4):
            assert ballast.try_create().status == 201
        crowd.await_deltas()
        disk.fill(leave=BETWEEN_THE_FLOORS)
        crowd.await_answers(507, 100)
        ballast.delete_one()
        disposable.delete()
        writes_are_refused(ballast.shop, ballast.kept[0])
        disk.drain()
        crowd.await_deltas()
        ballast.look()
        crowd.look_settled()


def test_the_load_itself_fills_the_disk(on_small_disk):
    """Clients create passes until the service refuses. It can still delete them, and continues."""
    service, disk = on_small_disk
    service.start()
    with Crowd(service) as crowd:
        ballast = Ballast(Shop(service, ("balance",)))
        ballast.until_full().is_error(507, "STORAGE_FULL")
        assert disk.free_bytes() > 0
        crowd.await_answers(507, 100)
        while len(ballast.kept) > 10:
            ballast.delete_one()
        ballast.look()
        crowd.look_settled()
        assert service.stop() == 0
        service.start()
        crowd.turn_to(service)
        ballast.shop.client.address = service.http
        ballast.look()
        crowd.look(lists=True)


def test_killed_on_a_full_disk(on_small_disk):
    """On the full disk the service restarts repeatedly and serves reads. It accepts writes again when there is space."""
    service, disk = on_small_disk
    service.start()
    with Crowd(service, settle_seconds=DECIDED) as crowd:
        crowd.await_deltas()
        disk.fill()
        crowd.await_answers(507, 100)
        for _ in range(3):
            service.kill_everything()
            service.start()
            crowd.look()
            writes_are_refused(crowd.books[0].shop, crowd.books[0].usable[0])
            reads_answer(crowd)
            crowd.work()
            crowd.await_answers(507, 10)
            disk.fill()
        crowd.rest()
        disk.drain()
        wait_for(lambda: crowd.books[0].shop.try_add(crowd.books[0].usable[0], 0).status == 202, 5, "writes again")
        crowd.work()
        crowd.await_deltas()
        crowd.look_settled()


def test_stopped_on_a_full_disk(on_small_disk):
    """Like the test above, with a clean stop."""
    service, disk = on_small_disk
    service.start()
    with Crowd(service) as crowd:
        crowd.await_deltas()
        disk.fill()
        crowd.await_answers(507, 100)
        for _ in range(3):
            crowd.rest()
            assert service.stop() == 0
            service.start()
            crowd.look(lists=True)
            disk.fill()
        disk.drain()
        crowd.work()
        crowd.await_deltas()
        crowd.look_settled()


def test_killed_while_it_fills_up(on_small_disk):
    """kill -9 at the moment when the last byte is used."""
    service, disk = on_small_disk
    service.expect_log("level=warn")
    service.start()
    with Crowd(service, settle_seconds=DECIDED) as crowd:
        for _ in range(2):
            crowd.await_deltas()
            disk.fill()
            service.kill_everything()
            disk.fill()
            service.start()
            crowd.look()
            crowd.work()
            disk.drain()
        crowd.await_deltas()
        crowd.look_settled()


@pytest.mark.parametrize("leave", [BETWEEN_THE_FLOORS, 0], ids=["between the floors", "full"])
def test_deliveries_on_a_full_disk_are_sent(on_small_disk, authority, receiver, leave):
    """Pending deliveries are sent below the threshold, and all of them once there is space."""
    service, disk = on_small_disk
    service.options += options(authority)
    service.start()
    backlog = Backlog(service, {"sound": (receiver, "/status/200")})
    timer, before = backlog.pile_up(DELIVERIES), pids(service)
    disk.fill(leave)
    os.kill(timer, signal.SIGCONT)
    if leave:
        wait_for(lambda: backlog.shop.try_add("p0", DELTA).status == 507, 5, "deltas to be refused for lack of space")
        wait_for(lambda: backlog.arrivals["sound"].look() >= DELIVERIES, 20, "the pending deliveries on the full disk")
    disk.drain()
    wait_for(lambda: backlog.shop.try_add("p0", DELTA).status == 202, 20, "deltas to be accepted again")
    backlog.await_all(["sound"], 20)
    assert pids(service) == before, "no process died"
    assert service.cli("verify")["ok"] is True
    backlog.close()
