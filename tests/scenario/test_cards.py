"""Physical cards: the operator links and unlinks them; the interface shows them with their pass."""
import re

from harness import wait_for
from notices import refused
from shop import path_of

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOBODY = "01900000-0000-7000-8000-000000000000"


def link(shop, pass_id, code):
    made = shop.service.cli("card", "link", shop.account, "--pass", pass_id, "--code", code)
    assert list(made) == ["id"] and UUID.fullmatch(made["id"])
    return made["id"]


def unlink(shop, card_id):
    assert shop.service.cli("card", "unlink", shop.account, card_id) == {}


def cards_of(shop, pass_id, query=""):
    answer = shop.client.get(path_of(pass_id, "/cards") + query)
    assert answer.status == 200, answer
    assert not {"x-total-count", "x-has-more"} & set(answer.headers), "the list of cards has no count headers"
    return answer.json


def all_cards(shop, *options):
    """All cards, listed by the operator's command."""
    return shop.service.cli("card", "list", shop.account, *options)


def test_a_linked_card_is_listed_with_its_pass(shop):
    shop.create("ann")
    shop.create("bob")
    assert cards_of(shop, "ann") == []
    card_id = link(shop, "ann", "Kärtchen 1/2 日本")
    [card] = cards_of(shop, "ann")
    assert list(card) == ["id", "pass_id", "code", "status", "created_at"]
    assert card == {**card, "id": card_id, "pass_id": "ann", "code": "Kärtchen 1/2 日本", "status": "linked"}
    assert TIME.fullmatch(card["created_at"])
    assert cards_of(shop, "bob") == []
    unlink(shop, card_id)
    assert cards_of(shop, "ann") == [{**card, "status": "unlinked"}]


def test_a_code_can_be_linked_only_once(shop, new_shop):
    shop.create("ann")
    shop.create("bob")
    first = link(shop, "ann", "code")
    for pass_id in ("ann", "bob"):
        refused("RESOURCE_CONFLICT", None, link, shop, pass_id, "code")
    link(shop, "ann", "CODE")
    other = new_shop("balance")
    other.create("ann")
    link(other, "ann", "code")
    unlink(shop, first)
    link(shop, "bob", "code")
    refused("RESOURCE_CONFLICT", None, link, shop, "ann", "code")
    assert [card["status"] for card in cards_of(shop, "ann")] == ["linked", "unlinked"]
    refused("RESOURCE_CONFLICT", None, unlink, shop, first)


def test_deleting_a_pass_frees_its_codes(shop):
    shop.create("ann")
    old = link(shop, "ann", "code")
    shop.delete("ann")
    shop.client.get(path_of("ann", "/cards")).is_error(404, "RESOURCE_NOT_FOUND")
    refused("RESOURCE_NOT_FOUND", "pass_id", link, shop, "ann", "other")
    shop.create("ann")
    assert cards_of(shop, "ann") == [], "a new pass of the same id has no cards"
    new = link(shop, "ann", "code")
    assert [card["id"] for card in cards_of(shop, "ann")] == [new]
    refused("RESOURCE_CONFLICT", None, unlink, shop, old)
    unlink(shop, new)
    assert shop.service.cli("verify")["ok"] is True


def test_invalid_links_are_refused(shop):
    shop.create("ann")
    for code in ("", "a\nb", "\x7f", "\u0085", "x" * 201, "é" * 101):
        refused("INVALID_INPUT", "code", link, shop, "ann", code)
        refused("INVALID_INPUT", "code", link, shop, "nobody", code)
    refused("RESOURCE_NOT_FOUND", "pass_id", link, shop, "nobody", "code")
    for card_id in (NOBODY, "x", "", NOBODY[:-1], "ann"):
        refused("RESOURCE_NOT_FOUND", "card_id", unlink, shop, card_id)
    for code in ("é" * 100, "x", ".", "..", " ", "a/b"):
        link(shop, "ann", code)
    assert len(cards_of(shop, "ann")) == 6
    run = shop.service.run
    assert run("card", "link", shop.account, "--pass", "ann").returncode == 2
    assert run("card", "link", shop.account, "--code", "c").returncode == 2
    assert run("card", "unlink", shop.account).returncode == 2
    assert "card link ACCOUNT --pass PASS_ID --code CODE" in run("card", "--help", data=False).stdout


def test_pages_newest_first(shop):
    shop.create("ann")
    codes = [f"code-{n:02}" for n in range(30)]
    for code in codes:
        link(shop, "ann", code)
    newest = codes[::-1]
    assert [card["code"] for card in cards_of(shop, "ann")] == newest[:25]
    for query, want in [("?limit=3", newest[:3]), ("?limit=100", newest), ("?offset=28", newest[28:]), ("?offset=30", []),
                        ("?limit=2&offset=27", newest[27:29]), ("?offset=9223372036854775807", [])]:
        assert [card["code"] for card in cards_of(shop, "ann", query)] == want, query
    for query, field in [("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("offset=-1", "offset"),
                         ("limit=1&limit=1", "limit")]:
        shop.client.get(path_of("ann", "/cards?" + query)).is_error(400, "INVALID_INPUT", field)


def test_the_operator_lists_every_card(shop, new_shop):
    """Cards of all passes, newest first, over several pages, also while the account is suspended."""
    assert all_cards(shop) == []
    shop.create("ann", hidden={"long": "x" * 300_000})
    shop.create("bob")
    made = [link(shop, ("ann", "bob")[n % 3 == 0], f"code-{n}") for n in range(130)]
    other = new_shop("balance")
    other.create("ann")
    unlink(shop, made[5])
    ann, bob = cards_of(shop, "ann", "?limit=100"), cards_of(shop, "bob", "?limit=100")
    listed = all_cards(shop)
    assert [card["id"] for card in listed] == made[::-1]
    assert sorted(ann + bob, key=lambda card: made.index(card["id"]), reverse=True) == listed
    assert all_cards(shop, "--pass", "ann") == ann
    shop.set("--suspended", "on")
    shop.client.get(path_of("ann", "/cards")).is_error(402, "ACCOUNT_SUSPENDED")
    assert all_cards(shop) == listed and all_cards(shop, "--pass", "bob") == bob
    assert all_cards(other) == [] == all_cards(other, "--pass", "ann")
    for nobody in ("nobody", "", "."):
        refused("RESOURCE_NOT_FOUND", "pass_id", all_cards, shop, "--pass", nobody)
    for impossible in ("%FF", "", "%00", "x" * 201):
        assert other.client.get(f"/v1/passes/{impossible}/cards").status == 404, "the interface lists the cards of one pass only"
    shop.client.delete(path_of("ann")).is_empty(204)
    refused("RESOURCE_NOT_FOUND", "pass_id", all_cards, shop, "--pass", "ann")
    assert all_cards(shop) == listed, "cards of a deleted pass are listed with its id"
    shop.service.cli("pass", "erase", shop.account, "ann")
    wait_for(lambda: all_cards(shop) == bob, 10, "the cards of the erased pass to be removed")


def test_an_acknowledged_link_survives_a_crash(own):
    own.create("ann")
    first, second = link(own, "ann", "first"), link(own, "ann", "second")
    unlink(own, first)
    before = cards_of(own, "ann")
    own.service.expect_log("level=(warn|fatal)")
    own.service.kill_child("shard")
    assert cards_of(own, "ann") == before
    assert [card["id"] for card in before] == [second, first]
    refused("RESOURCE_CONFLICT", None, link, own, "ann", "second")
    link(own, "ann", "first")
    assert own.service.cli("verify")["ok"] is True
