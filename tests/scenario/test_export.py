"""pass export: everything that is kept of a pass, each in the form in which the interface or the command line shows it."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from entitlements import assign, given_path, redeem
from erasures import erase, export, holder, refusal
from rewards import offer
from shop import Shop, path_of

PARTS = ["pass", "history", "entitlements", "redemptions", "scans", "notifications", "cards"]


@pytest.fixture
def shop(service):
    made = Shop(service, functions=("--rewards",))
    yield made
    made.close()


def test_all_of_it_is_what_the_interface_shows(shop):
    made = holder(shop, "ada", entitlements=2)
    holder(shop, "bea")
    shop.client.post("/v1/scans", {"pass_id": "ada", "reader_id": "till-1"})
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


def test_a_pass_with_nothing(shop):
    shop.create("ada")
    told = export(shop, "ada")
    assert list(told) == PARTS and len(told["history"]) == 2
    assert [told[part] for part in PARTS[2:]] == [[]] * 5


def test_of_several_passes_of_one_id_the_living_one_else_the_last(shop):
    for number in range(3):
        shop.create("ada", visible={"name": f"life {number}"})
        if number < 2:
            shop.delete("ada")
    assert export(shop, "ada")["pass"]["visible"]["name"] == "life 2"
    shop.delete("ada")
    told = export(shop, "ada")
    assert told["pass"]["visible"]["name"] == "life 2" and told["pass"]["deleted_at"] and told["history"] == shop.history("ada")


def test_an_unknown_pass_is_told(shop):
    shop.create("ada")
    for pass_id in ("bea", "..", "Ada"):
        assert refusal(shop, "export", pass_id) == "RESOURCE_NOT_FOUND"
    erase(shop, "ada")
    assert refusal(shop, "export", "ada") == "RESOURCE_NOT_FOUND"
    shop.set("--suspended", "on")
    assert refusal(shop, "export", "ada") == "RESOURCE_NOT_FOUND"


def test_what_needs_many_pages(service):
    """More rows than a page has, in every part; in order, each once."""
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
