"""GET /v1/scans: order, pages, filters and counts, compared with a model that records every scan."""
import random
from datetime import datetime, timedelta
from urllib.parse import urlencode

import pytest
from deliveries import advance
from folding import fold
from scans import FIELDS, SCANS, as_listed, as_told, list_scans, scan
from shop import Shop, new_id
from test_list_parameters import HUGE, NO_DATES

READERS = {"door-1": "Entrada Sur", "door-2": "Straße", "till": None, "näme": "TÜR 2"}


class Model:
    """A shop and the expected rows of its lists, oldest first."""

    def __init__(self, service):
        self.shop, self.scans, self.names = Shop(service, ("balance",)), [], dict(READERS)
        self.passes = [self.shop.create(f"Pass-{n:03} {'Ä' * (n % 3)}")["id"] for n in range(12)]
        for reader_id, name in READERS.items():
            if name:
                service.cli("reader", "put", self.shop.account, "--id", reader_id, "--name", name)

    def scan(self, pass_id, reader_id=None):
        made = scan(self.shop, pass_id, reader_id=reader_id)
        self.scans.append(made)
        return made

    def wanted(self, q="", status=None, keep=lambda made: True):
        def found(made):
            name = self.names.get(made["scanner_id"]) or ""
            return not q or fold(q) in fold(made["pass_id"]) or fold(q) in fold(name)

        statuses = status or ["succeeded", "failed"]
        found = [made for made in self.scans if found(made) and made["status"] in statuses and keep(made)]
        return [{**made, "scanner_name": self.names.get(made["scanner_id"])} for made in found]

    def check(self, ascending=False, limit=25, offset=0, q="", status=None, keep=lambda made: True, **params):
        wanted = self.wanted(q, status, keep)
        if not ascending:
            wanted.reverse()
        params.update({"limit": limit, "offset": offset, "sort_dir": "asc" if ascending else "desc"})
        params.update({"q": q} if q else {})
        params.update({"status": status} if status else {})
        page, total, more = list_scans(self.shop, **params)
        assert [as_told(each) for each in page] == [as_listed(each) for each in wanted[offset:offset + limit]], params
        assert (total, more) == (len(wanted), offset + len(page) < len(wanted) and bool(len(wanted) > offset)), params


@pytest.fixture(scope="module")
def model(module_services):
    service = module_services(shards=1, options=["--test-clock"])
    model, chance = Model(service), random.Random(7)
    for n in range(230):
        if n % 10 == 0:
            advance(service, 11)
        model.scan(chance.choice(model.passes), chance.choice([None, *READERS, "unknown"]))
    yield model
    model.shop.close()


@pytest.fixture
def listed(model):
    yield model
    assert model.shop.service.unexpected_lines() == []


def test_without_parameters(listed):
    page, total, more = list_scans(listed.shop)
    assert (len(page), total, more) == (25, 230, True)
    assert all(list(each) == FIELDS for each in page)
    assert [each["id"] for each in page] == [each["id"] for each in listed.scans[:-26:-1]]
    times = [each["created_at"] for each in page]
    assert times == sorted(times, reverse=True)
    head = listed.shop.client.head(SCANS)
    assert (head.status, head.body, head.headers["x-total-count"], head.headers["x-has-more"]) == (200, b"", "230", "true")


@pytest.mark.parametrize("ascending", [True, False])
def test_pages(listed, ascending):
    for offset in (0, 1, 63, 64, 100, 229, 230, 231, 10**15):
        for limit in (1, 7, 100):
            listed.check(ascending, limit, offset)
            listed.check(ascending, limit, offset, status=["failed"])
            listed.check(ascending, limit, offset, q="pass-00")


def test_status(listed):
    for status in (["succeeded"], ["failed"], ["succeeded", "failed"], ["failed", "failed"], ["processing"],
                   ["processing", "succeeded"]):
        listed.check(status=status)
    assert list_scans(listed.shop, status="processing") == ([], 0, False)
    both = [list_scans(listed.shop, status=status)[1] for status in ("succeeded", "failed")]
    assert sum(both) == 230 and all(count > 20 for count in both)


@pytest.mark.parametrize("q", ["pass-003", "PASS-00", "11", "ä", "aa", "entrada", "STRASSE", "tür", "ur", "till", "door", "unknown",
                               "näme", " ", "x" * 200, "9 ", "succeeded", "-"])
def test_q(listed, q):
    """q searches the id of the pass and the folded name of the reader; not the reader's id or other fields of the pass."""
    for ascending in (True, False):
        listed.check(ascending, q=q)
        listed.check(ascending, q=q, status=["succeeded"], offset=3, limit=5)


def test_q_of_combining_marks_only_is_ignored(listed):
    assert list_scans(listed.shop, q="\u0301")[1] == list_scans(listed.shop, q="")[1] == 230


