"""Endpoints that are dead, or have thousands of pending events, delay no other deliveries."""
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from backlog import DELTA, Backlog
from deliveries import (BALANCE, CREATED, PROMPT_SECONDS, SOON_SECONDS, Witness, advance, await_that, deliveries_of, hooked_shop, options,
                        posts_to)
from hooks import change, subscribe
from receiver import Mute, Receiver

WAITING = 5000  # more than the timer holds at once
AT_ONCE = 3000
DISCARDED = 1500
DEAD = int(os.environ.get("STAMPEDE_DEAD_ENDPOINTS", "600"))  # ten thousand take some minutes, mostly to create
DEAD_EVENTS = 8  # for each endpoint; in total more than the timer sends at once
QUICK = 50
HANGING = 200  # for each of three subscriptions
ENDPOINT_MAX = 64  # attempts of one account at one host and port
ACTIVE_MAX = 5  # subscriptions of one account

pytestmark = pytest.mark.plain


@pytest.fixture
def delivering(new_service, authority):
    return new_service(shards=1, options=options(authority))


def test_thousands_of_events_for_a_hanging_endpoint_delay_no_other_delivery(delivering, chain, receiver):
    """Deliveries of other accounts, and of the same account's other subscription, are as quick as before."""
    with Receiver(chain) as hanging:
        backlog = Backlog(delivering, {"hangs": (hanging, "/hang"), "sound": (receiver, "/status/200/sound")})
        witness = Witness(delivering, receiver)
        backlog.deltas(WAITING)
        for _ in range(5):
            witness.look()
        assert backlog.await_all(["sound"], SOON_SECONDS + WAITING // 100) == WAITING
        for _ in range(5):
            witness.look()
        assert len(hanging.to["/hang"]) < WAITING // 4, "the hanging endpoint got too many requests"
        backlog.close()
        witness.close()


def test_one_accounts_hanging_requests_delay_no_other_account_at_the_host(delivering, receiver):
    """Several accounts use the same host, which answers quickly. Then it hangs for one of them, which has more
    deliveries than its limit."""
    ways = ["/one", "/two", "/three"]
    for way in ways:
        receiver.answers[way] = "/status/200"
    backlog, witness = Backlog(delivering, {way: (receiver, way) for way in ways}), Witness(delivering, receiver)
    backlog.deltas(QUICK)
    backlog.await_all(ways, SOON_SECONDS)
    witness.look()
    for way in ways:
        receiver.answers[way] = "/hang"
    backlog.deltas(HANGING)
    await_that(lambda: sum(len(receiver.to[way]) for way in ways) >= QUICK * len(ways) + ENDPOINT_MAX, "the account's limit at the host to be reached")
    for _ in range(5):
        witness.look()
    backlog.close()
    witness.close()


def make_dead(service, mute, number):
    """An account with five endpoints on different hosts, which accept connections and never answer."""
    shop = hooked_shop(service)
    for at in range(number, number + ACTIVE_MAX):
        host = f"127.{1 + at // 62500}.{at // 250 % 250}.{1 + at % 250}"
        subscribe(shop, mute.url(f"/{at}", host), [CREATED])
    for _ in range(DEAD_EVENTS):
        shop.create()
    return shop


def test_hundreds_of_dead_endpoints_delay_no_other_delivery(delivering, receiver):
    mute, witness = Mute("0.0.0.0"), Witness(delivering, receiver)
    with ThreadPoolExecutor(2) as pool:
        shops = list(pool.map(lambda number: make_dead(delivering, mute, number), range(0, DEAD, ACTIVE_MAX)))
    for _ in range(5):
        witness.look()
    assert {row["outcome"] for row in deliveries_of(shops[0])} == {"pending"}
    healthy = hooked_shop(delivering)
    subscribe(healthy, receiver.url("/status/200/healthy"), [BALANCE])
    healthy.add(healthy.create()["id"], 1)
    posts_to(receiver, "/status/200/healthy", 1)
    for shop in [healthy, witness, *shops]:
        shop.close()
    mute.close()


def test_thousands_of_retries_due_at_once_are_sent_once_each(new_service, authority, receiver):
    """An endpoint answers 503 to all deliveries. After 30 seconds all are due at the same time, and each must arrive
    exactly once."""
    service = new_service(shards=1, options=options(authority, "--test-clock"))
    receiver.answers["/down"] = "/status/503"
    backlog = Backlog(service, {"down": (receiver, "/down")})
    timer = backlog.pile_up(AT_ONCE)
    arrivals, hook = backlog.arrivals["down"], backlog.hooks["down"]
    os.kill(timer, signal.SIGCONT)  # each retry is due 30 s after its failure
    backlog.await_all(["down"], SOON_SECONDS + AT_ONCE // 100)
    await_that(lambda: all(row["last_status"] for row in deliveries_of(backlog.shop, hook)), "all failures to be stored")
    receiver.answers["/down"] = "/status/200"
    advance(service, 30)
    await_that(lambda: arrivals.look() and sum(arrivals.times.values()) >= 2 * AT_ONCE, "all retries",
               SOON_SECONDS + AT_ONCE // 100)
    await_that(lambda: {row["outcome"] for row in deliveries_of(backlog.shop, hook)} == {"delivered"}, "all to be delivered")
    arrivals.look()
    assert set(arrivals.times.values()) == {2} and len(arrivals.times) == AT_ONCE
    backlog.close()


def test_thousands_of_discards_do_not_delay_later_deliveries(delivering, receiver):
    """A deactivation makes all pending deliveries obsolete. The event after a reactivation is queued behind them, and
    must still be prompt."""
    backlog = Backlog(delivering, {"again": (receiver, "/status/200/again")})
    timer, hook = backlog.pile_up(DISCARDED), backlog.hooks["again"]
    handed_out = {row["event_id"] for row in deliveries_of(backlog.shop, hook) if row["attempts"]}  # the timer may still send these
    for active in (False, True):
        change(backlog.shop, hook, active=active)
    os.kill(timer, signal.SIGCONT)
    backlog.shop.add("p0", DELTA)
    arrivals = backlog.arrivals["again"]

    def fresh():
        arrivals.look()
        return [pass_id for event_id, pass_id in arrivals.passes.items() if event_id not in handed_out]

    await_that(fresh, "the event after the discarded ones", PROMPT_SECONDS)
    assert fresh() == ["p0"] and len(handed_out) < DISCARDED // 10
    await_that(lambda: {row["outcome"] for row in deliveries_of(backlog.shop, hook)} == {"delivered", "discarded"},
               "the result to be stored")
    backlog.close()
