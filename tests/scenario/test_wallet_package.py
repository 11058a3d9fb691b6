"""GET /p/TOKEN/pass.pkpass: the pass as Apple's wallet takes it, verified with a chain made for the run."""
import base64
import copy
import json
import socket
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from apple import EC, AppleChain
from checkers import node_environment
from client import Client
from deliveries import options
from harness import ROOT, refusal, wait_for
from images import Gallery, body_with
from page import Page, fetch, path_of_link
from pkpass import SECTIONS, Package
from shop import COUNTER, FIELDS, Shop, path_of, template_file

TYPE = "application/vnd.apple.pkpass"
HEADERS = {"content-type": TYPE, "content-disposition": "attachment", "cache-control": "private, no-cache",
           "referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "x-robots-tag": "noindex"}
HTTPS = ["--public-url", "https://passes.example"]
VISIBLE = {"name": "Ada", "birthday": "1815-12-10", "site": "https://ada.example/?a=1&b=2", "vip": True, "visits": 3}
WALLET = {"organization": "Demo café", "description": "Loyalty card", "logo_text": "Demo", "style": "coupon",
          "header": ["points"], "primary": ["name"], "secondary": ["birthday"], "auxiliary": ["visits"], "back": ["site"],
          "changes": {"points": "You now have %@ points."}, "message_label": "Post", "foreground_color": "#ffffff",
          "label_color": "#e2e8e8", "barcode": {"format": "aztec", "caption": False}, "sharing": False,
          "locations": [{"latitude": 19.4326, "longitude": -99.1332, "text": "A coffee?"}], "max_distance": 200,
          "relevant_field": "birthday", "expires_field": "birthday",
          "links": [{"label": "Website", "url": "https://cafe.example/"}]}


@pytest.fixture(scope="session")
def apple(tmp_path_factory):
    return AppleChain(tmp_path_factory.mktemp("apple"))


@pytest.fixture(scope="module")
def passes(module_services, apple):
    """A service whose operator has a certificate for all accounts."""
    service = module_services(options=HTTPS)
    service.cli("wallet", "apple", "put", "--default", *apple.files())
    return service


@pytest.fixture
def cafe(passes):
    shop = Shop(passes)
    yield shop
    shop.close()


@pytest.fixture
def phone(passes):
    with passes.client() as client:
        yield client


def package_path(made):
    return path_of_link(made["download_url"]) + "/pass.pkpass"


def get(client, made, method="GET", **options):
    return client.request(method, package_path(made), **options)


def package(client, made, chain):
    answer = get(client, made)
    assert answer.status == 200, answer
    return Package(answer.body, chain)


def refused(client, made, status):
    """The package is refused, with a page, whatever it is asked for by."""
    for answer in (get(client, made), fetch(client, made["download_url"], headers={"Accept": TYPE})):
        assert Page(answer, status).status is None
        assert answer.headers.get("retry-after") == ("1" if status == 503 else None)
    return answer


def test_a_package_is_what_a_phone_asks_for(cafe, phone, apple):
    cafe.put_template(template_file(wallet=WALLET, pass_template_id=cafe.templates["balance"]))
    made = cafe.create("ada", visible=VISIBLE)
    cafe.add("ada", 25)
    answer = get(phone, made)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    got = Package(answer.body, apple)
    assert list(got.files) == ["icon.png", "icon@2x.png", "icon@3x.png", "pass.json", "manifest.json", "signature"]
    pass_json = got.pass_json
    assert (pass_json["organizationName"], pass_json["description"], pass_json["logoText"]) == ("Demo café", "Loyalty card", "Demo")
    assert pass_json["webServiceURL"] == f"https://passes.example/wallet/apple/{cafe.account}"
    assert pass_json["backgroundColor"] == "rgb(17, 34, 51)" and pass_json["sharingProhibited"] is True
    assert pass_json["barcodes"] == [{"format": "PKBarcodeFormatAztec", "message": "ada", "messageEncoding": "iso-8859-1"}]
    assert got.style == "coupon" and got.section("headerFields") == [
        {"key": "points", "label": "Points", "value": 25, "changeMessage": "You now have %@ points."}]
    assert [field["key"] for field in got.section("backFields")] == ["site", "vip", "stampede.link.1"]
    assert got.fields["birthday"] == {"key": "birthday", "label": "Birthday", "value": "1815-12-10T00:00:00Z",
                                      "dateStyle": "PKDateStyleMedium", "timeStyle": "PKDateStyleNone", "ignoresTimeZone": True}
    assert pass_json["expirationDate"] == pass_json["relevantDate"] == "1815-12-10T00:00:00Z"


def test_a_template_without_settings_is_good_for_wallets(cafe, phone, apple):
    got = package(phone, cafe.create(visible={"name": "Ada"}), apple)
    assert got.style == "storeCard" and [field["key"] for field in got.section("headerFields")] == ["points"]
    assert got.fields["points"]["changeMessage"] == "Points: %@"
    assert set(got.fields) == {"points", "name"}, "what has no value is left out"


def test_head_has_the_length(cafe, phone):
    made = cafe.create()
    whole = get(phone, made)
    head = get(phone, made, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(whole.body))


def test_it_is_signed_once_while_nothing_changes(cafe, phone, apple):
    made = cafe.create("again")
    first = get(phone, made)
    assert get(phone, made).body == first.body
    cafe.add("again", 1)
    changed = get(phone, made)
    assert changed.body != first.body
    assert Package(changed.body, apple).fields["points"]["value"] == 1
    cafe.client.patch(path_of("again"), {"visible": {"name": "Another"}}).is_empty(204)
    assert package(phone, made, apple).fields["name"]["value"] == "Another"
    cafe.put_template(template_file(pass_template_id=cafe.templates["balance"], wallet={"logo_text": "Beans"}, appearance=None))
    assert package(phone, made, apple).pass_json["logoText"] == "Beans"
    passes_name = passes_named(cafe, "Other name")
    assert package(phone, made, apple).pass_json["organizationName"] == passes_name


def passes_named(shop, name):
    shop.service.cli("account", "rename", shop.account, name)
    return name


def test_serials_are_of_one_incarnation(cafe, phone, apple):
    first = package(phone, cafe.create("twin"), apple).pass_json
    assert cafe.client.delete(path_of("twin")).status == 204
    second = package(phone, cafe.create("twin"), apple).pass_json
    assert first["serialNumber"] != second["serialNumber"]
    assert first["authenticationToken"] != second["authenticationToken"]


def test_names_of_a_pass_outlive_restarts(new_service, apple):
    service = new_service(options=HTTPS)
    shop = Shop(service)
    service.cli("wallet", "apple", "put", shop.account, *apple.files())
    made = shop.create()
    with service.client() as client:
        before = package(client, made, apple).pass_json
    service.restart()
    with service.client() as client:
        assert package(client, made, apple).pass_json == before
    shop.close()


def test_an_own_certificate_comes_before_the_operators(cafe, phone, apple, tmp_path):
    own = AppleChain(tmp_path / "own", "pass.example.own", "OWNTEAM123", EC)
    made = cafe.create()
    package(phone, made, apple)
    cafe.service.cli("wallet", "apple", "put", cafe.account, *own.files())
    package(phone, made, own)
    own.renew()
    cafe.service.cli("wallet", "apple", "put", cafe.account, *own.files())
    package(phone, made, own)
    cafe.service.cli("wallet", "apple", "remove", cafe.account)
    package(phone, made, apple)


def test_without_https_there_is_no_web_service(new_service, apple):
    service = new_service()
    shop = Shop(service)
    service.cli("wallet", "apple", "put", shop.account, *apple.files())
    with service.client() as client:
        got = package(client, shop.create(), apple).pass_json
    assert "webServiceURL" not in got and "authenticationToken" not in got
    shop.close()


# Refusals

def test_who_gets_no_package(cafe, phone, apple):
    made = cafe.create("holder")
    blocked = {**made}
    for event, options, status in (("installed", (), 200), ("uninstalled", ("--block-reinstall",), 403), ("unblocked", (), 200),
                                   ("deactivated", (), 403)):
        cafe.event("holder", event, *options)
        if status == 200:
            package(phone, blocked, apple)
        else:
            refused(phone, blocked, status)
    cafe.client.delete(path_of("holder")).is_empty(204)
    refused(phone, made, 410)


def test_no_such_pass(cafe, phone):
    made = cafe.create()
    token = path_of_link(made["download_url"])[3:]
    other = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    for path in (f"/p/{other}/pass.pkpass", f"/p/{token}x/pass.pkpass", "/p/pass.pkpass", f"/p/{token}/pass.pkpass/",
                 f"/p/{token}/Pass.pkpass"):
        assert phone.request("GET", path).status == 404, path
    assert phone.request("POST", f"/p/{token}/pass.pkpass").status == 405


def test_a_wallet_that_is_off(cafe, phone, apple):
    made = cafe.create()
    package(phone, made, apple)
    for setting, status in (("off", 404), ("google", 404), ("apple", 200), ("off", 404), ("on", 200)):
        cafe.set("--wallet", setting)
        if status == 200:
            package(phone, made, apple)
        else:
            refused(phone, made, 404)
            assert Page(fetch(phone, made["download_url"])).status == "issued", "the page is there"


def test_a_suspended_account_goes_on(cafe, phone, apple):
    made = cafe.create()
    cafe.set("--suspended", "on")
    package(phone, made, apple)


def test_an_ended_certificate(new_service, apple):
    service = new_service(options=[*HTTPS, "--test-clock"])
    shop = Shop(service)
    service.cli("wallet", "apple", "put", shop.account, *apple.files())
    made = shop.create()
    with service.client() as client:
        package(client, made, apple)
        service.expect_log("wallet-credential-ends")
        service.cli("clock", "advance", "401d")
        refused(client, made, 503)
    shop.close()


def test_a_pass_that_is_being_issued(new_service, apple):
    service = new_service(options=[*HTTPS, "--no-deliveries"])
    shop = Shop(service)
    service.cli("wallet", "apple", "put", shop.account, *apple.files())
    begun = shop.client.post("/v1/passes", {"pass_id": "late", "visible": {"name": "Ada"},
                                            "appearance": {"logo": "https://images.example/logo.png"}})
    assert begun.status == 202
    with service.client() as client:
        refused(client, begun.json, 503)
    shop.close()


# Pictures

def pictures(got):
    return [name for name in got.files if name.endswith(".png")]


def test_pictures_are_those_of_the_pass(new_service, authority, chain, apple):
    service = new_service(shards=1, options=[*HTTPS, *options(authority)])
    shop = Shop(service)
    service.cli("wallet", "apple", "put", shop.account, *apple.files())
    icons, logos = ["icon.png", "icon@2x.png", "icon@3x.png"], ["logo.png", "logo@2x.png", "logo@3x.png"]
    with Gallery(chain) as gallery, service.client() as client:
        body = body_with(gallery.url("/image/logo"), gallery.url("/image/banner"))
        made = shop.client.post("/v1/passes", body).json
        plain = shop.create()
        wait_for(lambda: pictures(package(client, made, apple)) == [*icons, *logos, "strip@2x.png"], 20, "the pictures")
        assert pictures(package(client, plain, apple)) == icons
        neutral, own = package(client, plain, apple).files["icon.png"], package(client, made, apple).files["icon.png"]
        assert neutral != own, "the logo serves as icon"
        service.kill_child("http")
        service.expect_log("event=died child=http-0")
    with service.client() as client:
        assert pictures(package(client, made, apple)) == [*icons, *logos, "strip@2x.png"], "asked for again"
        shop.put_template(template_file(pass_template_id=shop.templates["balance"], wallet={"style": "generic"}))
        assert pictures(package(client, made, apple)) == [*icons, *logos], "a generic pass has no strip"
    shop.close()


# What a client asks for

@pytest.mark.parametrize("accept", [TYPE, f"text/html, {TYPE.upper()};q=0.1, */*;q=0.5", f"{TYPE};q=0, {TYPE}"])
def test_a_client_that_names_the_type(cafe, phone, apple, accept):
    made = cafe.create()
    answer = fetch(phone, made["download_url"], headers={"Accept": accept})
    assert answer.headers["vary"] == "Accept, User-Agent"
    assert Package(answer.body, apple).data == get(phone, made).body
    assert "vary" not in get(phone, made).headers
    head = fetch(phone, made["download_url"], "HEAD", headers={"Accept": accept})
    assert head.headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize("accept", [None, "*/*", "application/*", f"{TYPE};q=0", f"{TYPE}es", f'text/html;x="{TYPE}"'])
def test_a_client_that_does_not(cafe, phone, accept):
    made = cafe.create()
    answer = fetch(phone, made["download_url"], headers={"Accept": accept} if accept else None)
    assert Page(answer).status == "issued" and answer.headers["vary"] == "Accept, User-Agent"


def test_before_the_first_certificate_nothing_is_different(till):
    made = till.create()
    with till.service.client() as client:
        page = fetch(client, made["download_url"])
        named = fetch(client, made["download_url"], headers={"Accept": TYPE})
        assert "vary" not in page.headers and "vary" not in named.headers
        assert Page(named).status == "issued" and named.body == page.body
        package, other = get(client, made), client.request("GET", path_of_link(made["download_url"]) + "/anything")
        assert package.body == other.body and package.status == 404
        own = {"x-request-id", "date"}
        assert {name: value for name, value in package.headers.items() if name not in own} == {
            name: value for name, value in other.headers.items() if name not in own}


def metric(service, name):
    """The lines of a metric, by their labels."""
    with service.admin() as admin:
        lines = [line.rsplit(" ", 1) for line in admin.get("/metrics").body.decode().splitlines() if line.startswith("stampede_" + name)]
    return {labels[len("stampede_" + name):]: float(value) for labels, value in lines}


def test_packages_are_counted(new_service, apple):
    service = new_service(shards=1, options=HTTPS)
    shop = Shop(service)
    made = shop.create()
    with service.client() as client:
        assert get(client, made).status == 404
        assert not any(metric(service, f"wallet_{name}") for name in ("packages", "sign", "kits"))
        service.cli("wallet", "apple", "put", shop.account, *apple.files())
        for _ in range(2):
            package(client, made, apple)
        shop.set("--wallet", "off")
        refused(client, made, 404)
    assert metric(service, "wallet_packages_total") == {'{status="200"}': 2, '{status="404"}': 2}
    assert metric(service, "wallet_sign_seconds_count") == {'{shard="0"}': 1}, "the second was kept"
    assert metric(service, "wallet_kits_bytes")[""] > 300
    shop.close()


def test_a_preview_is_what_goes_out(cafe, phone, apple, tmp_path):
    cafe.put_template(template_file(wallet=WALLET, pass_template_id=cafe.templates["balance"]))
    made = cafe.create("ada", visible=VISIBLE)
    file = tmp_path / "ada.pkpass"
    shown = cafe.service.cli("wallet", "preview", cafe.account, "ada", "--out", file)
    assert shown == {"apple": package(phone, made, apple).pass_json, "google": None, "warnings": []}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.read_bytes() == get(phone, made).body
    assert cafe.service.cli("wallet", "preview", cafe.account, "ada") == shown
    cafe.set("--wallet", "off")
    cafe.event("ada", "deactivated")
    warned = cafe.service.cli("wallet", "preview", cafe.account, "ada")
    assert warned["apple"]["voided"] is True and len(warned["warnings"]) == 2
    assert refusal(cafe.service.cli, "wallet", "preview", cafe.account, "bob").code == "RESOURCE_NOT_FOUND"


def test_a_preview_without_a_certificate(new_shop, service, tmp_path):
    shop = new_shop("balance")
    shop.create("ada")
    assert service.cli("wallet", "preview", shop.account, "ada") == {
        "apple": None, "google": None, "warnings": ["No Apple credential serves the account."]}
    error = refusal(service.cli, "wallet", "preview", shop.account, "ada", "--out", tmp_path / "ada.pkpass")
    assert error.code == "RESOURCE_NOT_FOUND" and not (tmp_path / "ada.pkpass").exists()


# A public generator of passes

@pytest.fixture(scope="session")
def generator():
    """Makes passes again, and reports on each."""
    env = node_environment("passkit")

    def run(passes, got, chain):
        question = {"passes": passes,
                    "pictures": {name: base64.b64encode(data).decode() for name, data in got.files.items() if name.endswith(".png")},
                    "certificates": {name: base64.b64encode(file.read_bytes()).decode() for name, file in (
                        ("wwdr", chain.wwdr), ("signerCert", chain.certificate), ("signerKey", chain.key))}}
        done = subprocess.run(["node", ROOT / "tests/scenario/verify_pass.js"], env=env, capture_output=True, text=True,
                              input=json.dumps(question), check=True)
        return json.loads(done.stdout)

    return run


FAULTS = [
    ("a colour by name", lambda it, style: it.update(backgroundColor="teal")),
    ("a short token", lambda it, style: it.update(authenticationToken="short")),
    ("a barcode of no format", lambda it, style: it["barcodes"][0].update(format="QR")),
    ("a member that is not known", lambda it, style: it.update(unheardOf=1)),
    ("a URL that is none", lambda it, style: it.update(webServiceURL="nowhere")),
    ("a field twice", lambda it, style: it[style]["backFields"].append(it[style]["backFields"][0])),
    ("a date with a blank", lambda it, style: it.update(expirationDate="2026-11-21 10:00")),
]


def differences(verdict, pass_json, style):
    """What the generator refuses or changes. It drops members that it does not know without a word."""
    if verdict.get("error") or verdict["warnings"]:
        return [verdict.get("error"), *verdict["warnings"]]
    kept = {name: value for name, value in pass_json.items() if name not in (style, "formatVersion")}
    shown = {name: value.replace(".000Z", "Z") if name.endswith("Date") else value for name, value in verdict["properties"].items()}
    return [name for name, value in kept.items() if shown.get(name) != value] + [
        name for name in SECTIONS if verdict["sections"][name] != pass_json[style].get(name, [])]


def test_a_public_generator_takes_it_as_it_is(cafe, phone, apple, generator):
    cafe.put_template(template_file(wallet=WALLET, pass_template_id=cafe.templates["balance"]))
    got = package(phone, cafe.create(visible=VISIBLE), apple)
    planted = []
    for _, plant in FAULTS:
        planted.append(copy.deepcopy(got.pass_json))
        plant(planted[-1], got.style)
    verdict, *verdicts = generator([got.pass_json, *planted], got, apple)
    assert differences(verdict, got.pass_json, got.style) == []
    for (what, _), wrong, judged in zip(FAULTS, planted, verdicts, strict=True):
        assert differences(judged, wrong, got.style), f"the generator must notice {what}"


def test_planted_faults_are_noticed_here(cafe, phone, apple):
    data = get(phone, cafe.create()).body
    Package(data, apple)
    for at in (5, 40, len(data) // 2, len(data) - 30, len(data) - 8, len(data) - 1):
        broken = bytearray(data)
        broken[at] ^= 1
        with pytest.raises((AssertionError, UnicodeDecodeError, KeyError, ValueError)):
            Package(bytes(broken), apple)


# Many at once, and deaths

def burst(service, paths):
    """Sends a request for each path on a connection of its own, all before any answer is read. Returns the answers' heads."""
    sockets = [socket.create_connection(service.http, 30) for _ in paths]
    try:
        for one, path in zip(sockets, paths, strict=True):
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        return [b"".join(iter(lambda one=one: one.recv(1 << 16), b"")) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def test_a_storm_is_bounded(new_service, apple):
    service = new_service(shards=1, options=HTTPS)
    service.cli("wallet", "apple", "put", "--default", *apple.files())
    loud, quiet = Shop(service), Shop(service)
    made = [loud.create() for _ in range(400)]
    other = quiet.create()
    answers = burst(service, [package_path(one) for one in made] + [package_path(other)])
    statuses = [int(answer.split()[1]) for answer in answers]
    assert set(statuses) == {200, 503} and statuses.count(200) >= 64
    assert all(b"\r\nretry-after: 1\r\n" in answer.lower() for answer, status in zip(answers, statuses, strict=True) if status == 503)
    assert statuses[-1] == 200, "another account has its place"
    with service.client() as client:
        for one in made[::50]:
            package(client, one, apple)
    for shop in (loud, quiet):
        shop.close()


@pytest.mark.parametrize("role", ["shard", "http"])
def test_deaths_midway(new_service, apple, role):
    service = new_service(shards=1, options=HTTPS)
    service.expect_log(f"event=died child={role}-0 .*signal=9")
    service.cli("wallet", "apple", "put", "--default", *apple.files())
    shop = Shop(service)
    made = [shop.create() for _ in range(20)]
    shop.close()
    packages, stopping = [], threading.Event()

    def ask(first):
        n = first
        while not stopping.is_set():
            n += 1
            with Client(service.http, None) as client:
                try:
                    answer = get(client, made[n % len(made)])
                except OSError:
                    continue
                assert answer.status in (200, 503), answer
                if answer.status == 200:
                    packages.append(answer.body)

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask, first) for first in (0, 7, 13)]
        for _ in range(3):
            before = len(packages)
            wait_for(lambda before=before: len(packages) > before + 20, 20, "packages")
            service.kill_child(role)
        stopping.set()
        for one in asking:
            one.result()
    for data in packages[::25]:
        Package(data, apple)
    with service.client() as client:
        package(client, made[0], apple)
