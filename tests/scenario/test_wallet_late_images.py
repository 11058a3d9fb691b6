"""Images that are there later than the package of a pass: the phone is pushed to when they are. Of a template that was put, and of a
pass that was registered before its own image was reduced."""
import os
import signal

import pytest
from harness import wait_for
from images import Logos
from installed import apns, at, credential, options  # noqa: F401: fixtures
from phones import Held
from pkpass import entries_of, png_size
from shop import template_file

NEW, LARGE = 90, 1500  # widths of logos


@pytest.fixture
def gallery(chain):
    with Logos(chain) as made:
        yield made


def put(at, **appearance):
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], appearance={"title": "Card", **appearance}))


def pictures(held, phone):
    return {name: png_size(data)[0] for name, data in entries_of(phone.fetch(held).body).items() if name in ("logo.png", "strip@2x.png")}


def pushed(at, phone, count):
    """Waits for that many pushes."""
    wait_for(lambda: len(at.apns.of(phone.push)) >= count or at.advance(1), 20, "the push")


def test_a_new_logo_of_a_template_reaches_the_phone(at, gallery):
    held, phone = at.installed("ada")
    phone.changed()
    put(at, logo=gallery.url(f"/held/{NEW}"))
    pushed(at, phone, 1)  # of the change itself, though the image does not come
    assert phone.changed() == {held.serial} and pictures(held, phone) == {}
    at.advance(6)
    gallery.release()
    pushed(at, phone, 2)
    assert phone.changed() == {held.serial} and pictures(held, phone) == {"logo.png": NEW}
    assert at.service.cli("verify")["ok"]


def test_a_new_logo_that_comes_soon_is_one_push(at, gallery):
    held, phone = at.installed("ada")
    put(at, logo=gallery.url(f"/logo/{NEW}"))
    at.apns.wait(phone.push)
    assert pictures(held, phone) == {"logo.png": NEW} and len(at.apns.of(phone.push)) == 1


def test_an_image_does_not_wait_for_another_that_does_not_come(at, gallery):
    held, phone = at.installed("ada")
    at.service.expect_log("event=template_image")
    put(at, logo=gallery.url(f"/held/{NEW}"), banner=gallery.url("/status/404"))
    pushed(at, phone, 1)
    gallery.release()
    pushed(at, phone, 2)
    assert pictures(held, phone) == {"logo.png": NEW}


def test_a_url_that_is_too_long_holds_up_no_other_image(at, gallery):
    held, phone = at.installed("ada")
    at.service.expect_log("event=template_image .*too long")
    put(at, logo=gallery.url(f"/held/{NEW}"), banner=gallery.url("/logo/" + "9" * 2000))
    pushed(at, phone, 1)
    gallery.release()
    pushed(at, phone, 2)
    assert pictures(held, phone) == {"logo.png": NEW}


def test_a_pass_that_is_registered_before_its_logo_is_reduced(at, gallery):
    for number in range(10):
        made = at.shop.create(f"pass-{number}", appearance={"logo": gallery.url(f"/logo/{LARGE}/{number}")})
        held, phone = Held(at.shop, made), at.phone()
        timer = at.service.signal("timer", 0, signal.SIGSTOP)
        try:
            assert phone.register(held).status == 201
            lacks = pictures(held, phone) == {}
        finally:
            os.kill(timer, signal.SIGCONT)
        if lacks:
            break
    assert lacks, "the timer was never caught in time"
    pushed(at, phone, 1)
    assert pictures(held, phone) != {}
