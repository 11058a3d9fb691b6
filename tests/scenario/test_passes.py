"""Passes: creation, reading, editing and deletion, with the rules of every field."""
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
from exact import exact
from harness import wait_for
from shop import new_id, path_of, template_file

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
FULL = {"id", "visible", "hidden", "appearance", "qr_value", "status", "download_url", "reinstall_blocked",
        "loyalty_type", "created_at", "updated_at"}


def wait_a_tick(pass_):
    """Waits until a change shows a later updated_at. Times are shown in milliseconds."""
    then = datetime.fromisoformat(pass_["updated_at"].replace("Z", "+00:00")) + timedelta(milliseconds=2)
    wait_for(lambda: datetime.now(timezone.utc) > then, 2, "the clock to move")


def body_for(**fields):
    return {"pass_id": new_id(), "visible": {"name": "Ada"}, **fields}


# Creation

def test_a_new_pass_is_issued_and_has_all_fields(shop):
    pass_id = new_id()
    answer = shop.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "Ada", "visits": 3},
                                             "hidden": {"ref": "x1"}, "appearance": {"title": "Mine"}})
    assert answer.status == 201, answer
    made = answer.json
    assert set(made) == FULL | {"balance"}
    assert made["id"] == pass_id
    assert made["visible"] == {"name": "Ada", "visits": 3, "points": 0}
    assert made["hidden"] == {"ref": "x1"}
    assert made["appearance"] == {"title": "Mine"}
    assert made["qr_value"] == pass_id
    assert (made["status"], made["reinstall_blocked"]) == ("issued", False)
    assert (made["loyalty_type"], made["balance"]) == ("balance", 0)
    assert TIME.match(made["created_at"]) and made["created_at"] == made["updated_at"]
    age = datetime.now(timezone.utc) - datetime.fromisoformat(made["created_at"].replace("Z", "+00:00"))
    assert abs(age.total_seconds()) < 5
    assert shop.get(pass_id) == made


def test_download_urls_are_below_the_public_url_and_random(shop, service):
    one, two = shop.create()["download_url"], shop.create()["download_url"]
    base = f"http://{service.http[0]}:{service.http[1]}/p/"
    assert one.startswith(base) and two.startswith(base) and one != two
    assert len(one) - len(base) >= 22, "128 random bits need 22 characters of base64"


def test_a_pass_with_only_required_fields(shop):
    made = shop.create(visible={"name": "A"})
    assert (made["hidden"], made["appearance"]) == ({}, None)


def test_loyalty_types(till):
    for kind in ("balance", "stamps"):
        made = till.create(kind=kind)
        assert (made["loyalty_type"], made["balance"], made["visible"]["points"]) == (kind, 0, 0)
    made = till.create(kind="none")
    assert made["loyalty_type"] == "none"
    assert set(made) == FULL and made["visible"] == {"name": "Ada"}


def test_qr_value_is_null_without_qr(new_shop):
    shop = new_shop()
    shop.put_template(template_file(qr=False))
    assert shop.create()["qr_value"] is None


def test_the_oldest_template_is_the_default(new_shop):
    shop = new_shop("stamps", "balance")
    assert shop.create()["loyalty_type"] == "stamps"


def test_templates_that_cannot_be_used(new_shop):
    shop, other, empty = new_shop("balance"), new_shop("balance"), new_shop()
    foreign = body_for(pass_template_id=other.templates["balance"])
    shop.client.post("/v1/passes", foreign).is_error(403, "UNAUTHORIZED")
    unknown = shop.templates["balance"].rsplit("_", 1)[0] + "_999"
    for template in (unknown, "tpl_x", "x", ""):
        body = body_for(pass_template_id=template)
        shop.client.post("/v1/passes", body).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    empty.client.post("/v1/passes", body_for()).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    assert shop.list()[1] == 0


