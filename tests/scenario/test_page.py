"""The page behind download_url: its contents, escaping, who may read it, and when it does not exist."""
import base64
import html
import os
import random
import secrets
import signal
from urllib.parse import quote

import pytest
from harness import wait_for
from metrics import look
from page import HEADERS, Page, fetch, path_of_link
from shop import Shop, path_of

APPEARANCE = {"background_color": "#fff4d6", "title": "Sunny & Sons"}
FIELDS = [
    {"key": "name", "label": "Member", "type": "text"}, {"key": "points", "label": "Beans", "type": "number", "locked": True},
    {"key": "visits", "label": "Visits", "type": "number"}, {"key": "born", "label": "Birthday", "type": "date"},
    {"key": "site", "label": "Site", "type": "url"}, {"key": "vip", "label": "Gold", "type": "boolean"},
    {"key": "empty", "label": "Nothing", "type": "text"},
]
TEMPLATE = {"name": "Coffee card", "loyalty_type": "balance", "qr": True, "name_field": "name", "fields": FIELDS,
            "appearance": {"background_color": "#112233", "title": "Beans"}}
# Each text tries to break out of its HTML context.
HOSTILE = ['</title></style></script><script>alert(1)</script>', '"><img src=https://evil.example/x onerror=alert(1)>',
           "' onmouseover='alert(1)", "&lt;b&gt; &amp; &#60;", "]]>--><!--", "a\u2028b\u2029c\ufeff", "\u202eevil\u2066 unclosed",
           "javascript:alert(1)", "}:root{--card:url(https://evil.example)}", "</bdi></dd></dl></main>"]
FORBIDDEN = "a\x00b\x01c\x1bd\x7fe\u0085f\ufdd0g\ufffeh\U0001fffei"


@pytest.fixture(scope="module")
def visitor(shared_service):
    """A client without a key."""
    with shared_service.client() as client:
        yield client


@pytest.fixture(scope="module")
def card(module_shop):
    """The id of a template."""
    return module_shop.put_template(TEMPLATE)


@pytest.fixture
def make(till, card):
    """Creates a pass with this or another template, and returns it."""
    def make(pass_id=None, **fields):
        return till.create(pass_id, **{"pass_template_id": card, **fields})
    return make


def test_a_page_shows_the_current_pass(till, make, visitor):
    made = make("ada-1", visible={"vip": True, "site": "https://beans.example/?a=1&b=2", "born": "1815-12-10", "name": "Ada",
                                  "visits": 1e3}, hidden={"crm": "hidden-17"})
    page = Page(fetch(visitor, made["download_url"]))
    assert (page.title, page.window_title, page.status, page.notice) == ("Beans", "Beans", "issued", None)
    assert page.fields == [("Beans", "0"), ("Member", "Ada"), ("Visits", "1000.0"), ("Birthday", "1815-12-10"),
                           ("Site", "https://beans.example/?a=1&b=2"), ("Gold", "Yes")]
    assert page.links == ["https://beans.example/?a=1&b=2"]
    assert page.colours() == ("#112233", "#fff")
    assert (page.caption, page.code_reads()) == ("ada-1", "ada-1")
    till.add("ada-1", -7)
    till.client.patch(path_of("ada-1"), {"visible": {"name": None, "vip": False, "empty": "no more"}, "appearance": APPEARANCE})
    page = Page(fetch(visitor, made["download_url"]))
    assert page.fields == [("Beans", "-7"), ("Visits", "1000.0"), ("Birthday", "1815-12-10"),
                           ("Site", "https://beans.example/?a=1&b=2"), ("Gold", "No"), ("Nothing", "no more")]
    assert (page.title, page.colours()) == ("Sunny & Sons", ("#fff4d6", "#000"))


def test_pages_of_passes_in_every_state(till, make, visitor):
    states = {"issued": [], "active": ["installed"], "removed": ["installed", "uninstalled"], "deactivated": ["deactivated"]}
    for state, events in states.items():
        made = make()
        for event in events:
            till.event(made["id"], event)
        page = Page(fetch(visitor, made["download_url"]))
        assert page.status == state
        assert (page.notice is not None) == (state in ("removed", "deactivated"))
        assert page.code_reads() == made["id"]


