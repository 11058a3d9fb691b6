"""The rewards catalogue: every clause of the interface on creating, reading, editing and ending a reward."""
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import wait_for
from retries import is_first, is_replay_of, new_key, once
from rewards import NEVER, REWARDS, SHOWN, archive, edit, new_slug, offer, reward, reward_path, rewards_of, terms, try_offer
from rules import assign, delete_rule, put_rule
from shop import Shop, at_once

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOT_FOUND, CONFLICT, BAD = (404, "RESOURCE_NOT_FOUND"), (409, "RESOURCE_CONFLICT"), (400, "INVALID_INPUT")
CENTURY = 3155760000
FULL = {"name": "Latte", "kind": "discount", "description": "One \u2615, any size", "repeat_assignment": True,
        "redemption_allowance": 3, "assignment_limit": 100, "expiration": {"kind": "relative_window", "window_seconds": 86400}}


def put(shop, slug, body):
    return shop.client.request("PUT", reward_path(slug), body)


def restore(shop, slug, *body):
    answer = shop.client.post(reward_path(slug, "/restore"), *body)
    assert answer.status == 200, answer
    return answer.json


def time_passes(shop, since):
    """Waits until the millisecond of `since` is over, by the account's own clock."""
    def is_over():
        made = offer(shop, slug=new_slug())
        shop.client.delete(reward_path(made["slug"])).is_empty(204)
        return made["created_at"] > since
    wait_for(is_over, 5, "the account's clock to advance")


# Creation

def test_a_reward_with_required_fields(shop):
    made = offer(shop)
    assert list(made) == SHOWN and TIME.fullmatch(made["created_at"])
    assert made == {"slug": "free_coffee", "name": "Free coffee", "kind": "gift", "description": "", "status": "active",
                    "version": 1, "repeat_assignment": False, "redemption_allowance": 1, "assignment_limit": None,
                    "expiration": {"kind": "none"}, "created_at": made["created_at"], "updated_at": made["created_at"]}
    assert reward(shop, "free_coffee") == made and rewards_of(shop) == [made]


def test_a_reward_with_all_fields(shop):
    made = offer(shop, slug="big_latte_2", **FULL)
    assert list(made) == SHOWN
    assert {name: made[name] for name in FULL} == FULL and made["slug"] == "big_latte_2"
    assert reward(shop, "big_latte_2") == made


def test_the_catalogue_needs_no_function(new_shop):
    """The catalogue works without the rewards function. Only a suspended account cannot use it."""
    shop = new_shop()
    asked = [("POST", REWARDS, terms()), ("GET", REWARDS, None), ("GET", reward_path("free_coffee"), None),
             ("PUT", reward_path("free_coffee"), terms()), ("POST", reward_path("free_coffee", "/archive"), None),
             ("POST", reward_path("free_coffee", "/restore"), None), ("DELETE", reward_path("free_coffee"), None)]
    assert [shop.client.request(*each).status for each in asked] == [201, 200, 200, 200, 204, 200, 204]
    shop.set("--suspended", "on")
    for each in asked:
        shop.client.request(*each).is_error(402, "ACCOUNT_SUSPENDED")
    shop.set("--suspended", "off")
    assert rewards_of(shop) == []


@pytest.mark.parametrize("name, slug", [
    ("Caf\u00e9 con le\u00f1a \u2014 \u00a12x1!", "cafe_con_lena_2x1"), ("  --A  B--  ", "a_b"), ("\u2615", "reward"), ("\u65e5\u672c", "reward"),
    ("STRASSE Stra\u00dfe", "strasse_strasse"), ("x" * 200, "x" * 80), ("ab " * 66, "ab_" * 26 + "ab"), ("a" * 79 + " b", "a" * 79),
    ("\u00c9\u0301\u0301", "e"), ("a\u0000b", "a_b"), ("___", "reward"), ("\u216b", "xii"), ("\uff21\uff42\uff10", "ab0"), ("free_coffee", "free_coffee")])
def test_slugs_are_derived_from_names(shop, name, slug):
    assert offer(shop, name=name)["slug"] == slug
    assert offer(shop, name=name)["slug"] == (slug[:78].rstrip("_") + "_2")


