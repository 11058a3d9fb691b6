"""A pass is erased while phones have it: they get it once more, void and without what was its holder's, and are forgotten a day
later."""
import json

import pytest
from harness import wait_for
from installed import Setting, apns, at, credential, options  # noqa: F401: fixtures
from page import path_of_link
from phones import Held
from pkpass import entries_of
from shop import path_of

HOURS = 3600


def erase(at, held):
    return at.service.cli("pass", "erase", at.shop.account, held.id)


def own(held):
    """What must not be found in a package any more."""
    return held.id.encode(), b"Ada"


def make(at, pass_id="ada-4711"):
    held, phone = at.installed(pass_id)
    held.link = at.shop.get(pass_id)["download_url"]
    before = phone.fetch(held)
    assert before.status == 200 and all(text in before.body for text in own(held))
    assert phone.changed() == {held.serial}
    assert phone.changed() == set()
    return held, phone


def gets_the_last_one(held, phone):
    assert phone.changed() == {held.serial}
    answer = phone.fetch(held)
    assert answer.status == 200
    shown = json.loads(entries_of(answer.body)["pass.json"])
    assert shown["voided"] and "webServiceURL" not in shown and shown["serialNumber"] == held.serial
    assert "barcodes" not in shown
    assert not any(text in answer.body for text in own(held))


def a_day_later(at):
    at.advance(25 * HOURS)


def knows_nobody(at, held, phone):
    assert phone.fetch(held).status == phone.give_up(held).status == phone.register(held).status == 401
    assert phone.ask().status == 204
    assert at.service.cli("verify")["ok"]


def test_a_phone_gets_an_erased_pass_without_its_texts(at):
    held, phone = make(at)
    erase(at, held)
    at.apns.wait(phone.push, 1)
    gets_the_last_one(held, phone)
    assert at.service.cli("verify")["ok"]
    for answer in (at.shop.client.get("/v1/passes?include_deleted=true"), at.shop.client.get("/v1/passes")):
        assert not any(text in answer.body for text in (*own(held), held.link.encode())), "also while phones know it"
    a_day_later(at)
    wait_for(lambda: phone.ask().status == 204, 10, "the phone to be forgotten")
    knows_nobody(at, held, phone)


def test_the_link_of_an_erased_pass_is_nobodys(at):
    made = at.shop.create("ada")
    held, phone = Held(at.shop, made), at.phone()
    assert phone.register(held).status == 201
    stranger = "/p/" + "A" * 22
    erase(at, held)
    for rest in ("", "/pass.pkpass", "/google", "/logo.png"):
        refused = at.shop.client.get(path_of_link(made["download_url"]) + rest)
        unknown = at.shop.client.get(stranger + rest)
        assert (refused.status, refused.body) == (unknown.status, unknown.body), rest
        assert refused.status == 404, rest


def test_one_that_was_deleted_before(at):
    held, phone = make(at)
    assert at.shop.client.delete(path_of(held.id)).status == 204
    at.apns.wait(phone.push, 1)
    at.advance(6)
    erase(at, held)
    at.apns.wait(phone.push, 2)
    phone.tag = None
    gets_the_last_one(held, phone)


def test_one_that_was_deleted_almost_30_days_ago(at):
    held, phone = make(at)
    assert at.shop.client.delete(path_of(held.id)).status == 204
    at.apns.wait(phone.push, 1)
    at.advance(30 * 24 * HOURS - 60)
    erase(at, held)
    at.advance(120)
    phone.tag = None
    gets_the_last_one(held, phone)
    a_day_later(at)
    wait_for(lambda: phone.ask().status == 204, 10, "the phone to be forgotten")
    knows_nobody(at, held, phone)


def test_a_phone_gives_an_erased_pass_up(at):
    held, phone = make(at)
    erase(at, held)
    assert phone.give_up(held).status == 200
    assert phone.ask().status == 204
    a_day_later(at)
    wait_for(lambda: phone.fetch(held).status == 401, 10, "the pass to be forgotten")
    assert at.service.cli("verify")["ok"]


def test_a_kill_while_phones_wait(at):
    held, phone = make(at)
    erase(at, held)
    at.service.expect_log("event=died child=shard-0 .*signal=9")
    at.service.kill_child("shard")
    gets_the_last_one(held, phone)
    a_day_later(at)
    wait_for(lambda: phone.ask().status == 204, 10, "the phone to be forgotten")
    knows_nobody(at, held, phone)


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("command", [("wallet", "apple", "remove", "ACCOUNT"), ("account", "set", "ACCOUNT", "--wallet", "off")])
def test_phones_that_cannot_be_reached_are_forgotten_at_once(at, command, is_deleted):
    held, phone = make(at)
    if is_deleted:
        assert at.shop.client.delete(path_of(held.id)).status == 204
    at.service.cli(*(at.shop.account if word == "ACCOUNT" else word for word in command))
    erase(at, held)
    assert at.service.cli("wallet", "show", at.shop.account)["devices"] == 0
    assert at.service.cli("verify")["ok"]


def test_one_of_many_phones_can_be_reached(at, apple):
    """The certificate of the others was removed."""
    held, _ = make(at)
    for _ in range(6):
        assert at.phone().register(held).status == 201
    at.service.cli("wallet", "apple", "remove", at.shop.account)
    certificate, key = apple.make("pass.example.second")
    at.service.cli("wallet", "apple", "put", at.shop.account, "--cert", certificate, "--key", key, "--wwdr", apple.wwdr)
    phone = at.phone()
    phone.pass_type = "pass.example.second"
    assert phone.register(held).status == 201
    erase(at, held)
    gets_the_last_one(held, phone)