def test_a_replaced_template_is_shown_at_once(till, visitor):
    file = {"name": "First name", "loyalty_type": "none", "fields": [{"key": "a", "label": "A", "type": "text"},
                                                                  {"key": "b", "label": "B", "type": "url"}]}
    template = till.put_template(file)
    made = till.create(pass_template_id=template, visible={"a": "1", "b": "https://b.example"})
    page = Page(fetch(visitor, made["download_url"]))
    assert (page.title, page.fields) == ("First name", [("A", "1"), ("B", "https://b.example")])
    assert (page.caption, page.code_reads()) == (None, None)
    till.put_template({**file, "pass_template_id": template, "name": "Second name", "fields": [
        {"key": "c", "label": "C", "type": "text"}, {"key": "a", "label": "Renamed", "type": "url"}]})
    page = Page(fetch(visitor, made["download_url"]))
    assert (page.title, page.fields) == ("Second name", [("Renamed", "1"), ("b", "https://b.example")])
    assert page.links == []


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_texts_are_escaped(till, visitor, value):
    """In the title, template name, label, key, value and QR value."""
    url = "https://x.example/" + value.replace(" ", "%20")
    safe = quote(url, safe="/:?#@!$&'()*+,;=%")
    fields = [{"key": "a", "label": value, "type": "text"}, {"key": "u", "label": "U", "type": "url"}]
    template = till.put_template({"name": value, "loyalty_type": "none", "qr": True, "fields": [
        *fields, {"key": value, "type": "text"}]})
    made = till.create(value, pass_template_id=template, visible={"a": value, "u": url, value: value})
    page = Page(fetch(visitor, made["download_url"]))
    assert (page.title, page.caption, page.code_reads()) == (value, value, value)
    assert page.fields == [(value, value), ("U", url), (value, value)] and page.links == [safe]
    assert not set(page.window_title) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    till.client.patch(path_of(value), {"appearance": {"title": value + "!"}}).is_empty(204)
    till.put_template({"pass_template_id": template, "name": value, "loyalty_type": "none", "qr": True, "fields": fields})
    page = Page(fetch(visitor, made["download_url"]))
    assert page.title == value + "!" and page.fields[2] == (value, value)
    till.delete(value)


def test_characters_not_allowed_in_html_are_replaced(make, visitor):
    made = make(visible={"name": FORBIDDEN}, appearance={"title": FORBIDDEN})
    page = Page(fetch(visitor, made["download_url"]))
    want = "".join(c if c.isalpha() else "\ufffd" for c in FORBIDDEN)
    assert (page.title, page.fields[1][1]) == (want, want)


def test_long_and_foreign_texts(till, make, visitor):
    name = "محمد بن موسى الخوارزمي 👩‍🚀 " + "Donaudampfschifffahrt" * 20
    for pass_id in ("é" * 100, "日本-😀", "x" * 200, "7", "A-1 $%*+./:"):
        made = make(pass_id, visible={"name": name})
        page = Page(fetch(visitor, made["download_url"]))
        assert (page.fields[1], page.caption, page.code_reads()) == (("Member", name), pass_id, pass_id)
        till.delete(pass_id)


def test_a_pass_of_a_megabyte_is_shown_completely(make, visitor):
    text = "".join(random.Random(7).choices("abc <&\"'\u00e9\n", k=600_000))
    made = make(visible={"name": text})
    answer = fetch(visitor, made["download_url"])
    assert answer.status == 200 and 600_000 < len(answer.body) < 6_000_000
    shown = answer.body.decode().split("<dd><bdi>")[1].split("</bdi>")[0]
    assert html.unescape(shown) == text


def test_head_has_the_headers_of_get(make, visitor):
    for link in (make()["download_url"], "/p/unknown"):
        get, head = fetch(visitor, link), fetch(visitor, link, "HEAD")
        ignored = {"x-request-id", "date"}
        assert head.body == b"" and head.status == get.status
        assert {k: v for k, v in head.headers.items() if k not in ignored} == \
            {k: v for k, v in get.headers.items() if k not in ignored}
        assert int(head.headers["content-length"]) == len(get.body)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_are_refused(make, visitor, method):
    made = make()
    for link in (made["download_url"], "/p/unknown"):
        answer = fetch(visitor, link, method, body=b"x" * 1000, headers={"Content-Type": "text/plain"})
        assert Page(answer, 405).title and answer.headers["allow"] == "GET, HEAD"
    assert Page(fetch(visitor, made["download_url"])).status == "issued"