def test_slugs_of_one_name_are_numbered(shop):
    names = [offer(shop)["slug"] for _ in range(40)]
    assert names == ["free_coffee", *(f"free_coffee_{n}" for n in range(2, 41))]
    for gone in ("free_coffee", "free_coffee_5"):
        shop.client.delete(reward_path(gone)).is_empty(204)
        assert offer(shop)["slug"] == gone
    offer(shop, slug="free_coffee_42")
    assert offer(shop)["slug"] in ("free_coffee_41", "free_coffee_43"), "the next free number is used"
    long = [offer(shop, name="y" * 100)["slug"] for _ in range(12)]
    assert long[1] == "y" * 78 + "_2" and long[8] == "y" * 78 + "_9" and long[9] == "y" * 77 + "_10" and len(set(long)) == 12


@pytest.mark.parametrize("slug", ["a", "0", "free_coffee", "a_1_b", "a" * 80, "_".join("a" * 40)])
def test_valid_slugs(shop, slug):
    assert offer(shop, slug=slug)["slug"] == reward(shop, slug)["slug"] == slug
    try_offer(shop, slug=slug).is_error(*CONFLICT)
    archive(shop, slug)
    try_offer(shop, slug=slug).is_error(*CONFLICT)
    assert len(rewards_of(shop, "?include_archived=1")) == 1


@pytest.mark.parametrize("slug", ["", "_", "A", "a_", "_a", "a__b", "a-b", "a b", "a" * 81, "\u00e9", "a\u0000", "a/b", ".", "entitlement-counts"])
def test_invalid_slugs(till, slug):
    try_offer(till, slug=slug).is_error(*BAD, "slug")
    if slug.isascii() and slug.isprintable() and slug not in ("", ".", "a b", "a/b", "entitlement-counts"):
        till.client.get(reward_path(slug)).is_error(*NOT_FOUND)


# Invalid fields

WRONG = [
    ("name", [""], {}), ("name", ["x" * 201, "\u00e9" * 201, "\U0001f600" * 201], {}), ("name", [5, None, ["x"], {}, True], {}),
    ("kind", ["", "Gift", "gift ", "none", "voucher", 1, None, ["gift"]], {}),
    ("description", ["x" * 2001, "\U0001f600" * 2001, 5, {}, []], {}),
    ("repeat_assignment", [0, 1, "true", "", [], {}], {}),
    ("redemption_allowance", [-1, 2**31, 2**63, 1.5, "1", True, [], {}], {}),
    ("assignment_limit", [0, -1, 2**53, 1.5, "1", True, [], {}], {}),
    ("expiration", ["none", 1, [], True, None], {}),
    ("expiration.kind", [None, "", "None", "never", 1, {}, []], {}),
    ("expiration.window_seconds", [None, 0, -1, CENTURY + 1, 2**63, 2**64, 1.5, "60", True, [1], {"x": 1}], {"kind": "relative_window"}),
    ("expiration.window_seconds", [1, 0, "x", {}], {"kind": "none"}),
    ("expiration.window_seconds", [1], {"kind": "fixed_end", "fixed_end": "2030-01-01T00:00:00Z"}),
    ("expiration.fixed_end", [None, "", "2030-01-01", "2030-01-01T00:00:00", "2030-02-30T00:00:00Z", "2030-01-01T24:00:00Z",
                              "2030-01-01T00:00:60Z", "2030-01-01 00:00:00Z", "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
                              "9999-12-31T23:59:59-01:00", 1900000000, {}, ["2030-01-01T00:00:00Z"]], {"kind": "fixed_end"}),
    ("expiration.fixed_end", ["2030-01-01T00:00:00Z", 5], {"kind": "none"}),
    ("expiration.fixed_end", ["2030-01-01T00:00:00Z"], {"kind": "relative_window", "window_seconds": 60}),
    ("expiration.x", [None, 1], {"kind": "none"}), ("expiration.", [1], {"kind": "none"}), ("expiration.Kind", [None], {"kind": "none"}),
    ("x", [None, 1, "x", {}], {}), ("family_id", ["x"], {}), ("definition_id", ["x"], {}),
]


