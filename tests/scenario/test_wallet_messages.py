"""Messages to the holders of passes that phones have: what each version of the pass shows, and that phones are pushed to."""
import json
import time

import pytest
from harness import refusal, wait_for
from installed import Setting, apns, at, credential, options  # noqa: F401: fixtures
from notices import ahead, await_state, put_audience, schedule, states
from phones import Held
from pkpass import entries_of
from shop import FIELDS, path_of, template_file
from test_wallet_pushes import NOT

MARK = "\u200b"
COUNTER, MESSAGE = "points", "stampede.message"


def fields_of(phone, held):
    """The fields of the pass as the phone gets it, by key."""
    answer = phone.fetch(held)
    assert answer.status == 200, answer
    shown = json.loads(entries_of(answer.body)["pass.json"])
    places = next(shown[style] for style in ("storeCard", "generic", "coupon", "eventTicket") if style in shown)
    return {field["key"]: field for place in places.values() for field in place}


def told(phone, held):
    """{key: changeMessage} of the fields that tell their change."""
    return {key: field["changeMessage"] for key, field in fields_of(phone, held).items() if "changeMessage" in field}


def message(phone, held):
    return fields_of(phone, held).get(MESSAGE, {}).get("value")


def patch(at, pass_id, **visible):
    answer = at.shop.client.patch(path_of(pass_id), {"visible": visible})
    assert answer.status == 204, answer


def members(names):
    return [word for name in names for word in ("--pass", name)]


def put_changes(at, **changes):
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], wallet={"changes": changes}))


def test_the_message_of_a_loyalty_call_is_told_with_it(at):
    held, phone = at.installed("ada")
    assert message(phone, held) is None
    at.shop.add("ada", 5, message="Five for you")
    at.apns.wait(phone.push)
    assert phone.changed() == {held.serial}
    assert told(phone, held) == {MESSAGE: "%@"}
    field = fields_of(phone, held)[MESSAGE]
    assert (field["value"], field["label"]) == ("Five for you", "News")
    at.advance(6)
    time.sleep(NOT)
    assert len(at.apns.of(phone.push)) == 1, "the message was committed with the points"
    await_state(at.shop, "Five for you", "sent")


def test_a_later_change_is_told_and_the_message_stays(at):
    held, phone = at.installed("ada")
    at.shop.add("ada", 5, message="Five for you")
    at.shop.add("ada", 1)
    assert told(phone, held) == {COUNTER: "Points: %@"}
    assert message(phone, held) == "Five for you"


def test_what_an_edit_tells(at):
    held, phone = at.installed("ada")
    put_changes(at, site="Now at %@", visits="%@ visits", vip=None)
    at.shop.add("ada", 1)
    patch(at, "ada", visits=3, site="https://a.example/", vip=True)
    assert told(phone, held) == {"visits": "%@ visits"}, "the first in the template's order"
    patch(at, "ada", site="https://b.example/")
    assert told(phone, held) == {"site": "Now at %@"}
    patch(at, "ada", name="Eva")
    assert told(phone, held) == {}, "no text for that field"
    at.shop.add("ada", 1)
    assert told(phone, held) == {COUNTER: "Points: %@"}
    patch(at, "ada", visits=None)
    assert told(phone, held) == {}, "a field without a value is not shown"
    at.shop.add("ada", 0, message="Hello")
    assert told(phone, held) == {MESSAGE: "%@"}


def test_the_same_message_twice_is_another_value(at):
    held, phone = at.installed("ada")
    values = []
    for text in ("Hello", "Hello", "Hello", "Bye", "Hello"):
        at.shop.add("ada", 0, message=text)
        values.append(message(phone, held))
    assert values == ["Hello", "Hello" + MARK, "Hello", "Bye", "Hello"]


def test_a_message_before_the_pass_was_installed_is_not_shown(at):
    made = at.shop.create("eva")
    at.shop.add("eva", 1)
    at.advance(3601)
    at.shop.add("eva", 0, message="Too early")
    held, phone = Held(at.shop, made), at.phone()
    assert phone.register(held).status == 201
    assert message(phone, held) is None
    at.advance(6)
    time.sleep(NOT)
    assert not at.apns.of(phone.push)