def test_images_that_do_not_exist(till, make, visitor):
    """An image is 404 until it has been fetched. Other names are always 404."""
    made = make("plain-1", appearance={"title": "No picture"})
    link = path_of_link(made["download_url"])
    none = fetch(visitor, "/p/unknown").body
    for path in ("/logo", "/banner", "/title", "/qr", "/", "/logo/", "/logo/x", "/%6cogo", "/LOGO", "/logo.png"):
        for method in ("GET", "HEAD"):
            answer = fetch(visitor, link + path, method)
            assert (answer.status, answer.body) == (404, none if method == "GET" else b""), path
    for method in ("POST", "PUT", "DELETE"):
        assert fetch(visitor, link + "/logo", method).headers["allow"] == "GET, HEAD"
    assert fetch(visitor, "/p/" + "A" * 22 + "/logo").status == 404
    assert Page(fetch(visitor, link)).images == {}
    till.delete("plain-1")
    assert fetch(visitor, link + "/logo").status == 410


def test_a_query_in_the_link_is_ignored(make, visitor):
    link = path_of_link(make()["download_url"])
    page = Page(fetch(visitor, link))
    for query in ("?", "?fbclid=1&utm_source=%00", "?" + "x" * 2000):
        assert Page(fetch(visitor, link + query)).text == page.text


def test_a_body_is_ignored(make, shared_service):
    """Also one larger than clients without a key, or any client, may send."""
    link = make()["download_url"]
    with shared_service.client() as client:
        text = Page(fetch(client, link)).text
        for size in (1, 300_000, 20_000_000):
            head = {"Content-Length": str(size)}
            body = b"x" * size if size < 1_000_000 else b""  # the client does not send the last body
            assert Page(fetch(client, link, body=body, headers=head)).text == text
            assert Page(fetch(client, link, "POST", body=body, headers=head), 405).title
        chunks = {"Transfer-Encoding": "chunked"}
        assert Page(fetch(client, link, body=b"5\r\nhello\r\n0\r\n\r\n", headers=chunks)).text == text


# Access

