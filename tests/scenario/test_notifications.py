"""Notifications: their sources, when they are sent, and their list. Beside HTTP these tests use the messages
AUDIENCE_PUT, NOTIFICATION_SCHEDULE and NOTIFICATION_SEND, by the command line and the timer."""
import json
import re
import signal
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from harness import wait_for
from notices import (NOBODY, NOTIFICATIONS, UUID, ahead, all_of, await_state, messages, notifications, refused, schedule,
                     states)
from shop import Shop, path_of

MEMBERS = ["id", "message", "pass_id", "audience_id", "status", "scheduled_at", "sent_at", "created_at"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-0[56]:00")
MEXICO = ZoneInfo("America/Mexico_City")


# Sources

def test_a_loyalty_message_is_sent(shop):
    shop.create("ann")
    shop.add("ann", 5, message="Fünf Punkte!")
    await_state(shop, "Fünf Punkte!", "sent")
    [one], total, more = notifications(shop)
    assert (list(one), total, more) == (MEMBERS, 1, False)
    assert UUID.fullmatch(one["id"]) and (one["pass_id"], one["audience_id"]) == ("ann", None)
    assert one["scheduled_at"] == one["created_at"] <= one["sent_at"]
    for name in ("scheduled_at", "sent_at", "created_at"):
        assert TIME.fullmatch(one[name])
    age = datetime.now(timezone.utc) - datetime.fromisoformat(one["created_at"])
    assert abs(age) < timedelta(minutes=1)


def test_a_delta_without_a_message_sends_no_notification(shop):
    shop.create("ann")
    shop.add("ann", 1)
    shop.add("ann", 1, message="")
    shop.add("ann", 1, message=None)
    shop.try_add("ann", 1, message="x" * 2001).is_error(400, "INVALID_INPUT", "message")
    shop.try_add("nobody", 1, message="é" * 2001).is_error(400, "INVALID_INPUT", "message")
    shop.try_add("nobody", 1, message="hello").is_error(404, "RESOURCE_NOT_FOUND")
    shop.try_add("ann", 2**53 - 1, message="hello").is_error(400, "INVALID_INPUT", "balance_to_add")
    shop.event("ann", "deactivated")
    shop.try_add("ann", 1, message="hello").is_error(409, "RESOURCE_CONFLICT")
    assert notifications(shop) == ([], 0, False)


def test_a_message_of_any_text(shop):
    shop.create("ann")
    texts = ["é" * 2000, "\U0001f600" * 2000, "\ufdfa" * 2000, "a\0b\n\"\\", " ", "\u202e"]
    for text in texts:
        shop.add("ann", 1, message=text)
    assert messages(shop, "?sort_by=created_at&sort_dir=asc") == texts
    assert messages(shop, "?q=%F0%9F%98%80") == [texts[1]]
    assert messages(shop, "?q=E" + "e" * 150) == [texts[0]]


def test_a_repeated_request_sends_one_notification(shop):
    shop.create("ann")
    for _ in range(3):
        answer = shop.client.post(path_of("ann", "/loyalty"), {"balance_to_add": 1, "message": "once"},
                                  headers={"Idempotency-Key": "k"})
        assert answer.status == 202
    assert messages(shop) == ["once"]


# Scheduled notifications

def test_a_notification_is_sent_at_its_time(clocked):
    clocked.create("ann")
    notified = schedule(clocked, "tomorrow", ahead(clocked, days=1), "--pass", "ann")
    schedule(clocked, "soon", ahead(clocked, hours=1), "--pass", "ann")
    clocked.add("ann", 1, message="now")
    await_state(clocked, "now", "sent")
    clocked.service.cli("clock", "advance", "59m")
    clocked.add("ann", 1, message="later")
    await_state(clocked, "later", "sent")
    assert states(clocked) == {"tomorrow": "scheduled", "soon": "scheduled", "now": "sent", "later": "sent"}
    clocked.service.cli("clock", "advance", "2h")
    await_state(clocked, "soon", "sent")
    clocked.service.cli("clock", "advance", "1d")
    await_state(clocked, "tomorrow", "sent")
    one = notifications(clocked, "?q=tomorrow")[0][0]
    assert one["id"] == notified and one["created_at"] < one["scheduled_at"] < one["sent_at"]
    assert clocked.service.cli("verify")["ok"] is True


def test_a_past_time_means_now(shop):
    shop.create("ann")
    for at, shown in [("2020-01-01T00:00:00Z", "2019-12-31T18:00:00.000-06:00"),
                      ("2020-07-01T12:00:00.123456+02:00", "2020-07-01T05:00:00.123-05:00"),
                      ("1969-12-31T23:59:59.999Z", "1969-12-31T17:59:59.999-06:00"),
                      ("1910-01-01T00:00:00Z", "1909-12-31T17:24:00.000-06:36")]:
        schedule(shop, at, at, "--pass", "ann")
        await_state(shop, at, "sent")
        [one] = notifications(shop, "?q=" + at.replace("+", "%2B"))[0]
        assert one["scheduled_at"] == shown and datetime.fromisoformat(one["scheduled_at"]).timestamp() < one_time(one)


def one_time(one):
    return datetime.fromisoformat(one["sent_at"]).timestamp()


def test_local_times_of_mexico(shop):
    """Around every clock change since 1996, and in the summers after the last one."""
    shop.create("ann")
    moments = []
    for year in range(1995, 2030, 3):
        moment = datetime(year, 1, 1, tzinfo=timezone.utc)
        while moment.year == year:
            later = moment + timedelta(days=7)
            if moment.astimezone(MEXICO).utcoffset() != later.astimezone(MEXICO).utcoffset() or moment.month == 7:
                moments.append(moment)
            moment = later
    moments += [datetime(2022, 10, 30, 6, 59, 59, tzinfo=timezone.utc), datetime(2022, 10, 30, 7, tzinfo=timezone.utc)]
    far = [moment for moment in moments if moment.year < 2026][::4] + moments[-2:]
    for moment in far:
        schedule(shop, moment.isoformat(), moment.isoformat(), "--pass", "ann")
    for one in notifications(shop)[0]:
        want = datetime.fromisoformat(one["message"]).astimezone(MEXICO)
        assert one["scheduled_at"] == want.isoformat(timespec="milliseconds")


def test_refusals_of_schedule(shop):
    shop.create("ann")
    at, to = "2030-01-01T00:00:00Z", ("--pass", "ann")
    for message in ("", "x" * 2001):
        refused("INVALID_INPUT", "message", schedule, shop, message, at, *to)
    for time in ("", "tomorrow", "2030-01-01", "2030-13-01T00:00:00Z", "1893456000"):
        refused("INVALID_INPUT", "at", schedule, shop, "m", time, *to)
    refused("RESOURCE_NOT_FOUND", "pass_id", schedule, shop, "m", at, "--pass", "nobody")
    for audience in (NOBODY, "x", "ann"):
        refused("RESOURCE_NOT_FOUND", "audience_id", schedule, shop, "m", at, "--audience", audience)
    shop.delete("ann")
    refused("RESOURCE_NOT_FOUND", "pass_id", schedule, shop, "m", at, *to)
    run = shop.service.run
    for wrong in (["--message", "m", "--at", at], ["--pass", "a", "--audience", "b", "--message", "m", "--at", at],
                  ["--pass", "a", "--at", at], ["--pass", "a", "--message", "m"]):
        assert run("notification", "schedule", shop.account, *wrong).returncode == 2
    assert "notification schedule ACCOUNT" in run("notification", "--help", data=False).stdout
    assert notifications(shop) == ([], 0, False)


# Failures and crashes

def test_a_notification_to_a_deleted_pass_fails(clocked):
    clocked.create("ann")
    schedule(clocked, "to the first", ahead(clocked, hours=1), "--pass", "ann")
    clocked.delete("ann")
    clocked.create("ann")
    schedule(clocked, "to the second", ahead(clocked, hours=1), "--pass", "ann")
    clocked.service.cli("clock", "advance", "2h")
    await_state(clocked, "to the second", "sent")
    await_state(clocked, "to the first", "failed")
    [one] = notifications(clocked, "?status=failed")[0]
    assert (one["sent_at"], one["pass_id"]) == (None, "ann")
    assert clocked.service.cli("verify")["ok"] is True


def test_notifications_of_a_suspended_account_are_sent(shop):
    shop.create("ann")
    shop.set("--suspended", "on")
    schedule(shop, "hello", "2020-01-01T00:00:00Z", "--pass", "ann")
    shop.client.get(NOTIFICATIONS).is_error(402, "ACCOUNT_SUSPENDED")
    shop.set("--suspended", "off")
    await_state(shop, "hello", "sent")


def test_notifications_wait_while_the_timer_is_stopped(own):
    own.create("ann")
    timer = own.service.signal("timer", 0, signal.SIGSTOP)
    for n in range(200):
        own.add("ann", 1, message=f"m{n}")
    assert set(states(own).values()) == {"scheduled"}
    own.service.expect_log(".*")
    own.service.signal("timer", 0, signal.SIGKILL)
    own.service.await_successor("timer", 0, timer)
    wait_for(lambda: notifications(own, "?status=sent")[1] == 200, 10, "all notifications to be sent")
    assert notifications(own, "?status=scheduled")[1] == 0


def test_scheduled_notifications_survive_a_crash(clocked):
    clocked.create("ann")
    at = ahead(clocked, hours=1)
    for n in range(70):
        clocked.add("ann", 1, message=f"now {n}")
    schedule(clocked, "soon", at, "--pass", "ann")
    wait_for(lambda: notifications(clocked, "?status=sent")[1] == 70, 10, "the other notifications to be sent")
    before = notifications(clocked)
    clocked.service.expect_log("level=(warn|fatal)")
    clocked.service.kill_child("shard")
    assert notifications(clocked) == before
    clocked.service.cli("clock", "advance", "2h")
    await_state(clocked, "soon", "sent")
    after = notifications(clocked, "?status=sent&sort_by=created_at&sort_dir=asc")[0]
    assert [one["message"] for one in after] == [*(f"now {n}" for n in range(70)), "soon"]
    assert clocked.service.cli("verify")["ok"] is True


def test_many_due_notifications_of_one_account_delay_no_other(own):
    """Other accounts' notifications are sent while the many are still waiting."""
    own.create("ann")
    other = Shop(own.service, ("balance",))
    other.create("bob")
    timer = own.service.signal("timer", 0, signal.SIGSTOP)
    for n in range(1500):
        own.add("ann", 1, message=f"m{n}")
    other.add("bob", 1, message="mine")
    own.service.expect_log(".*")
    own.service.signal("timer", 0, signal.SIGKILL)
    own.service.await_successor("timer", 0, timer)
    wait_for(lambda: notifications(own, "?status=sent")[1] == 1500, 20, "all notifications to be sent")
    mine, last = notifications(other)[0][0]["sent_at"], notifications(own, "?sort_by=created_at")[0][0]["sent_at"]
    assert mine < last
    other.close()


# Lists

@pytest.fixture(scope="module")
def listed(module_services):
    """171 notifications: scheduled ones whose times are not in order of creation, sent ones and failed ones."""
    shop = Shop(module_services(shards=1, options=["--test-clock"]), ("balance",))
    shop.create("ann")
    shop.create("gone")
    rows = []
    for n in range(100):
        shop.add("ann", 1, message=f"Sent Ñ{n:03}")
        rows.append((f"Sent Ñ{n:03}", "sent"))
    for n in range(10):
        shop.add("gone", 1, message=f"early {n}")
        rows.append((f"early {n}", "sent"))
    wait_for(lambda: notifications(shop, "?status=sent")[1] == 110, 10, "all notifications to be sent")
    for n in range(60):
        at = f"2040-{n * 7 % 12 + 1:02}-{n % 3 + 1:02}T00:00:00Z"
        schedule(shop, f"later {n:03}", at, "--pass", "ann")
        rows.append((f"later {n:03}", "scheduled"))
    schedule(shop, "lost", ahead(shop, hours=1), "--pass", "gone")
    rows.append(("lost", "failed"))
    shop.delete("gone")
    shop.service.cli("clock", "advance", "2h")
    wait_for(lambda: notifications(shop, "?status=failed")[1] == 1, 5, "the notification to the deleted pass to fail")
    shop.rows = rows
    yield shop
    assert shop.service.cli("verify")["ok"] is True
    shop.close()


def test_orders_and_pages(listed):
    every = all_of(listed, "?sort_by=created_at&sort_dir=asc")
    assert [(one["message"], one["status"]) for one in every] == listed.rows
    assert all_of(listed, "?sort_by=created_at") == every[::-1]
    by_time = sorted(enumerate(every), key=lambda each: (datetime.fromisoformat(each[1]["scheduled_at"]), each[0]))
    by_time = [one for _, one in by_time]
    assert all_of(listed, "?sort_dir=asc") == all_of(listed, "?sort_by=scheduled_at&sort_dir=asc") == by_time
    assert all_of(listed, "?") == by_time[::-1]
    page, total, more = notifications(listed)
    assert (page, total, more) == (by_time[::-1][:100], 171, True)
    assert notifications(listed, "?offset=171") == notifications(listed, "?offset=9223372036854775807") == ([], 171, False)
    assert notifications(listed, "?offset=170") == ([by_time[0]], 171, False)


def test_filters(listed):
    every = all_of(listed, "?sort_dir=asc")

    def check(query, wanted):
        want = [one for one in every if wanted(one)]
        assert all_of(listed, "?sort_dir=asc&" + query) == want, query
        assert notifications(listed, "?limit=1&" + query)[1] == len(want)
        return len(want)

    for status, count in (("sent", 110), ("scheduled", 60), ("failed", 1)):
        assert check("status=" + status, lambda one, status=status: one["status"] == status) == count
    assert check("status=failed&status=sent", lambda one: one["status"] in ("failed", "sent")) == 111
    assert check("q=n%CC%8309", lambda one: "Ñ09" in one["message"]) == 10
    assert check("q=SENT", lambda one: "Sent" in one["message"]) == 100
    assert check("q=later&status=sent", lambda one: False) == 0
    assert check("q=l&status=failed", lambda one: one["message"] == "lost") == 1
    since = datetime(2040, 3, 2, tzinfo=timezone.utc)
    check("scheduled_from=2040-03-02T00:00:00Z", lambda one: datetime.fromisoformat(one["scheduled_at"]) >= since)
    check("scheduled_to=2040-03-02T00:00:00Z", lambda one: datetime.fromisoformat(one["scheduled_at"]) < since)
    check("scheduled_from=2040-03-02T00:00:00Z&scheduled_to=2040-03-02T01:00:00Z",
          lambda one: datetime.fromisoformat(one["scheduled_at"]) == since)
    assert check("scheduled_from=2040-01-01T00:00:00Z&scheduled_to=2040-01-01T00:00:00Z", lambda one: False) == 0
    last = max(datetime.fromisoformat(one["scheduled_at"]) for one in every)
    at = last.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    before = check(f"scheduled_to={at}", lambda one: datetime.fromisoformat(one["scheduled_at"]) < last)
    assert before + check(f"scheduled_from={at}", lambda one: datetime.fromisoformat(one["scheduled_at"]) == last) == 171 > before


@pytest.mark.parametrize("query, field", [
    ("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("offset=-1", "offset"), ("status=gone", "status"),
    ("status=", "status"), ("sort_by=message", "sort_by"), ("sort_by=", "sort_by"), ("sort_dir=up", "sort_dir"),
    ("scheduled_from=x", "scheduled_from"), ("scheduled_to=2040", "scheduled_to"), ("q=" + "x" * 201, "q"),
    ("scheduled_from=2040-01-02T00:00:00Z&scheduled_to=2040-01-01T00:00:00Z", "scheduled_from"),
    ("sort_by=created_at&sort_by=created_at", "sort_by")])
def test_refused_parameters(till, query, field):
    till.client.get(f"{NOTIFICATIONS}?{query}").is_error(400, "INVALID_INPUT", field)


def test_accounts_list_their_own_notifications(shop, new_shop):
    other = new_shop("balance")
    for each in (shop, other):
        each.create("ann")
        each.add("ann", 1, message="hello " + each.account)
    assert messages(shop) == ["hello " + shop.account]
    assert messages(other, "?q=hello") == ["hello " + other.account]


def test_a_pass_does_not_show_its_notifications(shop):
    made = shop.create("ann")
    shop.add("ann", 1, message="Secret greeting")
    assert "greeting" not in json.dumps(shop.get("ann"))
    answer = shop.client.get(made["download_url"].split("/", 3)[3].join(["/", ""]))
    assert answer.status == 200 and b"greeting" not in answer.body
