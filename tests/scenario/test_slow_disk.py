"""A disk whose syncs take seconds: requests that need it get a correct answer within a limit, others are not delayed,
memory is limited, and the service recovers without a restart.

A library preloaded before the C library blocks the syncs of one shard's journal while a file exists.
"""
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from crowd import DECIDED, Crowd
from deliveries import options
from flood import Flood
from harness import Rest, Service, wait_for
from images import Gallery, answer, await_status, body_with, png
from shop import Shop, new_id, path_of
from test_issuer import shops_on_every_shard
from test_processes import NEVER_LONGER, send_and_leave, send_delta_and_leave

pytestmark = pytest.mark.plain

FAST_SECONDS = 4.5  # answers of the other shard on a busy machine; waiting for the slow one takes 5 s and more
STALL_SECONDS = 5.0
STUCK_SECONDS = 0.5  # seconds without any answer: all clients wait for the disk
SLOW, WELL = 0, 1  # indices of the shards
GROWTH_MIB = 64  # peak of any process during the stall: the credits, and slack
MIB = 1 << 20
IMAGES, LARGE = 8, 2_000_000
A_RECORD = 256  # commands: as many as one record has at most
READY_ASKED = 8
UNHEARD_SECONDS = 2.5  # longer than the timer may be silent


class SlowService(Service):
    """`service.stall()` blocks all syncs of shard SLOW's journal, or delays each by `ms`."""

    def __init__(self, **options):
        super().__init__(**options)
        self.stalled = self.home / "stalled"
        self.preload = self.build / "tests" / "fault" / "slow.so"
        assert self.preload.exists(), "the library is built with the tests"

    def environment(self):
        # A sanitizer's library must be loaded first; the order of ours does not matter.
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {**super().environment(), "LD_PRELOAD": str(self.preload), "ASAN_OPTIONS": checks,
                "SLOW_SYNC_BELOW": f"{self.data}/shards/{SLOW}/journal/", "SLOW_SYNC_WHILE": str(self.stalled)}

    def stall(self, ms=0):
        self.stalled.write_text(str(ms or ""))

    def recover(self):
        self.stalled.unlink()


@pytest.fixture
def slow_service():
    service = SlowService(shards=2).start()
    yield service
    service.stalled.unlink(missing_ok=True)
    assert service.close() == []


def create(shop, body):
    client = shop.service.client(shop.key)
    status = client.post("/v1/passes", body).status
    client.close()
    return status


def test_images_that_have_come_wait_for_a_slow_disk(authority, chain):
    """Eight of the largest, of one account: their parts share records. They are stored before the shard asks for them again."""
    service = SlowService(shards=1, options=options(authority)).start()
    shop = Shop(service)
    with Gallery(chain) as gallery:
        for number in range(IMAGES):
            gallery.answers[f"/{number}"] = answer(200, png(text=str(number).encode() + b"." * LARGE))
        service.stall(100)
        with ThreadPoolExecutor(IMAGES) as pool:
            made = pool.map(lambda number: create(shop, body_with(gallery.url(f"/{number}"), pass_id=f"p{number}")),
                            range(IMAGES))
            assert set(made) <= {201, 202}
        for number in range(IMAGES):
            await_status(shop, f"p{number}", "issued", 30)
        assert len(gallery.requests) == IMAGES, "each was fetched once"
    service.recover()
    shop.close()
    assert service.close() == []


