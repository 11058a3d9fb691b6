"""Phones of a pass that no credential serves while others are pushed to: they are pushed to when one is put. And a credential that serves
few of them."""
from harness import wait_for
from installed import Setting, apns, at, credential, options  # noqa: F401: fixtures
from phones import Phone
from wallets import show

DAY = 86400


def left_out(at, apple):
    """(left, served): phones of one pass, which has changed; the certificate of the first has ended."""
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options(days=60))
    held, left = at.installed("ada")
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options("pass.example.second", days=900))
    served = Phone(at.service, at.shop.account, "pass.example.second")
    at.phones.append(served)
    assert served.register(held).status == 201
    at.service.expect_log("event=wallet-credential-ends")
    at.advance(61 * DAY)
    at.shop.add("ada", 1)
    at.apns.wait(served.push)
    wait_for(lambda: not at.due("push"), 10, "the report")
    at.advance(6)
    return left, served


def renew(at, apple):
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options(days=300))


def test_a_renewal_reaches_the_phones_that_were_left_out(at, apple):
    left, served = left_out(at, apple)
    for days in (1, 1, 5):
        at.advance(days * DAY)
    assert not at.apns.of(left.push)
    renew(at, apple)
    at.apns.wait(left.push)
    wait_for(lambda: not at.due("push"), 10, "nothing to be due")
    assert len(at.apns.of(served.push)) <= 2, "no push a day"


def test_a_renewal_reaches_them_when_the_shard_dies_at_once(at, apple):
    left, _ = left_out(at, apple)
    at.apns.kill()
    at.service.expect_log("event=pushes_fail"), at.service.expect_log("event=died")
    renew(at, apple)
    old = at.service.pid_of("shard")
    at.service.kill_child("shard")
    at.service.await_successor("shard", 0, old)
    at.apns.listen()
    wait_for(lambda: at.apns.of(left.push) or at.advance(6), 20, "the push")


def test_touch_reaches_the_phones_that_are_served(at, apple):
    _, served = left_out(at, apple)
    assert at.service.cli("wallet", "touch", at.shop.account) == {"passes": 1}
    at.apns.wait(served.push, 2)


def test_a_refused_credential_rests_whatever_was_complained_of_before(at):
    held, first = at.installed("ada")
    second = at.phone()
    assert second.register(held).status == 201
    at.service.expect_log("event=wallet-credential-rests")
    at.apns.answers[first.push].append((413, "PayloadTooLarge"))
    at.apns.answers[second.push].append((403, "BadCertificate"))
    at.shop.add("ada", 1)
    wait_for(lambda: (show(at.shop)["state"], show(at.shop)["last_error"]) == ("resting", "BadCertificate"), 10, "the rest")
    assert len(at.apns.pushes) == 2
