"""Passes whose holders have got a link to Google's wallet (WALLET_GOOGLE_OFFER), of which Google has said nothing yet: objects that
are made before, and callbacks that are lost (WALLET_GOOGLE_SAVED)."""
import time

from harness import wait_for
from hooks import subscribe
from saved import at, key  # noqa: F401: fixtures
from shop import template_file

NOT = 1.0  # seconds after which a call that must not come has not come
LINK_MAX = 1800


def calls_of_objects(at):
    return [(call.method, call.answer) for call in at.google.calls if "Object" in call.path]


def test_an_object_that_makes_the_link_too_long_is_made_before(at):
    made = at.shop.create("ada", "balance", visible={"name": "Ada", "site": "https://a.example/" + "x" * 900})
    first = at.claims(made)["payload"]["loyaltyObjects"][0]
    assert "textModulesData" not in first and len(at.link(made).headers["location"]) <= LINK_MAX
    at.google.wait("POST", "loyaltyObject")
    assert at.object_of(made)["textModulesData"]
    wait_for(lambda: at.claims(made)["payload"] == {"loyaltyObjects": [{"id": at.id_of(made)}]}, 10, "the link that names it")
    assert len(at.link(made).headers["location"]) < 900
    assert at.status("ada") == "issued"
    at.save(made)
    assert at.status("ada") == "active"
    assert at.service.cli("verify")["ok"]


def test_a_link_that_is_too_long_without_its_texts_comes_later(at):
    logo = "https://images.example/" + "x" * 1500 + ".png"
    file = template_file(pass_template_id=at.shop.templates["balance"], appearance={"logo": logo})
    at.google.answers["PATCH", "loyaltyClass"].append(503)  # what holds the class up holds the object up
    at.shop.put_template(file)
    made = at.shop.create("ada", "balance")
    answer = at.link(made)
    assert answer.status == 503 and answer.headers["retry-after"]
    at.advance(6)
    wait_for(lambda: at.link(made).status == 303, 15, "the link")
    assert at.claims(made)["payload"] == {"loyaltyObjects": [{"id": at.id_of(made)}]}


def test_an_offered_pass_that_changes_is_asked_for_once_a_day(at):
    made = at.shop.create("ada", "balance")
    at.claims(made)
    at.shop.add("ada", 1)
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 404)], 10, "the call")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.advance(60)
    at.shop.add("ada", 1)
    time.sleep(NOT)
    assert calls_of_objects(at) == [("PATCH", 404)]
    at.advance(86400)
    at.shop.add("ada", 1)
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 404)] * 2, 10, "the next call")
    at.save(made)
    wait_for(lambda: at.balance_at_google(made) == 3, 10, "the points after the saving")


def test_a_lost_callback_is_made_up_for(at):
    at.shop.set("--webhooks", "on")
    hook = subscribe(at.shop, "https://hooks.example.com/in", ["pass.installed"])
    made = at.shop.create("ada", "balance")
    at.follow(made)
    at.shop.add("ada", 7)
    wait_for(lambda: at.status("ada") == "active", 10, "the pass to be active")
    assert at.balance_at_google(made) == 7
    rows = at.service.cli("delivery", "list", at.shop.account, "--subscription", hook["id"])
    assert [row["type"] for row in rows] == ["pass.installed"]
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(made) == 8, 10, "the points")
    assert at.service.cli("verify")["ok"]


def made_before(at, pass_id):
    made = at.shop.create(pass_id, "balance", visible={"name": "Ada", "site": "https://a.example/" + "x" * 900})
    at.claims(made)
    wait_for(lambda: ("loyaltyObject", at.id_of(made)) in at.google.things, 10, "the object")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    return made


def test_an_object_that_was_made_says_whether_it_is_saved(at):
    made = made_before(at, "ada")
    at.google.unsaved.add(at.id_of(made))
    at.advance(6)
    at.shop.add("ada", 7)
    wait_for(lambda: at.balance_at_google(made) == 7, 10, "the points in the object")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    assert at.status("ada") == "issued"
    at.google.unsaved.clear()
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.status("ada") == "active", 10, "the pass to be active")


def test_an_object_that_was_made_ends_with_its_pass(at):
    made, other = made_before(at, "ada"), made_before(at, "eva")
    names = at.id_of(made), at.id_of(other)
    at.google.unsaved.update(names)
    at.advance(6)
    at.shop.delete("ada")
    wait_for(lambda: at.google.things["loyaltyObject", names[0]]["state"] == "INACTIVE", 10, "the end")
    at.service.cli("pass", "erase", at.shop.account, "eva")
    wait_for(lambda: not at.google.things["loyaltyObject", names[1]].get("textModulesData"), 10, "the texts to go")
    assert at.service.cli("verify")["ok"]


def test_a_link_that_is_followed_again_costs_google_no_call(at):
    made = made_before(at, "ada")
    count = len(at.google.calls)
    for _ in range(3):
        at.claims(made)
    time.sleep(NOT)
    assert len(at.google.calls) == count
