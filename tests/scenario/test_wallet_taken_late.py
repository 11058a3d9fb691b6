"""A pass changes after a phone has downloaded it and before the phone has registered for it: the phone is pushed to then."""
import time

from harness import wait_for
from installed import apns, apple, at, credential, options  # noqa: F401: fixtures
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
