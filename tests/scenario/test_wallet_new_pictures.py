"""Pictures that a PATCH gives to passes in Apple's wallet (PASS_PICTURED): they are fetched, the former ones stay until then, and the
phone is pushed to when they are there."""
import pytest
from harness import wait_for
from images import Logos
from installed import apns, at, credential, options  # noqa: F401: fixtures
from pkpass import entries_of, png_size
from shop import path_of

NEW, OLD = 90, 60  # widths of logos


@pytest.fixture
def gallery(chain):
    with Logos(chain) as made:
        yield made


def patch(at, pass_id, logo):
    assert at.shop.client.patch(path_of(pass_id), {"appearance": {"logo": logo} if logo else None}).status == 204


def width(held, phone):
    """Of the pass's logo; None: it has none."""
    files = entries_of(phone.fetch(held).body)
    return png_size(files["logo.png"])[0] if "logo.png" in files else None


def await_width(held, phone, want):
    wait_for(lambda: width(held, phone) == want, 20, f"a logo of width {want}")


def warnings(at, pass_id):
    return at.service.cli("wallet", "preview", at.shop.account, pass_id)["warnings"]


def with_logo(at, gallery):
    held, phone = at.installed("ada")
    patch(at, "ada", gallery.url(f"/logo/{OLD}"))
    await_width(held, phone, OLD)
    at.apns.wait(phone.push)
    at.advance(6)
    wait_for(lambda: at.due("push") == 0, 10, "all pushes")
    return held, phone


def test_a_new_picture_is_fetched_and_the_phone_learns_of_it(at, gallery):
    held, phone = with_logo(at, gallery)
    count = len(at.apns.of(phone.push))
    patch(at, "ada", gallery.url(f"/held/{NEW}"))
    wait_for(lambda: len(gallery.requests) == 2, 10, "the request for the new one")
    assert width(held, phone) == OLD
    assert "The logo is the former one: the new one is still to be fetched." in warnings(at, "ada")
    at.apns.wait(phone.push, count + 1)  # of the change itself
    at.advance(6)
    gallery.release()
    at.apns.wait(phone.push, count + 2)
    assert width(held, phone) == NEW
    assert not [text for text in warnings(at, "ada") if "logo" in text]
    assert at.service.cli("verify")["ok"]


def test_a_picture_that_cannot_be_fetched_leaves_the_former_one(at, gallery):
    held, phone = with_logo(at, gallery)
    patch(at, "ada", gallery.url("/status/404"))
    text = "The logo is the former one: the new one could not be fetched."
    wait_for(lambda: text in warnings(at, "ada"), 20, "the warning")
    assert width(held, phone) == OLD
    assert at.service.cli("verify")["ok"]
    patch(at, "ada", gallery.url(f"/logo/{NEW}"))
    await_width(held, phone, NEW)


def test_a_picture_that_is_taken_away_or_replaced_meanwhile(at, gallery):
    held, phone = with_logo(at, gallery)
    patch(at, "ada", gallery.url("/held/70"))
    patch(at, "ada", gallery.url(f"/held/{NEW}"))
    wait_for(lambda: len(gallery.requests) == 3, 10, "both requests")
    assert width(held, phone) == OLD
    gallery.release()
    await_width(held, phone, NEW)
    patch(at, "ada", gallery.url("/held/80"))
    patch(at, "ada", None)
    assert width(held, phone) is None
    gallery.release()
    assert at.service.cli("verify")["ok"]


def test_a_new_picture_outlives_a_kill(at, gallery):
    held, phone = with_logo(at, gallery)
    patch(at, "ada", gallery.url(f"/held/{NEW}"))
    wait_for(lambda: len(gallery.requests) == 2, 10, "the request")
    old = at.service.pid_of("shard")
    at.service.expect_log("event=died")
    at.service.kill_child("shard")
    at.service.await_successor("shard", 0, old)
    at.shop.client.close()
    wait_for(lambda: len(gallery.requests) == 3, 20, "another request")
    gallery.release()
    await_width(held, phone, NEW)


def test_an_erased_pass_keeps_no_picture(at, gallery):
    with_logo(at, gallery)
    patch(at, "ada", gallery.url(f"/held/{NEW}"))
    at.service.cli("pass", "erase", at.shop.account, "ada")
    gallery.release()
    assert at.service.cli("verify")["ok"]


def test_without_a_wallet_no_picture_is_fetched(at, gallery):
    at.shop.create("ada")
    at.shop.set("--wallet", "google")
    patch(at, "ada", gallery.url(f"/logo/{NEW}"))
    at.shop.create("eva")
    at.shop.set("--wallet", "on")
    patch(at, "eva", gallery.url(f"/logo/{OLD}"))
    wait_for(lambda: gallery.requests, 10, "the other request")
    assert [request.path for request in gallery.requests] == [f"/logo/{OLD}"]
