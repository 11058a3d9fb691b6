"""Deliveries across kills: each event arrives at least once, no event is sent for a change that does not exist, and no
delivery has an eighth attempt."""
import os
import signal
import time

import pytest
from backlog import Backlog
from clocks import DAY_SECONDS
from deliveries import (ATTEMPTS_MAX, BALANCE, CREATED, Witness, advance, await_that, deliveries_of, event_id, hooked_shop, now, options,
                        posts_to, the_delivery, time_of, until)
from harness import READY_SECONDS, wait_for
from hooks import subscribe
from receiver import Receiver

pytestmark = pytest.mark.plain

DELTAS = int(os.environ.get("STAMPEDE_DELTAS", "5000"))  # each is sent to two subscriptions
RATE_BESIDE = 500
ALL_SECONDS = 60 + DELTAS // 50
LEASE_SECONDS = 25  # seconds until an attempt without a report counts as failed


@pytest.fixture
def ticking(new_service, authority):
    service = new_service(shards=1, options=options(authority, "--test-clock"))
    service.expect_log("level=warn")
    return service


def kill(service, target):
    """Kills the process. Returns when the service is ready again."""
    if target in ("timer", "shard"):
        service.kill_child(target)
        return
    if target == "all":
        service.kill_everything()
    else:
        service.kill()
    service.start()


def kill_beside(backlog, target):
    """Kills while deltas are sent; some of these fail or have an unknown result."""
    before = sum(backlog.accepted().values())
    with backlog.deltas_beside(RATE_BESIDE):
        wait_for(lambda: sum(backlog.accepted().values()) > before, READY_SECONDS, "deltas beside")
        kill(backlog.service, target)
    backlog.restarted()


class Hurry:
    """Deliveries that failed because of a kill are due half a minute later. Moves the clock when nothing has arrived
    for a second."""

    def __init__(self, backlog):
        self.backlog, self.came, self.since = backlog, 0, time.monotonic()

    def look(self):
        came = sum(one.look() for one in self.backlog.arrivals.values())
        if came != self.came:
            self.came, self.since = came, time.monotonic()
        elif time.monotonic() - self.since > 1:
            advance(self.backlog.service, 30)
            self.since = time.monotonic()


def is_all_written(backlog):
    """True if no delivery is pending. A delivery whose answer was lost by a kill is sent once more first."""
    return not [row for row in deliveries_of(backlog.shop) if row["outcome"] == "pending"]


@pytest.mark.plain
def test_every_pending_delivery_arrives_across_kills(ticking, chain):
    """Kills every process while thousands of deliveries are pending, in progress or just answered."""
    with Receiver(chain) as quick, Receiver(chain) as slow:
        backlog = Backlog(ticking, {"quick": (quick, "/status/200"), "slow": (slow, "/slow/30/200")})
        timer, arrivals = backlog.pile_up(DELTAS), backlog.arrivals["quick"]
        assert arrivals.look() == 0
        os.kill(timer, signal.SIGCONT)
        targets = ["timer", "shard", "all", "supervisor", "shard", "timer"]
        for turn, target in enumerate(targets):
            share = DELTAS * (turn + 1) // (len(targets) + 2)
            wait_for(lambda share=share: arrivals.look() >= share, ALL_SECONDS, f"{share} events before the kill of {target}")
            kill_beside(backlog, target)
        hurry = Hurry(backlog)
        assert backlog.await_all(["quick", "slow"], ALL_SECONDS, hurry.look) >= DELTAS
        await_that(lambda: hurry.look() or is_all_written(backlog), "all results to be stored", ALL_SECONDS)
        for one in backlog.arrivals.values():
            one.look()
            assert max(one.times.values()) <= ATTEMPTS_MAX
        assert set(backlog.arrivals["quick"].times) == set(backlog.arrivals["slow"].times)
        assert ticking.cli("verify")["ok"] is True
        backlog.close()


def test_kills_never_cause_an_eighth_attempt(ticking, receiver):
    """At every attempt a process is killed while the endpoint holds the request. A kill may use up an attempt but never
    adds one."""
    shop, path = hooked_shop(ticking), "/held/500"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    witness = Witness(ticking, receiver)
    shop.create()
    posts_to(receiver, path, 1)
    for target in ("timer", "shard", "all", "timer", "supervisor", "timer", "all", "shard", "timer"):
        seen = len(receiver.to[path])
        kill(ticking, target)
        shop.client.address = witness.shop.client.address = ticking.http
        receiver.release()
        if not goes_on(shop, hook, receiver.to[path], seen):
            break
    assert 2 <= len(receiver.to[path]) <= ATTEMPTS_MAX and len({event_id(one) for one in receiver.to[path]}) == 1
    receiver.release()
    row = until(shop, hook, outcome="failed")
    assert row["attempts"] == ATTEMPTS_MAX
    for _ in range(2):
        advance(ticking, 2 * DAY_SECONDS)
        witness.look()
    assert len(receiver.to[path]) <= ATTEMPTS_MAX and the_delivery(shop, hook) == row
    assert ticking.cli("verify")["ok"] is True
    shop.close()
    witness.close()


def goes_on(shop, hook, posts, seen):
    """Waits for another attempt or for the end of the delivery; true for an attempt. Moves the clock when the delivery
    waits."""
    def moved():
        if len(posts) > seen:
            return "post"
        row = the_delivery(shop, hook)
        if row["outcome"] != "pending":
            return row["outcome"]
        if row["last_status"] or time_of(row["next_due_at"]) > now(shop.service):
            advance(shop.service, DAY_SECONDS)
        return None

    return wait_for(moved, READY_SECONDS + LEASE_SECONDS, f"an attempt after the first {seen}") == "post"


def test_an_answer_during_a_restart_of_the_shard_counts(ticking, receiver):
    shop, path = hooked_shop(ticking), "/held/200/shard"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    shop.create()
    posts_to(receiver, path, 1)
    old = ticking.signal("shard", 0, signal.SIGKILL)
    receiver.release()
    ticking.await_successor("shard", 0, old)
    shop.client.address = ticking.http

    def delivered():
        receiver.release()  # another attempt would be held too
        return the_delivery(shop, hook)["outcome"] == "delivered"

    await_that(delivered, "the result to be stored", READY_SECONDS)
    assert len({event_id(one) for one in receiver.to[path]}) == 1
    shop.close()


def test_a_stopped_timer_loses_nothing(ticking, receiver):
    shop, path = hooked_shop(ticking), "/status/200/stopped"
    hook = subscribe(shop, receiver.url(path), [BALANCE])
    pass_id = shop.create()["id"]
    pid = ticking.signal("timer", 0, signal.SIGSTOP)
    for _ in range(20):
        shop.add(pass_id, 1)
    assert {(row["outcome"], row["attempts"]) for row in deliveries_of(shop, hook)} <= {("pending", 0), ("pending", 1)}
    assert receiver.to[path] == []
    os.kill(pid, signal.SIGCONT)
    await_that(lambda: len(receiver.to[path]) >= 20, "all pending deliveries", READY_SECONDS)
    await_that(lambda: {row["outcome"] for row in deliveries_of(shop, hook)} == {"delivered"}, "all results to be stored")
    assert len({event_id(one) for one in receiver.to[path]}) == 20
    shop.close()