@pytest.mark.parametrize("field, values, beside", WRONG, ids=[f"{n}-{row[0]}" for n, row in enumerate(WRONG)])
def test_the_error_names_the_invalid_field(till, field, values, beside):
    """On creation, in an edit and in a restoration; also for an unknown slug. Nothing changes."""
    made = offer(till, slug=new_slug())
    outer, _, inner = field.partition(".")
    for value in values:
        body = terms()
        if outer == field:
            body[field] = value
        else:
            body["expiration"] = {**beside, inner: value}
        till.client.post(REWARDS, body).is_error(*BAD, field)
        for slug in (made["slug"], "nobody"):
            put(till, slug, body).is_error(*BAD, field)
            till.client.post(reward_path(slug, "/restore"), body).is_error(*BAD, field)
    assert reward(till, made["slug"]) == made
    till.client.delete(reward_path(made["slug"])).is_empty(204)


@pytest.mark.parametrize("field", ["status", "version", "created_at", "updated_at"])
def test_a_creation_refuses_read_only_fields(till, field):
    try_offer(till, **{field: "x"}).is_error(*BAD, field)


@pytest.mark.parametrize("field, value, want", [
    ("name", "\U0001f600" * 200, None), ("name", " ", None), ("description", "\U0001f600" * 2000, None), ("description", "", None),
    ("redemption_allowance", 0, 1), ("redemption_allowance", 2**31 - 1, None), ("assignment_limit", 1, None),
    ("assignment_limit", 2**53 - 1, None), ("kind", "custom", None),
    ("expiration", {"kind": "relative_window", "window_seconds": 1}, None),
    ("expiration", {"kind": "relative_window", "window_seconds": CENTURY}, None),
    ("expiration", {"kind": "none", "window_seconds": None, "fixed_end": None}, {"kind": "none"}),
    ("expiration", {"window_seconds": 7, "fixed_end": None, "kind": "relative_window"}, {"kind": "relative_window", "window_seconds": 7}),
    ("expiration", {"kind": "fixed_end", "fixed_end": "2001-01-01T00:00:00Z"}, {"kind": "fixed_end", "fixed_end": "2001-01-01T00:00:00.000Z"}),
    ("expiration", {"kind": "fixed_end", "fixed_end": "2030-06-01T12:00:00.1239-06:00"},
     {"kind": "fixed_end", "fixed_end": "2030-06-01T18:00:00.123Z"}),
    ("expiration", {"kind": "fixed_end", "fixed_end": "0001-01-01t00:00:00z"}, {"kind": "fixed_end", "fixed_end": "0001-01-01T00:00:00.000Z"}),
    ("expiration", {"kind": "fixed_end", "fixed_end": "9999-12-31T23:59:59.999999Z"},
     {"kind": "fixed_end", "fixed_end": "9999-12-31T23:59:59.999Z"})])
def test_values_at_the_limits(till, field, value, want):
    want = value if want is None else want
    made = offer(till, slug=new_slug(), **{field: value})
    assert made[field] == want and reward(till, made["slug"]) == made
    edited = edit(till, made["slug"], **{field: value})
    assert edited == {**made, "version": 2, "updated_at": edited["updated_at"]}
    till.client.delete(reward_path(made["slug"])).is_empty(204)


def test_null_for_an_optional_field_is_its_omission(shop):
    optional = dict.fromkeys(["slug", "description", "repeat_assignment", "redemption_allowance", "assignment_limit"])
    made = shop.client.post(REWARDS, {**terms(), **optional})
    assert made.status == 201 and made.json["slug"] == "free_coffee"
    answer = put(shop, "free_coffee", {**terms(), **optional, "status": None, "version": None})
    assert {**answer.json, "updated_at": 0, "version": 1} == {**made.json, "updated_at": 0}


# Edits

