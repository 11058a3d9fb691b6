"""A phone, as far as the web service of Apple's wallet sees one: it registers for passes, asks which have changed, and gives them
up."""
import os
from urllib.parse import quote

from serials import names_of_tokens, token_of

PASS_TYPE = "pass.example.shop"


def names_of(service, link):
    """(serial number, authentication token) of the pass with that download_url."""
    return next(names_of_tokens((service.data / "master.key").read_bytes(), token_of(link)))


class Held:
    """A pass as a phone has it."""

    def __init__(self, shop, made):
        self.id, self.account = made["id"], shop.account
        self.serial, self.token = names_of(shop.service, made["download_url"])


class Phone:
    def __init__(self, service, account, pass_type=PASS_TYPE):
        self.client = service.client()
        self.account, self.pass_type = account, pass_type
        self.device, self.push = os.urandom(16).hex(), os.urandom(32).hex()
        self.tag = None

    def close(self):
        self.client.close()

    def path(self, *segments):
        return f"/wallet/apple/{self.account}/v1/" + "/".join(quote(segment, safe="") for segment in segments)

    def place(self, serial=None):
        segments = ["devices", self.device, "registrations", self.pass_type] + ([serial] if serial is not None else [])
        return self.path(*segments)

    def register(self, held, token=None, document=None, **options):
        headers = {"Authorization": f"ApplePass {held.token if token is None else token}"}
        document = {"pushToken": self.push} if document is None else document
        return self.client.post(self.place(held.serial), document, headers=headers, **options)

    def give_up(self, held, token=None):
        headers = {"Authorization": f"ApplePass {held.token if token is None else token}"}
        return self.client.delete(self.place(held.serial), headers=headers)

    def fetch(self, held, since=None, token=None, **options):
        headers = {"Authorization": f"ApplePass {held.token if token is None else token}"}
        if since is not None:
            headers["If-Modified-Since"] = since
        return self.client.get(self.path("passes", self.pass_type, held.serial), headers=headers, **options)

    def ask(self, tag=None):
        return self.client.get(self.place() + (f"?passesUpdatedSince={quote(tag)}" if tag is not None else ""))

    def changed(self):
        """The serial numbers that have changed since it last asked."""
        answer = self.ask(self.tag)
        if answer.status == 204:
            assert answer.body == b"", answer
            return set()
        assert answer.status == 200 and set(answer.json) == {"serialNumbers", "lastUpdated"}, answer
        self.tag = answer.json["lastUpdated"]
        serials = answer.json["serialNumbers"]
        assert serials and len(set(serials)) == len(serials)
        return set(serials)

    def log(self, *lines):
        return self.client.post(self.path("log"), {"logs": list(lines)})
