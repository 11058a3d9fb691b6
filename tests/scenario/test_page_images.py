"""Logo and banner on the page of a pass: served unchanged from below the page's path, to the holder only."""
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from deliveries import options
from harness import wait_for
from images import answer, await_status, body_with, png
from page import Page, fetch, path_of_link
from patience import PATIENCE
from shop import Shop, path_of

LARGEST = 2 << 20  # bytes
HEADERS = {"content-type": "image/png", "cache-control": "private, no-cache", "x-content-type-options": "nosniff",
           "referrer-policy": "no-referrer", "cross-origin-resource-policy": "same-origin",
           "content-security-policy": "default-src 'none'; sandbox"}


@pytest.fixture
def shop(issuing):
    shop = Shop(issuing, ("balance",))
    yield shop
    shop.close()


@pytest.fixture
def own_shop(new_service, authority):
    shop = Shop(new_service(shards=1, options=options(authority)), ("balance",))
    yield shop
    shop.close()


@pytest.fixture
def visitor(issuing):
    with issuing.client() as client:
        yield client


def make(shop, **images):
    """Creates a pass with these images and waits until it is issued. Returns the path of its page."""
    body = body_with(**images)
    answer = shop.client.post("/v1/passes", body)
    assert answer.status == 201, answer
    return body["pass_id"], path_of_link(answer.json["download_url"])


def image(visitor, link, name):
    """The bytes of an image. Checks the headers too."""
    answer = fetch(visitor, f"{link}/{name}")
    assert answer.status == 200, answer
    for header, value in HEADERS.items():
        assert answer.headers[header] == value, (header, answer)
    assert int(answer.headers["content-length"]) == len(answer.body)
    return answer.body


def test_images_are_shown_as_they_were_fetched(shop, visitor, gallery):
    broad = png(width=300, height=20)
    gallery.answers["/broad"] = answer(200, broad)
    pass_id, link = make(shop, logo=gallery.url("/image/a"), banner=gallery.url("/broad"))
    page = Page(fetch(visitor, link))
    assert {name: (one.get("width"), one.get("height")) for name, one in page.images.items()} == {
        "logo": ("2", "2"), "banner": ("300", "20")}
    assert all(one.get("src") == f"{link.removeprefix('/p/')}/{name}" for name, one in page.images.items())
    assert "127.0.0.1" not in page.text and "https:" not in page.text
    assert image(visitor, link, "logo") == png(text=b"a")
    assert image(visitor, link, "banner") == broad
    assert len(gallery.requests) == 2, "a page loads nothing from other hosts"
    shop.delete(pass_id)
    assert fetch(visitor, link + "/logo").status == 410


def test_a_cached_image_gets_304(shop, visitor, gallery):
    _, link = make(shop, logo=gallery.url("/image/a"), banner=gallery.url("/image/b"))
    tag, other = (fetch(visitor, f"{link}/{name}").headers["etag"] for name in ("logo", "banner"))
    assert tag != other
    for method in ("GET", "HEAD"):
        for known in (tag, "W/" + tag, f'"x", {tag}'):
            same = fetch(visitor, link + "/logo", method, headers={"If-None-Match": known})
            assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag), same
            assert same.headers["cache-control"] == HEADERS["cache-control"]
        for known in (other, tag[:-2] + '"', tag.strip('"'), "*", '"', ""):
            again = fetch(visitor, link + "/logo", method, headers={"If-None-Match": known})
            assert again.status == 200 and again.headers["etag"] == tag, known
            assert len(again.body) == (int(again.headers["content-length"]) if method == "GET" else 0)
    _, second = make(shop, logo=gallery.url("/image/a"))
    assert fetch(visitor, second + "/logo").headers["etag"] == tag


