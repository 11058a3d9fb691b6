"""Passes in Google's wallet, of an account whose issuer changes: a saved pass stays with the issuer at which it was saved."""
from harness import wait_for
from saved import AtGoogle, at, key  # noqa: F401: fixtures
from wallets import ISSUER, google as service_account, put_google

OTHER = "77"


def issuer_of(at, made):
    """The issuer of the object that a link to save the pass names."""
    [[thing]] = [things for kind, things in at.claims(made)["payload"].items() if kind.endswith("Objects")]
    return thing["id"].split(".")[0]


def change_issuer(at, tmp_path, key):
    put_google(at.shop, service_account(tmp_path, key), OTHER)
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")


def object_at(at, issuer, made):
    return at.google.things["loyaltyObject", f"{issuer}.{at.id_of(made).split('.')[1]}"]


def test_a_saved_pass_stays_with_its_issuer(at, tmp_path, key):
    saved, new = at.saved("ada"), at.shop.create("eva")
    change_issuer(at, tmp_path, key)
    assert (issuer_of(at, saved), issuer_of(at, new)) == (ISSUER, OTHER)
    assert at.service.cli("wallet", "preview", at.shop.account, "ada")["google"]["object"]["id"] == at.id_of(saved)
    at.advance(6)
    at.shop.add("ada", 7)
    wait_for(lambda: at.balance_at_google(saved) == 7, 10, "the points")
    at.hear(saved, "del")
    at.advance(61)
    wait_for(lambda: at.status("ada") == "removed", 10, "the removal")
    assert issuer_of(at, saved) == ISSUER, "Google has its object still"
    at.service.cli("pass", "erase", at.shop.account, "ada")
    wait_for(lambda: at.object_of(saved)["state"] == "INACTIVE" and at.object_of(saved)["accountName"] is None, 10, "the object to be blank")


def test_a_deleted_pass_stays_with_an_issuer_at_which_a_call_failed(at, tmp_path, key):
    deleted, saved = at.saved("ada"), at.saved("eva")
    at.hear(deleted, "del", ends=70)
    at.google.answers["PATCH", "loyaltyObject"].append(403)
    at.advance(6)
    at.shop.add("eva", 7)
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["last_error"], 10, "the failure to be noted")
    put_google(at.shop, service_account(tmp_path, key), OTHER)
    assert issuer_of(at, deleted) == ISSUER and issuer_of(at, saved) == ISSUER


def test_a_pass_goes_to_the_new_issuer_when_the_old_one_is_removed(at, tmp_path, key):
    saved = at.saved("ada")
    at.service.cli("wallet", "google", "remove", at.shop.account)
    change_issuer(at, tmp_path, key)
    assert issuer_of(at, saved) == OTHER


def test_a_card_of_another_issuer_that_is_deleted_removes_nothing(at, tmp_path, key):
    made = at.shop.create("ada")
    old = at.claims(made)
    change_issuer(at, tmp_path, key)
    new = at.claims(made)
    for claims, issuer in ((old, ISSUER), (new, OTHER)):  # the holder saves it by both links
        at.google.take(claims["payload"])
        body = at.google.callback(f"{issuer}.{at.id_of(made).split('.')[1]}", "save", issuer=issuer)
        wait_for(lambda body=body: at.say(body).status == 200, 10, "the callback to be taken")
    assert at.status("ada") == "active"
    at.hear(made, "del", ends=70)
    at.advance(61)
    at.shop.add("ada", 7)
    wait_for(lambda: object_at(at, OTHER, made)["loyaltyPoints"]["balance"] == {"int": 7, "string": None}, 10, "the points")
    assert at.status("ada") == "active"
    at.hear(made, "del", ends=80, issuer=OTHER, object_id=f"{OTHER}.{at.id_of(made).split('.')[1]}")
    at.advance(61)
    wait_for(lambda: at.status("ada") == "removed", 10, "the removal")
    assert at.service.cli("verify")["ok"]


def test_a_pass_saved_with_the_default_stays_with_it(new_service, tmp_path, key):
    at = AtGoogle(new_service, tmp_path, key, is_default=True)
    saved = at.saved("ada")
    change_issuer(at, tmp_path, key)
    assert issuer_of(at, saved) == ISSUER
    at.advance(6)
    at.shop.add("ada", 7)
    wait_for(lambda: at.balance_at_google(saved) == 7, 10, "the points")
    at.close()
