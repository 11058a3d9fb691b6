"""A template's own logo and banner: fetched after `template put`, shown on the pages of its passes, without delaying
anything."""
import json

import pytest
from deliveries import options
from harness import wait_for
from images import Gallery, answer, png
from page import Page, fetch, path_of_link
from shop import Shop, template_file


@pytest.fixture
def shop(new_service, authority):
    shop = Shop(new_service(shards=1, options=options(authority, "--test-clock")), ("balance",))
    yield shop
    shop.close()


def file_with(template=None, **images):
    named = {"pass_template_id": template} if template else {}
    return template_file(appearance={"title": "Card", **images}, **named)


def put(shop, file):
    return shop.service.cli("template", "put", shop.account, "-", stdin=json.dumps(file))["pass_template_id"]


def shown(shop, link):
    """The bytes of the page's images, by name."""
    with shop.service.client() as visitor:
        page = Page(fetch(visitor, link))
        return {name: fetch(visitor, f"{link}/{name}").body for name in page.images}


def until_shown(shop, link, **wanted):
    wait_for(lambda: shown(shop, link) == wanted, 10, f"the images {list(wanted)}")


def page_of(shop, template):
    made = shop.client.post("/v1/passes", {"pass_id": f"of-{template}", "pass_template_id": template, "visible": {"name": "Ada"}})
    assert made.status == 201, made
    return path_of_link(made.json["download_url"])


def failures(service):
    return [line for line in service.log_lines() if "event=template_image" in line]


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_images_are_fetched_and_shown(shop, gallery, scheme):
    with Gallery(None) as clear:
        origin = clear if scheme == "http" else gallery
        template = put(shop, file_with(logo=origin.url("/image/a"), banner=origin.url("/image/b")))
        link = page_of(shop, template)
        until_shown(shop, link, logo=png(text=b"a"), banner=png(text=b"b"))
        assert len(origin.requests) == 2
    assert failures(shop.service) == []


def test_put_and_creations_do_not_wait_for_images(shop, gallery):
    template = put(shop, file_with(logo=gallery.url("/held-image/slow")))
    link = page_of(shop, template)
    assert shown(shop, link) == {}
    wait_for(lambda: gallery.to["/held-image/slow"], 10, "the request")
    gallery.release()
    until_shown(shop, link, logo=png(text=b"slow"))


def test_only_changed_urls_are_fetched_again(shop, gallery):
    file = file_with(logo=gallery.url("/image/a"), banner=gallery.url("/image/b"))
    template = put(shop, file)
    link = page_of(shop, template)
    until_shown(shop, link, logo=png(text=b"a"), banner=png(text=b"b"))
    shop.service.cli("clock", "advance", "2d")
    put(shop, {**file, "pass_template_id": template})
    put(shop, file_with(template, logo=gallery.url("/image/c"), banner=gallery.url("/image/b")))
    until_shown(shop, link, logo=png(text=b"c"), banner=png(text=b"b"))
    put(shop, file_with(template))
    until_shown(shop, link)
    assert sorted(request.path for request in gallery.requests) == ["/image/a", "/image/b", "/image/c"]


def test_a_failed_fetch_is_logged_and_blocks_nothing(shop, gallery):
    gallery.answers["/text"] = answer(200, b"<svg/>")
    template = put(shop, file_with(logo=gallery.url("/text"), banner=gallery.url("/image/b")))
    link = page_of(shop, template)
    until_shown(shop, link, banner=png(text=b"b"))
    [line] = wait_for(lambda: failures(shop.service), 10, "a line")
    assert template in line and "logo: " in line and "PNG" in line and "127.0.0.1" not in line
    gallery.play("/text", "/image/mended")
    put(shop, file_with(template, logo=gallery.url("/text"), banner=gallery.url("/image/b")))
    until_shown(shop, link, logo=png(text=b"mended"), banner=png(text=b"b"))
    assert len(gallery.to["/text"]) == 2 and len(gallery.to["/image/b"]) == 1


def test_temporary_failures_are_retried(shop, gallery):
    gallery.play("/unsteady", "/reset", "/status/503", "/image/steady")
    link = page_of(shop, put(shop, file_with(banner=gallery.url("/unsteady"))))
    until_shown(shop, link, banner=png(text=b"steady"))
    assert failures(shop.service) == []


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_restart_during_fetches(shop, gallery, how):
    service = shop.service
    template = put(shop, file_with(logo=gallery.url("/held-image/x"), banner=gallery.url("/image/y")))
    link = page_of(shop, template)
    wait_for(lambda: gallery.to["/held-image/x"], 10, "the request")
    if how == "kill":
        service.kill_everything()
        service.start()
    else:
        service.restart()
    gallery.answers["/held-image/x"] = "/image/x"
    until_shown(shop, link, logo=png(text=b"x"), banner=png(text=b"y"))
    assert service.cli("verify")["ok"]
    before = len(gallery.requests)
    service.restart()
    until_shown(shop, link, logo=png(text=b"x"), banner=png(text=b"y"))
    assert len(gallery.requests) == before, "a stored image is not fetched again"


def test_a_private_address_is_not_called(service, gallery):
    shop = Shop(service, ("balance",))
    template = put(shop, file_with(logo=gallery.url("/image/a"), banner="http://10.0.0.1/b.png"))
    wait_for(lambda: len([line for line in failures(service) if template in line]) == 2, 10, "both failures to be logged")
    assert shown(shop, page_of(shop, template)) == {} and gallery.connections == 0
    shop.close()