def memory_of(service):
    """Resident bytes of each process."""
    shown = {}
    for one in service.status()["processes"]:
        for line in Path(f"/proc/{one['pid']}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                shown[one["role"], one["index"]] = int(line.split()[1]) * 1024
    return shown


@pytest.mark.slow
def test_one_stall_of_five_seconds(slow_service):
    """The stall is shorter than any deadline, so all requests wait and succeed."""
    with Crowd(slow_service) as crowd:
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        crowd.forget_counts()
        slow_service.stall()
        begin = time.monotonic()
        wait_for(lambda: time.monotonic() - begin > STALL_SECONDS, STALL_SECONDS + 1, "the clients to wait for the disk")
        slow_service.recover()
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        assert crowd.count(202, crowd.by_shard[WELL]) > 100
        assert crowd.slowest[crowd.by_shard[WELL]] < FAST_SECONDS
        assert STALL_SECONDS - 1 < crowd.slowest[crowd.by_shard[SLOW]] < NEVER_LONGER
        crowd.look_settled()


def test_a_stall_longer_than_the_deadlines(slow_service):
    """Writes get 504, and reads queued behind them 503. Once the disk works, requests succeed without a restart."""
    service = slow_service
    with Crowd(service) as crowd:
        for book in crowd.by_shard.values():
            crowd.await_deltas(book=book)
        before = {(one["role"], one["index"]): one["pid"] for one in service.status()["processes"]}
        service.stall()
        crowd.forget_counts()
        crowd.await_silence(crowd.by_shard[SLOW], STUCK_SECONDS)
        shop, pass_id = crowd.by_shard[SLOW].shop, crowd.by_shard[SLOW].usable[0]
        read = send_and_leave(shop, "GET", path_of(pass_id))
        listed = send_and_leave(shop, "GET", "/v1/passes?limit=1")
        for client in (read, listed):
            answer = client.receive()
            answer.is_error(503, "SHARD_UNAVAILABLE")
            assert answer.headers["retry-after"] == "1" and answer.seconds < NEVER_LONGER
            client.close()
        crowd.await_answers(504, 2, crowd.by_shard[SLOW], NEVER_LONGER)
        assert crowd.count(202, crowd.by_shard[SLOW]) + crowd.count(201, crowd.by_shard[SLOW]) <= len(crowd.workers)
        wait_for(lambda: crowd.count(202, crowd.by_shard[WELL]) > 100, 5, "answers of the other shard")
        assert crowd.slowest[crowd.by_shard[WELL]] < FAST_SECONDS
        service.recover()
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        assert crowd.slowest[crowd.by_shard[SLOW]] < NEVER_LONGER
        assert {(one["role"], one["index"]): one["pid"] for one in service.status()["processes"]} == before
        crowd.look_settled()


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_requests_beyond_the_queue_are_refused_at_once(slow_service, rounds):
    """Floods the stalled shard. Its queue is limited, other requests get 503 at once, memory stays low, and clients of
    the other shard are not delayed."""
    service = slow_service
    with Crowd(service) as crowd:
        crowd.await_answers(201, 400, crowd.by_shard[SLOW], 60)
        crowd.rest()
        slow = crowd.by_shard[SLOW]
        crowd.workers = [worker for worker in crowd.workers if worker.book is not slow] + []
        with Flood(slow, service.http, 2600, 400) as flood:
            wait_for(lambda: flood.statuses[202] > 3000, 60, "the flood to run")
            assert flood.statuses[504] == 0
            before = memory_of(service)
            crowd.forget_counts()
            crowd.work()
            service.stall()
            wait_for(lambda: flood.statuses[503] > 1000, 5, "refusals")
            wait_for(lambda: flood.statuses[504] > 2000 * rounds, (1 + rounds) * NEVER_LONGER, "all deadlines to pass")
            after = memory_of(service)
            grown = {who: (after[who] - before[who]) // MIB for who in before}
            assert max(grown.values()) < GROWTH_MIB, grown
            assert crowd.slowest[crowd.by_shard[WELL]] < FAST_SECONDS
            crowd.rest()
            service.recover()
            applied = flood.statuses[202]
            wait_for(lambda: flood.statuses[202] > applied + 1500, 20, "the flood to run again")
        assert flood.wrong == []
        assert flood.slowest[503] < NEVER_LONGER and flood.slowest[504] < NEVER_LONGER
        crowd.look_settled()


def shop_on_a_hanging_disk(service):
    """A shop of the slow shard with a pass. A thread of the shard syncs, since syncs were slow; from now on they hang."""
    shop = shops_on_every_shard(service)[SLOW]
    pass_id = shop.create()["id"]
    service.stall(ms=30)
    for _ in range(10):
        shop.add(pass_id, 1)
    service.stall()
    return shop, pass_id


def test_a_shard_that_waits_for_the_disk_leaves_the_processor_to_others(slow_service):
    """More requests wait than a record takes."""
    service, pid = slow_service, slow_service.pid_of("shard", SLOW)
    shop, pass_id = shop_on_a_hanging_disk(service)
    with ExitStack() as stack:
        for _ in range(A_RECORD + 50):
            client = stack.enter_context(closing(service.client(shop.key)))
            client.send("POST", path_of(pass_id, "/loyalty"), {"balance_to_add": 1})
        stack.enter_context(closing(send_and_leave(shop, "GET", path_of(pass_id))))
        with Rest(pid, 1):
            pass
    service.recover()


def test_heartbeats_that_lay_unread_do_not_count_as_silence_of_the_timer(slow_service):
    """The shard has no room while the disk hangs, so it reads nothing. What it decides afterwards, before it reads a heartbeat,
    may be creations: the rest of a frame that came with many requests."""
    service, shard = slow_service, slow_service.pid_of("shard", SLOW)
    shop, pass_id = shop_on_a_hanging_disk(service)
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(service.client(shop.key))) for _ in range(A_RECORD + 100)]
        http = service.signal("http", 0, signal.SIGSTOP)
        for number, client in enumerate(clients):
            if number % 4:
                client.send("POST", path_of(pass_id, "/loyalty"), {"balance_to_add": 1})
            else:
                client.send("POST", "/v1/passes", {"pass_id": new_id(), "visible": {"name": "Ada"}})
        os.kill(http, signal.SIGCONT)
        with Rest(shard, UNHEARD_SECONDS):
            pass
        service.recover()
        assert {client.receive().status for client in clients} == {201, 202}