@pytest.mark.parametrize("pass_id", ["x", "a b", "a/b?c#d%e&f+g", "é" * 100, "日本語", "a" * 200, "..a", "%2e",
                                     "a.", "\U0001f600", "\"'\\<>", "~!*()"])
def test_valid_pass_ids(till, pass_id):
    made = till.create(pass_id)
    assert made["id"] == made["qr_value"] == pass_id
    assert till.get(pass_id) == made
    till.add(pass_id, 4)
    till.client.patch(path_of(pass_id), {"hidden": {"a": 1}}).is_empty(204)
    assert till.get(pass_id)["balance"] == 4
    till.delete(pass_id)


@pytest.mark.parametrize("platform", ["web", "iOS", "", None, 1, [], "ios "])
def test_an_invalid_platform(till, platform):
    body = body_for(initial_platform=platform)
    error = till.client.post("/v1/passes", body).is_error(400, "INVALID_REQUEST", "initial_platform")
    assert '"ios" or "android"' in error["message"]


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_a_platform_is_not_stored(till, platform):
    assert "initial_platform" not in till.create(initial_platform=platform)


# Visible

@pytest.mark.parametrize("key, value", [
    ("name", "x" * 80), ("name", "Ä \"quoted\" \\ \u2028 \U0001f600"),
    ("visits", 0), ("visits", -1), ("visits", 2.5),
    ("birthday", "2026-02-28"), ("birthday", "2024-02-29"), ("birthday", "2026-11-20T20:43:00Z"),
    ("birthday", "2026-11-20T20:43:00.123456+02:00"),
    ("site", "https://example.com/a?b=c"), ("site", "http://example.com"),
    ("vip", True), ("vip", False),
])
def test_valid_visible_values(till, key, value):
    made = till.create(visible={"name": "A", key: value})
    assert made["visible"][key] == value and type(made["visible"][key]) is type(value)


WRONG_VALUES = [
    ("name", 1), ("name", True), ("name", {}), ("name", []), ("name", "x" * 81),
    ("visits", "1"), ("visits", True), ("visits", []), ("visits", {"a": 1}),
    ("birthday", "yesterday"), ("birthday", "2026-02-29"), ("birthday", "2026-13-01"), ("birthday", ""),
    ("birthday", "2026-11-20T25:00:00Z"), ("birthday", 20261120),
    ("site", "ftp://example.com"), ("site", "example.com"), ("site", "javascript:alert(1)"), ("site", 1),
    ("vip", "true"), ("vip", 1), ("vip", 0),
]


@pytest.mark.parametrize("key, value", WRONG_VALUES)
def test_invalid_visible_values(till, key, value):
    visible = {"name": "A", key: value}
    answer = till.client.post("/v1/passes", body_for(visible=visible))
    answer.is_error(422, "PASS_TEMPLATE_DATA_INVALID")


@pytest.mark.parametrize("key, value", WRONG_VALUES)
def test_invalid_visible_values_in_an_edit(till, key, value):
    made = till.create()
    answer = till.client.patch(path_of(made["id"]), {"visible": {key: value}, "hidden": {"a": 1}})
    answer.is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    assert till.get(made["id"]) == made


def test_a_required_key_is_missing(till):
    for body in ({"pass_id": new_id()}, body_for(visible=None), body_for(visible={}), body_for(visible={"visits": 1})):
        till.client.post("/v1/passes", body).is_error(422, "PASS_TEMPLATE_DATA_INVALID")


@pytest.mark.parametrize("key, value", [("nickname", "x"), ("Name", "x"), ("points", 5), ("points", "x")])
def test_an_unknown_or_locked_key_is_refused_before_other_faults(till, key, value):
    for visible in ({"name": "A", key: value}, {"name": 5, key: value}, {key: value}):
        till.client.post("/v1/passes", body_for(visible=visible)).is_error(400, "INVALID_INPUT")
    made = till.create()
    for visible in ({key: value}, {key: None}, {"name": 5, key: value}, {"name": None, key: value}):
        till.client.patch(path_of(made["id"]), {"visible": visible}).is_error(400, "INVALID_INPUT")
    assert till.get(made["id"]) == made


