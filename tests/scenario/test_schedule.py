"""The schedule of delivery attempts: seven, none before it is due, across restarts and kills; and the test clock."""
import pytest
from deliveries import (ATTEMPTS_MAX, CREATED, WAITS_SECONDS, Witness, advance, await_that, deliveries_of, envelope, event_id,
                        hooked_shop, now, options, posts_to, time_of, until, until_failed_once)
from clocks import DAY_SECONDS, ClockService
from harness import Service, refusal
from hooks import subscribe
from places import shard as shard_place

pytestmark = pytest.mark.plain

ROWS = {"/status/503": (503, None), "/status/400": (400, None), "/reset": (None, "reset")}


@pytest.fixture
def ticking(new_service, authority):
    return new_service(shards=1, options=options(authority, "--test-clock"))


class Failing:
    """An account with several endpoints that all fail in different ways, and one event for them. step() moves the clock
    to the next attempt: just before its due time no attempt is made, and after it each endpoint gets one."""

    def __init__(self, service, receiver):
        self.service, self.receiver = service, receiver
        self.shop, self.witness = hooked_shop(service), Witness(service, receiver)
        self.hooks = {path: subscribe(self.shop, receiver.url(path), [CREATED]) for path in ROWS}
        self.began = now(service)
        self.pass_id = self.shop.create()["id"]
        self.number = 1

    def rows(self):
        """The rows, as soon as the failures of attempt `number` are stored. The next attempt is due a whole wait later."""
        rows = {path: until_failed_once(self.shop, hook, self.number) for path, hook in self.hooks.items()}
        for path, row in rows.items():
            requests = posts_to(self.receiver, path, self.number)
            assert {event_id(request) for request in requests} == {row["event_id"]}
            assert (row["last_status"], row["last_error"]) == ROWS[path] and row["attempts"] == self.number
        return rows

    def step(self):
        wait = WAITS_SECONDS[self.number - 1]
        rows, at = self.rows(), now(self.service)
        due = [time_of(row["next_due_at"]) for row in rows.values()]
        assert all(self.began + wait <= one <= at + wait for one in due), (self.number, rows)
        assert {row["outcome"] for row in rows.values()} == {"pending"}
        self.began = min(advance(self.service, int(min(due) - at) - 1), *due)  # a slow machine makes the attempt at once
        self.witness.look()
        assert {row["attempts"] for row in deliveries_of(self.shop)} == {self.number} or now(self.service) >= min(due)
        advance(self.service, int(max(due) - now(self.service)) + 1)
        self.number += 1
        for path in ROWS:
            posts_to(self.receiver, path, self.number)

    def is_over(self):
        """All deliveries have failed for good: no attempt follows, however far the clock moves."""
        rows = self.rows()
        assert {(row["outcome"], row["attempts"], row["next_due_at"]) for row in rows.values()} == {("failed", ATTEMPTS_MAX, None)}
        for days in (1, 2, 40):
            advance(self.service, days * DAY_SECONDS)
            self.witness.look()
        assert {path: len(self.receiver.to[path]) for path in ROWS} == dict.fromkeys(ROWS, ATTEMPTS_MAX)
        assert {row["outcome"] for row in deliveries_of(self.shop)} <= {"failed"}

    def restarted(self):
        for shop in (self.shop, self.witness.shop):
            shop.client.address = self.service.http

    def close(self):
        self.shop.close()
        self.witness.close()


def test_seven_attempts_each_when_due(ticking, receiver):
    failing = Failing(ticking, receiver)
    began = now(ticking)
    while failing.number < ATTEMPTS_MAX:
        failing.step()
    assert sum(WAITS_SECONDS) <= now(ticking) - began, "at least 34.5 hours"
    failing.is_over()
    failing.close()


def killed_and_not_believed(service):
    """Simulates a failure of the machine: the tables must be rebuilt from the journal."""
    service.kill_everything()
    (shard_place(service) / "trust").unlink()
    service.start()


def killed(service):
    service.kill_everything()
    service.start()


ENDS = [Service.restart, killed, killed_and_not_believed]


def test_seven_attempts_over_restarts_and_kills(ticking, receiver):
    ticking.expect_log("level=warn")
    failing = Failing(ticking, receiver)
    while failing.number < ATTEMPTS_MAX:
        before, was = failing.rows(), now(ticking)
        ENDS[failing.number % len(ENDS)](ticking)
        failing.restarted()
        assert was <= now(ticking) <= was + 3600, "the restart changed the clock"
        assert failing.rows() == before
        failing.step()
    before = failing.rows()
    ticking.restart()
    failing.restarted()
    assert failing.rows() == before
    failing.is_over()
    assert ticking.cli("verify")["ok"] is True
    failing.close()


