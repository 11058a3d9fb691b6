"""GET /v1/passes: newest first, include_deleted, and what a change does to the list."""
import json

import pytest
from shop import new_id


def ids(page):
    return [entry["id"] for entry in page]


@pytest.fixture(scope="module")
def long_list(shared_service):
    """A shop with 60 live passes and ten deleted ones among them, and the ids in order of creation."""
    from shop import Shop
    shop = Shop(shared_service, ("balance",))
    made = [shop.create()["id"] for _ in range(70)]
    gone = made[5:70:7]
    for pass_id in gone:
        shop.delete(pass_id)
    yield shop, [pass_id for pass_id in made if pass_id not in gone], made
    shop.close()


def test_an_account_without_passes(shop):
    assert shop.list() == ([], 0, False)


def test_entries_are_complete_passes(shop):
    made = [shop.create(hidden={"n": 1.50}), shop.create(kind="balance"), shop.create()]
    assert shop.list()[0] == made[::-1]


def test_the_default_page_is_the_newest_25(long_list):
    shop, live, _ = long_list
    page, total, more = shop.list()
    assert (ids(page), total, more) == (live[::-1][:25], 60, True)


def test_deleted_passes_with_include_deleted(long_list):
    shop, _, made = long_list
    page, total, more = shop.list("?include_deleted=true&limit=100")
    assert (ids(page), total, more) == (made[::-1], 70, False)
    for entry in page:
        assert ("deleted_at" in entry) == (entry["status"] == "deactivated")
    assert shop.list("?include_deleted=f")[1] == 60
    assert ids(shop.list("?include_deleted=1&limit=9&offset=20")[0]) == made[::-1][20:29]


def test_a_list_sees_every_acknowledged_change(shop):
    for number in range(30):
        pass_id = shop.create()["id"]
        shop.add(pass_id, number)
        page, total, _ = shop.list("?limit=1")
        assert (total, page[0]["id"], page[0]["balance"]) == (number + 1, pass_id, number)
    shop.delete(pass_id)
    assert shop.list()[1] == 29


def test_a_changed_pass_keeps_its_place(shop):
    made = [shop.create()["id"] for _ in range(3)]
    shop.add(made[0], 5)
    assert ids(shop.list()[0]) == made[::-1]


def test_several_passes_of_one_id(shop):
    pass_id, other = new_id(), new_id()
    first = shop.create(pass_id)
    shop.delete(pass_id)
    shop.create(other)
    second = shop.create(pass_id)
    assert ids(shop.list()[0]) == [pass_id, other]
    everything = shop.list("?include_deleted=t")[0]
    assert ids(everything) == [pass_id, other, pass_id]
    assert [entry["download_url"] for entry in everything[::2]] == [second["download_url"], first["download_url"]]


def test_a_list_of_several_megabytes(shop):
    text = "é" * 50_000
    made = [shop.create(hidden={"n": number, "text": text}) for number in range(40)]
    page, total, more = shop.list("?limit=100")
    assert (total, more) == (40, False)
    assert page == made[::-1]
    assert len(json.dumps(page, ensure_ascii=False).encode()) > 4_000_000
