"""pass export: everything stored about a pass, in the form of the interface or the command line."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from entitlements import assign, given_path, redeem
from erasures import erase, export, holder
from harness import refusal, wait_for
from notices import await_state, messages, notifications, put_audience, schedule
from rewards import offer
from shop import Shop, path_of

PARTS = ["pass", "history", "entitlements", "redemptions", "scans", "notifications", "cards", "audiences"]


@pytest.fixture
def shop(service):
    made = Shop(service, functions=("--rewards",))
    yield made
    made.close()


def test_an_export_equals_what_the_interface_shows(shop):
    made = holder(shop, "ada", entitlements=2)
    holder(shop, "bea")
    shop.client.post("/v1/scans", {"pass_id": "ada", "reader_id": "till-1"})
    wait_for(lambda: messages(shop, "?status=scheduled") == ["Blaukraut later"] * 2, 10, "the notifications that are due")
    told = export(shop, "ada")
    assert list(told) == PARTS
    assert told["pass"] == shop.get("ada") and told["history"] == shop.history("ada")
    assert told["entitlements"] == shop.client.get(given_path("ada", "?include_history=true")).json["entitlements"]
    assert told["cards"] == shop.client.get(path_of("ada", "/cards")).json
    assert told["scans"] == shop.client.get("/v1/scans?q=ada&sort_dir=asc").json and len(told["scans"]) == 2
    listed = shop.client.get("/v1/notifications?sort_by=created_at&sort_dir=asc").json
    assert told["notifications"] == [one for one in listed if one["pass_id"] == "ada"] and len(told["notifications"]) == 2
    assert [one["note"] for one in told["redemptions"]] == ["said Zwölfender"] * 2
    assert [one["entitlement_id"] for one in told["redemptions"]] == [one["id"] for one in told["entitlements"]]
    assert set(told["redemptions"][0]) == {"id", "entitlement_id", "amount", "context", "note", "created_at"}
    assert made["id"] == "ada"


def test_a_pass_without_related_rows(shop):
    shop.create("ada")
    told = export(shop, "ada")
    assert list(told) == PARTS and len(told["history"]) == 2
    assert [told[part] for part in PARTS[2:]] == [[]] * 6


def test_passes_that_had_the_id_before_are_exported_too(shop):
    """The live one first, else the one deleted last; then the earlier ones, each with all of its parts."""
    for number in range(3):
        shop.create("ada", visible={"name": f"life {number}"})
        shop.add("ada", number + 1, message=f"Hello {number}")
        for _ in range(70):  # more than a row of the table has
            assert shop.client.post("/v1/scans", {"pass_id": "ada", "reader_id": f"till-{number}"}).status == 200
        if number < 2:
            shop.delete("ada")
    told = export(shop, "ada")
    history = shop.history("ada")
    assert list(told) == [*PARTS, "earlier"] and told["pass"]["visible"]["name"] == "life 2" and told["history"] == history
    lives = [told, *told["earlier"]]
    assert [one["pass"]["visible"]["name"] for one in lives] == ["life 2", "life 1", "life 0"]
    for number, one in zip((2, 1, 0), lives, strict=True):
        assert one is told or list(one) == PARTS
        assert one["pass"]["balance"] == number + 1 and len(one["history"]) == 3 + (one is not told)
        assert [message["message"] for message in one["notifications"]] == [f"Hello {number}"]
        assert [scan["scanner_id"] for scan in one["scans"]] == 70 * [f"till-{number}"]
    shop.delete("ada")
    told = export(shop, "ada")
    assert told["pass"]["visible"]["name"] == "life 2" and told["pass"]["deleted_at"] and told["history"] == shop.history("ada")
    erase(shop, "ada")
    assert refusal(export, shop, "ada").code == "RESOURCE_NOT_FOUND"


def test_an_export_of_many_earlier_passes_has_each_once(shop):
    """More of them than a page has."""
    for number in range(40):
        shop.create("ada", hidden={"mark": f"{number:02}" * 9000})
        if number < 39:
            shop.delete("ada")
    told = export(shop, "ada")
    assert [one["pass"]["hidden"]["mark"][:2] for one in (told, *told["earlier"])] == [f"{number:02}" for number in reversed(range(40))]


def test_an_unknown_pass_is_refused(shop):
    shop.create("ada")
    for pass_id in ("bea", "..", "Ada"):
        assert refusal(export, shop, pass_id).code == "RESOURCE_NOT_FOUND"
    erase(shop, "ada")
    assert refusal(export, shop, "ada").code == "RESOURCE_NOT_FOUND"
    shop.set("--suspended", "on")
    assert refusal(export, shop, "ada").code == "RESOURCE_NOT_FOUND"


def test_audiences_and_the_messages_sent_to_them(shop):
    """A message belongs to the passes that were in its audience when it was sent."""
    for pass_id in ("ada", "bea"):
        shop.create(pass_id)
    now = "2020-01-01T00:00:00Z"

    def send(message, audience, at=now):
        schedule(shop, message, at, "--audience", audience)
        await_state(shop, message, "sent" if at == now else "scheduled")

    regulars = put_audience(shop, "--name", "Regulars", "--pass", "ada", "--pass", "bea")
    guests = put_audience(shop, "--name", "Guests", "--pass", "bea")
    send("regulars", regulars)
    send("before ada", guests)
    put_audience(shop, "--id", guests, "--name", "Guests 2", "--pass", "bea", "--pass", "ada")
    put_audience(shop, "--id", regulars, "--name", "Regulars", "--pass", "ada")
    send("guests", guests)
    send("later", guests, "2099-01-01T00:00:00Z")
    shop.add("ada", 1, message="her own")
    await_state(shop, "her own", "sent")
    told, listed = export(shop, "ada"), notifications(shop, "?sort_by=created_at&sort_dir=asc")[0]
    assert told["notifications"] == [one for one in listed if one["message"] in ("regulars", "guests", "her own")]
    assert [(one["id"], one["name"]) for one in told["audiences"]] == [(regulars, "Regulars"), (guests, "Guests 2")]
    since = {one["id"]: one["member_since"] for one in told["audiences"]}
    assert list(told["audiences"][0]) == ["id", "name", "member_since"] and since[regulars] < since[guests]
    bea = export(shop, "bea")
    assert [one["message"] for one in bea["notifications"]] == ["before ada", "guests"], "an audience that she left must not be exported"
    assert [one["id"] for one in bea["audiences"]] == [guests] and bea["audiences"][0]["member_since"] < since[guests]
    shop.delete("ada")
    send("too late", guests)
    assert export(shop, "ada")["notifications"] == told["notifications"] and "too late" in messages(shop)
    assert export(shop, "ada")["audiences"] == told["audiences"]


def test_more_audiences_than_a_page_looks_at(service, tmp_path):
    """The pass is in every tenth audience. One page reads a limited number of audiences, and all pages together must be
    complete."""
    shop = Shop(service)
    names = [f"p{number:04}" for number in range(3000)]
    shop.create("ada")
    lines = "".join(json.dumps({"pass_id": name, "visible": {"name": "A"}}) + "\n" for name in names)
    (tmp_path / "passes.jsonl").write_text(lines)
    assert service.cli("pass", "import", shop.account, tmp_path / "passes.jsonl")["created"] == len(names)
    others = [word for name in names for word in ("--pass", name)]

    def work(number):
        return put_audience(shop, "--name", f"{number:03}", *others, *(("--pass", "ada") if number % 10 == 0 else ()))

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, range(90)))  # 36 KB each
    for number in (0, 1, 10, 89):
        schedule(shop, f"to {number}", "2020-01-01T00:00:00Z", "--audience", made[number])
        await_state(shop, f"to {number}", "sent")
    told = export(shop, "ada")
    assert {one["id"] for one in told["audiences"]} == set(made[::10]) and len(told["audiences"]) == 9
    assert [one["message"] for one in told["notifications"]] == ["to 0", "to 10"]
    erase(shop, "ada")
    assert service.cli("verify")["ok"]
    shop.close()


def test_an_export_of_many_pages(service):
    """Every part has more rows than a page. The export has each row once, in order."""
    shop = Shop(service, functions=("--rewards",))
    shop.create("ada", visible={"name": "A" * 80})
    shop.create("other")
    slug = offer(shop, repeat_assignment=True, redemption_allowance=5)["slug"]

    def work(worker):
        client = service.client(shop.key)
        for number in range(600):
            client.post(path_of("ada", "/loyalty"), {"balance_to_add": 1, **({"message": f"m{worker}-{number}"} if number % 3 == 0 else {})})
            client.post(path_of("other", "/loyalty"), {"balance_to_add": 1})
            client.post("/v1/scans", {"pass_id": "ada" if number % 2 else "other"})
            if number % 4 == 0:
                one = client.post(given_path("ada", "/assign"), {"slug": slug}).json
                client.post(given_path("ada", f"/{one['id']}/redeem"), {"note": "n" * 1000})
        client.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    told = export(shop, "ada")
    assert len(json.dumps(told)) > 2 << 20
    assert [one.get("balance") for one in told["history"]] == [None, None, *range(1, 4801)]
    assert told["history"] == shop.history("ada")
    assert len({one["id"] for one in told["entitlements"]}) == len(told["entitlements"]) == 1200
    assert len({one["id"] for one in told["redemptions"]}) == len(told["redemptions"]) == 1200
    assert len({one["id"] for one in told["scans"]}) == len(told["scans"]) == 2400
    assert {one["message"] for one in told["notifications"]} == {f"m{w}-{n}" for w in range(8) for n in range(0, 600, 3)}
    assert len(told["notifications"]) == 1600
    assert all(one["pass_id"] == "ada" for part in ("entitlements", "scans", "notifications") for one in told[part])
    erase(shop, "ada")
    assert service.cli("verify")["ok"]
    shop.close()
