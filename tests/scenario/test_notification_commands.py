"""Operator commands for notifications and audiences: listing, cancelling, deleting."""
from harness import wait_for
from notices import NOBODY, ahead, all_of, await_state, notifications, put_audience, refused, schedule, states
from shop import Shop, path_of

# Audiences

def test_an_audience_is_notified(shop, new_shop):
    for name in ("ann", "bob"):
        shop.create(name)
    audience = put_audience(shop, "--name", "All", "--pass", "bob", "--pass", "ann", "--pass", "bob")
    schedule(shop, "to all", "2020-01-01T00:00:00Z", "--audience", audience)
    await_state(shop, "to all", "sent")
    [one] = notifications(shop)[0]
    assert (one["pass_id"], one["audience_id"]) == (None, audience)
    assert put_audience(shop, "--id", audience, "--name", "Some", "--pass", "ann", "bob") == audience
    other = new_shop("balance")
    refused("RESOURCE_NOT_FOUND", "audience_id", schedule, other, "m", "2020-01-01T00:00:00Z", "--audience", audience)
    for name in ("ann", "bob"):
        shop.delete(name)
    schedule(shop, "to nobody left", "2020-01-01T00:00:00Z", "--audience", audience)
    await_state(shop, "to nobody left", "sent")
    assert shop.service.cli("verify")["ok"] is True


def audiences(shop):
    return shop.service.cli("audience", "list", shop.account)


def test_audiences_are_listed(shop, new_shop):
    for name in ("ann", "bob"):
        shop.create(name)
    assert audiences(shop) == []
    made = [put_audience(shop, "--name", name, "--pass", *passes)
            for name, passes in (("Größe \"1\"", ["ann"]), ("é" * 200, ["ann"] * 9_000), ("all", ["ann", "bob"]))]
    other = new_shop("balance")
    listed = audiences(shop)
    assert [(one["audience_id"], one["name"], one["pass_count"]) for one in listed] == [
        (made[0], "Größe \"1\"", 1), (made[1], "é" * 200, 1), (made[2], "all", 2)]
    assert all(list(one) == ["audience_id", "name", "pass_count", "created_at"] for one in listed)
    put_audience(shop, "--id", made[0], "--name", "new", "--pass", "bob", "ann")
    shop.delete("bob")
    shop.set("--suspended", "on")
    assert audiences(shop) == [{**listed[0], "name": "new", "pass_count": 2}, *listed[1:]]
    assert audiences(other) == []


def delete_audience(shop, audience):
    assert shop.service.cli("audience", "delete", shop.account, audience) == {}


def test_a_deleted_audience_is_gone(clocked):
    """A notification scheduled for the audience fails when it is due, not before. An acknowledged deletion survives a
    kill."""
    clocked.create("ann")
    gone, kept = (put_audience(clocked, "--name", name, "--pass", "ann") for name in ("gone", "kept"))
    for audience in (gone, kept):
        schedule(clocked, f"to {audience}", ahead(clocked, hours=1), "--audience", audience)
    clocked.set("--suspended", "on")
    stranger = Shop(clocked.service, ())
    refused("RESOURCE_NOT_FOUND", "audience_id", delete_audience, stranger, gone)
    delete_audience(clocked, gone)
    clocked.service.expect_log("level=(warn|fatal)")
    clocked.service.kill_child("shard")
    assert [one["audience_id"] for one in audiences(clocked)] == [kept]
    clocked.set("--suspended", "off")
    for audience in (gone, NOBODY, "x", ""):
        refused("RESOURCE_NOT_FOUND", "audience_id", delete_audience, clocked, audience)
    refused("RESOURCE_NOT_FOUND", "audience_id", put_audience, clocked, "--id", gone, "--name", "n", "--pass", "ann")
    refused("RESOURCE_NOT_FOUND", "audience_id", schedule, clocked, "m", ahead(clocked), "--audience", gone)
    assert set(states(clocked).values()) == {"scheduled"}
    clocked.service.cli("clock", "advance", "2h")
    await_state(clocked, f"to {kept}", "sent")
    await_state(clocked, f"to {gone}", "failed")
    assert clocked.service.cli("verify")["ok"] is True
    stranger.close()


def test_unknown_audiences_are_refused(shop):
    shop.create("ann")
    good = ("--name", "All", "--pass", "ann")
    refused("RESOURCE_NOT_FOUND", "pass_id", put_audience, shop, *good, "--pass", "nobody")
    for audience in (NOBODY, "x", ""):
        refused("RESOURCE_NOT_FOUND", "audience_id", put_audience, shop, *good, "--id", audience)
    for name in ("", "n" * 201):
        refused("INVALID_INPUT", "name", put_audience, shop, "--name", name, "--pass", "ann")
    refused("INVALID_INPUT", "pass_id", put_audience, shop, "--name", "All", *["--pass", "ann"] * 10_001)
    put_audience(shop, "--name", "é" * 200, *["--pass", "ann"] * 10_000)
    run = shop.service.run
    for wrong in (["--name", "All"], ["--pass", "ann"]):
        assert run("audience", "put", shop.account, *wrong).returncode == 2
    assert "audience put ACCOUNT" in run("audience", "--help", data=False).stdout


# Notifications

def all_notifications(shop, *options):
    return shop.service.cli("notification", "list", shop.account, *options)