def test_an_edit_replaces_all_fields(shop):
    made = offer(shop, **FULL)
    time_passes(shop, made["updated_at"])
    edited = edit(shop, made["slug"])
    assert edited["updated_at"] > made["updated_at"]
    assert edited == {**made, "name": "Free coffee", "kind": "gift", "description": "", "repeat_assignment": False,
                      "redemption_allowance": 1, "assignment_limit": None, "expiration": NEVER, "version": 2,
                      "updated_at": edited["updated_at"]}
    assert reward(shop, made["slug"]) == edited and rewards_of(shop) == [edited]
    same = edit(shop, made["slug"])
    assert same["version"] == 3, "every edit publishes a version"
    assert edit(shop, made["slug"], **FULL)["version"] == 4


def test_an_edit_accepts_the_reward_as_it_was_returned(shop):
    """Its read-only fields are ignored. Another slug is refused."""
    made = offer(shop, **FULL)
    answer = put(shop, made["slug"], made)
    assert {**answer.json, "updated_at": 0} == {**made, "version": 2, "updated_at": 0}
    answer = put(shop, made["slug"], {**made, "status": "x" * 1000, "version": {}, "created_at": 5, "updated_at": []})
    assert (answer.status, answer.json["version"], answer.json["status"]) == (200, 3, "active")
    assert answer.json["created_at"] == made["created_at"]
    for slug in ("other", "", "LATTE", 5, ["latte"], {}, "latte_", "x" * 81, "x" * 100_000):
        put(shop, "latte", {**terms(), "slug": slug}).is_error(*BAD, "slug")
        shop.client.post(reward_path("latte", "/restore"), {**terms(), "slug": slug}).is_error(*BAD, "slug")
    put(shop, "nobody", {**terms(), "slug": "nobody"}).is_error(*NOT_FOUND)
    assert reward(shop, "latte")["version"] == 3


# Archiving and restoration

def test_archived_and_restored(shop):
    made, other = offer(shop, **FULL), offer(shop)
    time_passes(shop, made["updated_at"])
    archive(shop, "latte")
    gone = reward(shop, "latte")
    assert gone == {**made, "status": "archived", "updated_at": gone["updated_at"]} and gone["updated_at"] > made["updated_at"]
    assert rewards_of(shop) == rewards_of(shop, "?include_archived=f") == [other]
    assert rewards_of(shop, "?include_archived=true") == [gone, other]
    shop.client.post(reward_path("latte", "/archive")).is_error(*CONFLICT)
    edited = edit(shop, "latte", name="New")
    assert (edited["status"], edited["version"], edited["name"]) == ("archived", 2, "New")
    back = restore(shop, "latte", terms(name="Newer"))
    assert (back["status"], back["version"], back["name"], back["kind"]) == ("active", 3, "Newer", "gift")
    assert reward(shop, "latte") == back and rewards_of(shop) == [back, other]
    shop.client.post(reward_path("latte", "/restore")).is_error(*CONFLICT)
    shop.client.post(reward_path("latte", "/restore"), terms()).is_error(*CONFLICT)
    assert reward(shop, "latte") == back


@pytest.mark.parametrize("body", [[], [{}], [{"name": None, "kind": None, "expiration": None}]], ids=["none", "empty", "nulls"])
def test_restored_with_its_former_terms(shop, body):
    made = offer(shop, **FULL)
    archive(shop, "latte")
    edited = edit(shop, "latte", **{**FULL, "description": "As edited"})
    back = restore(shop, "latte", *body)
    assert back == {**edited, "status": "active", "version": 3, "updated_at": back["updated_at"]}
    assert back["created_at"] == made["created_at"]


def test_restored_with_the_reward_as_it_was_returned(shop):
    offer(shop, **FULL)
    archive(shop, "latte")
    back = restore(shop, "latte", reward(shop, "latte"))
    assert (back["status"], back["version"], back["name"]) == ("active", 2, "Latte")
    archive(shop, "latte")
    shop.client.post(reward_path("latte", "/restore"), {"slug": "latte"}).is_error(*BAD, "name")


# Deletion