def test_a_scheduled_message_to_a_pass(at):
    held, phone = at.installed("ada")
    before = at.shop.get("ada")
    schedule(at.shop, "At noon", ahead(at.shop, hours=1), "--pass", "ada")
    schedule(at.shop, "At once", ahead(at.shop, hours=-1), "--pass", "ada")
    at.apns.wait(phone.push)
    assert message(phone, held) == "At once"
    phone.changed()
    first = phone.fetch(held)
    at.advance(3601)
    at.apns.wait(phone.push, 2)
    assert phone.changed() == {held.serial}
    assert message(phone, held) == "At noon" and told(phone, held) == {MESSAGE: "%@"}
    assert phone.fetch(held, since=first.headers["last-modified"]).status == 200, "a message is a change"
    await_state(at.shop, "At noon", "sent")
    assert at.shop.get("ada") == {**before, "status": "active"}, "it is none of the pass's data"
    assert str(at.shop.history("ada")).count("'message'") == 2


def test_a_message_of_a_rule(at):
    rule = {"name": "Ten", "event": "pass.balanceUpdate", "conditions": {"min_balance": 10},
            "actions": [{"type": "send_notification", "message": "Ten!"}, {"type": "add_balance", "amount": 1}]}
    at.service.cli("rule", "put", at.shop.account, "-", stdin=json.dumps(rule))
    held, phone = at.installed("ada")
    at.shop.add("ada", 10)
    at.apns.wait(phone.push)
    assert told(phone, held) == {MESSAGE: "%@"}, "as old as the counter's change"
    assert message(phone, held) == "Ten!" and fields_of(phone, held)[COUNTER]["value"] >= 11


def test_a_message_to_an_audience_reaches_its_members_on_phones(at):
    pairs = [at.installed(f"pass-{i}") for i in range(20)]
    for i in range(300):
        at.shop.create(f"paper-{i}")
    _, stranger = at.installed("eva")
    names = [f"paper-{i}" for i in range(300)] + [f"pass-{i}" for i in range(20)]
    audience = put_audience(at.shop, "--name", "All", *members(names))
    schedule(at.shop, "Hello all", ahead(at.shop, seconds=-1), "--audience", audience)
    for held, phone in pairs:
        at.apns.wait(phone.push)
        assert message(phone, held) == "Hello all"
    await_state(at.shop, "Hello all", "sent")
    time.sleep(NOT)
    assert not at.apns.of(stranger.push)
    assert at.service.cli("verify")["ok"]


@pytest.mark.alone  # looks while the pace of seconds lasts
def test_an_audience_is_gone_through_at_the_pace_set_and_over_deaths(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "5")
    pairs = [at.installed(f"pass-{i}") for i in range(20)]
    audience = put_audience(at.shop, "--name", "All", *members(f"pass-{i}" for i in range(20)))
    schedule(at.shop, "Hello all", ahead(at.shop, seconds=-1), "--audience", audience)
    wait_for(lambda: any(message(phone, held) for held, phone in pairs), 10, "the first")
    old = at.service.pid_of("shard")
    at.service.expect_log("event=died")
    at.service.kill_child("shard")
    at.service.await_successor("shard", 0, old)
    assert not all(message(phone, held) for held, phone in pairs), "it takes four seconds"
    wait_for(lambda: all(message(phone, held) == "Hello all" for held, phone in pairs), 20, "all of them")
    at.close()