# Hidden

HIDDEN = ('{"z":1.10,"a":1e2,"big":123456789012345678901234567890,"small":-0.0,"E":1E+05,"tiny":1e-400,'
          '"zero":-0,"text":"\\u00e9\\n\\"\\u0000\\ud83d\\ude00","empty":{},"list":[1.0,[],{"k":2.50,"b":null}],'
          '"null":{"x":null},"t":true,"":"nameless","9":1,"1":2}')


def test_hidden_keeps_digits_and_order(shop):
    pass_id = new_id()
    body = f'{{"pass_id":"{pass_id}","visible":{{"name":"A"}},"hidden":{HIDDEN}}}'
    answer = shop.client.post_raw("/v1/passes", body)
    assert answer.status == 201, answer
    for text in (answer.body, shop.client.get(path_of(pass_id)).body):
        assert dict(exact(text))["hidden"] == exact(HIDDEN)
    listed = exact(shop.client.get("/v1/passes").body)
    assert dict(listed[0])["hidden"] == exact(HIDDEN)


def test_an_edit_of_hidden_merges_the_top_level_only(shop):
    made = shop.create(hidden={"a": 1, "b": {"x": 1, "y": 2}, "c": 3})
    path = path_of(made["id"])
    shop.client.post_raw(path, '{"hidden":{"b":{"z":1.50},"c":null,"d":2e0,"gone":null}}', "PATCH").is_empty(204)
    hidden = dict(exact(shop.client.get(path).body))["hidden"]
    assert hidden == exact('{"a":1,"b":{"z":1.50},"d":2e0}')


def test_null_in_hidden(shop):
    """On creation null is a value. In an edit it removes the member that has it, and no other."""
    made = shop.create(hidden={"a": None, "b": 1, "c": None})
    for change, hidden in (({"b": 2}, '{"a":null,"b":2,"c":null}'), ({"a": None, "d": 3}, '{"b":2,"c":null,"d":3}')):
        shop.client.patch(path_of(made["id"]), {"hidden": change}).is_empty(204)
        assert dict(exact(shop.client.get(path_of(made["id"])).body))["hidden"] == exact(hidden)


def test_a_removed_key_can_be_set_again(shop):
    made = shop.create(hidden={"a": 1, "b": 2})
    for change in ({"a": None}, {"a": 3}):
        shop.client.patch(path_of(made["id"]), {"hidden": change}).is_empty(204)
    assert shop.get(made["id"])["hidden"] == {"a": 3, "b": 2}


def test_a_pass_that_is_too_large(shop):
    def text(size):
        return "x" * size

    shop.client.post("/v1/passes", body_for(hidden={"a": text(1 << 20)})).is_error(413, "PAYLOAD_TOO_LARGE")
    made = shop.create(hidden={"a": text(900_000)})
    path = path_of(made["id"])
    shop.client.patch(path, {"hidden": {"b": text(200_000)}}).is_error(413, "PAYLOAD_TOO_LARGE")
    assert shop.get(made["id"]) == made
    shop.client.patch(path, {"hidden": {"a": None, "b": text(200_000)}}).is_empty(204)
    assert shop.get(made["id"])["hidden"] == {"b": text(200_000)}
    assert shop.list()[1] == 1


# Appearance

BAD_APPEARANCES = [
    {"font": "x"}, {"background_color": "#12345"}, {"background_color": "112233"}, {"background_color": "#gggggg"},
    {"background_color": "red"}, {"background_color": "#1122334"}, {"background_color": 1}, {"title": 5},
    {"title": ["x"]}, {"logo": "ftp://example.com/x.png"}, {"logo": "x.png"}, {"logo": ""}, {"banner": 7},
    {"banner": "data:image/png;base64,AA"}, {"title": "ok", "font": "x"},
]


