"""Expiry of entitlements, with a clock that tests move. They expire at their microsecond without a background job, and
the counts follow at the same moment. Also many at once: long histories, concurrent redemptions, killed shards."""
import random
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest
from deliveries import advance, now, time_of
from entitlements import (CONFLICT, END_PASSED, NOT_ASSIGNABLE, NOT_REDEEMABLE, assign, counts, given, given_path, history, redeem,
                          redeem_path, try_assign, try_redeem)
from harness import wait_for
from patience import PATIENCE
from raw import take_answer
from retries import is_first, is_replay_of, new_key, once, until_done
from rewards import edit, new_slug, offer
from shop import Shop

pytestmark = pytest.mark.plain

DAY = 86400
SEED = random.randrange(1 << 30)


@pytest.fixture
def cafe(ticking):
    shop = Shop(ticking, ("balance",), functions=("--rewards",))
    yield shop
    shop.close()
    assert ticking.unexpected_lines() == []
    verdict = ticking.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []


def window(seconds):
    return {"kind": "relative_window", "window_seconds": seconds}


def time_text(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def put(shop, **changes):
    return offer(shop, slug=new_slug(), **{"repeat_assignment": True, **changes})["slug"]


def expired(entitlement):
    return {**entitlement, "status": "expired", "expiration_reason": "time_elapsed", "updated_at": entitlement["expiration_timestamp"]}


# One entitlement

def test_a_relative_window_expires(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, expiration=window(3600), redemption_allowance=3)
    made, begun = assign(cafe, pass_id, slug), assign(cafe, pass_id, slug)
    assert time_of(made["expiration_timestamp"]) == pytest.approx(time_of(made["created_at"]) + 3600, abs=0.0011)
    begun = redeem(cafe, pass_id, begun)[1]
    advance(cafe.service, 3500)
    assert given(cafe, pass_id) == [made, begun] and counts(cafe) == (2, 2, 0, 0)
    advance(cafe.service, 200)
    assert given(cafe, pass_id) == [] and history(cafe, pass_id) == [expired(made), expired(begun)]
    assert counts(cafe) == (2, 0, 0, 2)
    for one in (made, begun):
        try_redeem(cafe, pass_id, one).is_error(*NOT_REDEEMABLE)
        try_redeem(cafe, pass_id, one, amount=9).is_error(*NOT_REDEEMABLE)
    new = assign(cafe, pass_id, slug, replace=True)
    assert history(cafe, pass_id) == [expired(made), expired(begun), new], "an expired entitlement is not replaced"
    assert counts(cafe) == (3, 1, 0, 2)
    advance(cafe.service, 40 * DAY)
    assert history(cafe, pass_id) == [expired(made), expired(begun), expired(new)] and counts(cafe) == (3, 0, 0, 3)


def test_a_fixed_end_is_the_same_for_all_entitlements(cafe):
    end = now(cafe.service) + 5000
    text = time_text(end)
    pass_id, slug = cafe.create()["id"], put(cafe, expiration={"kind": "fixed_end", "fixed_end": text})
    made = assign(cafe, pass_id, slug)
    advance(cafe.service, 3000)
    late = assign(cafe, pass_id, slug)
    assert time_of(made["expiration_timestamp"]) == time_of(late["expiration_timestamp"]) == time_of(text)
    advance(cafe.service, 3000)
    try_assign(cafe, pass_id, slug).is_error(*END_PASSED)
    try_assign(cafe, pass_id, slug, replace=True).is_error(*END_PASSED)
    assert history(cafe, pass_id) == [expired(made), expired(late)] and counts(cafe) == (2, 0, 0, 2)
    edit(cafe, slug, expiration={"kind": "none"}, repeat_assignment=True)
    assert assign(cafe, pass_id, slug)["expiration_timestamp"] is None
    assert history(cafe, pass_id)[:2] == [expired(made), expired(late)], "earlier entitlements keep their end"


def test_redeemed_and_replaced_entitlements_do_not_expire(cafe):
    pass_id, slug, other = cafe.create()["id"], put(cafe, expiration=window(1000)), put(cafe, expiration=window(1000))
    used = redeem(cafe, pass_id, assign(cafe, pass_id, slug))[1]
    assign(cafe, pass_id, other)
    new = assign(cafe, pass_id, other, replace=True)
    assert counts(cafe) == (3, 1, 1, 1)
    advance(cafe.service, 2000)
    after = history(cafe, pass_id)
    assert after[0] == used and after[1]["expiration_reason"] == "replaced" and after[2] == expired(new)
    assert after[1]["updated_at"] == new["created_at"] and counts(cafe) == (3, 0, 1, 2)
    try_redeem(cafe, pass_id, used).is_error(*NOT_REDEEMABLE)


def test_an_expired_entitlement_counts_for_once_per_pass(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, expiration=window(10), repeat_assignment=False)
    assign(cafe, pass_id, slug)
    advance(cafe.service, 20)
    try_assign(cafe, pass_id, slug).is_error(*NOT_ASSIGNABLE)


def test_it_expires_at_its_microsecond(cafe):
    """List, counts and redemption agree just before and just after the end. Times are shown in milliseconds."""
    pass_id, slug = cafe.create()["id"], put(cafe, expiration=window(10_000), redemption_allowance=2**31 - 1)
    made = assign(cafe, pass_id, slug)
    end = time_of(made["expiration_timestamp"])
    advance(cafe.service, int(end - now(cafe.service)) - 4)
    seen = {"before": 0, "after": 0}
    while seen["after"] < 8:
        for look in (lambda: not given(cafe, pass_id), lambda: counts(cafe)[3] == 1,
                     lambda: history(cafe, pass_id)[0]["status"] == "expired",
                     lambda: try_redeem(cafe, pass_id, made).status == 409):
            began = now(cafe.service)
            is_over = look()
            ended = now(cafe.service)
            assert ended >= end if is_over else began <= end, (began, end, ended)
            assert is_over or not seen["after"], "an expired entitlement stays expired"
            seen["after" if is_over else "before"] += 1
    assert seen["before"], seen
    shown = history(cafe, pass_id)[0]
    assert shown["updated_at"] == made["expiration_timestamp"] and shown["remaining_redemptions"] < 2**31 - 1


def test_a_replay_shows_the_entitlement_before_it_expired(cafe):
    pass_id, slug, keys = cafe.create()["id"], put(cafe, expiration=window(60), redemption_allowance=2), [once(new_key()), once(new_key())]
    first = is_first(try_assign(cafe, pass_id, slug, headers=keys[0]), 201)
    second = is_first(try_redeem(cafe, pass_id, first.json, headers=keys[1]), 200)
    advance(cafe.service, 3600)
    is_replay_of(first, try_assign(cafe, pass_id, slug, headers=keys[0]))
    is_replay_of(second, try_redeem(cafe, pass_id, first.json, headers=keys[1]))
    assert counts(cafe) == (1, 0, 0, 1)


# Many entitlements

class Model:
    """The expected state: each entitlement as (remaining, end, how it ended). A second more or less makes no difference
    to its windows and clock steps."""

    def __init__(self, shop, chance):
        self.shop, self.chance, self.rows, self.clock = shop, chance, {}, 0
        self.slugs = {put(shop, expiration=window(1000 * n + 500), redemption_allowance=3): 1000 * n + 500 for n in range(1, 9)}
        self.slugs[put(shop, redemption_allowance=2)] = None
        self.passes = [shop.create()["id"] for _ in range(5)]
        self.gone = []

    def status(self, row):
        if row["ended"]:
            return row["ended"]
        return "expired" if row["end"] is not None and self.clock >= row["end"] else "available"

    def step(self):
        what = self.chance.choice(["assign"] * 5 + ["replace", "redeem", "redeem", "redeem", "time", "delete"])
        pass_id, slug = self.chance.choice(self.passes), self.chance.choice(list(self.slugs))
        if what in ("assign", "replace"):
            for row in self.rows.values():
                if what == "replace" and (row["pass"], row["slug"]) == (pass_id, slug) and self.status(row) == "available":
                    row["ended"] = "expired"
            made = assign(self.shop, pass_id, slug, replace=what == "replace")
            end = None if self.slugs[slug] is None else self.clock + self.slugs[slug]
            self.rows[made["id"]] = {"pass": pass_id, "slug": slug, "left": made["remaining_redemptions"], "end": end, "ended": None}
        elif what == "redeem" and self.rows:
            self.redeem(self.chance.choice(list(self.rows)))
        elif what == "time":
            step = 1000 * self.chance.randrange(1, 4)
            self.clock += step
            advance(self.shop.service, step)
        elif what == "delete" and self.chance.randrange(10) == 0:
            self.shop.delete(pass_id)
            self.gone.append(pass_id)
            self.passes[self.passes.index(pass_id)] = self.shop.create()["id"]

    def redeem(self, entitlement_id):
        row, amount = self.rows[entitlement_id], self.chance.randrange(1, 4)
        answer = try_redeem(self.shop, row["pass"], {"id": entitlement_id}, amount=amount)
        if row["pass"] in self.gone:
            assert answer.status == 404, answer
        elif self.status(row) != "available":
            answer.is_error(*NOT_REDEEMABLE)
        elif amount > row["left"]:
            answer.is_error(409, "REWARD_INSUFFICIENT_REDEMPTIONS")
        else:
            row["left"] -= amount
            row["ended"] = None if row["left"] else "redeemed"
            assert answer.status == 200 and answer.json["entitlement"]["remaining_redemptions"] == row["left"], answer

    def compare(self):
        told = [self.status(row) for row in self.rows.values()]
        assert counts(self.shop) == (len(told), *(told.count(status) for status in ("available", "redeemed", "expired")))
        for pass_id in self.passes:
            want = [(entitlement_id, self.status(row), row["left"]) for entitlement_id, row in self.rows.items() if row["pass"] == pass_id]
            got = [(one["id"], one["status"], one["remaining_redemptions"]) for one in history(self.shop, pass_id)]
            assert got == want
            assert [one["id"] for one in given(self.shop, pass_id)] == [one[0] for one in want if one[1] == "available"]


def test_counts_and_lists_match_a_model(cafe):
    print(f"seed {SEED}")
    model = Model(cafe, random.Random(SEED))
    for step in range(250):
        model.step()
        if step % 5 == 0:
            model.compare()
    model.compare()
    cafe.service.expect_log("event=died child=shard-0")
    cafe.service.kill_child("shard")
    cafe.client.close()
    model.compare()


def post_many(shop, path, body, count):
    """Sends `count` POST requests without waiting for answers. Returns their statuses."""
    head = (f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    statuses, data = [], b""
    with socket.create_connection(shop.service.http, timeout=30 * PATIENCE) as connection:
        sender = threading.Thread(target=connection.sendall, args=((head + body) * count,))
        sender.start()
        while len(statuses) < count:
            taken = take_answer(data)
            if taken:
                statuses.append(taken[0].status)
                data = taken[1]
                continue
            more = connection.recv(1 << 16)
            assert more, f"{len(statuses)} answers of {count}"
            data += more
        sender.join()
    return statuses


def test_a_long_history_is_listed_completely_and_skipped_by_the_default_list(cafe):
    """A pass with thousands of expired entitlements. The history is complete and in order, and the list of redeemable
    ones is as fast as without them."""
    pass_id, slug, kept = cafe.create()["id"], put(cafe, expiration=window(900), name="N" * 200, description="d" * 2000), put(cafe)
    first, count = assign(cafe, pass_id, kept), 4000
    assert post_many(cafe, given_path(pass_id, "/assign"), b'{"slug":"%s"}' % slug.encode(), count) == [201] * count
    assert len(given(cafe, pass_id)) == count + 1
    advance(cafe.service, 1000)
    last = assign(cafe, pass_id, kept)
    assert given(cafe, pass_id) == [first, last] and counts(cafe) == (count + 2, 2, 0, count)
    answer = cafe.client.get(given_path(pass_id) + "?include_history=1")
    assert len(answer.body) > 2 << 20, "the history fits into one part"
    ids = [one["id"] for one in answer.json["entitlements"]]
    assert len(ids) == count + 2 and ids == sorted(ids) and (ids[0], ids[-1]) == (first["id"], last["id"])
    empty = cafe.create()["id"]
    pairs = [[cafe.client.get(given_path(each)).seconds for each in (pass_id, empty)] for _ in range(20)]  # alternately
    seconds, alone = (sorted(column)[10] for column in zip(*pairs))
    assert seconds < alone + 0.05


def test_too_many_entitlements_cannot_be_replaced_at_once(cafe):
    """A command that would replace more than it may write is refused, and nothing changes."""
    pass_id, slug = cafe.create()["id"], put(cafe, expiration=window(50_000))
    body = b'{"slug":"%s"}' % slug.encode()
    assert post_many(cafe, given_path(pass_id, "/assign"), body, 400) == [201] * 400
    new = assign(cafe, pass_id, slug, replace=True)
    assert given(cafe, pass_id) == [new] and counts(cafe) == (401, 1, 0, 400)
    assert post_many(cafe, given_path(pass_id, "/assign"), body, 400) == [201] * 400
    try_assign(cafe, pass_id, slug, replace=True).is_error(*CONFLICT)
    assert counts(cafe) == (801, 401, 0, 400) and len(given(cafe, pass_id)) == 401


# Concurrency and kills

def test_of_concurrent_redemptions_of_the_last_one_exactly_one_succeeds(cafe):
    slug, rounds = put(cafe, redemption_allowance=2), 40
    with ThreadPoolExecutor(3) as tills:
        clients = [cafe.service.client(cafe.key) for _ in range(3)]
        for _ in range(rounds):
            pass_id = cafe.create()["id"]
            made = assign(cafe, pass_id, slug)
            redeem(cafe, pass_id, made)
            barrier = threading.Barrier(3)

            def take(client, path=redeem_path(pass_id, made["id"]), barrier=barrier):
                client.connect()
                barrier.wait()
                return client.post(path)

            answers = list(tills.map(take, clients))
            assert sorted(answer.status for answer in answers) == [200, 409, 409], answers
            for answer in answers:
                if answer.status == 409:
                    answer.is_error(*NOT_REDEEMABLE)
        for client in clients:
            client.close()
    assert counts(cafe) == (rounds, 0, rounds, 0)


def test_concurrent_assignments_respect_the_limit(cafe):
    slug, passes = put(cafe, assignment_limit=25), [cafe.create()["id"] for _ in range(40)]

    def give(pass_id):
        with cafe.service.client(cafe.key) as client:
            return client.post(given_path(pass_id, "/assign"), {"slug": slug}).status

    with ThreadPoolExecutor(8) as tills:
        statuses = list(tills.map(give, passes))
    assert (statuses.count(201), statuses.count(409)) == (25, 15) and counts(cafe) == (25, 25, 0, 0)


def test_kills_neither_lose_nor_double_a_redemption(new_service):
    """Clients repeat each redemption with its idempotency key until it is acknowledged, while the shard is killed."""
    service = new_service(shards=1)
    service.expect_log("event=died child=shard-0")
    shop = Shop(service, ("balance",), functions=("--rewards",))
    slug, tills, ended = put(shop, redemption_allowance=100_000), 4, threading.Event()
    pass_id = shop.create()["id"]
    made = assign(shop, pass_id, slug)
    taken, again = [0] * tills, [0] * tills

    def work(till):
        chance = random.Random(SEED + till)
        with service.client(shop.key, seconds=10) as client:
            while not ended.is_set():
                amount, headers = chance.randrange(1, 4), once(new_key())
                again[till] += until_done(client, service, 200, lambda amount=amount, headers=headers: client.post(
                    redeem_path(pass_id, made["id"]), {"amount": amount, "context": f"till {till}"}, headers=headers)) > 1
                taken[till] += amount

    with ThreadPoolExecutor(tills) as pool:
        workers = [pool.submit(work, till) for till in range(tills)]
        for kills in range(5):
            wait_for(lambda kills=kills: sum(taken) > 25 * kills, 20, "redemptions")
            service.kill_child("shard")
        wait_for(lambda: sum(taken) > 125, 20, "redemptions")
        ended.set()
        for worker in workers:
            worker.result()
    shop.client.close()
    left = history(shop, pass_id)[0]["remaining_redemptions"]
    print(f"{sum(taken)} taken, {sum(again)} asked for again")
    assert left == 100_000 - sum(taken) and sum(taken) > 100 and sum(again) > 0
    verdict = service.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []
    shop.close()