@pytest.mark.parametrize("way", ["deactivate", "delete", "erase", "uninstall"])
def test_messages_go_with_the_pass(at, way):
    held, phone = at.installed("ada")
    at.shop.add("ada", 1, message="Hello")
    if way == "deactivate":
        at.shop.event("ada", "deactivated")
        assert message(phone, held) is None
    elif way == "delete":
        at.shop.delete("ada")
    elif way == "erase":
        at.service.cli("pass", "erase", at.shop.account, "ada")
    else:
        at.shop.event("ada", "uninstalled")
    assert at.service.cli("verify")["ok"]
    assert at.service.stop() == 0
    done = at.service.run("table", "dump", at.service.data / "shards/0", "wallet_message", data=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_preview_has_the_message(at):
    at.installed("ada")
    at.shop.add("ada", 1, message="Hello")
    shown = at.service.cli("wallet", "preview", at.shop.account, "ada")["apple"]
    assert [field for field in shown["storeCard"]["backFields"] if field["key"] == MESSAGE][0]["value"] == "Hello"


def test_a_message_that_is_shown_cannot_be_cancelled(at):
    held, phone = at.installed("ada")
    at.shop.add("ada", 1, message="Keep me")
    for number in range(5):
        made = schedule(at.shop, f"At once {number}", ahead(at.shop, seconds=-1), "--pass", "ada")
        assert message(phone, held) == f"At once {number}"
        assert refusal(at.service.cli, "notification", "cancel", at.shop.account, made).code == "RESOURCE_CONFLICT"
    assert set(states(at.shop).values()) == {"sent"}


@pytest.mark.parametrize("way", ["audience", "touch"])
def test_a_message_to_one_pass_does_not_wait_for_those_to_many(new_service, authority, apns, options, way):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "1")
    names = [f"pass-{i}" for i in range(40)]
    for name in names:
        at.installed(name)
    shop, held, phone = at.other_shop(options)
    schedule(shop, "For Eva", ahead(at.shop, seconds=30), "--pass", "eva")
    if way == "audience":
        audience = put_audience(at.shop, "--name", "All", *members(names))
        schedule(at.shop, "Hello", ahead(at.shop, seconds=-1), "--audience", audience)
        await_state(at.shop, "Hello", "sent")
    else:
        at.service.cli("wallet", "touch", at.shop.account)
    at.advance(31)
    wait_for(lambda: message(phone, held) == "For Eva", 10, "the message")
    assert at.due() if way == "audience" else len(at.apns.pushes) < 40, "that to many goes on"
    at.close()


def test_accounts_take_turns_with_their_audiences(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "4")
    names = [f"pass-{i}" for i in range(60)]
    for name in names:
        at.installed(name)
    shop, held, phone = at.other_shop(options)
    schedule(at.shop, "Hello", ahead(at.shop, seconds=-1), "--audience", put_audience(at.shop, "--name", "All", *members(names)))
    await_state(at.shop, "Hello", "sent")
    schedule(shop, "For Eva", ahead(at.shop, seconds=-1), "--audience", put_audience(shop, "--name", "All", "--pass", "eva"))
    wait_for(lambda: message(phone, held) == "For Eva", 10, "the message")
    assert at.due(), "the other goes on"
    at.close()


def test_an_older_message_does_not_replace_a_younger_one(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "2")
    pairs = [at.installed(f"pass-{i}") for i in range(8)]
    audience = put_audience(at.shop, "--name", "All", *members(f"pass-{i}" for i in range(8)))
    schedule(at.shop, "Older", ahead(at.shop, seconds=-1), "--audience", audience)
    await_state(at.shop, "Older", "sent")
    at.shop.add("pass-7", 1, message="Younger")
    wait_for(lambda: not at.due(), 20, "the audience to be done")
    assert [message(phone, held) for held, phone in pairs] == ["Older"] * 7 + ["Younger"]
    at.close()


def test_a_touch_leaves_the_announcement_as_it_was(at):
    held, phone = at.installed("ada")
    at.shop.add("ada", 5)
    at.service.cli("wallet", "touch", at.shop.account, "--pass", "ada")
    assert told(phone, held) == {COUNTER: "Points: %@"}
    answer = at.shop.client.patch(path_of("ada"), {"appearance": {"background_color": "#000000"}})
    assert answer.status == 204 and told(phone, held) == {COUNTER: "Points: %@"}


def test_an_edit_is_not_announced_as_another_field(at):
    held, phone = at.installed("ada")
    put_changes(at, visits="%@ visits", site="Now at %@")
    patch(at, "ada", visits=3, site="https://a.example/")
    file = template_file(pass_template_id=at.shop.templates["balance"], wallet={"changes": {"visits": "%@ visits", "site": "Now at %@"}})
    file["fields"] = [*reversed(FIELDS), file["fields"][-1]]
    at.shop.put_template(file)
    assert told(phone, held) == {}