@pytest.mark.parametrize("appearance", [*BAD_APPEARANCES, {}, {"title": None}])
def test_invalid_appearances(till, appearance):
    answer = till.client.post("/v1/passes", body_for(appearance=appearance))
    answer.is_error(400, "INVALID_INPUT")


@pytest.mark.parametrize("appearance", BAD_APPEARANCES)
def test_invalid_appearances_in_an_edit(till, appearance):
    made = till.create(appearance={"title": "T"})
    till.client.patch(path_of(made["id"]), {"appearance": appearance}).is_error(400, "INVALID_INPUT")
    assert till.get(made["id"]) == made


def test_an_edit_of_the_appearance_merges_its_properties(till):
    pass_id = till.create(appearance={"title": "T", "background_color": "#a0B1c2"})["id"]
    steps = [
        ({"appearance": {}}, {"title": "T", "background_color": "#a0B1c2"}),
        ({}, {"title": "T", "background_color": "#a0B1c2"}),
        ({"appearance": {"title": "U"}}, {"title": "U", "background_color": "#a0B1c2"}),
        ({"appearance": {"title": None}}, {"background_color": "#a0B1c2"}),
        ({"appearance": {"background_color": None}}, None),
        ({"appearance": {"title": None}}, None),
        ({"appearance": {"banner": "https://example.com/b.png"}}, {"banner": "https://example.com/b.png"}),
        ({"appearance": None}, None),
        ({"appearance": {"title": "V"}}, {"title": "V"}),
    ]
    for change, want in steps:
        till.client.patch(path_of(pass_id), change).is_empty(204)
        assert till.get(pass_id)["appearance"] == want, change


# Editing

def test_an_edit_merges_visible(till):
    made = till.create(visible={"name": "Ada", "visits": 1, "vip": True})
    path = path_of(made["id"])
    till.client.patch(path, {"visible": {"visits": 2, "vip": None, "site": "http://a.example"}}).is_empty(204)
    assert till.get(made["id"])["visible"] == {"name": "Ada", "visits": 2, "site": "http://a.example", "points": 0}
    till.client.patch(path, {"visible": {"name": None}}).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    till.client.patch(path, {"visible": {"name": "Bob"}}).is_empty(204)
    assert till.get(made["id"])["visible"]["name"] == "Bob"


def test_an_edit_moves_updated_at_and_nothing_else(till):
    made = till.create(hidden={"a": 1})
    wait_a_tick(made)
    till.client.patch(path_of(made["id"]), {"hidden": {"a": 2}}).is_empty(204)
    after = till.get(made["id"])
    assert after["updated_at"] > made["updated_at"] and TIME.match(after["updated_at"])
    assert after == {**made, "hidden": {"a": 2}, "updated_at": after["updated_at"]}


@pytest.mark.parametrize("change", [
    {}, {"visible": {}}, {"hidden": {}}, {"appearance": {}}, {"visible": None, "hidden": None},
    {"visible": {"name": "Ada"}}, {"hidden": {"a": 1.5}}, {"appearance": {"title": "T"}},
    {"hidden": {"absent": None}}, {"visible": {"vip": None}}, {"appearance": {"banner": None}},
])
def test_an_edit_that_changes_nothing_leaves_updated_at(till, change):
    made = till.create(hidden={"a": 1.5}, appearance={"title": "T"})
    wait_a_tick(made)
    till.client.patch(path_of(made["id"]), change).is_empty(204)
    assert till.get(made["id"]) == made


# Conflicts, deletion, re-creation

def test_an_id_is_taken_by_a_live_pass(till):
    made = till.create(hidden={"a": 1})
    body = {"pass_id": made["id"], "visible": {"name": "Other"}}
    till.client.post("/v1/passes", body).is_error(409, "RESOURCE_CONFLICT")
    assert till.get(made["id"]) == made


