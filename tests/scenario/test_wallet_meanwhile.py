"""What changes while a wallet is being called: the answer to the call is that of an older state, and what is newer is not lost with it."""
import threading
import time

import pytest
from harness import wait_for
from installed import Setting, apns, at as on_phones, credential, options  # noqa: F401: fixtures
from saved import at, key  # noqa: F401: fixtures
from shop import template_file
from wallets import ISSUER, google as service_account, put_google

NOT = 1.0  # seconds after which what must not come has not come
OTHER = "77"


class Meanwhile:
    """An answer that comes after something has been done. It may be asked for before `begin()`."""

    def __init__(self, act, answer):
        self.act, self.answer, self.may, self.done = act, answer, threading.Event(), threading.Event()

    def begin(self):
        self.may.set()
        assert self.done.wait(20), "the call has come"

    def __call__(self):
        assert self.may.wait(20)
        self.act()
        self.done.set()
        return self.answer


def change_issuer(at, tmp_path, key):
    put_google(at.shop, service_account(tmp_path, key), OTHER)


def test_a_change_during_a_refused_push_is_pushed(on_phones):
    at = on_phones
    _, phone = at.installed("ada")
    call = Meanwhile(lambda: at.shop.add("ada", 5), (413, "PayloadTooLarge"))
    at.apns.answers[phone.push].append(call)
    at.shop.add("ada", 5)
    call.begin()
    wait_for(lambda: at.apns.pushes and not at.advance(6) and len(at.apns.pushes) == 2, 15, "the second push")
    assert at.apns.pushes[1].answer == (200, None)


def test_a_phone_that_takes_the_pass_during_a_push_is_pushed_to(on_phones):
    at = on_phones
    held, first = at.installed("ada")
    second = at.phone()
    call = Meanwhile(lambda: second.register(held), (200, None))
    at.apns.answers[first.push].append(call)
    at.shop.add("ada", 5)
    call.begin()
    wait_for(lambda: not at.advance(6) and at.apns.of(second.push), 15, "its push")
    wait_for(lambda: not at.due("push"), 15, "the report")


def test_a_change_during_a_refused_update_is_sent(at):
    made = at.saved("ada")
    call = Meanwhile(lambda: at.shop.add("ada", 5), 400)
    at.google.answers["PATCH", "loyaltyObject"].append(call)
    at.advance(6)
    at.shop.add("ada", 1)
    call.begin()
    wait_for(lambda: not at.advance(6) and at.balance_at_google(made) == 6, 15, "the points")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")


def test_a_template_that_is_put_during_a_refused_class_is_written(at):
    template = at.shop.templates["balance"]
    call = Meanwhile(lambda: at.shop.put_template(template_file(appearance={"title": "Second"}, pass_template_id=template)), 400)
    at.google.answers["PATCH", "loyaltyClass"].append(call)
    at.shop.put_template(template_file(appearance={"title": "First"}, pass_template_id=template))
    call.begin()
    wait_for(lambda: not at.advance(6) and at.google.things["loyaltyClass", at.class_id(template)]["programName"] == "Second", 15, "the class")


def test_an_issuer_that_is_put_during_a_class_gets_the_class(at, tmp_path, key):
    template = at.shop.templates["balance"]

    def put():
        change_issuer(at, tmp_path, key)
        time.sleep(NOT)  # the rows of its classes are made meanwhile

    call = Meanwhile(put, None)
    at.google.answers["PATCH", "loyaltyClass"].append(call)
    at.shop.put_template(template_file(appearance={"title": "First"}, pass_template_id=template))
    call.begin()
    wait_for(lambda: not at.advance(6) and ("loyaltyClass", f"{OTHER}.{template}") in at.google.things, 15, "the class of the other issuer")
    assert at.service.cli("verify")["ok"]


