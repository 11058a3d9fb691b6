"""Passes in both wallets, with imitations of APNs and Google: what tests of both share."""
import pytest
from apns import Apns
from google import Google, read_jwt
from installed import credential, options  # noqa: F401: fixtures
from metrics import look
from page import path_of_link
from phones import Phone, names_of
from shop import Shop
from wallets import ISSUER, put_google
from wallets import google as service_account


class Both:
    """An account with both wallets, and their imitations."""

    def __init__(self, new_service, authority, apple, options, place):  # noqa: F811
        key = apple.key()
        self.apns, self.google = Apns(authority, apple.wwdr), Google(place, key)
        self.service = new_service(shards=1, options=[
            *self.apns.options(authority, "--test-clock"), "--wallet-google", self.google.url, "--wallet-google-keys",
            self.google.url + "/keys", "--egress-allow-private"])
        self.shop, self.options, self.file = Shop(self.service, ("balance",)), options, service_account(place, key)
        self.client, self.phones, self.said = self.service.client(), [], 60

    def put(self):
        self.service.cli("wallet", "apple", "put", self.shop.account, *self.options)
        put_google(self.shop, self.file)

    def phone(self):
        self.phones.append(Phone(self.service, self.shop.account))
        return self.phones[-1]

    def hear(self, made, event):
        """Google says that."""
        serial, _ = names_of(self.service, made["download_url"])
        self.said += 30
        body = self.google.callback(f"{ISSUER}.{serial}", event, ends=self.said)  # each ends after the one before
        self.google.say(self.client, self.shop.account, body)

    def follow(self, made):
        """The holder follows the link and saves the pass."""
        answer = self.client.get(path_of_link(made["download_url"]) + "/google")
        assert answer.status == 303, answer
        self.google.take(read_jwt(answer.headers["location"].rsplit("/", 1)[1], self.google.public)["payload"])

    def save(self, made):
        """The holder does so, and Google says so."""
        self.follow(made)
        self.hear(made, "save")

    def advance(self, seconds):
        self.service.cli("clock", "advance", f"{seconds}s")

    def counts(self):
        """(registrations, passes in Apple's wallet, passes in Google's), as the metrics say."""
        numbers = look(self.service)
        by = numbers.by("stampede_wallet_installed", "platform")
        assert set(by) == {"apple", "google"}
        return numbers.get("stampede_wallet_registrations", shard="0"), by["apple"], by["google"]

    def same_counts(self):
        """Likewise, when nothing is under way: the command line says the same."""
        shown = self.service.cli("wallet", "show", self.shop.account)
        assert self.counts() == (shown["devices"], shown["installed"]["apple"], shown["installed"]["google"])
        return self.counts()

    def restart(self):
        self.service.restart()
        for client in (self.client, self.shop.client, *(phone.client for phone in self.phones)):
            client.address = self.service.http

    def close(self):
        for one in (self.client, self.shop, *self.phones):
            one.close()
        self.service.stop()
        self.apns.close()
        self.google.close()


@pytest.fixture
def at(new_service, authority, apple, options, tmp_path):  # noqa: F811
    made = Both(new_service, authority, apple, options, tmp_path)
    yield made
    made.close()
