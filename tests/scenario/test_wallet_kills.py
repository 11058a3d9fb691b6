"""Any process is killed, again and again, while points move on passes that phones have. A phone fetches its pass when it is pushed
to, and only then. In the end every phone shows the last balance."""
import json
import random
import threading
import time
from http.client import HTTPException

import pytest
from harness import wait_for
from installed import Setting, apns, credential, options  # noqa: F401: fixtures
from phones import Held, Phone
from pkpass import entries_of

pytestmark = pytest.mark.plain  # about time: the sanitizers run the same code in the tests of pushes
BROKEN = (OSError, HTTPException)


class Holders:
    """Phones with one pass each, which share a connection. `shown` is the balance that each has fetched last, by push token."""

    def __init__(self, at, count):
        self.at, self.phones, self.shown, self.seen = at, {}, {}, 0
        self.client = at.service.client()
        for number in range(count):
            held, phone = Held(at.shop, at.shop.create(f"pass-{number}")), Phone(at.service, at.shop.account)
            phone.client = self.client
            assert phone.register(held).status == 201
            self.phones[phone.push], self.shown[phone.push] = (held, phone), 0

    def fetch(self):
        """Fetches the passes of the phones that were pushed to since the last call."""
        pushes, due = self.at.apns.pushes, set()
        due, self.seen = {push.token for push in pushes[self.seen:]}, len(pushes)
        for token in due:
            held, phone = self.phones[token]
            answer = wait_for(lambda: self.try_fetch(held, phone), 30, f"{held.id} to be fetched")
            shown = json.loads(entries_of(answer.body)["pass.json"])["storeCard"]["headerFields"][0]
            assert shown["key"] == "points"
            self.shown[token] = shown["value"]

    def try_fetch(self, held, phone):
        try:
            answer = phone.fetch(held)
        except BROKEN:
            self.client.close()
            self.client.address = self.at.service.http
            return None
        return answer if answer.status == 200 else None

    def stale(self):
        """The passes whose phone does not show their balance: (id, shown, balance)."""
        found = []
        for token, (held, _) in self.phones.items():
            balance = self.at.shop.get(held.id)["visible"]["points"]
            if self.shown[token] != balance:
                found.append((held.id, self.shown[token], balance))
        return found


class Till(threading.Thread):
    """Adds points until stop() is called. What fails is not repeated: the passes themselves say in the end what was accepted."""

    def __init__(self, at, count, seed):
        super().__init__(daemon=True)
        self.at, self.count, self.random = at, count, random.Random(seed)
        self.accepted, self.is_stopping = 0, False

    def run(self):
        client = self.at.service.client(self.at.shop.key)
        while not self.is_stopping:
            try:
                answer = client.post(f"/v1/passes/pass-{self.random.randrange(self.count)}/loyalty",
                                     {"balance_to_add": self.random.randint(1, 9)})
                self.accepted += answer.status == 202
            except BROKEN:
                client.close()
                time.sleep(0.01)
        client.close()


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_every_phone_shows_the_last_balance_after_kills(new_service, authority, apns, options, count):
    at = Setting(new_service, authority, apns, options)
    at.service.expect_log(".")
    holders = Holders(at, count)
    tills = [Till(at, count, seed) for seed in range(3)]
    for till in tills:
        till.start()
    for role in ("shard", "timer", "http", "timer", "shard", "http"):
        before = sum(till.accepted for till in tills)
        wait_for(lambda: sum(till.accepted for till in tills) >= before + 100, 30, "points to be added")
        at.service.kill_child(role)
        at.advance(6)
        holders.fetch()
    for till in tills:
        till.is_stopping = True
    for till in tills:
        till.join(30)
    at.shop.client.close()  # its connection died with http

    def all_shown():
        at.advance(6)
        holders.fetch()
        return not holders.stale()
    wait_for(all_shown, 60, lambda: f"phones that show another balance: {holders.stale()[:5]}")
    holders.client.close()
    assert at.service.cli("verify")["ok"]
    at.close()
