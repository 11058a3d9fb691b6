"""What is kept of passes in wallets: an export lists it, a template's style depends on it, and it outlives a block."""
import hashlib
import json

from both import at, credential, options  # noqa: F401: fixtures
from erasures import export
from harness import CliError, wait_for
from phones import PASS_TYPE, Held
from shop import template_file
from wallets import ISSUER


def refused(shop, file):
    """The code with which a template is refused; None: it has been put."""
    try:
        shop.put_template(file)
    except CliError as error:
        return error.code
    return None


def status(at, pass_id):  # noqa: F811
    return at.shop.get(pass_id)["status"]


def held(at, pass_id, kind="balance"):  # noqa: F811
    return Held(at.shop, at.shop.create(pass_id, kind))


def test_an_export_lists_phones_without_what_could_wake_them(at):  # noqa: F811
    at.put()
    ada, phone, other = held(at, "ada"), at.phone(), at.phone()
    assert "wallets" not in export(at.shop, "ada")
    assert phone.register(ada).status == other.register(ada).status == 201
    told = export(at.shop, "ada")
    assert list(told)[-1] == "wallets" and len(told["wallets"]) == 2
    assert all(set(one) == {"platform", "pass_type_id", "since"} for one in told["wallets"])
    assert {(one["platform"], one["pass_type_id"]) for one in told["wallets"]} == {("apple", PASS_TYPE)}
    text = json.dumps(told)
    for secret in (phone.push, phone.device, hashlib.sha256(phone.device.encode()).hexdigest()[:32], ada.token, ada.serial):
        assert secret not in text
    assert phone.give_up(ada).status == other.give_up(ada).status == 200
    assert "wallets" not in export(at.shop, "ada")


def test_an_export_says_what_google_has(at):  # noqa: F811
    at.put()
    made = at.shop.create("ada")
    at.shop.create("bea")
    at.follow(made)
    assert export(at.shop, "ada")["wallets"] == [{"platform": "google", "issuer_id": ISSUER, "state": "offered", "notices": []}]
    at.hear(made, "save")
    assert export(at.shop, "ada")["wallets"] == [{"platform": "google", "issuer_id": ISSUER, "state": "saved", "notices": []}]
    assert "wallets" not in export(at.shop, "bea")
    at.google.wait("PATCH", "loyaltyObject")
    at.advance(6)
    at.shop.add("ada", 1, message="Hello")
    at.google.wait("POST", "loyaltyObject")
    shown = wait_for(lambda: next((one for one in export(at.shop, "ada")["wallets"] if one["notices"]), None), 10, "the report")
    assert len(shown["notices"]) == 1 and shown["notices"][0] > made["created_at"]
    at.hear(made, "del")
    at.service.cli("wallet", "google", "remove", at.shop.account)
    [shown] = export(at.shop, "ada")["wallets"]
    assert (shown["state"], shown["issuer_id"]) == ("gone", None)


def test_the_style_is_fixed_while_a_phone_has_a_pass_that_has_ended(at):  # noqa: F811
    """Its phone still shows it, as void, in the style in which it was installed."""
    def styled(style, **more):
        return template_file(name="Styled", wallet={"style": style}, **more)

    at.put()
    template, other = at.shop.put_template(styled("coupon")), at.shop.put_template(styled("coupon"))
    at.shop.templates.update(styled=template, other=other)
    ada, bea, eva, phone = held(at, "ada", "styled"), held(at, "bea", "styled"), held(at, "eva", "other"), at.phone()
    assert [phone.register(one).status for one in (ada, bea, eva)] == [201] * 3
    at.shop.event("ada", "deactivated")
    at.shop.delete("bea")
    for one in (bea, ada):
        assert refused(at.shop, styled("generic", pass_template_id=template)) == "RESOURCE_CONFLICT"
        assert phone.give_up(one).status == 200
    assert refused(at.shop, styled("generic", pass_template_id=template)) is None
    late = held(at, "late", "styled")
    assert phone.register(late).status == 201
    at.shop.delete("late")
    assert refused(at.shop, styled("coupon", pass_template_id=template)) == "RESOURCE_CONFLICT"
    at.advance(31 * 86400)
    wait_for(lambda: refused(at.shop, styled("coupon", pass_template_id=template)) is None, 20, "the phones to be forgotten")
    assert refused(at.shop, styled("generic", pass_template_id=other)) == "RESOURCE_CONFLICT", "another is still active"


def test_a_pass_that_was_saved_while_it_was_blocked_is_active_with_its_unblocking(at):  # noqa: F811
    """The holder has it all the while: only the account's word kept it from being active."""
    at.put()
    made = {}
    for pass_id in ("ada", "bea", "eva"):
        made[pass_id] = at.shop.create(pass_id)
        at.save(made[pass_id])
        at.shop.event(pass_id, "uninstalled", "--block-reinstall")
        if pass_id != "eva":
            at.hear(made[pass_id], "save")
        if pass_id == "bea":
            at.hear(made[pass_id], "del")
        assert status(at, pass_id) == "removed"
    at.advance(6)
    wait_for(lambda: at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 0, 10, "the reports")
    before = len(at.google.of("PATCH", "loyaltyObject"))
    assert at.shop.event("ada", "unblocked")["status"] == "active"
    assert (at.shop.event("bea", "unblocked")["status"], at.shop.event("eva", "unblocked")["status"]) == ("removed", "removed")
    assert [event["what"] for event in at.shop.history("ada")[-2:]] == ["unblocked", "installed"]
    at.google.wait("PATCH", "loyaltyObject", before + 1)
    at.advance(120)
    assert status(at, "ada") == "active" and at.service.cli("verify")["ok"]
    at.hear(made["ada"], "del")
    at.advance(61)
    wait_for(lambda: status(at, "ada") == "removed", 10, "as with any pass of a wallet")
    assert at.service.cli("verify")["ok"]
