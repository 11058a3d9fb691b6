"""Passes on phones, with an imitation of APNs: what tests of pushes and of messages share."""
import pytest
from apns import Apns
from metrics import look
from phones import PASS_TYPE, Held, Phone
from shop import Shop


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
        self.phones, self.shops = [], [self.shop]

    def phone(self):
        self.phones.append(Phone(self.service, self.shop.account))
        return self.phones[-1]

    def installed(self, pass_id, phone=None):
        """(pass, phone) of a new pass on a phone."""
        held, phone = Held(self.shop, self.shop.create(pass_id)), phone or self.phone()
        assert phone.register(held).status == 201
        return held, phone

    def other_shop(self, options):
        """(shop, pass, phone) of another account with the pass "eva" on a phone."""
        shop = Shop(self.service, ("balance",))
        self.service.cli("wallet", "apple", "put", shop.account, *options)
        held, phone = Held(shop, shop.create("eva")), Phone(self.service, shop.account)
        self.phones.append(phone)
        self.shops.append(shop)
        assert phone.register(held).status == 201
        return shop, held, phone

    def due(self, kind="message"):
        return look(self.service).get("stampede_wallet_due", shard="0", kind=kind)

    def advance(self, seconds):
        self.service.cli("clock", "advance", f"{seconds}s")

    def close(self):
        for phone in self.phones:
            phone.close()
        for shop in self.shops:
            shop.close()
        self.service.stop()  # before the imitation of APNs goes


@pytest.fixture
def options(apple, credential):
    return ["--cert", credential[0], "--key", credential[1], "--wwdr", apple.wwdr]


@pytest.fixture
def at(new_service, authority, apns, options):
    made = Setting(new_service, authority, apns, options)
    yield made
    made.close()