def test_the_operator_lists_every_notification(clocked):
    """The order of the interface, over several pages, by state, and while the account is suspended."""
    shop = clocked
    assert all_notifications(shop) == []
    shop.create("ann", hidden={"long": "x" * 300_000})
    shop.create("bob")
    audience = put_audience(shop, "--name", "All", "--pass", "ann")
    for n in range(130):
        shop.add(("ann", "bob")[n % 3 == 0], 1, message=f"{n} " + "é" * 1900)
    at = ahead(shop, hours=1)
    for n in range(3):
        schedule(shop, f"same time {n}", at, "--audience", audience)
    schedule(shop, "long ago", "1960-01-01T00:00:00Z", "--pass", "bob")
    schedule(shop, "later", ahead(shop, hours=2), "--pass", "bob")
    shop.client.delete(path_of("bob")).is_empty(204)
    wait_for(lambda: notifications(shop, "?status=scheduled")[1] == 4, 10, "the other notifications to end")
    listed = all_notifications(shop)
    assert len(listed) == 135 and listed == all_of(shop, "?")
    assert [one["message"] for one in listed[:4]] == ["later", "same time 2", "same time 1", "same time 0"]
    assert listed[-1]["message"] == "long ago"
    for states in (["scheduled"], ["sent"], ["failed"], ["sent", "failed"]):
        options = [word for state in states for word in ("--status", state)]
        assert all_notifications(shop, *options) == all_of(shop, "?" + "&".join(f"status={state}" for state in states)), states
    stranger = Shop(shop.service, ())
    assert all_notifications(stranger) == [] == all_notifications(stranger, "--status", "sent")
    stranger.close()
    shop.set("--suspended", "on")
    assert all_notifications(shop) == listed
    assert shop.service.run("notification", "list", shop.account, "--status", "gone").returncode == 2
    refused("INVALID_INPUT", "status", all_notifications, shop, "--status", "sent", "gone")
    refused("RESOURCE_NOT_FOUND", "account_id", shop.service.cli, "notification", "list", "acc_aaaaaaaaaaaaaaaa")


def cancel(shop, notified):
    return shop.service.cli("notification", "cancel", shop.account, notified)


def test_a_cancelled_notification_disappears(clocked):
    """It is not sent and not in any list, count, search or export. An acknowledged cancellation survives a kill."""
    shop = clocked
    shop.create("ann")
    made = [schedule(shop, f"message {n}", ahead(shop, hours=n % 3 + 1), "--pass", "ann") for n in range(70)]
    shop.add("ann", 1, message="message now")
    await_state(shop, "message now", "sent")
    before = all_of(shop, "?sort_by=created_at&sort_dir=asc")
    gone = [3, 64, 69]
    assert cancel(shop, made[3]) == {}
    shop.set("--suspended", "on")
    for n in gone[1:]:
        assert cancel(shop, made[n]) == {}
    shop.service.expect_log("level=(warn|fatal)")
    shop.service.kill_child("shard")
    shop.set("--suspended", "off")
    kept = [one for n, one in enumerate(before) if n not in gone]
    assert all_of(shop, "?sort_by=created_at&sort_dir=asc") == kept
    by_time = all_of(shop, "?")
    assert sorted(one["id"] for one in by_time) == sorted(one["id"] for one in kept)
    assert all_of(shop, "?q=message&sort_by=created_at&sort_dir=asc") == kept
    assert notifications(shop, "?q=message%2064") == ([], 0, False)
    assert all_of(shop, "?status=scheduled&sort_by=created_at&sort_dir=asc") == kept[:-1]
    assert all_notifications(shop) == by_time
    exported = shop.service.cli("pass", "export", shop.account, "ann")["notifications"]
    assert sorted(one["id"] for one in exported) == sorted(one["id"] for one in kept)
    for n in gone:
        refused("RESOURCE_NOT_FOUND", "notification_id", cancel, shop, made[n])
    shop.service.cli("clock", "advance", "1d")
    wait_for(lambda: notifications(shop, "?status=scheduled")[1] == 0, 10, "the other notifications to be sent")
    assert notifications(shop, "?status=sent")[1] == 68
    assert shop.service.cli("verify")["ok"] is True


def test_refusals_of_cancel(clocked):
    shop, stranger = clocked, Shop(clocked.service, ())
    shop.create("ann")
    later = schedule(shop, "later", ahead(shop, hours=1), "--pass", "ann")
    sent = schedule(shop, "sent", "2020-01-01T00:00:00Z", "--pass", "ann")
    await_state(shop, "sent", "sent")
    for _ in range(2):
        refused("RESOURCE_CONFLICT", None, cancel, shop, sent)
    refused("RESOURCE_NOT_FOUND", "notification_id", cancel, stranger, later)
    for nobody in (NOBODY, "x", "", later[:-1] + ("0" if later[-1] != "0" else "1")):
        refused("RESOURCE_NOT_FOUND", "notification_id", cancel, shop, nobody)
    assert states(shop) == {"later": "scheduled", "sent": "sent"}
    shop.delete("ann")
    shop.service.cli("clock", "advance", "2h")
    await_state(shop, "later", "failed")
    refused("RESOURCE_CONFLICT", None, cancel, shop, later)
    assert shop.service.run("notification", "cancel", shop.account).returncode == 2
    stranger.close()
