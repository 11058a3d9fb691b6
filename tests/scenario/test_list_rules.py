"""Every filter, order and search of GET /v1/passes in random combinations, compared with the same rules in Python."""
import itertools
import os
import random
import time
from urllib.parse import urlencode

import pytest
from folding import fold
from harness import wait_for
from shop import Shop, new_id

pytestmark = pytest.mark.plain

NAMES = ["Ada", "ada", "ÀDA", "Zoë", "zoe", "Ångström", "angstrom", "Straße", "strasse", "Łukasz", "ﬁne", "fine", "Ⅳ",
         "iv", "lukasz", "Ørsted", "orsted", "O’Neil", "O'Neil", "Þór", "thor", "a\u00adb",
         "名前", "なまえ", "-5", "12", "a b", "a\tb", "ß",
         "İstanbul", "Σίσυφος", "ΣΊΣΥΦΟΣ", "ᾳδω", "ᾳδω", "ΑΙΔΩ", "x" * 80, "é", "é"]
QUERIES = int(os.environ.get("STAMPEDE_LIST_QUERIES", 600))
STATUSES = ["creating", "creation_failed", "issued", "active", "removed", "deactivated"]


def text_of(value):
    return "true" if value is True else "false" if value is False else str(value)


class Model:
    """The passes in order of creation, as the interface returns them."""

    def __init__(self, passes):
        self.passes = passes

    def matches(self, entry, query):
        if "deleted_at" in entry and query.get("include_deleted") != "true":
            return False
        if query.get("status") and entry["status"] not in query["status"]:
            return False
        for name in ("created", "updated"):
            if f"{name}_from" in query and entry[f"{name}_at"] < query[f"{name}_from"]:
                return False
            if f"{name}_to" in query and entry[f"{name}_at"] >= query[f"{name}_to"]:
                return False
        values = [entry["id"], *map(text_of, entry["visible"].values())]
        return fold(query.get("q", "")) == "" or any(fold(query["q"]) in fold(value) for value in values)

    def page(self, query):
        key = {"id": lambda e: e["id"].encode(), "updated_at": lambda e: e["updated_at"],
               "name": lambda e: fold(e["visible"].get("name", ""))[:100].encode()}.get(query.get("sort_by"))
        found = [(number, entry) for number, entry in enumerate(self.passes) if self.matches(entry, query)]
        found.sort(key=lambda pair: (key(pair[1]) if key else 0, pair[0]), reverse=query.get("sort_dir") != "asc")
        offset, limit = query.get("offset", 0), query.get("limit", 25)
        rows = [entry for _, entry in found[offset:offset + limit]]
        return rows, len(found), offset + limit < len(found)


def next_millisecond():
    """Waits for the next millisecond. Times are shown in milliseconds, so two changes in one would have no visible
    order."""
    now = time.time_ns() // 10**6
    wait_for(lambda: time.time_ns() // 10**6 > now + 1, 1, "the next millisecond")


@pytest.fixture(scope="module")
def filled(shared_service):
    """Two hundred passes of three templates in every state, some deleted, re-created or renamed."""
    seed = int(os.environ.get("STAMPEDE_SEED", time.time_ns() % 10**9))
    print(f"lists: seed={seed}")
    chance = random.Random(seed)
    shop = Shop(shared_service, ("balance", "none", "stamps"))
    live, order, number = [], [], {}
    for _ in range(200):
        free = [pass_id for pass_id in number if pass_id not in live]
        again = free and chance.random() < 0.15
        pass_id = chance.choice(free) if again else f"{chance.choice(['p', 'P', 'é', 'z/'])}{new_id()}"
        visible = {"name": chance.choice(NAMES)}
        if chance.random() < 0.3:
            visible["visits"] = chance.choice([0, -5, 12.5, 1e3, 120])
        if chance.random() < 0.2:
            visible["vip"] = chance.random() < 0.5
        if chance.random() < 0.05:
            visible["site"] = "https://example.com/" + "y" * 1500 + "/needle"
        next_millisecond()
        made = shop.create(pass_id, kind=chance.choice(["balance", "none", "stamps"]), visible=visible)
        order.append((pass_id, made["download_url"]))
        live.append(pass_id)
        number[pass_id] = number.get(pass_id, 0) + 1
        victim = chance.choice(live)
        next_millisecond()
        act = chance.random()
        if act < 0.12:
            shop.delete(victim)
            live.remove(victim)
        elif act < 0.3:
            shop.client.patch(f"/v1/passes/{quote_id(victim)}", {"visible": {"name": chance.choice(NAMES)}})
        elif act < 0.5:
            shop.try_add(victim, chance.randrange(-200, 2000))
        elif act < 0.6:
            shop.event(victim, "installed") if shop.get(victim)["status"] == "issued" else None
        elif act < 0.64:
            shop.event(victim, "deactivated") if shop.get(victim)["status"] != "deactivated" else None
    shown, offset = [], 0
    while True:
        page, total, more = shop.list(f"?include_deleted=true&limit=100&offset={offset}")
        shown += page
        offset += 100
        if not more:
            break
    assert len(shown) == total == 200
    shown.reverse()
    assert [entry["download_url"] for entry in shown] == [url for _, url in order]
    yield shop, Model(shown), chance
    shop.close()


def quote_id(pass_id):
    from urllib.parse import quote
    return quote(pass_id, safe="")


def expect(shop, model, query):
    pairs = [(name, value) for name, values in query.items()
             for value in (values if isinstance(values, list) else [values])]
    assert shop.list("?" + urlencode(pairs)) == model.page(query), query


@pytest.mark.parametrize("sort_by, sort_dir", itertools.product(["id", "name", "created_at", "updated_at"],
                                                               ["asc", "desc", None]))
def test_pages_in_every_order(filled, sort_by, sort_dir):
    shop, model, _ = filled
    for deleted in ("true", "false"):
        for offset in range(0, 220, 30):
            query = {"sort_by": sort_by, "limit": 30, "offset": offset, "include_deleted": deleted}
            if sort_dir:
                query["sort_dir"] = sort_dir
            expect(shop, model, query)


def test_random_combinations(filled):
    shop, model, chance = filled
    times = sorted({entry[key] for entry in model.passes for key in ("created_at", "updated_at")})
    for _ in range(QUERIES):
        query = {"limit": chance.randrange(1, 101), "offset": chance.choice([0, 0, 1, 7, 50, 500])}
        if chance.random() < 0.7:
            query["sort_by"] = chance.choice(["id", "name", "created_at", "updated_at"])
        if chance.random() < 0.7:
            query["sort_dir"] = chance.choice(["asc", "desc"])
        if chance.random() < 0.4:
            query["status"] = chance.sample(STATUSES, chance.randrange(1, 4))
        if chance.random() < 0.5:
            query["include_deleted"] = chance.choice(["true", "false"])
        for name in ("created", "updated"):
            if chance.random() < 0.25:
                bounds = sorted(chance.sample(times, 2))
                if chance.random() < 0.8:
                    query[f"{name}_from"] = bounds[0]
                if chance.random() < 0.8:
                    query[f"{name}_to"] = bounds[1]
        if chance.random() < 0.4:
            query["q"] = chance.choice(NAMES + ["p", "PASS-1", "needle", "-", "5", "12", "true", "e+", "\U0001f600", ""])
        expect(shop, model, query)
