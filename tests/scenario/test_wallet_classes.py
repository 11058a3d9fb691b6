"""Classes at Google, which templates make (WALLET_CLASSES_STEP), through an imitation of Google; and the steps of `wallet check` that
try them (WALLET_PROBE)."""
import json
import time

import pytest
from google import STRANGER, Google
from harness import wait_for
from saved import AtGoogle, at, key  # noqa: F401: fixtures
from shop import Shop, template_file
from wallets import EMAIL, ISSUER, google as service_account, put_google

NOT = 1.0  # seconds after which a call that must not come has not come


def put(at, title, template=None):
    """Puts a template; the id of its class."""
    changes = {"pass_template_id": template} if template else {}
    return at.class_id(at.shop.put_template(template_file(appearance={"title": title}, **changes)))


def title_of(google, class_id):
    return google.things.get(("loyaltyClass", class_id), {}).get("programName")


def test_a_templates_class_is_made_when_it_is_put(at):
    made = put(at, "First")
    wait_for(lambda: title_of(at.google, made) == "First", 10, "the class")
    assert [call.method for call in at.google.calls] == ["PATCH", "POST"]
    assert at.google.calls[-1].body["callbackOptions"]["url"].endswith(f"/{at.shop.account}/callback")
    template = made.removeprefix(f"{ISSUER}.")
    assert put(at, "First", template) == made
    time.sleep(NOT)
    assert len(at.google.calls) == 2, "it looks as it did"
    put(at, "Second", template)
    wait_for(lambda: title_of(at.google, made) == "Second", 10, "the change")
    assert [call.method for call in at.google.calls] == ["PATCH", "POST", "PATCH"]
    assert at.service.cli("verify")["ok"]


def link_kinds(at, made):
    """What a link to save the pass has inside."""
    return set(at.claims(made)["payload"])


def test_a_link_has_the_class_inside_until_google_has_it(at):
    at.google.answers["PATCH", "loyaltyClass"].append(503)
    at.shop.templates["new"] = template = at.shop.put_template(template_file())
    made = at.shop.create("ada", "new")
    assert link_kinds(at, made) == {"loyaltyClasses", "loyaltyObjects"}
    at.advance(6)
    wait_for(lambda: ("loyaltyClass", at.class_id(template)) in at.google.things, 10, "the class")
    wait_for(lambda: link_kinds(at, made) == {"loyaltyObjects"}, 10, "the link without it")
    assert at.service.cli("verify")["ok"]


def test_a_link_has_the_class_of_another_issuer_inside_again(at, tmp_path, key):
    made = at.shop.create("ada", "none")
    assert link_kinds(at, made) == {"genericObjects"}
    at.google.answers["PATCH", "genericClass"].append(503)
    put_google(at.shop, service_account(tmp_path, key), "77")
    assert link_kinds(at, made) == {"genericClasses", "genericObjects"}
    at.advance(6)
    wait_for(lambda: link_kinds(at, made) == {"genericObjects"}, 10, "the link of the other issuer without it")


def test_the_class_of_a_deleted_template_is_forgotten(at):
    template = at.shop.put_template(template_file())
    wait_for(lambda: ("loyaltyClass", at.class_id(template)) in at.google.things and at.due() == 0, 10, "the class")
    at.service.cli("template", "delete", at.shop.account, template)
    assert at.service.cli("verify")["ok"]
    at.service.stop()
    rows = at.service.run("table", "dump", f"{at.service.data}/shards/0", "wallet_class").stdout.splitlines()
    assert len(rows) == 2, "those of the other two templates"


def test_all_classes_are_made_when_a_service_account_is_put(new_service, tmp_path, key):
    """They are more than one step makes, and a shard that dies on the way goes on with them."""
    google = Google(tmp_path, key)
    service = new_service(shards=1, options=google.options("--test-clock"))
    shop = Shop(service, ["balance"] * 40)
    service.expect_log("event=died")
    old = service.pid_of("shard")
    put_google(shop, service_account(tmp_path, key))
    google.wait("POST", "loyaltyClass", 3)
    service.kill_child("shard")
    service.await_successor("shard", 0, old)
    wait_for(lambda: len(google.things) == 40, 30, lambda: f"the classes; there are {len(google.things)}")
    shop.close()
    service.stop()
    google.close()