def test_a_deleted_reward_is_404_and_its_slug_is_free(shop):
    made = offer(shop, **FULL)
    edit(shop, "latte")
    archive(shop, "latte")
    shop.client.delete(reward_path("latte")).is_empty(204)
    for method, action, body in [("GET", "", None), ("PUT", "", terms()), ("POST", "/archive", None), ("POST", "/restore", None),
                                 ("POST", "/restore", terms()), ("DELETE", "", None)]:
        shop.client.request(method, reward_path("latte", action), body).is_error(*NOT_FOUND)
    assert rewards_of(shop, "?include_archived=1") == []
    time_passes(shop, made["created_at"])
    again = offer(shop, slug="latte")
    assert (again["version"], again["status"], again["name"]) == (1, "active", "Free coffee")
    assert again["created_at"] > made["created_at"] and rewards_of(shop) == [again]


@pytest.mark.parametrize("functions", [(), ("--rewards",)])
def test_a_reward_named_by_a_rule_cannot_be_archived_or_deleted(new_shop, functions):
    """Active and inactive rules block it until they name it no longer. Edits are always allowed."""
    shop = new_shop("balance", functions=functions)
    offer(shop, **FULL)
    offer(shop, slug="latt")
    rules = [put_rule(shop, "pass.created", assign("latte"), active=active) for active in (True, False)]
    for rule in rules:
        before = reward(shop, "latte")
        shop.client.post(reward_path("latte", "/archive")).is_error(*CONFLICT)
        shop.client.delete(reward_path("latte")).is_error(*CONFLICT)
        assert reward(shop, "latte") == before
        assert edit(shop, "latte")["status"] == "active"
        delete_rule(shop, rule)
    archive(shop, "latte")
    again = put_rule(shop, "pass.created", assign("latte"))
    shop.client.delete(reward_path("latte")).is_error(*CONFLICT)
    assert restore(shop, "latte")["status"] == "active"
    shop.client.delete(reward_path("latt")).is_empty(204)
    put_rule(shop, "pass.created", assign("latte"), id=again, active=False)
    shop.client.post(reward_path("latte", "/archive")).is_error(*CONFLICT)
    put_rule(shop, "pass.created", assign("other"), id=again)
    archive(shop, "latte")
    shop.client.delete(reward_path("latte")).is_empty(204)


# Lists

def test_the_list_is_in_order_of_creation(shop):
    made = [offer(shop, name=name) for name in ("Zebra", "Ant", "Moth", "ant", "Bee")]
    edit(shop, "ant", name="Later")
    shop.client.delete(reward_path("moth")).is_empty(204)
    assert [each["slug"] for each in rewards_of(shop)] == ["zebra", "ant", "ant_2", "bee"]
    assert rewards_of(shop)[0] == made[0]
    answer = shop.client.get(REWARDS)
    assert not {"x-total-count", "x-has-more"} & set(answer.headers)
    assert shop.client.head(REWARDS).headers["content-length"] == str(len(answer.body))
    for value in ("", "yes", "TRUE", "2"):
        shop.client.get(f"{REWARDS}?include_archived={value}").is_error(*BAD, "include_archived")
    shop.client.get(f"{REWARDS}?include_archived=1&include_archived=1").is_error(*BAD, "include_archived")
    assert shop.client.get(f"{REWARDS}?limit=0&offset=x").status == 200, "the list has no pages"


def test_a_list_of_more_than_a_megabyte(shop):
    """The shard sends it to http in parts. The client gets one list."""
    long = {"description": "\U0001f600" * 2000, "name": "\U0001f600" * 200}
    made = [offer(shop, slug=f"long_{n}", **long) for n in range(300)]
    assert rewards_of(shop) == made
    assert len(shop.client.get(REWARDS).body) > 2 << 20


# Replays

