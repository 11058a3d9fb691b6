"""A pass changes after a phone has downloaded it and before the phone has registered for it: the phone is pushed to then."""
import os
import time

import pytest
from harness import wait_for
from installed import apns, at, credential, options  # noqa: F401: fixtures
from phones import Held
from shop import template_file

NOT = 1.0  # seconds after which a push that must not come has not come


def downloaded(at):
    """A pass, and the phone that shows it to its holder, who has not taken it yet."""
    return Held(at.shop, at.shop.create("ada")), at.phone()


def nothing_is_pushed(at):
    time.sleep(NOT)
    return not at.apns.pushes and not at.due("push")


def test_points_that_came_after_the_download_are_pushed(at):
    held, phone = downloaded(at)
    at.shop.add("ada", 5)
    assert phone.register(held).status == 201
    at.apns.wait(phone.push)
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.advance(6)
    assert phone.register(held).status == 200
    time.sleep(NOT)
    assert len(at.apns.pushes) == 1, "it is known"


def test_a_template_that_changed_after_the_download_is_pushed(at):
    held, phone = downloaded(at)
    at.shop.put_template(template_file(appearance={"title": "Second"}, pass_template_id=at.shop.templates["balance"]))
    at.advance(6)
    assert phone.register(held).status == 201
    at.apns.wait(phone.push)


def test_a_pass_that_ended_after_the_download_is_pushed(at):
    held, phone = downloaded(at)
    at.shop.event("ada", "deactivated")
    assert phone.register(held).status == 201
    at.apns.wait(phone.push)
    assert phone.fetch(held).status == 200


def test_what_changed_long_before_is_not_pushed(at):
    held, phone = downloaded(at)
    at.shop.add("ada", 5)
    at.advance(3601)
    assert phone.register(held).status == 201
    assert nothing_is_pushed(at)


def test_other_phones_that_come_and_go_are_no_change(at):
    held, phone = downloaded(at)
    for _ in range(3):
        assert phone.register(held).status == 201
        assert phone.give_up(held).status == 200
        at.advance(61)
        wait_for(lambda: at.shop.get("ada")["status"] == "removed", 10, "the removal")
    assert phone.register(held).status == 201
    assert nothing_is_pushed(at)


def test_another_push_token_is_pushed_to(at):
    held, phone = downloaded(at)
    assert phone.register(held).status == 201
    former, phone.push = phone.push, "ab" * 32
    at.apns.answers[former].append((410, "Unregistered"))
    at.shop.add("ada", 5)
    at.apns.wait(former)
    assert phone.register(held).status in (200, 201)
    at.advance(6)
    at.apns.wait(phone.push)


def test_a_second_phone_that_knows_newer_things_is_told_of_the_pass(at):
    held, first = at.installed("ada")
    other, second = at.installed("eva")
    at.shop.add("ada", 5)
    at.shop.add("eva", 1)
    assert second.changed() == {other.serial} and second.changed() == set()
    assert second.register(held).status == 201
    at.apns.wait(second.push, 2)
    assert second.changed() == {held.serial} and second.changed() == set()
    assert first.changed() == {held.serial}
    for _ in range(3):
        assert at.phone().register(held).status == 201
    assert [event["what"] for event in at.shop.history("ada")][-2:] == ["loyalty", "installed"]


def test_a_phone_that_comes_back_gets_what_it_missed(at):
    held, phone = downloaded(at)
    assert phone.register(held).status == 201
    assert phone.give_up(held).status == 200
    at.advance(61)
    wait_for(lambda: at.shop.get("ada")["status"] == "removed", 10, "the removal")
    at.shop.add("ada", 5)
    for _ in range(2):
        at.advance(4000)
        assert phone.register(held).status == 201
        at.apns.wait(phone.push)
        assert phone.give_up(held).status == 200
        at.advance(61)
        wait_for(lambda: at.shop.get("ada")["status"] == "removed", 10, "the removal")
    time.sleep(NOT)
    assert len(at.apns.pushes) == 1, "nothing has changed since"


def test_a_phone_with_other_push_tokens_uses_up_no_try_of_a_push_that_fails(at):
    held, first = at.installed("ada")
    second = at.phone()
    assert second.register(held).status == 201
    at.apns.answers[first.push] += [(503, "Shutdown")] * 9
    at.shop.add("ada", 5)
    at.apns.wait(first.push)
    for tries in range(2, 10):
        at.advance(6)
        second.push = os.urandom(32).hex()
        assert second.register(held).status == 200
        at.apns.wait(first.push, tries)
    wait_for(lambda: not at.advance(600) and len(at.apns.of(first.push)) == 10, 30, "the last push")
    wait_for(lambda: at.due("push") == 0, 10, "nothing to be due")
    assert at.service.cli("verify")["ok"]


def test_another_push_token_gets_what_the_former_one_lost(at):
    held, phone = downloaded(at)
    assert phone.register(held).status == 201
    at.advance(60)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.advance(5000)
    phone.push = "ab" * 32
    assert phone.register(held).status == 200
    at.apns.wait(phone.push)


def test_a_phone_that_asked_after_the_certificate_had_ended_is_pushed_to(at, apple):
    held, phone = at.installed("ada")
    phone.changed()
    at.service.expect_log("event=wallet-credential-ends")
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.advance(400 * 86400)
    assert phone.changed() == set() and phone.fetch(held).status == 503, "it must not believe that it knows the change"
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options(days=800))
    at.apns.wait(phone.push, 2)
    assert phone.changed() == {held.serial} and phone.fetch(held).status == 200


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("way", ["off", "removed"])
def test_a_phone_that_asked_in_vain_is_pushed_to(at, options, ends, way):
    """It was pushed to, and came when the wallet was off, or its credential was removed."""
    held, phone = at.installed("ada")
    phone.changed()
    at.shop.event("ada", "deactivated") if ends else at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.shop.set("--wallet", "off") if way == "off" else at.service.cli("wallet", "apple", "remove", at.shop.account)
    assert phone.changed() == set()
    at.advance(6)
    at.shop.set("--wallet", "on") if way == "off" else at.service.cli("wallet", "apple", "put", at.shop.account, *options)
    at.apns.wait(phone.push, 2)
    assert phone.changed() == {held.serial}
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.advance(6)
    at.service.cli("wallet", "apple", "put", at.shop.account, *options)
    time.sleep(NOT)
    assert len(at.apns.pushes) == 2, "a renewal pushes to nobody"
    assert at.service.cli("verify")["ok"]