def test_the_operators_service_account_makes_the_classes_of_all_accounts(new_service, tmp_path, key):
    google = Google(tmp_path, key)
    service = new_service(shards=2, options=google.options("--test-clock"))
    shops = [Shop(service, ("balance",)) for _ in range(6)]
    other, off = shops[0], shops[1]
    off.set("--wallet", "apple")
    put_google(other, service_account(tmp_path, key, "other.json"), "77")
    google.wait("POST", "loyaltyClass")
    before = len(google.calls)
    service.cli("wallet", "google", "put", "--default", "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
    wanted = {f"77.{other.templates['balance']}"} | {f"{ISSUER}.{shop.templates['balance']}" for shop in shops[2:]}
    wait_for(lambda: {name for _, name in google.things} == wanted, 15, lambda: f"the classes; there are {google.things.keys()}")
    time.sleep(NOT)
    assert {name for _, name in google.things} == wanted
    assert len(google.calls) - before == 2 * len(shops[2:]), "nothing is written for accounts that it does not serve"
    off.set("--wallet", "on")
    wait_for(lambda: len(google.things) == 6, 10, "the class of the account whose wallet was switched on")
    for shop in shops:
        shop.close()
    service.stop()
    google.close()


def test_the_operators_service_account_may_be_put_before_there_is_an_account(new_service, tmp_path, key):
    google = Google(tmp_path, key)
    service = new_service(shards=1, options=google.options())
    service.cli("wallet", "google", "put", "--default", "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
    shop = Shop(service, ("balance",))
    google.wait("POST", "loyaltyClass")
    shop.close()
    service.stop()
    google.close()


def test_a_class_that_failed_is_written_later(at):
    at.google.answers["PATCH", "loyaltyClass"].append(503)
    made = put(at, "Late")
    wait_for(lambda: any(call.answer == 503 for call in at.google.calls), 10, "the failure")
    at.advance(7)
    wait_for(lambda: title_of(at.google, made) == "Late", 10, "the class")


def test_a_class_that_google_refuses_is_given_up(at):
    at.google.answers["PATCH", "loyaltyClass"].append(400)
    put(at, "Bad")
    wait_for(lambda: at.service.cli("wallet", "show", at.shop.account)["last_error"], 10, "the error")
    assert at.service.cli("wallet", "show", at.shop.account)["last_error"] == "class: status 400"
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.advance(60)
    time.sleep(NOT)
    assert len(at.google.calls) == 1


def test_a_deleted_template_makes_no_class(at):
    at.google.answers["PATCH", "loyaltyClass"].append(503)
    made = put(at, "Short")
    wait_for(lambda: any(call.answer == 503 for call in at.google.calls), 10, "the failure")
    at.service.cli("template", "delete", at.shop.account, made.removeprefix(f"{ISSUER}."))
    at.advance(7)
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    assert title_of(at.google, made) is None


def test_classes_wait_for_a_refused_service_account(at):
    at.google.answers["PATCH", "loyaltyClass"].append(403)
    at.service.expect_log("event=wallet-credential-rests account=acc_[a-z0-9]+ kind=google seconds=60")
    made = put(at, "Held")
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["state"] == "resting", 10, "the rest")
    at.service.cli("wallet", "resume", at.shop.account)
    wait_for(lambda: title_of(at.google, made) == "Held", 10, "the class")


# wallet check

def steps(at):
    done = at.service.run("wallet", "check", at.shop.account)
    printed = json.loads(done.stdout)
    assert (done.returncode == 0) == printed["ok"]
    return [(step["step"], step["ok"], step["detail"]) for step in printed["steps"]]


def test_a_rehearsal_has_google_write_a_class(at):
    token, written = steps(at)
    assert token == ("google_token", True, f"Google gave {EMAIL} an access token.")
    assert written == ("google_class", True, "Google took a class of the account's templates.")
    call, = at.google.calls
    assert (call.method, call.path) == ("PATCH", f"loyaltyClass/{at.class_id(at.shop.templates['balance'])}")


@pytest.mark.parametrize("status", [400, 403, 503])
def test_a_rehearsal_says_what_google_answered(at, status):
    at.google.answers["PATCH", "loyaltyClass"].append(status)
    if status == 403:
        at.service.expect_log("event=wallet-credential-rests")
    token, written = steps(at)
    assert token[1] is True and written[1:] == (False, f"Google: class: status {status}")
    assert steps(at)[1][1] is True, "also while it rests"


def test_a_rehearsal_asks_for_a_new_token(at):
    wait_for(lambda: steps(at)[0][1] and len(at.google.assertions) == 2, 15, "a second exchange, some seconds after the first")
    at.google.refuses_tokens = True
    wait_for(lambda: not steps(at)[0][1], 15, "the refusal to be seen")
    made = put(at, "Later")
    wait_for(lambda: title_of(at.google, made) == "Later", 10, "a class by the token that holds still")


def test_classes_are_written_with_every_put_of_the_service_account(at, tmp_path, key):
    name = at.class_id(at.shop.templates["balance"])
    for change in (lambda: put_google(at.shop, service_account(tmp_path, key)), lambda: (at.shop.set("--wallet", "off"), at.shop.set("--wallet", "on"))):
        at.google.things["loyaltyClass", name]["programName"] = "Changed in the console"
        change()
        wait_for(lambda: title_of(at.google, name) == "Card", 10, "the class")


def test_a_rehearsal_without_a_token(at):
    at.google.refuses_tokens, at.google.tokens = True, at.google.tokens + 1
    at.service.expect_log("event=wallet-credential-rests")
    assert steps(at) == [("google_token", False, "Google: class: status 401, no access token: status 400"),
                         ("google_class", False, "Not tried: see the step google_token.")]


def test_a_rehearsal_without_a_template_asks_for_the_issuers_classes(new_service, tmp_path, key):
    at = AtGoogle(new_service, tmp_path, key, "--no-deliveries")
    assert steps(at)[0][1:] == (False, "Nothing is sent: the service runs with --no-deliveries.")
    at.close()
    google = Google(tmp_path, key)
    service = new_service(shards=1, options=google.options())
    account = service.cli("account", "create", "--name", "Empty")["account_id"]
    service.cli("wallet", "google", "put", account, "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
    printed = service.cli("wallet", "check", account)
    assert printed["ok"] and [call.method for call in google.calls] == ["GET"]
    service.stop()
    google.close()


@pytest.mark.slow
def test_more_classes_than_are_written_in_time_are_written(new_service, tmp_path, key):
    """The shards share the pace of one service account; what has begun goes first, else all of them start again and again."""
    google = Google(tmp_path, key)
    service = new_service(shards=3, options=google.options())
    shops = [Shop(service, ["balance"] * 20) for _ in range(6)]
    service.cli("wallet", "google", "put", "--default", "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
    wait_for(lambda: len(google.things) == 120, 60, lambda: f"the classes; there are {len(google.things)}")
    for shop in shops:
        shop.close()
    service.stop()
    google.close()


def test_an_account_that_is_renamed_has_new_classes(at):
    at.service.cli("account", "rename", at.shop.account, "Other")
    name = at.class_id(at.shop.templates["balance"])
    wait_for(lambda: at.google.things["loyaltyClass", name]["issuerName"] == "Other", 10, "the name")


def test_another_service_account_writes_the_classes_itself(at, tmp_path, key):
    """It may not be allowed to: that is to be noticed now, though the classes look as they did."""
    at.service.expect_log("event=wallet-credential-rests account=acc_[a-z0-9]+ kind=google")
    put_google(at.shop, service_account(tmp_path, key, "other.json", client_email=STRANGER))
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["state"] == "resting", 10, "the refusal")


def test_a_class_that_google_refuses_holds_up_no_pass(at):
    template = at.shop.templates["balance"]
    made = at.saved("ada")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.google.answers["PATCH", "loyaltyClass"] += [400] * 9
    put(at, "Refused", template)
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["last_error"], 10, "the error")
    at.advance(6)
    at.shop.add("ada", 7)
    wait_for(lambda: at.balance_at_google(made) == 7, 10, "the points")
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(made) == 8 and at.due() == 0, 10, "the points")
    assert "class" in at.service.cli("wallet", "google", "show", at.shop.account)["last_error"]
    at.google.answers["PATCH", "loyaltyClass"].clear()
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(made) == 9, 10, "the points")
    assert title_of(at.google, at.class_id(template)) == "Refused", "it is tried with each pass until it is taken"