def test_a_replay_shows_the_reward_as_it_was(shop):
    """Even if it has since been edited, archived or deleted, and its slug belongs to another reward."""
    key = {name: new_key() for name in ("make", "edit", "archive", "restore", "delete")}
    asked = {"make": ("POST", REWARDS, terms(slug="latte", **FULL)), "edit": ("PUT", reward_path("latte"), terms(name="Edited")),
             "archive": ("POST", reward_path("latte", "/archive"), None), "restore": ("POST", reward_path("latte", "/restore"), None),
             "delete": ("DELETE", reward_path("latte"), None)}
    status = {"make": 201, "edit": 200, "archive": 204, "restore": 200, "delete": 204}
    first = {}
    for name, request in asked.items():
        first[name] = is_first(shop.client.request(*request, headers=once(key[name])), status[name])
        for earlier in first:
            is_replay_of(first[earlier], shop.client.request(*asked[earlier], headers=once(key[earlier])))
    assert [first[name].json["version"] for name in ("make", "edit", "restore")] == [1, 2, 3]
    other = offer(shop, slug="latte")
    for name, request in asked.items():
        is_replay_of(first[name], shop.client.request(*request, headers=once(key[name])))
    assert rewards_of(shop) == [other]


def test_a_replay_after_a_restart(new_service):
    service = new_service(shards=1)
    shop, key = Shop(service, ()), new_key()
    first = is_first(shop.client.post(REWARDS, terms(**FULL), headers=once(key)), 201)
    edit(shop, "latte", name="\U0001f600" * 200, description="\U0001f600" * 2000)
    archive(shop, "latte")
    offer(shop)
    shop.client.delete(reward_path("free_coffee")).is_empty(204)
    before = rewards_of(shop, "?include_archived=1")
    service.kill()
    service.start()
    shop.client.address = service.http
    is_replay_of(first, shop.client.post(REWARDS, terms(**FULL), headers=once(key)))
    assert rewards_of(shop, "?include_archived=1") == before
    verdict = service.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []
    shop.close()


# Concurrency and limits

def test_concurrent_requests(shop):
    made = at_once(shop, 8, lambda client, n: client.post(REWARDS, terms()))
    assert sorted(answer.json["slug"] for answer in made) == sorted(["free_coffee", *(f"free_coffee_{n}" for n in range(2, 9))])
    one = at_once(shop, 8, lambda client, n: client.post(REWARDS, terms(slug="only")))
    assert sorted(answer.status for answer in one) == [201] + [409] * 7
    edits = at_once(shop, 8, lambda client, n: client.request("PUT", reward_path("only"), terms(name=f"n{n}")))
    assert sorted(answer.json["version"] for answer in edits) == list(range(2, 10))
    last = next(answer.json for answer in edits if answer.json["version"] == 9)
    assert reward(shop, "only") == last
    gone = at_once(shop, 8, lambda client, n: client.post(reward_path("only", "/archive")))
    assert sorted(answer.status for answer in gone) == [204] + [409] * 7
    back = at_once(shop, 8, lambda client, n: client.post(reward_path("only", "/restore")))
    assert sorted(answer.status for answer in back) == [200] + [409] * 7
    gone = at_once(shop, 8, lambda client, n: client.delete(reward_path("only")))
    assert sorted(answer.status for answer in gone) == [204] + [404] * 7


@pytest.mark.slow
def test_five_thousand_rewards_of_one_name(new_service):
    """The limit of an account. Each slug has its own number, archived rewards count, and a deletion makes room."""
    service = new_service(shards=1)
    shop = Shop(service, ())
    clients = [service.client(shop.key) for _ in range(8)]
    body = json.dumps(terms()).encode()

    def make(client):
        for _ in range(5000 // 8):
            answer = client.request("POST", REWARDS, body=body, headers={"Content-Type": "application/json"})
            assert answer.status == 201, answer
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, clients))
    assert {each["slug"] for each in rewards_of(shop)} == {"free_coffee", *(f"free_coffee_{n}" for n in range(2, 5001))}
    archive(shop, "free_coffee_7")
    try_offer(shop).is_error(*CONFLICT)
    try_offer(shop, slug="other").is_error(*CONFLICT)
    shop.client.delete(reward_path("free_coffee_4000")).is_empty(204)
    assert offer(shop)["slug"] in ("free_coffee_4000", "free_coffee_5001")
    try_offer(shop).is_error(*CONFLICT)
    verdict = service.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []
    for client in (*clients, shop.client):
        client.close()
