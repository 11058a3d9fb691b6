"""Phones with many passes, and phones that register again."""
from installed import apns, at, credential, options  # noqa: F401: fixtures


def test_a_phone_may_have_many_passes(at):
    """A few are listed by the writer, more by a reader."""
    phone, all_held = at.phone(), []
    for count in (7, 1, 1, 30):
        all_held += [at.installed(f"pass-{len(all_held) + more}", phone)[0] for more in range(count)]
        phone.tag = None
        assert phone.changed() == {held.serial for held in all_held}
        assert phone.changed() == set()
        at.shop.try_add(all_held[-1].id, 5)
        assert phone.changed() == {all_held[-1].serial}


def test_a_phone_that_registers_again_has_another_push_token(at):
    held, phone = at.installed("ada")
    first, phone.push = phone.push, "00" * 32
    assert phone.register(held).status == 200
    assert phone.changed() == {held.serial} and at.service.cli("verify")["ok"]
    at.shop.try_add(held.id, 5)
    assert len(at.apns.wait(phone.push)) == 1 and not at.apns.of(first)
    assert phone.give_up(held).status == 200
    assert phone.changed() == set() and at.service.cli("verify")["ok"]


def test_the_tag_of_another_account_is_no_tag(at, options):
    """A phone with passes of two accounts of one pass type may bring the tag of one to the other."""
    _, phone = at.installed("ada")
    shop, other, of_other = at.other_shop(options)
    shop.create("bob")
    for _ in range(5):
        at.shop.add("ada", 1), shop.add("bob", 1)
    assert phone.changed() and phone.ask(phone.tag).status == 204
    assert of_other.ask(phone.tag).json["serialNumbers"] == [other.serial]
