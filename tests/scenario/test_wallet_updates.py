"""A phone fetches the pass that it has: the package as it is now, or 304."""
from email.utils import formatdate, parsedate_to_datetime

import pytest
from apple import AppleChain
from phones import PASS_TYPE, Held, Phone
from pkpass import Package
from shop import Shop, path_of, template_file

TYPE = "application/vnd.apple.pkpass"
DAY = 24 * 60 * 60


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return AppleChain(tmp_path_factory.mktemp("chain"), PASS_TYPE)


@pytest.fixture
def shop(new_service, chain):
    """An account with Apple's wallet, behind a public https URL, with a clock that the test can move."""
    shop = Shop(new_service(shards=2, options=["--test-clock", "--public-url", "https://passes.example"]), ("balance",))
    shop.service.cli("wallet", "apple", "put", shop.account, *chain.files())
    yield shop
    shop.close()


@pytest.fixture
def phone(shop):
    phone = Phone(shop.service, shop.account)
    yield phone
    phone.close()


def advance(shop, seconds):
    shop.service.cli("clock", "advance", f"{seconds}s")


def fetched(phone, held, chain, since=None):
    """(package, Last-Modified)."""
    answer = phone.fetch(held, since)
    assert answer.status == 200, answer
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == (TYPE, "private, no-cache")
    return Package(answer.body, chain), answer.headers["last-modified"]


def points(package):
    return package.fields["points"]["value"]


def test_a_phone_gets_the_pass_as_it_is_now(shop, phone, chain):
    held = Held(shop, shop.create("ada"))
    package, _ = fetched(phone, held, chain)  # without a registration
    assert (package.pass_json["serialNumber"], package.pass_json["authenticationToken"]) == (held.serial, held.token)
    assert package.pass_json["webServiceURL"] == f"https://passes.example/wallet/apple/{shop.account}"
    assert points(package) == 0
    assert phone.register(held).status == 201
    assert phone.changed() == {held.serial}
    shop.add("ada", 25)
    assert phone.changed() == {held.serial}
    assert points(fetched(phone, held, chain)[0]) == 25


def test_what_has_not_changed_is_not_sent_again(shop, phone, chain):
    held = Held(shop, shop.create("ada"))
    advance(shop, 10)
    _, since = fetched(phone, held, chain)
    same = phone.fetch(held, since)
    assert (same.status, same.body) == (304, b"")
    shop.add("ada", 1)
    package, since = fetched(phone, held, chain, since)
    assert points(package) == 1
    advance(shop, 10)
    _, since = fetched(phone, held, chain)  # once more, because the change may have been in the second that was named
    assert phone.fetch(held, since).status == 304
    later = formatdate(parsedate_to_datetime(since).timestamp() + DAY, usegmt=True)
    assert phone.fetch(held, later).status == 304
    shop.put_template({**template_file(pass_template_id=shop.templates["balance"]), "name": "Another name"})
    assert phone.fetch(held, since).status == 200
    for unreadable in ("", "yesterday", since[:-1], since + "x", "Sun, 99 Nov 1994 08:49:37 GMT", "\xff" * 29):
        assert phone.fetch(held, unreadable).status == 200, unreadable


def test_an_ended_certificate_is_said_of_what_has_not_changed_too(shop, phone, chain):
    held = Held(shop, shop.create("ada"))
    advance(shop, 10)
    _, since = fetched(phone, held, chain)
    assert phone.fetch(held, since).status == 304
    shop.service.expect_log("wallet-credential-ends")
    advance(shop, 500 * DAY)
    assert phone.fetch(held, since).status == 503


def test_each_of_several_changes_in_a_second_is_fetched(shop, phone, chain):
    held = Held(shop, shop.create("ada"))
    since = None
    for balance in range(1, 6):
        shop.add("ada", 1)
        package, since = fetched(phone, held, chain, since)
        assert points(package) == balance


