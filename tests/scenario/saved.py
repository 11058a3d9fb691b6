"""Passes in Google's wallet, with an imitation of Google: what tests of it share."""
import pytest
from google import Google, read_jwt
from harness import wait_for
from metrics import look
from page import path_of_link
from phones import names_of
from shop import Shop
from wallets import ISSUER, Apple, google as service_account

SAVE = "https://pay.google.com/gp/v/save/"


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return Apple(tmp_path_factory.mktemp("keys")).key()


class AtGoogle:
    def __init__(self, new_service, tmp_path, key, *more, is_default=False):
        self.google = Google(tmp_path, key)
        self.service = new_service(shards=1, options=self.google.options("--test-clock", *more))
        self.shop = Shop(self.service, ("balance", "none"))
        self.client = self.service.client()
        whose = "--default" if is_default else self.shop.account
        self.service.cli("wallet", "google", "put", whose, "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
        if "--no-deliveries" not in more:
            self.classes_made(2)
        self.google.calls.clear()

    def classes_made(self, count):
        """The classes of the account's templates are at Google."""
        wait_for(lambda: len([1 for kind, _ in self.google.things if kind.endswith("Class")]) == count, 10, "the classes")
        wait_for(lambda: self.due() == 0, 10, "nothing to be due")

    def link(self, made):
        return self.client.get(path_of_link(made["download_url"]) + "/google")

    def claims(self, made):
        answer = self.link(made)
        assert answer.status == 303, answer
        assert answer.headers["location"].startswith(SAVE) and answer.headers["cache-control"] == "no-store"
        return read_jwt(answer.headers["location"].removeprefix(SAVE), self.google.public)

    def id_of(self, made):
        return f"{ISSUER}.{names_of(self.service, made['download_url'])[0]}"

    def say(self, body):
        return self.client.post(f"/wallet/google/{self.shop.account}/callback", body)

    def follow(self, made):
        """The holder follows the link and saves the pass."""
        self.google.take(self.claims(made)["payload"])

    def save(self, made):
        """The holder does so, and Google says so."""
        self.follow(made)
        self.hear(made, "save")

    def hear(self, made, event, object_id=None, **options):
        body = self.google.callback(object_id or self.id_of(made), event, **options)
        wait_for(lambda: self.say(body).status == 200, 10, "the callback to be taken")

    def saved(self, pass_id, kind="balance"):
        made = self.shop.create(pass_id, kind)
        self.save(made)
        self.google.wait("PATCH", "loyaltyObject" if kind == "balance" else "genericObject")
        return made

    def status(self, pass_id):
        return self.shop.get(pass_id)["status"]

    def object_of(self, made, kind="loyaltyObject"):
        return self.google.things[kind, self.id_of(made)]

    def balance_at_google(self, made):
        return self.object_of(made)["loyaltyPoints"]["balance"]["int"]

    def class_id(self, template):
        return f"{ISSUER}.{template}"

    def due(self):
        return look(self.service).get("stampede_wallet_due", shard="0", kind="google")

    def advance(self, seconds):
        self.service.cli("clock", "advance", f"{seconds}s")

    def close(self):
        self.client.close()
        self.shop.close()
        self.service.stop()
        self.google.close()


@pytest.fixture
def at(new_service, tmp_path, key):
    made = AtGoogle(new_service, tmp_path, key)
    yield made
    made.close()