def test_an_image_that_was_not_fetched_is_not_shown(shop, visitor, gallery):
    """Pages never start a fetch: not after a change, and not for another account's image."""
    url, never = gallery.url("/image/a"), gallery.url("/image/never")
    pass_id, link = make(shop, logo=url)
    file = {"name": "With a logo", "loyalty_type": "none", "fields": [], "appearance": {"logo": url, "banner": gallery.url("/status/404")}}
    bare = path_of_link(shop.create(pass_template_id=shop.put_template(file), visible={})["download_url"])
    assert set(Page(fetch(visitor, bare)).images) == {"logo"}  # the image is already stored
    assert image(visitor, bare, "logo") == png(text=b"a") and fetch(visitor, bare + "/banner").status == 404
    for appearance, shown in (({"logo": never}, set()), ({"banner": url}, {"banner"}), ({"logo": None}, {"banner"}),
                              (None, set()), ({"logo": url}, {"logo"})):
        shop.client.patch(path_of(pass_id), {"appearance": appearance}).is_empty(204)
        assert set(Page(fetch(visitor, link)).images) == shown, appearance
        assert {name for name in ("logo", "banner") if fetch(visitor, f"{link}/{name}").status == 200} == shown
    other = Shop(shop.service, ("balance",))
    theirs = other.create()
    other.client.patch(path_of(theirs["id"]), {"appearance": {"logo": url}}).is_empty(204)
    assert Page(fetch(visitor, theirs["download_url"])).images == {}
    assert fetch(visitor, path_of_link(theirs["download_url"]) + "/logo").status == 404
    other.close()
    assert gallery.to["/image/never"] == [] and len(gallery.to["/image/a"]) == 1


def test_pages_of_passes_that_are_not_issued(shop, visitor, gallery):
    """The page exists from the creation on and shows the state of the pass."""
    body = body_with(logo=gallery.url("/held-image/a"))
    with ThreadPoolExecutor(1) as pool, shop.service.client(shop.key, seconds=30) as client:
        waiting = pool.submit(client.post, "/v1/passes", body)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        link = path_of_link(shop.get(body["pass_id"])["download_url"])
        page = Page(fetch(visitor, link))
        assert (page.status, page.images) == ("creating", {}) and "moment" in page.notice
        assert fetch(visitor, link + "/logo").status == 404
        gallery.release()
        assert waiting.result().status == 201
    page = Page(fetch(visitor, link))
    assert (page.status, page.notice, set(page.images)) == ("issued", None, {"logo"})
    body = body_with(logo=gallery.url("/status/404"), banner=gallery.url("/image/b"))
    assert shop.client.post("/v1/passes", body).status == 202
    failed = await_status(shop, body["pass_id"], "creation_failed")
    page = Page(fetch(visitor, failed["download_url"]))
    assert page.status == "creation_failed" and "logo" not in page.images
    assert failed["creation_error"] not in page.text and "404" not in page.text


def test_requests_for_images_leave_room_for_lists(own_shop, gallery):
    """While the shard is stopped, more requests for images are queued than it lets wait. A list requested afterwards is
    still answered."""
    shop, service = own_shop, own_shop.service
    _, link = make(shop, logo=gallery.url("/image/a"))
    shard = service.signal("shard", 0, signal.SIGSTOP)
    with ExitStack() as stack:
        def ask(path, headers=""):
            connection = stack.enter_context(socket.create_connection(service.http, timeout=20 * PATIENCE))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
            return connection

        crowd = [ask(f"{link}/logo") for _ in range(200)]
        listing = ask("/v1/passes", f"Authorization: Bearer {shop.key}\r\n")
        assert ask("/p/unknown").recv(12) == b"HTTP/1.1 404"  # answered without a shard: http has read all earlier requests
        os.kill(shard, signal.SIGCONT)
        assert listing.recv(12) == b"HTTP/1.1 200"
        told = [connection.recv(12) for connection in crowd]
    assert set(told) <= {b"HTTP/1.1 200", b"HTTP/1.1 503"} and told.count(b"HTTP/1.1 200") >= 64
    with service.client() as visitor:
        assert image(visitor, link, "logo") == png(text=b"a")


@pytest.mark.plain  # a sanitizer does not return freed memory
def test_concurrent_requests_for_the_largest_image(shop, issuing, gallery):
    want = {name: png(text=name.encode().ljust(LARGEST - len(png()), b".")) for name in ("logo", "banner")}
    for name, content in want.items():
        assert len(content) == LARGEST
        gallery.answers["/" + name] = answer(200, content)
    _, link = make(shop, logo=gallery.url("/logo"), banner=gallery.url("/banner"))

    def look(name):
        with issuing.client() as client:
            return image(client, link, name) == want[name]

    before = issuing.peak_memory("http")
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look, ["logo", "banner"] * 12))
    assert issuing.peak_memory("http") - before < 100 << 20
