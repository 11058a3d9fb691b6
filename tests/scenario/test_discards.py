"""What becomes of deliveries that wait when their subscription, their pass or their account changes: some are discarded, and then
nothing is sent however far the clock goes; others go on."""
import pytest
from clocks import DAY_SECONDS
from deliveries import (BALANCE, CREATED, WAITS_SECONDS, Witness, advance, await_that, deliveries_of, envelope, event_id, hooked_shop,
                        options, posts_to, the_delivery, until, until_failed_once)
from hooks import HOOKS, change, hook_path, subscribe
from shop import new_id

LEFT_SECONDS = 3 * DAY_SECONDS  # more than all that is left of any schedule


@pytest.fixture(scope="module")
def ticking(module_services, authority):
    return module_services(shards=1, options=options(authority, "--test-clock"))


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
        """The row says so as soon as it would have been due, and nothing more was sent."""
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
        """To `path`, if that is another one by now."""
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

def test_of_a_deleted_subscription(waiting):
    waiting.shop.client.delete(hook_path(waiting.hook["id"])).is_empty(204)
    waiting.is_discarded()


def test_of_a_deleted_subscription_that_was_made_again(waiting):
    """The same URL, another subscription: what waited for the first is not the second's."""
    waiting.shop.client.delete(hook_path(waiting.hook["id"])).is_empty(204)
    again = subscribe(waiting.shop, waiting.hook["url"], [BALANCE])
    waiting.is_discarded()
    assert deliveries_of(waiting.shop, again) == []
    waiting.shop.add(waiting.pass_id, 1)
    until(waiting.shop, again, outcome="delivered")


def test_of_a_deactivated_subscription(waiting):
    change(waiting.shop, waiting.hook, active=False)
    waiting.shop.add(waiting.pass_id, 1)
    waiting.is_discarded()
    assert len(deliveries_of(waiting.shop)) == 1, "what happened meanwhile has no delivery"


def test_reactivation_brings_nothing_back(waiting):
    change(waiting.shop, waiting.hook, active=False)
    waiting.shop.add(waiting.pass_id, 10)
    change(waiting.shop, waiting.hook, active=True)
    waiting.is_discarded()
    waiting.shop.add(waiting.pass_id, 100)
    requests = posts_to(waiting.receiver, waiting.path, 2)
    assert envelope(requests[1])["data"]["balance"] == 111 and len(deliveries_of(waiting.shop)) == 2


def test_an_attempt_under_way_when_its_subscription_is_deactivated_is_the_last(ticking, receiver):
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

def test_of_an_account_whose_webhooks_are_switched_off(waiting):
    waiting.shop.set("--webhooks", "off")
    waiting.shop.add(waiting.pass_id, 1)
    waiting.is_discarded()
    waiting.shop.client.get(HOOKS).is_error(403, "FEATURE_DISABLED")
    waiting.shop.set("--webhooks", "on")
    assert waiting.shop.client.get(hook_path(waiting.hook["id"])).json["active"] is True
    waiting.shop.add(waiting.pass_id, 10)
    requests = posts_to(waiting.receiver, waiting.path, 2)
    assert envelope(requests[1])["data"]["balance"] == 12 and len(deliveries_of(waiting.shop)) == 2


def test_switching_off_and_on_at_once_brings_nothing_back(waiting):
    waiting.shop.set("--webhooks", "off")
    waiting.shop.set("--webhooks", "on")
    waiting.is_discarded()


def test_of_a_suspended_account_goes_on(waiting):
    waiting.shop.set("--suspended", "on")
    assert envelope(waiting.goes_on())["data"]["balance"] == 1


# The pass

def test_of_a_deleted_pass(waiting):
    waiting.shop.delete(waiting.pass_id)
    waiting.is_discarded()


def test_of_a_deleted_pass_whose_id_is_used_again(waiting):
    """The new pass is another one: the old event must not show it."""
    waiting.shop.delete(waiting.pass_id)
    waiting.shop.create(waiting.pass_id)
    waiting.is_discarded()
    waiting.shop.add(waiting.pass_id, 40)
    assert envelope(posts_to(waiting.receiver, waiting.path, 2)[1])["data"]["balance"] == 40


def test_an_attempt_under_way_when_its_pass_is_deleted_is_the_last(ticking, receiver):
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

    await_that(told, "the ends of both attempts")
    advance(ticking, WAITS_SECONDS[0])
    third = posts_to(receiver, path, 3)[2]
    assert event_id(third) == event_id(receiver.to[path][1]), "the new pass' event goes on, and the old one's does not"
    await_that(lambda: sorted(row["outcome"] for row in deliveries_of(shop, hook)) == ["discarded", "pending"], "the old one's end")
    receiver.release()
    shop.close()


def test_of_a_deactivated_pass_goes_on(waiting):
    """It is still there, and shown as what it is by now."""
    waiting.shop.event(waiting.pass_id, "deactivated")
    assert envelope(waiting.goes_on())["data"]["status"] == "deactivated"


# Changes that discard nothing

def test_after_a_change_of_url_the_new_one_gets_it(waiting):
    other = "/status/200/" + new_id("moved")
    change(waiting.shop, waiting.hook, url=waiting.receiver.url(other))
    waiting.goes_on(other)


def test_after_a_change_of_kinds_it_goes_on(waiting):
    change(waiting.shop, waiting.hook, event_types=[CREATED])
    waiting.goes_on()


def test_setting_what_is_set_discards_nothing(waiting):
    change(waiting.shop, waiting.hook, active=True)
    waiting.shop.set("--webhooks", "on")
    waiting.goes_on()


def test_one_subscriptions_end_is_not_anothers(waiting):
    other = "/status/200/" + new_id("beside")
    hook = subscribe(waiting.shop, waiting.receiver.url(other), [BALANCE])
    waiting.shop.client.delete(hook_path(hook["id"])).is_empty(204)
    waiting.goes_on()
    assert waiting.receiver.to[other] == [] and the_delivery(waiting.shop, waiting.hook)["outcome"] == "delivered"