def test_a_shard_with_a_slow_disk_is_ready(slow_service):
    """Every sync takes 400 ms. A load balancer that asks takes no instance out of service."""
    service = slow_service
    with Crowd(service) as crowd, service.admin() as admin:
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        service.stall(ms=400)
        for _ in range(READY_ASKED):
            crowd.await_answers(202, 1, crowd.by_shard[SLOW], 20)
            assert (answer := admin.get("/readyz")).status == 200, answer.json
        service.recover()
        crowd.look_settled()


@pytest.mark.slow
def test_a_disk_that_stays_slow(slow_service):
    """Every sync takes 300 ms. Requests are slower, but none fails."""
    service = slow_service
    with Crowd(service) as crowd:
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        crowd.forget_counts()
        service.stall(ms=300)
        crowd.await_answers(202, 10, crowd.by_shard[SLOW], 20)
        assert crowd.count(503) + crowd.count(504) == 0
        assert crowd.slowest[crowd.by_shard[WELL]] < FAST_SECONDS
        service.recover()
        crowd.look_settled()


def test_a_kill_while_the_disk_hangs(slow_service):
    """Writes waiting for the disk were not acknowledged, so they may be lost. Everything else must be present."""
    service = slow_service
    with Crowd(service, settle_seconds=DECIDED) as crowd:
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        service.stall()
        crowd.await_answers(504, 2, crowd.by_shard[SLOW], NEVER_LONGER)
        service.kill_everything()
        service.recover()
        service.start()
        crowd.await_deltas(book=crowd.by_shard[SLOW])
        crowd.look_settled()


@pytest.mark.slow
def test_a_stop_has_a_time_limit_while_the_disk_hangs(slow_service):
    service = slow_service
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    for shop, pass_id in zip(shops, ids, strict=True):
        shop.add(pass_id, 1)
    service.stall()
    client = send_delta_and_leave(shops[SLOW], ids[SLOW], 2)
    service.expect_log("killed child=shard-0|died child=shard-0")
    service.stop()
    client.close()
    service.recover()
    service.start()
    for index, (shop, pass_id) in enumerate(zip(shops, ids, strict=True)):
        with service.client(shop.key) as reader:
            assert reader.get(path_of(pass_id)).json["balance"] in ((1, 3) if index == SLOW else (1,))
        shop.close()