def test_a_wait_begins_when_the_previous_attempt_ends(ticking, receiver):
    """It does not begin when that attempt started or was due."""
    path = "/held/503/late"
    shop = hooked_shop(ticking)
    hook = subscribe(shop, receiver.url(path), [CREATED])
    shop.create()
    for number, wait in ((1, WAITS_SECONDS[0]), (2, WAITS_SECONDS[1])):
        posts_to(receiver, path, number)
        ended = advance(ticking, 600)
        receiver.release()
        row = until_failed_once(shop, hook, number)
        assert ended + wait <= time_of(row["next_due_at"]) <= now(ticking) + wait
        advance(ticking, wait)
    posts_to(receiver, path, 3)
    receiver.release()
    shop.close()


def test_a_retry_due_soon_after_a_restart_is_made(ticking, receiver):
    """The first attempt fails. The service restarts before the retry is due, and the clock then moves past the due
    time."""
    receiver.play("/down", "/close", "/status/200")
    shop = hooked_shop(ticking)
    hook = subscribe(shop, receiver.url("/down"), [CREATED])
    pass_id = shop.create()["id"]
    until_failed_once(shop, hook)
    advance(ticking, 25)
    ticking.restart()
    shop.client.address = ticking.http
    advance(ticking, 25)
    assert envelope(posts_to(receiver, "/down", 2)[1])["data"]["id"] == pass_id
    shop.close()


def test_pending_deliveries_of_a_backup_are_sent_after_its_restore(ticking, new_service, authority, receiver, tmp_path):
    receiver.play("/restored", "/status/503", "/status/200")
    shop = hooked_shop(ticking)
    hook = subscribe(shop, receiver.url("/restored"), [CREATED])
    shop.create()
    row = until_failed_once(shop, hook)
    assert ticking.cli("backup", tmp_path / "backup") == {}
    assert ticking.stop() == 0
    again = new_service(start=False, shards=1, options=options(authority, "--test-clock"))
    again.cli("restore", "--from", tmp_path / "backup")
    again.start()
    shop.service = again
    assert until_failed_once(shop, hook) == row
    advance(again, WAITS_SECONDS[0])
    assert {event_id(request) for request in posts_to(receiver, "/restored", 2)} == {row["event_id"]}
    until(shop, hook, outcome="delivered")
    shop.close()


# The clock

def test_the_clock_only_moves_forward(ticking):
    for duration, seconds in (("30s", 30), ("5m", 300), ("2h", 7200), ("1d", DAY_SECONDS), ("0s", 0)):
        before = now(ticking)
        shown = time_of(ticking.cli("clock", "advance", duration)["now"])
        assert before + seconds <= shown <= now(ticking) <= before + seconds + 60, duration
    before = now(ticking)
    for wrong in ("-5s", "5", "s", "1w", "1.5h", "", "99999999999999999999d", "5s5s"):
        done = ticking.run("clock", "advance", wrong)
        assert done.returncode in (1, 2) and done.stdout == "", wrong
    assert now(ticking) <= before + 60


def test_stored_times_follow_the_clock(ticking):
    shop = hooked_shop(ticking)
    before = shop.create()["created_at"]
    shown = advance(ticking, DAY_SECONDS)
    assert time_of(shop.create()["created_at"]) >= shown >= time_of(before) + DAY_SECONDS
    shop.close()


def test_without_a_test_clock_the_clock_cannot_be_moved(shop, service):
    before = now(service)
    refused = refusal(service.cli, "clock", "advance", "1h")
    assert refused.code and refused.message
    assert before <= now(service) <= before + 60
    assert abs(time_of(shop.create()["created_at"]) - before) < 60


def test_jumps_of_the_wall_clock_do_not_trigger_attempts(authority, receiver):
    service = ClockService(shards=1, options=options(authority))
    try:
        service.set_clock(0)
        service.start()
        failing = Failing(service, receiver)
        rows = failing.rows()
        for seconds in (DAY_SECONDS, -DAY_SECONDS, 0):
            service.set_clock(seconds)
            failing.witness.shop.client.close()  # the jump may close idle connections
            failing.witness.look()
            assert all(row["attempts"] == 1 for row in deliveries_of(failing.shop)) or \
                now(service) >= min(time_of(row["next_due_at"]) for row in rows.values())
        failing.close()
    finally:
        unexpected = service.close()
    assert unexpected == []


def test_events_are_sent_promptly_after_clock_jumps(ticking, receiver):
    """New events are sent at once, also when the clock has just moved past many due times."""
    witness = Witness(ticking, receiver)
    for _ in range(3):
        advance(ticking, DAY_SECONDS)
        witness.look()
    await_that(lambda: {row["outcome"] for row in deliveries_of(witness.shop)} == {"delivered"}, "all results to be stored")
    witness.close()
