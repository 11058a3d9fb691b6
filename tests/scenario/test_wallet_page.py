"""Wallets on the holder's page, and the paths that exist for them; without credentials there is nothing of either."""
import pytest
from page import Page, fetch, path_of_link
from shop import Shop
from wallets import ISSUER, google


@pytest.mark.parametrize("path", ["/robots.txt", "/wallet/", "/wallet/badges/apple.svg", "/wallet/badges/google.svg",
                                  "/wallet/apple/acc_mfrqaaaaaaaaaaaa/v1/log"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_no_path_of_wallets_exists_without_them(service, method, path):
    client = service.client()
    got, other = client.request(method, path), client.request(method, "/no-such-path")
    assert (got.status, got.headers.keys()) == (404, other.headers.keys())
    if method != "HEAD":
        assert {**got.json, "request_id": ""} == {**other.json, "request_id": ""}
    client.close()


IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1"
ANDROID = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/129.0 Mobile Safari/537.36"
FACEBOOK = IPHONE + " [FBAN/FBIOS;FBAV/450.0]"
BADGE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture
def shop(new_service, tmp_path):
    (tmp_path / "apple.svg").write_text(BADGE)
    shop = Shop(new_service(shards=1, options=["--test-clock", "--wallet-badges", tmp_path]), ("balance",))
    yield shop
    shop.close()


@pytest.mark.parametrize("is_there, level", [(True, "info"), (False, "warn")])
def test_what_is_missing_of_the_badges_is_logged(new_service, tmp_path, is_there, level):
    folder = tmp_path / "badges"
    if is_there:
        folder.mkdir()
    service = new_service(start=False, options=["--wallet-badges", folder])
    service.expect_log("event=wallet_badge_missing")
    service.start()
    lines = [line for line in service.log_lines() if "event=wallet_badge_missing" in line]
    assert len(lines) == 2 and all(f"level={level}" in line and "No such file" in line for line in lines)


def put_google(shop, apple, place):
    file = google(place, apple.key())
    shop.service.cli("wallet", "google", "put", shop.account, "--service-account", file, "--issuer", ISSUER)


def offered(shop, url, agent=None):
    """The classes of what the page offers, and whether it varies."""
    answer = fetch(shop.client, url, headers={"User-Agent": agent} if agent else {})
    page = Page(answer)
    link = path_of_link(url)
    hooks = []
    for element in page.root.iter():
        if not (element.get("class") or "").startswith("wallet-"):
            continue
        hooks.append(element.get("class"))
        to = {"wallet-apple": f"{link}/pass.pkpass", "wallet-google": f"{link}/google", "wallet-browser": None}
        assert element.get("href") == to[element.get("class")]
    return hooks, answer.headers.get("vary")


def test_a_page_offers_the_wallets_of_the_reader(shop, apple, tmp_path):
    made = shop.create("ada")
    url = made["download_url"]
    before = fetch(shop.client, url).body
    assert offered(shop, url) == ([], None)
    shop.service.cli("wallet", "apple", "put", shop.account, *apple.options(days=20))
    varies = "Accept, User-Agent"
    assert offered(shop, url, ANDROID) == (["wallet-apple"], varies)  # the only one that is on
    put_google(shop, apple, tmp_path)
    for agent, offers in ((IPHONE, ["wallet-apple"]), (ANDROID, ["wallet-google"]), (None, ["wallet-apple", "wallet-google"])):
        assert offered(shop, url, agent) == (offers, varies)
    assert offered(shop, url, FACEBOOK) == (["wallet-browser"], varies)
    shop.set("--wallet", "google")
    for agent in (IPHONE, ANDROID, None):
        assert offered(shop, url, agent) == (["wallet-google"], varies)
    shop.set("--wallet", "off")
    assert fetch(shop.client, url).body == before
    assert offered(shop, url, IPHONE) == ([], None)
    shop.set("--wallet", "on")
    shop.event("ada", "installed")
    assert offered(shop, url, IPHONE) == (["wallet-apple"], varies)
    shop.event("ada", "uninstalled", "--block-reinstall")
    assert offered(shop, url, IPHONE) == ([], varies)
    shop.event("ada", "unblocked")
    assert offered(shop, url, IPHONE) == (["wallet-apple"], varies)
    shop.service.expect_log("event=wallet-credential-ends")
    shop.service.cli("clock", "advance", "21d")
    assert offered(shop, url, IPHONE) == (["wallet-google"], varies), "the certificate has ended"


def test_badges_and_robots_exist_once_there_is_a_wallet(shop, apple, tmp_path):
    url = shop.create("ada")["download_url"]
    shop.service.cli("wallet", "apple", "put", shop.account, *apple.options())
    badge = shop.client.get("/wallet/badges/apple.svg")
    assert (badge.status, badge.headers["content-type"], badge.body.decode()) == (200, "image/svg+xml", BADGE)
    assert shop.client.post("/wallet/badges/apple.svg", {}).status == 405
    assert shop.client.get("/wallet/badges/google.svg").status == 404  # not in the folder
    assert shop.client.get("/robots.txt").status == 404  # nobody has Google
    put_google(shop, apple, tmp_path)
    robots = shop.client.get("/robots.txt")
    assert (robots.status, robots.headers["content-type"]) == (200, "text/plain")
    assert robots.body == b"User-agent: *\nAllow: /wallet/google/\nDisallow: /p/\n"
    assert Page(fetch(shop.client, url)).badges == ["/wallet/badges/apple.svg"]
