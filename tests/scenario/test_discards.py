"""Pending deliveries whose subscription, pass or account changes. Some are discarded: then nothing is sent, however far
the clock moves. The others are sent."""
import pytest
from clocks import DAY_SECONDS
from deliveries import (BALANCE, CREATED, WAITS_SECONDS, Witness, advance, await_that, deliveries_of, envelope, event_id, hooked_shop,
                        posts_to, the_delivery, until, until_failed_once)
from hooks import HOOKS, change, hook_path, subscribe
from shop import new_id

LEFT_SECONDS = 3 * DAY_SECONDS  # longer than the rest of any schedule


class Waiting:
    """An account with one subscription to `path`, and deliveries whose first attempt has failed."""

    def __init__(self, service, receiver, facts=(BALANCE,)):
        self.service, self.receiver = service, receiver
        self.shop, self.path = hooked_shop(service), "/" + new_id("waiting")
        receiver.play(self.path, "/status/503", "/status/200")
        self.pass_id = self.shop.create()["id"]
        self.hook = subscribe(self.shop, receiver.url(self.path), list(facts))
        self.shop.add(self.pass_id, 1)
        self.row = until_failed_once(self.shop, self.hook)

    def is_discarded(self):
        """When the delivery falls due its row shows that it was discarded, and nothing is sent."""
        advance(self.service, WAITS_SECONDS[0])
        rows = await_that(lambda: self.rows_if("discarded"), "the delivery to be discarded")
        assert [row["attempts"] for row in rows] == [1]
        self.stays_silent()

    def rows_if(self, outcome):
        rows = [row for row in deliveries_of(self.shop) if row["event_id"] == self.row["event_id"]]
        return rows if rows and all(row["outcome"] == outcome for row in rows) else None

    def stays_silent(self):
        witness = Witness(self.service, self.receiver, new_id("witness"))
        for _ in range(2):
            advance(self.service, LEFT_SECONDS)
            witness.look()
        posts = [request for request in self.receiver.to[self.path] if event_id(request) == self.row["event_id"]]
        assert len(posts) == 1
        witness.close()

    def goes_on(self, path=None):
        """The delivery is sent, to `path` if the URL has changed."""
        advance(self.service, WAITS_SECONDS[0])
        requests = posts_to(self.receiver, path or self.path, 1 if path else 2)
        assert event_id(requests[-1]) == self.row["event_id"]
        assert len(self.receiver.to[self.path]) == (1 if path else 2)
        until(self.shop, self.hook, outcome="delivered")
        return requests[-1]


@pytest.fixture
def waiting(ticking, receiver):
    waiting = Waiting(ticking, receiver)
    yield waiting
    waiting.shop.close()
    assert ticking.unexpected_lines() == []


# Subscriptions

def test_deleting_a_subscription_discards(waiting):
    waiting.shop.client.delete(hook_path(waiting.hook["id"])).is_empty(204)
    waiting.is_discarded()


def test_a_new_subscription_with_the_same_url_gets_no_old_deliveries(waiting):
    waiting.shop.client.delete(hook_path(waiting.hook["id"])).is_empty(204)
    again = subscribe(waiting.shop, waiting.hook["url"], [BALANCE])
    waiting.is_discarded()
    assert deliveries_of(waiting.shop, again) == []
    waiting.shop.add(waiting.pass_id, 1)
    until(waiting.shop, again, outcome="delivered")


def test_deactivating_a_subscription_discards(waiting):
    change(waiting.shop, waiting.hook, active=False)
    waiting.shop.add(waiting.pass_id, 1)
    waiting.is_discarded()
    assert len(deliveries_of(waiting.shop)) == 1, "a change during the inactive time has no delivery"


def test_reactivating_restores_no_discarded_deliveries(waiting):
    change(waiting.shop, waiting.hook, active=False)
    waiting.shop.add(waiting.pass_id, 10)
    change(waiting.shop, waiting.hook, active=True)
    waiting.is_discarded()
    waiting.shop.add(waiting.pass_id, 100)
    requests = posts_to(waiting.receiver, waiting.path, 2)
    assert envelope(requests[1])["data"]["balance"] == 111 and len(deliveries_of(waiting.shop)) == 2