def test_created_from_and_to(listed):
    """The bounds are compared with the microseconds that lists show."""
    whole = [*list_scans(listed.shop, limit=100)[0], *list_scans(listed.shop, limit=100, offset=100)[0],
             *list_scans(listed.shop, limit=100, offset=200)[0]]
    exact = {each["id"]: each["created_at"][:26].replace(" ", "T") + "Z" for each in whole}
    assert len(exact) == 230
    marks = sorted({*exact.values()})
    for low, high in ((0, -1), (5, 60), (63, 64), (64, 128), (10, 10), (100, 229)):
        begin, end = marks[min(low, len(marks) - 1)], marks[high if high < len(marks) else -1]
        inside = lambda made, begin=begin, end=end: begin <= exact[made["id"]] < end  # noqa: E731
        listed.check(created_from=begin, created_to=end, keep=inside)
        listed.check(True, created_from=begin, keep=lambda made, begin=begin: exact[made["id"]] >= begin)
        listed.check(created_to=end, limit=100, keep=lambda made, end=end: exact[made["id"]] < end)
        listed.check(created_from=begin, created_to=end, keep=inside, q="pass-00", status=["failed"])
    later = datetime.fromisoformat(marks[-1]) + timedelta(microseconds=1)
    assert list_scans(listed.shop, created_from=later.isoformat())[1] == 0
    assert list_scans(listed.shop, created_from="0001-01-01T00:00:00Z", created_to="9999-12-31T23:59:59Z")[1] == 230
    shifted = (datetime.fromisoformat(marks[50]) + timedelta(hours=2)).isoformat().replace("+00:00", "+02:00")
    assert list_scans(listed.shop, created_from=shifted)[1] == len([at for at in exact.values() if at >= marks[50]])
    spaced = shifted.replace("+", " ")
    assert list_scans(listed.shop, created_from=spaced)[1] == list_scans(listed.shop, created_from=shifted)[1]


def test_pass_info(listed):
    shop = listed.shop
    passes = {pass_id: shop.get(pass_id) for pass_id in listed.passes}
    for value in ("true", "1", "t"):
        page, total, _ = list_scans(shop, pass_info=value)
        assert total == 230 and all(list(each) == [*FIELDS, "pass"] for each in page)
        assert all(each["pass"] == passes[each["pass_id"]] for each in page)
    for value in ("false", "0", "f"):
        assert list_scans(shop, pass_info=value) == list_scans(shop)


def refused(shop, query, field):
    answer = shop.client.get(f"{SCANS}?{query}")
    answer.is_error(400, "INVALID_INPUT", field)
    assert "x-total-count" not in answer.headers


@pytest.mark.parametrize("name, values", [
    ("limit", ["0", "101", "-1", HUGE, "", "x", "1.0", "1e1"]), ("offset", ["-1", HUGE, "", "x", "1.5"]),
    ("status", ["", "x", "SUCCEEDED", "succeeded,failed", "double_scan", "issued"]),
    ("sort_by", ["", "id", "status", "CREATED_AT", "updated_at", "name"]), ("sort_dir", ["", "ASC", "up", "1"]),
    ("pass_info", ["", "yes", "TRUE", "2", "-1", "null", "T"]),
    ("q", ["%ff", "%", "a" * 201, "%C3"]), ("created_from", ["", "x", "2026-13-01T00:00:00Z"]), ("created_to", ["", "x"])])
def test_invalid_values(listed, name, values):
    for value in values:
        refused(listed.shop, f"{name}={value}", name)


def test_other_refusals(listed):
    for name, value in {"limit": "5", "offset": "0", "q": "a", "sort_by": "created_at", "sort_dir": "asc", "pass_info": "true",
                        "created_from": "2026-01-01T00:00:00Z", "created_to": "2026-01-01T00:00:00Z"}.items():
        once = urlencode({name: value})
        assert listed.shop.client.get(f"{SCANS}?{once}").status == 200
        refused(listed.shop, f"{once}&{once}", name)
    for date in NO_DATES:
        refused(listed.shop, urlencode({"created_to": date}), "created_to")
    dates = {"created_from": "2026-01-01T00:00:00.000001Z", "created_to": "2026-01-01T00:00:00Z"}
    refused(listed.shop, urlencode(dates), "created_from")
    assert listed.shop.client.get(f"{SCANS}?unknown=1&include_deleted=x&updated_from=x").status == 200


def test_effects_of_later_changes(module_services):
    """Renamed readers, deleted scans, deleted passes, and a new pass with a deleted one's id."""
    service = module_services(shards=1)
    model = Model(service)
    shop = model.shop
    shop.set("--double-scan-window", "0s")
    for n in range(140):
        model.scan(model.passes[n % 12], ["door-1", "till", "unknown", None][n % 4])
    service.cli("reader", "put", shop.account, "--id", "till", "--name", "Kasse")
    model.names["till"] = "Kasse"
    model.check(q="kasse", limit=100)
    for n in (139, 64, 63, 20, 0):
        service.cli("scan", "delete", shop.account, model.scans[n]["id"])
        del model.scans[n]
    for options in ({}, {"status": ["succeeded"]}, {"q": "kasse"}, {"offset": 60, "limit": 10}, {"ascending": True, "limit": 70}):
        model.check(**options)
    gone = model.passes[3]
    shop.delete(gone)
    model.check(limit=100)
    model.check(q=gone)
    shop.create(gone)
    model.scan(gone, "door-1")
    model.check(q=gone)
    told = list_scans(shop, q=gone, pass_info=1)[0]
    assert "deleted_at" not in told[0]["pass"] and all("deleted_at" in each["pass"] for each in told[1:])
    assert service.cli("verify")["ok"] is True
    shop.close()


def test_two_accounts(listed):
    other = Shop(listed.shop.service)
    assert list_scans(other) == ([], 0, False)
    assert list_scans(other, q="pass") == list_scans(other, status="failed", pass_info=1) == ([], 0, False)
    pass_id = other.create(new_id())["id"]
    made = scan(other, pass_id, reader_id="door-1")
    assert made["scanner_name"] is None, "reader names are per account"
    assert [as_told(each) for each in list_scans(other)[0]] == [as_listed(made)]
    other.close()
