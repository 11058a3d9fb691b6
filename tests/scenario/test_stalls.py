"""Processes that are stopped or killed and a disk that hangs, in random order. Afterwards everything works again within
a limit, and stale messages of dead processes are ignored.

The steps are drawn from a seed, which is printed; STAMPEDE_SEED repeats it.
"""
import os
import random
import signal
import time

import pytest
from deliveries import CREATED, options
from durability import chosen_seed
from harness import READY_SECONDS, kill_quietly, wait_for
from hooks import subscribe
from shop import Shop, new_id
from test_processes import NEVER_LONGER
from test_slow_disk import SLOW, SlowService

pytestmark = pytest.mark.plain

STEPS = int(os.environ.get("STAMPEDE_STEPS", "8"))
REST_SECONDS = (0.05, 0.3, 1.0, 2.5)  # seconds between two steps: shorter than the timer's heartbeat up to longer than its timeout
WHOLE_SECONDS = 20


@pytest.fixture
def hanging(authority):
    """A service of two shards, one of which has a disk that can hang."""
    service = SlowService(shards=2, options=options(authority))
    service.expect_log("level=warn")
    service.start()
    yield service
    service.stalled.unlink(missing_ok=True)
    assert service.close() == []


def shop_on(service, shard):
    """Creates a shop with webhooks on that shard."""
    while True:
        before = [one["accounts"] for one in service.status()["shards"]]
        shop = Shop(service, ("none",), functions=("--webhooks",))
        after = [one["accounts"] for one in service.status()["shards"]]
        if after[shard] > before[shard]:
            return shop
        shop.close()


def create_alone(shop):
    """Creates a pass over its own connection, because http may have died meanwhile. Returns None without an answer."""
    with shop.service.client(shop.key) as client:
        try:
            answer = client.post("/v1/passes", {"pass_id": new_id("stall"), "visible": {"name": "Ada"}})
        except OSError:
            return None
    assert answer.seconds < NEVER_LONGER, answer
    assert answer.status in (201, 502, 503, 504), answer
    return answer


class Trouble:
    """The steps, and how to undo them. The supervisor restarts killed processes. Pids are read from /proc, since a
    stopped supervisor cannot report them."""

    def __init__(self, service, rng):
        self.service, self.rng = service, rng
        self.still = set()

    def pids(self, role):
        found = []
        for pid in self.service.processes_alive():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[1:3] == [b"actor", role.encode()]:
                found.append(pid)
        return found

    def one_of(self, role):
        if role == "supervisor":
            return self.service.process.pid
        pids = self.pids(role)
        return self.rng.choice(sorted(pids)) if pids else None

    def stop(self, role):
        pid = self.one_of(role)
        if pid:
            os.kill(pid, signal.SIGSTOP)
            self.still.add(pid)

    def go_on(self):
        for pid in self.still:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.still.clear()

    def kill(self, role):
        pid = self.one_of(role)
        if pid:
            kill_quietly(pid)

    def step(self):
        role = self.rng.choice(("timer", "timer", "shard", "http"))
        what = self.rng.choice(("stop", "stop", "kill", "kill", "go on", "disk", "disk", "supervisor"))
        if what == "stop":
            self.stop(role)
        elif what == "kill":
            self.kill(role)
        elif what == "go on":
            self.go_on()
        elif what == "supervisor":
            self.stop("supervisor")
        elif self.service.stalled.exists():
            self.service.recover()
        else:
            self.service.stall()
        return what, role

    def heal(self):
        self.go_on()
        if self.service.stalled.exists():
            self.service.recover()


def is_whole(shops, receiver, hooks):
    """/readyz says ready, and rightly: creations succeed and their events are sent."""
    service = shops[0].service
    wait_for(service.is_ready, WHOLE_SECONDS, "/readyz")
    for shop, path in zip(shops, hooks, strict=True):
        before = len(receiver.to[path])
        wait_for(lambda shop=shop: (made := create_alone(shop)) and made.status == 201, WHOLE_SECONDS, "a creation")
        wait_for(lambda path=path, before=before: len(receiver.to[path]) > before, WHOLE_SECONDS, "its delivery")
        with service.client(shop.key) as client:
            assert wait_for(lambda client=client: client.get("/v1/passes").status == 200, WHOLE_SECONDS, "a list")
    assert service.is_ready()


def test_any_stalls_and_deaths(hanging, receiver):
    seed = chosen_seed()
    print(f"stalls: seed={seed}", flush=True)
    rng = random.Random(f"{seed}/stalls")
    trouble = Trouble(hanging, rng)
    shops = [shop_on(hanging, shard) for shard in range(2)]
    hooks = [f"/status/200/{shard}" for shard in range(2)]
    for shop, path in zip(shops, hooks, strict=True):
        subscribe(shop, receiver.url(path), [CREATED])
    try:
        is_whole(shops, receiver, hooks)
        for _ in range(STEPS):
            print("stalls:", *trouble.step(), flush=True)
            time.sleep(rng.choice(REST_SECONDS))
    finally:
        trouble.heal()
    is_whole(shops, receiver, hooks)
    for shop in shops:
        shop.close()


@pytest.mark.parametrize("lives", [(0.05, 0.05), (1.0, 0.3), (4.0, 0.9), (2.5, 4.0)])
def test_timers_that_die_while_the_disk_hangs(hanging, receiver, lives):
    """The shard's socket holds HELLOs, calls and queries of the dead timers beside those of the running one, and may
    read them last. A timer that ran for longer has sent more."""
    shop = shop_on(hanging, SLOW)
    subscribe(shop, receiver.url("/status/200"), [CREATED])
    is_whole([shop], receiver, ["/status/200"])
    trouble = Trouble(hanging, random.Random(1))
    hanging.stall()
    try:
        answer = create_alone(shop)  # its record is the one that waits for the disk
        assert answer is None or answer.status in (503, 504), answer
        assert not hanging.is_ready()
        for seconds in lives:
            old = trouble.pids("timer")
            trouble.kill("timer")
            wait_for(lambda old=old: set(trouble.pids("timer")) - set(old), READY_SECONDS, "the next timer process")
            time.sleep(seconds)
    finally:
        trouble.heal()
    is_whole([shop], receiver, ["/status/200"])
    shop.close()