def test_an_attempt_in_progress_at_a_deactivation_is_the_last(ticking, receiver):
    shop, path = hooked_shop(ticking), "/held/503/deactivated"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    shop.create()
    posts_to(receiver, path, 1)
    change(shop, hook, active=False)
    change(shop, hook, active=True)
    receiver.release()
    advance(ticking, WAITS_SECONDS[0])
    advance(ticking, LEFT_SECONDS)
    assert until(shop, hook, outcome="discarded")["attempts"] == 1
    posts_to(receiver, path, 1)
    shop.close()


# The account

def test_switching_off_webhooks_discards(waiting):
    waiting.shop.set("--webhooks", "off")
    waiting.shop.add(waiting.pass_id, 1)
    waiting.is_discarded()
    waiting.shop.client.get(HOOKS).is_error(403, "FEATURE_DISABLED")
    waiting.shop.set("--webhooks", "on")
    assert waiting.shop.client.get(hook_path(waiting.hook["id"])).json["active"] is True
    waiting.shop.add(waiting.pass_id, 10)
    requests = posts_to(waiting.receiver, waiting.path, 2)
    assert envelope(requests[1])["data"]["balance"] == 12 and len(deliveries_of(waiting.shop)) == 2


def test_switching_webhooks_off_and_on_restores_no_deliveries(waiting):
    waiting.shop.set("--webhooks", "off")
    waiting.shop.set("--webhooks", "on")
    waiting.is_discarded()


def test_deliveries_of_a_suspended_account_are_sent(waiting):
    waiting.shop.set("--suspended", "on")
    assert envelope(waiting.goes_on())["data"]["balance"] == 1


# The pass

def test_deleting_a_pass_discards(waiting):
    waiting.shop.delete(waiting.pass_id)
    waiting.is_discarded()


def test_reusing_the_id_of_a_deleted_pass_restores_no_deliveries(waiting):
    """The old event must not show the new pass."""
    waiting.shop.delete(waiting.pass_id)
    waiting.shop.create(waiting.pass_id)
    waiting.is_discarded()
    waiting.shop.add(waiting.pass_id, 40)
    assert envelope(posts_to(waiting.receiver, waiting.path, 2)[1])["data"]["balance"] == 40


def test_an_attempt_in_progress_at_its_passs_deletion_is_the_last(ticking, receiver):
    shop, path = hooked_shop(ticking), "/held/503/deleted"
    hook = subscribe(shop, receiver.url(path), [CREATED])
    pass_id = shop.create()["id"]
    posts_to(receiver, path, 1)
    shop.delete(pass_id)
    shop.create(pass_id)
    posts_to(receiver, path, 2)
    receiver.release()

    def told():
        rows = deliveries_of(shop, hook)
        return len(rows) == 2 and all(row["last_status"] == 503 for row in rows)

    await_that(told, "both attempts to end")
    advance(ticking, WAITS_SECONDS[0])
    third = posts_to(receiver, path, 3)[2]
    assert event_id(third) == event_id(receiver.to[path][1]), "the new pass's event is sent, the old one's is not"
    await_that(lambda: sorted(row["outcome"] for row in deliveries_of(shop, hook)) == ["discarded", "pending"], "the old one to end")
    receiver.release()
    shop.close()


def test_deliveries_of_a_deactivated_pass_are_sent(waiting):
    """The pass still exists, and the delivery shows its current state."""
    waiting.shop.event(waiting.pass_id, "deactivated")
    assert envelope(waiting.goes_on())["data"]["status"] == "deactivated"


# Changes that discard nothing

def test_after_a_url_change_deliveries_go_to_the_new_url(waiting):
    other = "/status/200/" + new_id("moved")
    change(waiting.shop, waiting.hook, url=waiting.receiver.url(other))
    waiting.goes_on(other)


def test_after_a_change_of_event_types_deliveries_are_sent(waiting):
    change(waiting.shop, waiting.hook, event_types=[CREATED])
    waiting.goes_on()


def test_a_patch_without_a_change_discards_nothing(waiting):
    change(waiting.shop, waiting.hook, active=True)
    waiting.shop.set("--webhooks", "on")
    waiting.goes_on()


def test_deleting_one_subscription_leaves_the_others_deliveries(waiting):
    other = "/status/200/" + new_id("beside")
    hook = subscribe(waiting.shop, waiting.receiver.url(other), [BALANCE])
    waiting.shop.client.delete(hook_path(hook["id"])).is_empty(204)
    waiting.goes_on()
    assert waiting.receiver.to[other] == [] and the_delivery(waiting.shop, waiting.hook)["outcome"] == "delivered"