def is_refused(answer):
    answer.is_error(401, "UNAUTHENTICATED")
    return {name: value for name, value in answer.json.items() if name != "request_id"}


def test_strangers_get_nothing(shop, phone, new_shop):
    held, other = Held(shop, shop.create("ada")), Held(shop, shop.create("bob"))
    refusals = [phone.fetch(held, token="x"), phone.fetch(held, token=""), phone.fetch(held, token=other.token),
                phone.client.get(phone.path("passes", PASS_TYPE, held.serial)),
                phone.client.get(phone.path("passes", PASS_TYPE, "nothing"), headers={"Authorization": f"ApplePass {held.token}"})]
    phone.pass_type = "pass.example.other"
    refusals.append(phone.fetch(held))
    phone.pass_type, phone.account = PASS_TYPE, "acc_k3x9m2p7q4w8z5t6"
    refusals.append(phone.fetch(held))
    bodies = [is_refused(answer) for answer in refusals]
    assert all(body == bodies[0] for body in bodies), bodies


def test_an_ended_pass_is_void_for_thirty_days(shop, phone, chain):
    deleted, ended = Held(shop, shop.create("ada")), Held(shop, shop.create("bob"))
    assert phone.register(deleted).status == phone.register(ended).status == 201
    assert shop.client.delete(path_of("ada")).status == 204
    shop.event("bob", "deactivated")
    for held in (deleted, ended):
        void, _ = fetched(phone, held, chain)
        assert void.pass_json["voided"] is True
        assert "webServiceURL" not in void.pass_json and "authenticationToken" not in void.pass_json
    advance(shop, 31 * DAY)
    for held in (deleted, ended):
        is_refused(phone.fetch(held))


def test_blocked_switched_off_and_expired(shop, phone, chain):
    held = Held(shop, shop.create("ada"))
    shop.event("ada", "installed")
    shop.event("ada", "uninstalled", "--block-reinstall")
    is_refused(phone.fetch(held))
    shop.event("ada", "unblocked")
    assert phone.fetch(held).status == 200
    shop.set("--wallet", "google")
    phone.fetch(held).is_error(404, "ROUTE_NOT_FOUND")
    is_refused(phone.fetch(held, token="x"))
    shop.set("--wallet", "on")
    shop.set("--suspended", "on")
    assert phone.fetch(held).status == 200
    shop.service.expect_log("event=wallet-credential-ends")
    advance(shop, 401 * DAY)
    late = phone.fetch(held)
    late.is_error(503, "OVERLOADED")
    assert late.headers["retry-after"] == "1"


def test_a_pass_that_is_deleted_later_ended_when_it_was_deactivated(shop, phone):
    held = Held(shop, shop.create("ada"))
    assert phone.register(held).status == 201
    shop.event("ada", "deactivated")
    advance(shop, 31 * DAY)
    is_refused(phone.fetch(held))
    assert shop.client.delete(path_of("ada")).status == 204
    is_refused(phone.fetch(held))


def test_a_certificate_that_was_removed_signs_nothing_any_more(shop, phone, chain, tmp_path):
    held = Held(shop, shop.create("ada"))
    fetched(phone, held, chain)
    other = AppleChain(tmp_path / "other", PASS_TYPE)
    shop.service.cli("wallet", "apple", "remove", shop.account)
    shop.service.cli("wallet", "apple", "put", shop.account, *other.files())  # of the first generation, too
    fetched(phone, held, other)


def test_an_installed_pass_stays_with_its_pass_type(shop, phone, chain, tmp_path):
    held = Held(shop, shop.create("ada"))
    second = AppleChain(tmp_path / "second", "pass.example.second")
    shop.service.cli("wallet", "apple", "put", shop.account, *second.files())
    assert fetched(phone, held, chain)[0].pass_json["passTypeIdentifier"] == PASS_TYPE
    phone.pass_type = second.pass_type
    assert fetched(phone, held, second)[0].pass_json["passTypeIdentifier"] == second.pass_type