def test_an_id_is_taken_by_a_deactivated_pass_until_it_is_deleted(till):
    made = till.create()
    till.event(made["id"], "deactivated")
    body = {"pass_id": made["id"], "visible": {"name": "Other"}}
    till.client.post("/v1/passes", body).is_error(409, "RESOURCE_CONFLICT")
    till.delete(made["id"])
    assert till.create(made["id"])["status"] == "issued"


def test_one_of_many_simultaneous_creations_wins(service, shop):
    body = body_for()

    def create(_):
        with service.client(shop.key) as client:
            return client.post("/v1/passes", body).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(create, range(24)))
    assert statuses == [201] + [409] * 23
    assert shop.list()[1] == 1


def test_a_deleted_pass_is_hidden_and_kept(till):
    made = till.create(hidden={"a": 1})
    till.add(made["id"], 7)
    before = till.get(made["id"])
    wait_a_tick(before)
    till.client.delete(path_of(made["id"])).is_empty(204)
    path = path_of(made["id"])
    till.client.get(path).is_error(404, "RESOURCE_NOT_FOUND")
    till.client.get(path + "?include_deleted=false").is_error(404, "RESOURCE_NOT_FOUND")
    after = till.get(made["id"], "?include_deleted=true")
    assert TIME.match(after["deleted_at"]) and after["updated_at"] > before["updated_at"]
    assert after == {**before, "status": "deactivated", "deleted_at": after["deleted_at"],
                     "updated_at": after["updated_at"]}
    till.client.delete(path).is_error(404, "RESOURCE_NOT_FOUND")
    till.client.patch(path, {"hidden": {"a": 2}}).is_error(404, "RESOURCE_NOT_FOUND")
    till.try_add(made["id"], 1).is_error(404, "RESOURCE_NOT_FOUND")
    assert till.get(made["id"], "?include_deleted=1") == after


def test_a_deleted_id_can_be_created_again(till):
    first = till.create(hidden={"a": 1}, appearance={"title": "T"})
    till.add(first["id"], 50)
    till.delete(first["id"])
    second = till.create(first["id"], kind="stamps")
    assert (second["balance"], second["hidden"], second["appearance"]) == (0, {}, None)
    assert second["loyalty_type"] == "stamps"
    assert second["download_url"] != first["download_url"] and "deleted_at" not in second
    assert till.get(first["id"]) == till.get(first["id"], "?include_deleted=true") == second
    till.delete(first["id"])
    last = till.get(first["id"], "?include_deleted=true")
    assert (last["loyalty_type"], last["download_url"]) == ("stamps", second["download_url"])


def test_deletion_ignores_a_body(till):
    made = till.create()
    till.client.request("DELETE", path_of(made["id"]), body=b"what?", headers={"Content-Type": "x/y"}).is_empty(204)


@pytest.mark.parametrize("value, found", [("true", True), ("1", True), ("t", True), ("false", False), ("0", False),
                                          ("f", False)])
def test_valid_booleans_of_a_query(till, value, found):
    made = till.create()
    till.delete(made["id"])
    status = till.client.get(path_of(made["id"]) + "?include_deleted=" + value).status
    assert status == (200 if found else 404)


@pytest.mark.parametrize("query", ["include_deleted=yes", "include_deleted=TRUE", "include_deleted=", "include_deleted",
                                   "include_deleted=2", "include_deleted=1&include_deleted=1"])
def test_invalid_booleans_of_a_query(till, query):
    made = till.create()
    till.client.get(f"{path_of(made['id'])}?{query}").is_error(400, "INVALID_INPUT", "include_deleted")


def test_unknown_query_parameters_are_ignored(till):
    made = till.create()
    assert till.get(made["id"], "?x=1&x=2&&=&colour") == made


def test_an_unknown_pass(till):
    for answer in (till.client.get("/v1/passes/nobody"), till.client.delete("/v1/passes/nobody"),
                   till.client.patch("/v1/passes/nobody", {}), till.try_add("nobody", 1)):
        answer.is_error(404, "RESOURCE_NOT_FOUND")