def test_an_answer_of_a_former_issuer_says_nothing_of_the_new_one(at, tmp_path, key):
    made = at.shop.create("ada", "balance")
    at.follow(made)

    def offer_again():
        change_issuer(at, tmp_path, key)
        assert at.link(made).status == 303

    call = Meanwhile(offer_again, None)
    at.google.answers["PATCH", "loyaltyObject"].append(call)
    at.shop.add("ada", 1)
    call.begin()
    at.google.wait("PATCH", "loyaltyObject")
    wait_for(lambda: not at.advance(6) and at.google.of("PATCH", "loyaltyObject")[-1].path.split("/")[1].startswith(f"{OTHER}."), 15,
             "the other issuer to be asked")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    assert at.status("ada") == "issued", "only the former issuer has it"
    assert at.service.cli("verify")["ok"]


def test_an_object_that_is_wanted_since_its_call_is_made(at):
    made = at.shop.create("ada", "balance")
    assert at.link(made).status == 303

    def offer_again():
        at.shop.client.patch("/v1/passes/ada", {"visible": {"name": "Ada", "site": "https://a.example/" + "x" * 900}})
        assert at.link(made).status == 303

    call = Meanwhile(offer_again, None)
    at.google.answers["PATCH", "loyaltyObject"].append(call)
    at.shop.add("ada", 1)
    call.begin()
    wait_for(lambda: not at.advance(6) and ("loyaltyObject", at.id_of(made)) in at.google.things, 15, "the object")


def test_an_end_of_a_callback_in_the_far_future_is_kept(at):
    made = at.shop.create("ada", "balance")
    at.follow(made)
    at.hear(made, "save", expTimeMillis=2**63 - 1)
    at.google.wait("PATCH", "loyaltyObject")
    del at.google.things["loyaltyObject", at.id_of(made)]
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.google.of("PATCH", "loyaltyObject")[-1].answer == 404, 10, "the answer")
    assert at.status("ada") == "active"
    assert at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 1, "it may be too fresh"


@pytest.mark.parametrize("dies", [False, True])
def test_a_pass_that_is_erased_during_its_calls_is_blank_at_the_end(at, dies):
    """The message's call takes longer than the pause between two leases of a pass; the object is written after it."""
    made = at.saved("ada")

    def erase():
        at.service.cli("pass", "erase", at.shop.account, "ada")
        if dies:
            at.service.expect_log("event=died")
            old = at.service.pid_of("shard")
            at.service.kill_child("shard")
            at.service.await_successor("shard", 0, old)
        at.advance(6)
        time.sleep(NOT)  # in which no other job of the pass begins

    call = Meanwhile(erase, None)
    at.google.answers["POST", "loyaltyObject/addMessage"].append(call)
    at.advance(6)
    before = len(at.google.of("PATCH", "loyaltyObject"))
    at.shop.add("ada", 7, message="Hello")
    call.begin()
    wait_for(lambda: not at.advance(6) and len(at.google.of("PATCH", "loyaltyObject")) >= before + 2, 15, "both writes of the object")
    wait_for(lambda: not at.advance(6) and at.object_of(made)["accountName"] is None and at.object_of(made)["messages"] == [], 15, "the blank object")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.advance(60)
    assert at.object_of(made)["accountName"] is None
    assert at.service.cli("verify")["ok"]


def test_an_object_that_google_does_not_show_yet_is_blanked_later(at):
    made = at.shop.create("ada", "balance")
    at.save(made)
    at.google.wait("PATCH", "loyaltyObject")
    hidden = at.google.things.pop(("loyaltyObject", at.id_of(made)))
    at.google.answers["POST", "loyaltyObject"] += [409] * 40  # it is there
    before = len(at.google.of("PATCH", "loyaltyObject"))
    at.service.cli("pass", "erase", at.shop.account, "ada")
    wait_for(lambda: not at.advance(6) and len(at.google.of("PATCH", "loyaltyObject")) > before, 15, "the call")
    wait_for(lambda: at.google.of("PATCH", "loyaltyObject")[-1].answer == 404, 10, "the answer")
    at.google.things["loyaltyObject", at.id_of(made)] = hidden
    wait_for(lambda: not at.advance(6) and at.object_of(made)["accountName"] is None, 15, "the blank object")
