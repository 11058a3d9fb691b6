"""Passes on phones, with an imitation of APNs: what tests of pushes and of messages share."""
import pytest
from apns import Apns
from phones import PASS_TYPE, Held, Phone
from shop import Shop
from wallets import Apple


@pytest.fixture(scope="module")
def apple(tmp_path_factory):
    return Apple(tmp_path_factory.mktemp("apple"))


@pytest.fixture(scope="module")
def credential(apple):
    return apple.make(PASS_TYPE)


@pytest.fixture
def apns(authority, apple):
    made = Apns(authority, apple.wwdr)
    yield made
    made.close()


class Setting:
    def __init__(self, new_service, authority, apns, options, *more):
        self.apns = apns
        self.service = new_service(shards=1, options=apns.options(authority, "--test-clock", *more))
        self.shop = Shop(self.service, ("balance",))
        self.service.cli("wallet", "apple", "put", self.shop.account, *options)
        self.phones = []

    def phone(self):
        self.phones.append(Phone(self.service, self.shop.account))
        return self.phones[-1]

    def installed(self, pass_id, phone=None):
        """(pass, phone) of a new pass on a phone."""
        held, phone = Held(self.shop, self.shop.create(pass_id)), phone or self.phone()
        assert phone.register(held).status == 201
        return held, phone

    def advance(self, seconds):
        self.service.cli("clock", "advance", f"{seconds}s")

    def close(self):
        for phone in self.phones:
            phone.close()
        self.shop.close()
        self.service.stop()  # before the imitation of APNs goes


@pytest.fixture
def options(apple, credential):
    return ["--cert", credential[0], "--key", credential[1], "--wwdr", apple.wwdr]


@pytest.fixture
def at(new_service, authority, apns, options):
    made = Setting(new_service, authority, apns, options)
    yield made
    made.close()