def spellings(token):
    last = token[-1]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    yield from ("", token[:-1], token + "A", token + "=", token + "==", token + "/", token + "/x", "/" + token, token + "%00",
                "%20" + token, "%" + f"{ord(token[0]):02x}" + token[1:], token.swapcase(),
                token[::-1], "A" * 22, "_" * 22, "x" * 5000, "..", "../v1/passes", "%2e%2e", "index.html")
    yield from (token[:-1] + c for c in alphabet if c != last)  # a lenient base64 decoder gives the same bytes for fifteen of them
    raw = bytearray(base64.urlsafe_b64decode(token + "=="))
    for bit in range(128):
        raw[bit // 8] ^= 1 << bit % 8
        yield base64.urlsafe_b64encode(raw).decode().rstrip("=")
        raw[bit // 8] ^= 1 << bit % 8


def test_wrong_tokens_get_the_same_answer(make, visitor):
    token = path_of_link(make()["download_url"]).removeprefix("/p/")
    texts = set()
    for other in spellings(token):
        answer = fetch(visitor, "/p/" + other)
        assert answer.status == 404 and answer.headers["content-type"] == HEADERS["content-type"], other
        texts.add(answer.body)
    assert len(texts) == 1 and Page(fetch(visitor, "/p/x"), 404).title == "No such pass"
    for path in ("/p", "/P/" + token, "/pass/" + token, "/" + token):
        visitor.get(path).is_error(404, "ROUTE_NOT_FOUND")


def test_a_token_gives_no_other_access(till, make, visitor, shared_service):
    """The page shows no hidden data, no account and no other pass. The token is not accepted as a key."""
    made = make("mine-1", hidden={"crm": "hidden-99"}, visible={"name": "Ada"})
    others = [make(f"other-{i}", visible={"name": f"Somebody {i}"}) for i in range(3)]
    page = Page(fetch(visitor, made["download_url"]))
    told = [made["created_at"][:10], "hidden-99", "crm", till.account, till.account.removeprefix("acc_"), till.key, "Shop",
            made["download_url"], path_of_link(made["download_url"])[3:], *till.templates.values()]
    for text in [*told, *(other["id"] for other in others), "Somebody"]:
        assert text not in page.text, text
    token = path_of_link(made["download_url"])[3:]
    for key in (token, f"sk_{token}", f"sk_{till.account.removeprefix('acc_')}_{token}"):
        visitor.get("/v1/passes", key=key).is_error(401, "UNAUTHENTICATED")
        visitor.get(path_of("mine-1"), key=key).is_error(401, "UNAUTHENTICATED")
    stranger = Shop(shared_service, ())
    for key in (till.key, stranger.key, "sk_x"):  # an additional key makes no difference
        assert Page(fetch(visitor, made["download_url"], key=key)).text == page.text
    stranger.close()


def test_other_origins_may_not_read_a_page(new_service):
    service = new_service(shards=1, options=["--cors-origin", "https://dash.example"])
    shop = Shop(service, ("balance",))
    url = shop.create()["download_url"]
    answer = fetch(shop.client, url, headers={"Origin": "https://dash.example"})
    assert answer.status == 200 and "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    preflight = {"Origin": "https://dash.example", "Access-Control-Request-Method": "GET"}
    assert fetch(shop.client, url, "OPTIONS", headers=preflight).status == 405
    shop.close()


def test_the_page_of_a_deleted_pass_is_gone(till, make, visitor):
    made = make("again-1", visible={"name": "Old"})
    till.delete("again-1")
    page = Page(fetch(visitor, made["download_url"]), 410)
    assert page.fields == [] and "again-1" not in page.text
    new = make("again-1", visible={"name": "New"})
    assert Page(fetch(visitor, new["download_url"])).fields[1] == ("Member", "New")
    Page(fetch(visitor, made["download_url"]), 410)
    till.delete("again-1")
    assert fetch(visitor, new["download_url"]).status == 410


def test_pages_do_not_depend_on_the_accounts_state(visitor, new_shop):
    shop = new_shop("balance")
    made = shop.create()
    shop.set("--suspended", "on", "--rate-limit", "1")
    page = Page(fetch(visitor, made["download_url"]))
    for _ in range(20):
        assert Page(fetch(visitor, made["download_url"])).text == page.text
    shop.client.get(path_of(made["id"])).is_error(402, "ACCOUNT_SUSPENDED")
    shop.set("--suspended", "off")
    assert shop.client.get(path_of(made["id"])).status == 200  # page requests do not count towards the rate
    for entry in shop.service.cli("key", "list", shop.account):
        shop.service.cli("key", "revoke", shop.account, entry["key_id"])
    assert Page(fetch(visitor, made["download_url"])).text == page.text


# Over time

def test_links_survive_everything_but_another_master_key(new_service):
    service = new_service(shards=2, http_threads=2)
    service.expect_log("event=died")
    shops = [Shop(service, ("balance",)) for _ in range(4)]
    links = [shop.create(f"p{i}")["download_url"] for i, shop in enumerate(shops)]
    with service.client() as client:
        def texts():
            client.address = service.http
            return [Page(fetch(client, link)).text for link in links]

        before = texts()
        service.kill_child("shard", 0)
        service.kill_child("http")
        service.kill_everything()
        service.start()
        assert texts() == before
        assert service.stop() == 0
        key = service.data / "master.key"
        ours = key.read_bytes()
        key.write_bytes(secrets.token_bytes(32))
        service.cli("adopt")
        service.start()
        client.address = service.http
        for link in links:
            assert Page(fetch(client, link), 404).title == "No such pass"
        assert service.stop() == 0
        key.write_bytes(ours)
        service.cli("adopt")
        service.start()
        assert texts() == before
    for shop in shops:
        shop.close()


def test_wrong_tokens_reach_no_shard(new_service):
    """Only one in 65,536 does. If the shard of a valid token is down, a page says so."""
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    link = shop.create()["download_url"]
    rng = random.Random(11)
    with service.client() as client:
        before = look(service).sum("stampede_http_frame_calls_sum")
        for _ in range(300):
            token = base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")
            assert fetch(client, "/p/" + token).status == 404
        assert look(service).sum("stampede_http_frame_calls_sum") - before < 10
        shard = service.pid_of("shard")
        os.kill(service.process.pid, signal.SIGSTOP)  # otherwise the shard would be restarted within a moment
        try:
            service.expect_log("event=died child=shard-0")
            os.kill(shard, signal.SIGKILL)
            wait_for(lambda: fetch(client, link).status != 200, 5, "http to lose the shard")
            answer = fetch(client, link)
            assert Page(answer, 503).fields == [] and answer.headers["retry-after"] == "1"
            assert fetch(client, "/p/x").status == 404
        finally:
            os.kill(service.process.pid, signal.SIGCONT)
        wait_for(lambda: fetch(client, link).status == 200, 20, "the restarted shard")
    shop.close()
