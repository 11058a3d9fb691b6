"""Passes whose holders have got a link to Google's wallet (WALLET_GOOGLE_OFFER), of which Google has said nothing yet: objects that
are made before, and callbacks that are lost (WALLET_GOOGLE_SAVED)."""
import json
import time

from harness import wait_for
from hooks import subscribe
from page import path_of_link
from saved import at, key  # noqa: F401: fixtures
from shop import template_file

NOT = 1.0  # seconds after which a call that must not come has not come
LINK_MAX = 1800
HOUR, DAY = 3600, 86401
LONG = "https://images.example/" + "x" * 1500 + ".png"


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
    at.google.answers["PATCH", "loyaltyClass"].append(503)  # what holds the class up holds the object up
    at.shop.templates["long"] = at.shop.put_template(template_file(appearance={"logo": LONG}))
    made = at.shop.create("ada", "long")
    answer = at.link(made)
    assert answer.status == 503 and answer.headers["retry-after"]
    at.advance(6)
    wait_for(lambda: at.link(made).status == 303, 15, "the link")
    payload = at.claims(made)["payload"]
    assert set(payload) == {"loyaltyObjects"} and payload["loyaltyObjects"][0]["id"] == at.id_of(made)


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
    at.advance(DAY)
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 404)] * 2, 10, "the next call, of the change that waited")
    at.save(made)
    wait_for(lambda: at.balance_at_google(made) == 2, 10, "the points after the saving")


def test_a_saving_ends_the_quiet_of_an_offered_pass(at):
    made = at.shop.create("ada", "balance")
    link = at.claims(made)["payload"]
    at.shop.add("ada", 1)
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 404)] and at.due() == 0, 10, "the call")
    at.shop.add("ada", 1)
    assert at.due() == 1, "it waits for the end of the quiet"
    at.advance(6)  # the rest after a call
    at.google.take(link)
    assert at.balance_at_google(made) == 0
    at.hear(made, "save")
    wait_for(lambda: at.balance_at_google(made) == 2, 10, "the points")


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
    at.shop.add("ada", 7)
    at.advance(DAY)
    wait_for(lambda: at.balance_at_google(made) == 7, 10, "the points in the object")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    assert at.status("ada") == "issued"
    at.google.unsaved.clear()
    at.shop.add("ada", 1)
    at.advance(DAY)
    wait_for(lambda: at.status("ada") == "active", 10, "the pass to be active")


def test_an_object_that_was_made_ends_with_its_pass(at):
    made, other = made_before(at, "ada"), made_before(at, "eva")
    names = at.id_of(made), at.id_of(other)
    at.google.unsaved.update(names)
    at.shop.delete("ada")
    at.advance(DAY)
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


def test_an_object_that_google_refused_is_tried_again_when_its_link_is_followed_later(at):
    at.shop.put_template(template_file("none", pass_template_id=at.shop.templates["none"], appearance={"logo": LONG}))
    made = at.shop.create("ada", "none")
    at.google.answers["PATCH", "genericObject"].append(400)
    assert at.link(made).status == 503
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 400)] and at.due() == 0, 10, "the refusal")
    assert at.link(made).status == 503
    time.sleep(NOT)
    assert len(calls_of_objects(at)) == 1, "not at once"
    at.advance(HOUR + 1)
    assert at.link(made).status == 503
    wait_for(lambda: at.link(made).status == 303, 15, "the link")


def test_an_object_that_was_deleted_there_is_not_saved_because_it_exists(at):
    made = at.saved("ada")
    at.hear(made, "del", ends=61)
    at.advance(61)
    wait_for(lambda: at.status("ada") == "removed", 10, "the removal")
    at.claims(made)
    at.google.says_users = False
    count = len(calls_of_objects(at))
    at.shop.add("ada", 1)
    at.advance(DAY)
    wait_for(lambda: len(calls_of_objects(at)) > count and at.due() == 0, 10, "the update")
    time.sleep(NOT)
    assert at.status("ada") == "removed"


def test_an_erased_pass_is_made_without_its_texts(at):
    at.google.answers["PATCH", "loyaltyObject"].append(503)
    made = at.shop.create("ada", "balance", visible={"name": "Ada", "site": "https://a.example/" + "x" * 900})
    at.claims(made)
    wait_for(lambda: calls_of_objects(at) == [("PATCH", 503)], 10, "the failure")
    at.service.cli("pass", "erase", at.shop.account, "ada")
    at.advance(6)
    wait_for(lambda: len(calls_of_objects(at)) == 3 and at.due() == 0, 10, "the next calls")
    assert calls_of_objects(at)[1:] == [("PATCH", 404), ("POST", 200)]
    made, = (thing for (kind, _), thing in at.google.things.items() if kind == "loyaltyObject")
    assert made["state"] == "INACTIVE" and "https://a.example" not in json.dumps(made)


def test_what_was_deleted_there_is_blanked_when_it_is_erased(at):
    made = at.saved("ada")
    name = at.id_of(made)
    at.google.things["loyaltyObject", name]["accountName"] = "Ada"
    at.hear(made, "del", ends=61)
    at.advance(6)
    at.service.cli("pass", "erase", at.shop.account, "ada")
    wait_for(lambda: not at.google.things["loyaltyObject", name].get("accountName"), 10, "the name to go")
    assert at.service.cli("verify")["ok"]


def test_a_look_at_the_links_head_is_no_offer(at):
    made = at.shop.create("ada", "balance", visible={"name": "Ada", "site": "https://a.example/" + "x" * 900})
    path = path_of_link(made["download_url"]) + "/google"
    assert at.client.request("HEAD", path).status == 303
    time.sleep(NOT)
    assert not at.google.calls


def test_the_link_of_an_erased_pass_brings_nothing_of_its_holder(at):
    """An offered pass is erased before it was saved: Google gets a blank object, which an old link does not change."""
    made = at.shop.create("ada", "balance")
    object_id = at.id_of(made)
    assert at.link(made).status == 303
    at.service.cli("pass", "erase", at.shop.account, "ada")
    shown = wait_for(lambda: at.google.things.get(("loyaltyObject", object_id)), 10, "the blank object")
    assert shown["state"] == "INACTIVE" and not shown.get("accountName") and shown["accountId"] != "ada"
    wait_for(lambda: at.due() == 0, 10, "the report")
    assert at.service.cli("verify")["ok"]
    assert at.service.stop() == 0
    done = at.service.run("table", "dump", at.service.data / "shards/0", "wallet_google", data=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_blank_object_that_google_refuses_is_given_up(at):
    made = at.shop.create("ada", "balance")
    assert at.link(made).status == 303
    at.google.answers["POST", "loyaltyObject"] += [400] * 20
    at.service.cli("pass", "erase", at.shop.account, "ada")
    wait_for(lambda: not at.advance(3600) and at.due() == 0, 30, "the end of the tries")
    assert 3 <= len(at.google.of("POST", "loyaltyObject")) <= 8 and at.service.cli("verify")["ok"]


def test_an_object_that_google_does_not_blank_is_tried_without_an_end(at):
    """It was saved, and Google's callback was lost."""
    made = at.shop.create("ada", "balance")
    at.follow(made)
    at.google.answers["PATCH", "loyaltyObject"] += [400] * 9
    at.service.cli("pass", "erase", at.shop.account, "ada")
    wait_for(lambda: not at.advance(9000) and at.google.things["loyaltyObject", at.id_of(made)]["state"] == "INACTIVE", 30, "the end there")
